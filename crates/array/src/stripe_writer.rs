//! A write of one stripe: which members it reads first, which it writes, and where to.

use crate::members::MemberSet;
use crate::relocation::{Move, Place};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// How a write gets its parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plan {
    /// From new data alone.
    FullStripe,
    /// From new data and the data that is not touched.
    Reconstruct,
    /// From the old parity and the change.
    ReadModifyWrite,
}

/// The state of a write.
#[derive(Clone, Debug)]
pub(crate) struct StripeWriter {
    /// Members that hold pages of the host.
    touched: MemberSet,
    /// Members of which the host writes part of a page.
    partial: MemberSet,
    /// The parities of the stripe.
    parity: MemberSet,
    plan: Plan,
    detour: Option<Box<Detour>>,
}

/// What few writes have.
#[derive(Clone, Debug, Default)]
struct Detour {
    /// Members that are not written, because their drive is missing.
    not_written: MemberSet,
    relocations: Vec<Move>,
}

impl StripeWriter {
    #[inline]
    pub(crate) fn new(touched: MemberSet, partial: MemberSet, parity: MemberSet) -> Self {
        Self { touched, partial, parity, plan: Plan::Reconstruct, detour: None }
    }

    fn not_written(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.not_written)
    }

    fn relocations(&self) -> &[Move] {
        self.detour.as_ref().map_or(&[], |detour| &detour.relocations)
    }

    /// It is the write's turn: chooses how to get parity, whichever way reads less. Returns what must be
    /// known for it. `data` are the members of the stripe with data.
    pub(crate) fn plan(
        &mut self,
        data: MemberSet,
        unreadable: MemberSet,
        not_written: MemberSet,
    ) -> (Plan, MemberSet) {
        if !not_written.is_empty() {
            self.detour.get_or_insert_default().not_written = not_written;
        }
        let parity = self.parity - not_written;
        let modify = self.touched | parity;
        let reconstruct = match parity.is_empty() {
            // Without parity only the rest of a page that is written in part must be known.
            true => self.partial,
            false => data - (self.touched - self.partial),
        };
        // What cannot be read is computed from as many members as there are data chunks.
        let cost = |wanted: MemberSet| match wanted.meets(unreadable) {
            false => wanted.len(),
            true => data.len(),
        };
        // A chunk that is relocated is not read first: its drive is busy.
        let may_modify = !parity.is_empty() && !self.relocates() && !parity.meets(unreadable);
        let (plan, wanted) = if may_modify && cost(modify) < cost(reconstruct) {
            (Plan::ReadModifyWrite, modify)
        } else if reconstruct.is_empty() && self.touched == data {
            (Plan::FullStripe, reconstruct)
        } else {
            (Plan::Reconstruct, reconstruct)
        };
        self.plan = plan;
        (plan, wanted)
    }

    /// The write begins again: what was found about its drives holds no longer.
    pub(crate) fn forget_plan(&mut self) {
        self.detour = None;
    }

    pub(crate) fn how(&self) -> Plan {
        self.plan
    }

    pub(crate) fn touched(&self) -> MemberSet {
        self.touched
    }

    pub(crate) fn partial(&self) -> MemberSet {
        self.partial
    }

    /// The parities of the stripe.
    pub(crate) fn parity(&self) -> MemberSet {
        self.parity
    }

    /// Parities that are written.
    pub(crate) fn written_parity(&self) -> MemberSet {
        self.parity - self.not_written()
    }

    /// Parities that are not written, so that they do not fit the data any more.
    pub(crate) fn outdated_parity(&self) -> MemberSet {
        self.parity & self.not_written()
    }

    /// All members that are written.
    #[inline]
    pub(crate) fn written(&self) -> MemberSet {
        (self.touched | self.parity) - self.not_written()
    }

    /// Members whose new pages are in memory once the write commits.
    pub(crate) fn in_memory(&self) -> MemberSet {
        self.touched | self.written_parity()
    }

    /// A chunk goes to another drive.
    pub(crate) fn relocate(&mut self, chunk: Move) {
        self.detour.get_or_insert_default().relocations.push(chunk);
    }

    /// Whether any chunk does.
    pub(crate) fn relocates(&self) -> bool {
        !self.relocations().is_empty()
    }

    /// Members whose chunks go to another drive.
    pub(crate) fn relocated(&self) -> MemberSet {
        self.relocations().iter().map(|chunk| chunk.member).collect()
    }

    /// Where the chunk of `member` goes, if not where it is.
    pub(crate) fn new_place(&self, member: u8) -> Option<Place> {
        self.relocations().iter().find(|chunk| chunk.member == member).map(|chunk| chunk.to)
    }

    /// The chunks have arrived, or never will.
    pub(crate) fn take_moves(&mut self) -> Vec<Move> {
        self.detour.as_mut().map_or(Vec::new(), |detour| core::mem::take(&mut detour.relocations))
    }
}
