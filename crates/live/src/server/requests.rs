//! Requests of clients from their coming to their answer.

use super::clients::ClientId;
use crate::nbd::Kind;
use engine::ByteRequestKind;
use engine::volume::Token;
use units::{Instant, Slab};

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) client: ClientId,
    pub(super) cookie: u64,
    pub(super) kind: Kind,
    pub(super) length_bytes: u64,
    pub(super) arrived: Instant,
}

/// Requests that are not answered, by the names that the volume knows them by.
#[derive(Debug, Default)]
pub(super) struct Requests(Slab<Asked>);

impl Requests {
    pub(super) fn insert(&mut self, asked: Asked) -> Token {
        Token(u64::from(self.0.insert(asked)))
    }

    pub(super) fn remove(&mut self, token: Token) -> Asked {
        let slot = token.0 as u32;
        self.0.release(slot);
        *self.0.get(slot)
    }
}

/// What the volume is asked for a request of these kinds; none for one that is not about data.
pub(super) fn byte_request(kind: Kind) -> Option<ByteRequestKind> {
    match kind {
        Kind::Read => Some(ByteRequestKind::Read),
        Kind::Write => Some(ByteRequestKind::Write),
        Kind::Trim => Some(ByteRequestKind::Deallocate),
        Kind::WriteZeroes { may_punch, .. } => {
            Some(ByteRequestKind::Zeroes { may_deallocate: may_punch })
        }
        Kind::Flush | Kind::BlockStatus { .. } | Kind::Cache => None,
    }
}
