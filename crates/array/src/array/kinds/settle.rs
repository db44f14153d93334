//! Copies of a mirror that a crash may have left different: rows are *settled* (made equal) before
//! they are used.
//!
//! Any copy of unflushed data is right. A client that has read one must read the same ever after,
//! even if that copy fails the next read and the power fails again. So the first readable copy is
//! kept. The others are made equal on stable storage before a client reads the row or writes a part
//! of a page in it, and before a drive is rebuilt from it. An equal copy is not written.
//!
//! The resync settles whole stripes. An operation that comes earlier has its rows settled one by
//! one.

use super::compare::Comparison;
use super::next::{At, Input, Next};
use crate::members::MemberSet;
use crate::read_repairs::Waiter;

/// Rows of a mirror.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Settle {
    pub(crate) owner: Settler,
    /// Number of drive failures when it was planned.
    pub(crate) drive_failures: u32,
    compared: Comparison,
}

/// Origin of a settling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settler {
    /// A resync, for a stripe.
    Job(u32),
    /// The repair of a row, and the operation that waits for it, if any.
    Repairs(Option<Waiter>),
}

impl Settle {
    pub(crate) const fn by(owner: Settler) -> Self {
        Self { owner, drive_failures: 0, compared: Comparison::NONE }
    }

    /// Whether copies were different.
    pub(crate) const fn differs(&self) -> bool {
        !self.compared.wrong.is_empty()
    }

    pub(super) fn step(&mut self, input: Input, at: &At<'_>) -> Next {
        match input {
            Input::Turn => self.plan(at),
            Input::Known => self.compare(at),
            Input::Compared { member, fits } => match self.compared.note(member, fits) {
                Some(_) => self.write(at),
                None => Next::Wait,
            },
        }
    }

    /// Reads all copies.
    fn plan(&mut self, at: &At<'_>) -> Next {
        self.drive_failures = at.places.availability.drive_failures();
        self.compared = Comparison::NONE;
        let copies = at.places.copies(at.stripe);
        match copies.len() {
            0 | 1 => Next::Finish { failed: copies.is_empty() },
            _ => Next::Read(copies),
        }
    }

    /// All readable copies are read: has them compared with the first.
    fn compare(&mut self, at: &At<'_>) -> Next {
        let (with, others) = kept(at);
        let broken = at.rewritten();
        let wrong = if at.has_data { broken } else { broken | others };
        self.compared = Comparison::of(others, wrong);
        if !at.has_data || others.is_empty() {
            return self.write(at);
        }
        Next::CompareCopies { members: others, with }
    }

    /// Writes the copies that differ from the one that is kept.
    fn write(&self, at: &At<'_>) -> Next {
        let members = self.compared.wrong;
        match members.is_empty() {
            true => Next::DONE,
            false => Next::Copy { from: kept(at).0, members },
        }
    }
}

/// The copy that is kept (the datum if it could be read), and the others that could be read.
fn kept(at: &At<'_>) -> (u8, MemberSet) {
    let mut read = at.fetch.wanted() - at.rewritten();
    let datum = at.places.layout.member_of(at.stripe, 0).0;
    let first = if read.contains(datum) { Some(datum) } else { read.first() };
    let kept = first.expect("a stripe without any copy has failed before");
    read.remove(kept);
    (kept, read)
}
