//! DH-HMAC-CHAP_Challenge and DH-HMAC-CHAP_Reply.

use super::{AuthFailure, AuthMessage, DhGroup, HashFunction};
use crate::wire::field::{get_u16, get_u32, put, put_u16, put_u32};
use alloc::vec;
use alloc::vec::Vec;

// Offsets in a challenge.
const HL: usize = 6;
const HASHID: usize = 8;
const DHGID: usize = 9;
// Offset in a reply.
const CVALID: usize = 8;
// Offsets in both.
const DHVLEN: usize = 10;
const SEQNUM: usize = 12;
const FIXED_BYTES: usize = 16;

/// Challenge of the controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Challenge {
    /// The transaction.
    pub transaction: u16,
    /// Hash function that it has chosen.
    pub hash: HashFunction,
    /// Group that it has chosen.
    pub group: DhGroup,
    /// S1: not zero, and never the same twice.
    pub sequence: u32,
    /// C1, as long as a digest.
    pub challenge: Vec<u8>,
    /// g^x in the length of the group.
    pub public_value: Vec<u8>,
}

impl Challenge {
    /// Reads the message.
    ///
    /// # Errors
    ///
    /// If the data are no such message, or it chooses an unknown algorithm.
    pub fn decode(data: &[u8]) -> Result<Self, AuthFailure> {
        let Some((AuthMessage::Challenge, transaction)) = AuthMessage::decode(data) else {
            return Err(AuthFailure::IncorrectMessage);
        };
        let (fixed, rest) =
            data.split_at_checked(FIXED_BYTES).ok_or(AuthFailure::IncorrectPayload)?;
        let hash = HashFunction::decode(fixed[HASHID]).ok_or(AuthFailure::HashUnusable)?;
        let group = DhGroup::decode(fixed[DHGID]).ok_or(AuthFailure::GroupUnusable)?;
        let lengths = (usize::from(fixed[HL]), usize::from(get_u16(fixed, DHVLEN)));
        if lengths != (hash.digest_bytes(), group.value_bytes()) {
            return Err(AuthFailure::IncorrectPayload);
        }
        let (challenge, rest) =
            rest.split_at_checked(lengths.0).ok_or(AuthFailure::IncorrectPayload)?;
        let public_value = rest.get(..lengths.1).ok_or(AuthFailure::IncorrectPayload)?;
        let (challenge, public_value) = (challenge.to_vec(), public_value.to_vec());
        let sequence = get_u32(fixed, SEQNUM);
        Ok(Self { transaction, hash, group, sequence, challenge, public_value })
    }

    /// Writes the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; FIXED_BYTES];
        AuthMessage::Challenge.put(self.transaction, &mut data);
        data[HL] = self.challenge.len() as u8;
        data[HASHID] = self.hash.encode();
        data[DHGID] = self.group.encode();
        put_u16(&mut data, DHVLEN, self.public_value.len() as u16);
        put_u32(&mut data, SEQNUM, self.sequence);
        data.extend_from_slice(&self.challenge);
        data.extend_from_slice(&self.public_value);
        data
    }
}

/// Reply of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The transaction.
    pub transaction: u16,
    /// R1: the response to C1.
    pub response: Vec<u8>,
    /// C2: challenge to the controller; `None` if the host does not challenge it.
    pub challenge: Option<Vec<u8>>,
    /// S2.
    pub sequence: u32,
    /// g^y in the length of the group.
    pub public_value: Vec<u8>,
}

impl Reply {
    /// Reads the message, of an exchange with this hash and this group.
    ///
    /// # Errors
    ///
    /// If the data are no such message, or have other lengths.
    pub fn decode(data: &[u8], hash: HashFunction, group: DhGroup) -> Result<Self, AuthFailure> {
        let Some((AuthMessage::Reply, transaction)) = AuthMessage::decode(data) else {
            return Err(AuthFailure::IncorrectMessage);
        };
        let (fixed, rest) =
            data.split_at_checked(FIXED_BYTES).ok_or(AuthFailure::IncorrectPayload)?;
        let digest_bytes = hash.digest_bytes();
        let lengths = (usize::from(fixed[HL]), usize::from(get_u16(fixed, DHVLEN)));
        if lengths != (digest_bytes, group.value_bytes()) || rest.len() < 2 * lengths.0 + lengths.1
        {
            return Err(AuthFailure::IncorrectPayload);
        }
        let (response, rest) = rest.split_at(digest_bytes);
        let (challenge, rest) = rest.split_at(digest_bytes);
        Ok(Self {
            transaction,
            response: response.to_vec(),
            challenge: (fixed[CVALID] & 1 == 1).then(|| challenge.to_vec()),
            sequence: get_u32(fixed, SEQNUM),
            public_value: rest[..lengths.1].to_vec(),
        })
    }

    /// Writes the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let digest_bytes = self.response.len();
        let mut data = vec![0; FIXED_BYTES + 2 * digest_bytes];
        AuthMessage::Reply.put(self.transaction, &mut data);
        data[HL] = digest_bytes as u8;
        put_u16(&mut data, DHVLEN, self.public_value.len() as u16);
        put_u32(&mut data, SEQNUM, self.sequence);
        put(&mut data, FIXED_BYTES, &self.response);
        if let Some(challenge) = &self.challenge {
            data[CVALID] = 1;
            put(&mut data, FIXED_BYTES + digest_bytes, challenge);
        }
        data.extend_from_slice(&self.public_value);
        data
    }
}
