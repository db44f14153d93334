//! Events of a drive as lines of a trace. Commands and collections have their numbers.

use crate::event::{Event, Origin, PageOperation};
use core::fmt;
use nvme::Opcode;
use units::Instant;

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { id, block } => write!(f, "block {block} of command {}", id.0),
            Self::Reconstruction { id } => write!(f, "a reconstruction of command {}", id.0),
            Self::Flush { page } => write!(f, "the flush of page {page}"),
            Self::FlushUnit { flash_page } => write!(f, "a flush to flash page {flash_page}"),
            Self::Parity { page } => write!(f, "parity of page {page}"),
            Self::Collection { collection } => write!(f, "collection {collection}"),
            Self::Scrub => f.write_str("a scrub"),
        }
    }
}

const fn page_operation(operation: PageOperation) -> &'static str {
    match operation {
        PageOperation::Read => "read",
        PageOperation::Program => "program",
        PageOperation::Copy => "copy",
        PageOperation::Erase => "erase",
    }
}

const fn opcode(opcode: Opcode) -> &'static str {
    match opcode {
        Opcode::Read => "read",
        Opcode::Write => "write",
        Opcode::Deallocate => "deallocate",
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Accepted { id, opcode: code, lba, blocks, pl } => write!(
                f,
                "command {} accepted: {} of {blocks} blocks at {}, PL flag {pl:?}",
                id.0,
                opcode(code),
                lba.0
            ),
            Self::FailedFast { id, busy_remaining } => {
                write!(f, "command {} fails fast: busy for {busy_remaining}", id.0)
            }
            Self::Queued { die, operation, origin, overtakes } => {
                let how = if overtakes { ", ahead of writes" } else { "" };
                write!(f, "die {die} queues a {} for {origin}{how}", page_operation(operation))
            }
            Self::Began { die, operation, origin, .. } => {
                write!(f, "die {die} begins a {} for {origin}", page_operation(operation))
            }
            Self::Ended { die, operation, origin } => {
                write!(f, "die {die} ends a {} for {origin}", page_operation(operation))
            }
            Self::Suspended { die } => write!(f, "die {die} suspends"),
            Self::Resumed { die } => write!(f, "die {die} resumes"),
            Self::Preempted { die, collection } => {
                write!(f, "die {die} preempts collection {collection}")
            }
            Self::CollectionRequested {
                collection,
                first_die,
                dies,
                valid_pages,
                violation,
                ..
            } => {
                let outside = if violation { ", against the contract" } else { "" };
                write!(
                    f,
                    "collection {collection} asks for {dies} dies from die {first_die}: \
                     {valid_pages} valid pages{outside}"
                )
            }
            Self::CollectionBegan { collection } => write!(f, "collection {collection} begins"),
            Self::CollectionCancelled { collection } => {
                write!(f, "collection {collection} cancelled")
            }
            Self::CollectionEnded { collection } => write!(f, "collection {collection} ends"),
            Self::RightChanged { right } => write!(f, "may collect: {right:?}"),
            Self::WindowOpened { range, until } => {
                write!(f, "busy window of range {range} until {}", until.since(Instant::ZERO))
            }
            Self::Buffered { id, block } => write!(f, "block {block} of command {} buffered", id.0),
            Self::Stalled { id, block } => write!(f, "block {block} of command {} stalled", id.0),
            Self::Completed { id, status } => write!(f, "command {} completed: {status:?}", id.0),
        }
    }
}
