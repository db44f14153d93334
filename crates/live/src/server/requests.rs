//! Requests of clients from their coming to their answer.

use super::clients::ClientId;
use crate::nbd::Kind;
use engine::ByteRequestKind;
use engine::Token;
use units::{Instant, Slab};

/// Who waits for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asker {
    /// An NBD client.
    Client {
        /// Which.
        client: ClientId,
        /// Its name for the request.
        cookie: u64,
    },
    /// A command of an NVMe/TCP host, by its place among those of [`super::hosts::Hosts`].
    Host(u32),
    /// A controller of such a host, which is to be shut down.
    Controller(u16),
}

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) asker: Asker,
    /// What it asks for; none is a flush.
    pub(super) kind: Option<ByteRequestKind>,
    pub(super) length_bytes: u64,
    pub(super) arrived: Instant,
}

/// Requests that are not answered, by the names that the volume knows them by.
#[derive(Debug, Default)]
pub(super) struct Requests(Slab<Asked>);

impl Requests {
    pub(super) fn insert(&mut self, asked: Asked) -> Token {
        Token(self.0.insert(asked))
    }

    pub(super) fn remove(&mut self, token: Token) -> Asked {
        self.0.release(token.0);
        *self.0.get(token.0)
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
