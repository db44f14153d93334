//! AUTH_Negotiate: the algorithms of the host.

use super::{AuthFailure, AuthMessage, DhGroup, HEAD_BYTES, HashFunction};
use alloc::vec;
use alloc::vec::Vec;

const SC_C: usize = 6;
const NAPD: usize = 7;

// Offsets in a protocol descriptor of 64 bytes.
const DESCRIPTOR_BYTES: usize = 64;
const AUTHID: usize = 0;
const HALEN: usize = 2;
const DHLEN: usize = 3;
const HASHES: usize = 4;
const GROUPS: usize = 34;
/// Most identifiers of hash functions, and of groups.
const IDS_MAX: usize = 30;
/// AUTHID of DH-HMAC-CHAP.
const DH_HMAC_CHAP: u8 = 1;

/// Offer of the host. Unknown identifiers are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Negotiate {
    /// The transaction.
    pub transaction: u16,
    /// SC_C: 0 if no secure channel is to follow.
    pub secure_channel: u8,
    /// Hash functions, in the order of the host.
    pub hashes: Vec<HashFunction>,
    /// Groups, in the order of the host.
    pub groups: Vec<DhGroup>,
}

impl Negotiate {
    /// Reads the message.
    ///
    /// # Errors
    ///
    /// If the data are no such message, or offer other protocols only.
    pub fn decode(data: &[u8]) -> Result<Self, AuthFailure> {
        let Some((AuthMessage::Negotiate, transaction)) = AuthMessage::decode(data) else {
            return Err(AuthFailure::IncorrectMessage);
        };
        let descriptors = data[HEAD_BYTES..].chunks_exact(DESCRIPTOR_BYTES);
        let count = usize::from(data[NAPD]);
        if count > descriptors.len() {
            return Err(AuthFailure::IncorrectPayload);
        }
        let descriptor = descriptors.take(count).find(|found| found[AUTHID] == DH_HMAC_CHAP);
        let descriptor = descriptor.ok_or(AuthFailure::NotUsable)?;
        let list = |at: usize, count: u8| {
            let count = usize::from(count);
            if count > IDS_MAX {
                return Err(AuthFailure::IncorrectPayload);
            }
            Ok(&descriptor[at..(at + count).min(DESCRIPTOR_BYTES)])
        };
        let hashes = list(HASHES, descriptor[HALEN])?;
        let groups = list(GROUPS, descriptor[DHLEN])?;
        Ok(Self {
            transaction,
            secure_channel: data[SC_C],
            hashes: hashes.iter().filter_map(|&id| HashFunction::decode(id)).collect(),
            groups: groups.iter().filter_map(|&id| DhGroup::decode(id)).collect(),
        })
    }

    /// Writes the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; HEAD_BYTES + DESCRIPTOR_BYTES];
        AuthMessage::Negotiate.put(self.transaction, &mut data);
        data[SC_C] = self.secure_channel;
        data[NAPD] = 1;
        let descriptor = &mut data[HEAD_BYTES..];
        descriptor[AUTHID] = DH_HMAC_CHAP;
        descriptor[HALEN] = self.hashes.len() as u8;
        descriptor[DHLEN] = self.groups.len() as u8;
        for (place, hash) in descriptor[HASHES..GROUPS].iter_mut().zip(&self.hashes) {
            *place = hash.encode();
        }
        for (place, group) in descriptor[GROUPS..].iter_mut().zip(&self.groups) {
            *place = group.encode();
        }
        data
    }
}
