//! A stripe operation: one segment of one request on its way.

use crate::placement::{Move, Place};
use crate::policy::Failure;
use alloc::vec::Vec;
use nvme::{Blocked, Delays, Opcode};
use units::Instant;

/// Where a stripe operation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// A write that waits for an earlier write of the same rows.
    WaitTurn,
    /// Reading what is wanted.
    Gather,
    /// A read whose rebuild waits for a write of overlapping rows that it cannot share.
    WaitWrite,
    /// Computing rebuilt pages.
    Compute,
    /// A write whose new data is complete and that waits for rebuilds of the same rows.
    WaitReaders,
    /// Writing data and parity.
    Commit,
    /// Answered; only superfluous reads are still out.
    Drain,
}

/// What a stripe operation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpKind {
    /// Part of a read.
    Read,
    /// Part of a write.
    Write,
    /// Part of a deallocation.
    Deallocate,
    /// The array's own: writes members that were lost.
    Restore,
    /// The array's own: has parity compared with its data.
    Check,
}

/// How a write gets its parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plan {
    /// From new data alone, or from new data and the data that is not touched.
    Reconstruct,
    /// From the old parity and the change.
    ReadModifyWrite,
}

/// One segment of one request. Members of the stripe are bits.
#[derive(Clone, Debug)]
pub(crate) struct StripeOp {
    /// Number of the operation since the start, from 1; slots are used again, this is not.
    pub(crate) serial: u64,
    /// The write whose new data a rebuild uses, by its serial number; 0 for none.
    pub(crate) lent_by: u64,
    /// The request it is part of; of the array's own operations the number of the work.
    pub(crate) request: u32,
    pub(crate) kind: OpKind,
    pub(crate) phase: Phase,
    pub(crate) plan: Plan,
    pub(crate) stripe: u64,
    pub(crate) first_row: u32,
    pub(crate) rows: u32,
    /// Members that hold the host's pages; of a mirror that is read, the one that is asked.
    pub(crate) touched: u64,
    /// Members of which the host writes part of a page.
    pub(crate) partial: u64,
    /// Members that must be known to go on.
    pub(crate) wanted: u64,
    /// Members that are known.
    pub(crate) have: u64,
    /// Members that are to be rebuilt instead of read.
    pub(crate) missing: u64,
    /// Members among them that cannot be read at all.
    pub(crate) gone: u64,
    /// Members that a write leaves alone, because their drive is missing.
    pub(crate) left_out: u64,
    /// How often a drive had been given up when it was planned to restore the stripe.
    pub(crate) drive_failures: u32,
    /// It did not get what it needs.
    pub(crate) failed: bool,
    /// Members with a read out.
    pub(crate) outstanding: u64,
    /// Members with a write out.
    pub(crate) writing: u64,
    /// Members whose command was sent before the rebuild had the stripe to itself, and whose answer
    /// may not fit the rest.
    pub(crate) stale: u64,
    /// Commits on this stripe (and its neighbours in the lock table) when the operation began.
    pub(crate) commits_seen: u64,
    /// Members whose sub-I/O met a collection.
    pub(crate) busy: u64,
    /// What collections did to the reads that it waited for.
    pub(crate) blocked: Blocked,
    /// Registered in the lock table.
    pub(crate) locked: bool,
    /// A read under which the stripe must stand still, because it computes with members of it.
    pub(crate) still: bool,
    /// Chunks that a write takes to another drive.
    pub(crate) moves: Vec<Move>,
    /// All members were asked, and whichever suffice are taken.
    pub(crate) races: bool,
    /// Reads that were sent because others had not been answered in time.
    pub(crate) hedge_reads: u32,
    /// Pages of it were rebuilt.
    pub(crate) rebuilt: bool,
    /// Failed sub-I/Os among the missing members.
    pub(crate) failures: Vec<Failure>,
    /// What had passed when a round of reads was sent; the first round has passed nothing.
    pub(crate) prefixes: Vec<Delays>,
    /// The round that the reads of a rebuild belong to.
    pub(crate) rebuild_round: u8,
    /// When it began to wait for a lock.
    pub(crate) waiting_since: Instant,
    /// Where the time went, once known.
    pub(crate) delays: Delays,
}

impl StripeOp {
    /// Whether two operations have rows of a stripe in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.stripe == other.stripe
            && self.first_row < other.first_row + other.rows
            && other.first_row < self.first_row + self.rows
    }

    /// Whether all rows of `other` are rows of this.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.stripe == other.stripe
            && self.first_row <= other.first_row
            && other.first_row + other.rows <= self.first_row + self.rows
    }

    /// Members whose chunks the write takes to another drive, as bits.
    pub(crate) fn moving(&self) -> u64 {
        self.moves.iter().fold(0, |mask, chunk| mask | 1 << chunk.member)
    }

    /// Whether this changes the stripe for its readers, and nothing is in its way but they.
    pub(crate) fn changes_stripe(&self) -> bool {
        matches!(self.kind, OpKind::Write | OpKind::Deallocate)
            && matches!(self.phase, Phase::WaitReaders | Phase::Commit)
    }

    /// Whether this is a write whose new data is complete and in memory.
    pub(crate) fn has_new_data(&self) -> bool {
        self.kind == OpKind::Write && self.changes_stripe()
    }

    /// Whether this is a rebuild that `write` must not change the stripe under, or any read of a place
    /// that it takes a chunk away from. One that has taken the write's own data reads only what the
    /// write leaves alone.
    pub(crate) fn holds_up(&self, write: &Self) -> bool {
        self.kind == OpKind::Read
            && (self.still || !write.moves.is_empty())
            && matches!(self.phase, Phase::Gather | Phase::Compute)
            && self.lent_by != write.serial
            && self.overlaps(write)
    }
}

/// A command that is out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubIo {
    pub(crate) op: u32,
    pub(crate) member: u8,
    pub(crate) opcode: Opcode,
    /// Where it went.
    pub(crate) place: Place,
    /// Sent only to rebuild others.
    pub(crate) for_rebuild: bool,
    /// Which prefix of the operation it continues.
    pub(crate) round: u8,
    pub(crate) sent: Instant,
}
