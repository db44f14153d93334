//! A write of one stripe: the members that it reads first, those that it writes, and their places.

use crate::members::MemberSet;
use crate::relocation::{Move, Place};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Way in which a write gets its parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plan {
    /// From new data alone.
    FullStripe,
    /// Reconstruct-write: from new data and the data that is not touched.
    Reconstruct,
    /// Read-modify-write: from the old parity and the change.
    ReadModifyWrite,
}

/// The state of a write.
#[derive(Clone, Debug)]
pub(crate) struct StripeWriter {
    /// Members with pages that the host writes.
    touched: MemberSet,
    /// Members of which the host writes part of a page.
    partial: MemberSet,
    /// The parities of the stripe.
    parity: MemberSet,
    plan: Plan,
    detour: Option<Box<Detour>>,
}

/// State that few writes need.
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

    /// Chooses how to get parity, whichever way reads less. Returns the plan and the members that
    /// must be known for it. `data` are the members of the stripe with data; `spared` are members
    /// to avoid.
    pub(crate) fn plan(
        &mut self,
        data: MemberSet,
        unreadable: MemberSet,
        not_written: MemberSet,
        spared: MemberSet,
    ) -> (Plan, MemberSet) {
        if !not_written.is_empty() {
            self.detour.get_or_insert_default().not_written = not_written;
        }
        let parity = self.parity - not_written;
        let modify = self.touched | parity;
        let reconstruct = match parity.is_empty() {
            // Without parity only the rest of a partly written page must be known.
            true => self.partial,
            false => data - (self.touched - self.partial),
        };
        // An unreadable member is computed from as many members as there are data chunks. A spared
        // member must be computed now and then, which is like one more read.
        let cost = |wanted: MemberSet| match wanted.meets(unreadable) {
            false => wanted.len() + u32::from(wanted.meets(spared)),
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

    /// Forgets the plan: the write begins again, and its findings about drives no longer hold.
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

    /// Parities that are not written, and so do not match the data any more.
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

    /// Notes that a chunk goes to another drive.
    pub(crate) fn relocate(&mut self, chunk: Move) {
        self.detour.get_or_insert_default().relocations.push(chunk);
    }

    /// Whether any chunk goes to another drive.
    pub(crate) fn relocates(&self) -> bool {
        !self.relocations().is_empty()
    }

    /// Members whose chunks go to another drive.
    pub(crate) fn relocated(&self) -> MemberSet {
        self.relocations().iter().map(|chunk| chunk.member).collect()
    }

    /// The new place of the chunk of `member`; `None` if it stays.
    pub(crate) fn new_place(&self, member: u8) -> Option<Place> {
        self.relocations().iter().find(|chunk| chunk.member == member).map(|chunk| chunk.to)
    }

    /// Takes the relocations, which are done or given up.
    pub(crate) fn take_moves(&mut self) -> Vec<Move> {
        self.detour.as_mut().map_or(Vec::new(), |detour| core::mem::take(&mut detour.relocations))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{DriveId, Lba};

    fn set(members: &[u8]) -> MemberSet {
        members.iter().copied().collect()
    }

    /// Members touched, touched in part, unreadable and not written; the plan; the members that are
    /// read.
    type Row<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a [u8], Plan, &'a [u8]);

    #[test]
    fn parity_is_had_whichever_way_reads_less() {
        use Plan::{FullStripe, ReadModifyWrite, Reconstruct};
        // Four data members, and parity on the fifth.
        let (data, parity) = (set(&[0, 1, 2, 3]), set(&[4]));
        let table: &[Row<'_>] = &[
            (&[0], &[], &[], &[], ReadModifyWrite, &[0, 4]),
            (&[0], &[0], &[], &[], ReadModifyWrite, &[0, 4]),
            (&[0, 1], &[], &[], &[], Reconstruct, &[2, 3]),
            (&[0, 1], &[1], &[], &[], Reconstruct, &[1, 2, 3]),
            (&[0, 1, 2, 3], &[], &[], &[], FullStripe, &[]),
            (&[0, 1, 2, 3], &[3], &[], &[], Reconstruct, &[3]),
            // A missing parity is not computed, and a parity that may be wrong is not computed from
            // itself.
            (&[0], &[], &[4], &[4], Reconstruct, &[]),
            (&[0, 2], &[2], &[4], &[4], Reconstruct, &[2]),
            (&[0, 1, 2, 3], &[], &[4], &[4], FullStripe, &[]),
            (&[0], &[], &[4], &[], Reconstruct, &[1, 2, 3]),
            // An unreadable member costs as many reads as there are data members.
            (&[0], &[], &[0], &[0], Reconstruct, &[1, 2, 3]),
            (&[0, 1], &[], &[2], &[2], ReadModifyWrite, &[0, 1, 4]),
            (&[0, 1, 2], &[], &[3], &[3], Reconstruct, &[3]),
        ];
        for &(touched, partial, unreadable, not_written, plan, wanted) in table {
            let mut writer = StripeWriter::new(set(touched), set(partial), parity);
            let spared = MemberSet::EMPTY;
            let planned = writer.plan(data, set(unreadable), set(not_written), spared);
            assert_eq!(planned, (plan, set(wanted)), "{touched:?} {partial:?} {unreadable:?}");
            assert_eq!(writer.how(), plan);
            assert_eq!((writer.touched(), writer.partial()), (set(touched), set(partial)));
            let not_written = set(not_written);
            assert_eq!(writer.written(), (set(touched) | parity) - not_written);
            assert_eq!(writer.written_parity(), parity - not_written);
            assert_eq!(writer.outdated_parity(), parity & not_written);
            assert_eq!(writer.in_memory(), set(touched) | (parity - not_written));
            writer.forget_plan();
            assert_eq!(writer.written(), set(touched) | parity, "{touched:?}");
            assert!(writer.outdated_parity().is_empty());
        }
    }

    #[test]
    fn the_way_to_parity_spares_a_member_unless_that_takes_more_than_a_read() {
        use Plan::{ReadModifyWrite, Reconstruct};
        let none = MemberSet::EMPTY;
        let plan = |data: &[u8], parity: u8, touched: &[u8], spared: &[u8]| {
            let mut writer = StripeWriter::new(set(touched), none, set(&[parity]));
            writer.plan(set(data), none, none, set(spared)).0
        };
        assert_eq!(plan(&[0, 1, 2], 3, &[0], &[]), Reconstruct, "two reads either way");
        assert_eq!(plan(&[0, 1, 2], 3, &[0], &[1]), ReadModifyWrite);
        assert_eq!(plan(&[0, 1, 2], 3, &[0], &[3]), Reconstruct);
        assert_eq!(plan(&[0, 1, 2, 3], 4, &[0], &[]), ReadModifyWrite, "two reads, not three");
        assert_eq!(plan(&[0, 1, 2, 3], 4, &[0], &[4]), Reconstruct);
        assert_eq!(plan(&[0, 1, 2, 3], 4, &[0], &[1]), ReadModifyWrite);
        assert_eq!(plan(&[0, 1, 2, 3, 4], 5, &[0], &[0]), ReadModifyWrite, "three, not four");
    }

    #[test]
    fn what_goes_elsewhere_is_not_read_first() {
        let mut writer = StripeWriter::new(set(&[0]), MemberSet::EMPTY, set(&[4]));
        assert!(!writer.relocates() && writer.relocated().is_empty());
        let to = Place { drive: DriveId(6), block: Lba(9) };
        writer.relocate(Move { member: 0, to });
        assert!(writer.relocates() && writer.relocated() == set(&[0]));
        assert_eq!((writer.new_place(0), writer.new_place(1)), (Some(to), None));
        let none = MemberSet::EMPTY;
        let planned = writer.plan(set(&[0, 1, 2, 3]), none, none, none);
        assert_eq!(planned, (Plan::Reconstruct, set(&[1, 2, 3])));
        assert_eq!(writer.take_moves().len(), 1);
        assert!(!writer.relocates() && writer.take_moves().is_empty());
    }
}
