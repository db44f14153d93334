//! Results of an exchange.

use super::{AuthMessage, HEAD_BYTES};
use crate::wire::field::put;
use alloc::vec;
use alloc::vec::Vec;

// Offsets in DH-HMAC-CHAP_Success1.
const HL: usize = 6;
const RVALID: usize = 8;
const FIXED_BYTES: usize = 16;

// Offsets in AUTH_Failure.
const RESCODE: usize = 6;
const RESCODE_EXP: usize = 7;
/// The only reason code.
const FAILED: u8 = 1;

/// Bytes of AUTH_Failure.
pub const FAILURE_BYTES: usize = HEAD_BYTES;

/// The host's response was right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Success1 {
    /// The transaction.
    pub transaction: u16,
    /// Bytes of a digest, whether there is one or not.
    pub digest_bytes: u8,
    /// R2: the response to C2, if the host challenged the controller.
    pub response: Option<Vec<u8>>,
}

impl Success1 {
    /// Writes the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; FIXED_BYTES + usize::from(self.digest_bytes)];
        AuthMessage::Success1.put(self.transaction, &mut data);
        data[HL] = self.digest_bytes;
        if let Some(response) = &self.response {
            data[RVALID] = 1;
            put(&mut data, FIXED_BYTES, response);
        }
        data
    }

    /// Reads the message; `None` if the data are no such message.
    #[must_use]
    pub fn decode(data: &[u8]) -> Option<Self> {
        let (AuthMessage::Success1, transaction) = AuthMessage::decode(data)? else { return None };
        let fixed = data.get(..FIXED_BYTES)?;
        let digest_bytes = fixed[HL];
        let response = match fixed[RVALID] & 1 {
            1 => Some(data.get(FIXED_BYTES..FIXED_BYTES + usize::from(digest_bytes))?.to_vec()),
            _ => None,
        };
        Some(Self { transaction, digest_bytes, response })
    }
}

/// Reason why an exchange failed: the explanation of AUTH_Failure1 and AUTH_Failure2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthFailure {
    /// 01h: the response was wrong, or there is no secret for this host.
    Failed,
    /// 02h: the two sides have no protocol in common.
    NotUsable,
    /// 03h: the requested secure channel is not possible.
    ChannelMismatch,
    /// 04h: the two sides have no hash function in common.
    HashUnusable,
    /// 05h: the two sides have no group in common.
    GroupUnusable,
    /// 06h: the message has an invalid value.
    IncorrectPayload,
    /// 07h: another message was expected.
    IncorrectMessage,
}

impl AuthFailure {
    const ALL: [Self; 7] = [
        Self::Failed,
        Self::NotUsable,
        Self::ChannelMismatch,
        Self::HashUnusable,
        Self::GroupUnusable,
        Self::IncorrectPayload,
        Self::IncorrectMessage,
    ];

    /// Encodes AUTH_Failure1.
    #[must_use]
    pub fn encode(self, transaction: u16) -> [u8; FAILURE_BYTES] {
        let mut data = [0; FAILURE_BYTES];
        AuthMessage::Failure1.put(transaction, &mut data);
        data[RESCODE] = FAILED;
        data[RESCODE_EXP] =
            1 + Self::ALL.iter().position(|&failure| failure == self).unwrap_or(0) as u8;
        data
    }

    /// Reason in a failure of either side; `None` if the data are no such message.
    #[must_use]
    pub fn decode(data: &[u8]) -> Option<Self> {
        let (AuthMessage::Failure1 | AuthMessage::Failure2, _) = AuthMessage::decode(data)? else {
            return None;
        };
        Self::ALL.get(usize::from(data[RESCODE_EXP]).checked_sub(1)?).copied()
    }
}
