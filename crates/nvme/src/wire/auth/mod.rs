//! The messages of DH-HMAC-CHAP, with which a host and a controller prove to each other that they
//! know a secret (TP 8006; Linux `struct nvmf_auth_dhchap_*`).
//!
//! They are the data of Authentication Send and Receive. All begin with AUTH_TYPE, AUTH_ID, two
//! reserved bytes, and the transaction: a number that the host chooses for each exchange.

mod algorithm;
mod challenge;
mod negotiate;
mod outcome;

pub use algorithm::{DIGEST_BYTES_MAX, DhGroup, HashFunction};
pub use challenge::{Challenge, Reply};
pub use negotiate::Negotiate;
pub use outcome::{AuthFailure, FAILURE_BYTES, Success1};

use super::field::{get_u16, put_u16};

/// SECP of the commands: NVMe's own protocols.
pub const AUTHENTICATION_PROTOCOL: u8 = 0xe9;

/// SPSP0 and SPSP1 of the commands.
pub const AUTHENTICATION_SPECIFIC: u8 = 0x01;

/// Most bytes of a message that either side has to take; Linux has no room for more.
pub const AUTH_MESSAGE_BYTES_MAX: usize = 4096;

// Offsets in all messages.
const AUTH_TYPE: usize = 0;
const AUTH_ID: usize = 1;
const TRANSACTION: usize = 4;
const HEAD_BYTES: usize = 8;

/// Kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthMessage {
    /// 00h: the host offers its algorithms.
    Negotiate,
    /// 01h: the controller chooses, and challenges the host.
    Challenge,
    /// 02h: the host responds, and may challenge the controller.
    Reply,
    /// 03h: the response was right; the controller may respond, too.
    Success1,
    /// 04h: the controller's response was right as well.
    Success2,
    /// F0h: the host gives up.
    Failure2,
    /// F1h: the controller gives up.
    Failure1,
}

impl AuthMessage {
    const ALL: [Self; 7] = [
        Self::Negotiate,
        Self::Challenge,
        Self::Reply,
        Self::Success1,
        Self::Success2,
        Self::Failure2,
        Self::Failure1,
    ];

    /// AUTH_TYPE and AUTH_ID.
    const fn code(self) -> (u8, u8) {
        match self {
            Self::Negotiate => (0, 0x00),
            Self::Challenge => (1, 0x01),
            Self::Reply => (1, 0x02),
            Self::Success1 => (1, 0x03),
            Self::Success2 => (1, 0x04),
            Self::Failure2 => (0, 0xf0),
            Self::Failure1 => (0, 0xf1),
        }
    }

    /// Kind and transaction of a message; `None` if the data are no message.
    #[must_use]
    pub fn decode(data: &[u8]) -> Option<(Self, u16)> {
        let head = data.get(..HEAD_BYTES)?;
        let code = (head[AUTH_TYPE], head[AUTH_ID]);
        let message = Self::ALL.into_iter().find(|message| message.code() == code)?;
        Some((message, get_u16(head, TRANSACTION)))
    }

    /// Begins a message.
    pub(super) fn put(self, transaction: u16, data: &mut [u8]) {
        (data[AUTH_TYPE], data[AUTH_ID]) = self.code();
        put_u16(data, TRANSACTION, transaction);
    }
}
