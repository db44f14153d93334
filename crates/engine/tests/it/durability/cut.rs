//! Power cuts: what a start may find, and what it must not.

use super::disk::BLOCK;
use super::sectors::{Power, SectorDisk};
use super::world::{QUIET_FOR, REGION_BYTES, World};
use engine::durability::{Assembly, MemberState, Opened, find, open};
use units::{DriveId, Rng};

impl World {
    /// Cuts the power, in a copy of the world, and starts again with what is left.
    pub(crate) fn cut(&mut self, rng: &mut Rng) -> Assembly {
        self.counts.cuts += 1;
        let power = Power::lasting();
        // A drive that has failed may or may not be found again.
        let mut disks: Vec<Option<SectorDisk>> = Vec::new();
        for (drive, disk) in self.disks.iter().enumerate() {
            let gone = self.failed.contains(DriveId(drive as u8)) && rng.below(2) == 0;
            disks.push((!gone).then(|| disk.clone().cut(rng).into_sectors(&power)));
        }
        if self.failed.iter().any(|drive| disks[drive.index()].is_some()) {
            self.counts.stale += 1;
        }
        // The first start that gets as far as recording it decides which drives are lost.
        let found = disks.iter_mut().map(Option::as_mut).collect();
        let lost = find(found, None).expect("no more failed than may").assembly.lost;
        while rng.below(2) == 0 {
            power.goes_at(1 + rng.below(50));
            let found = disks.iter_mut().map(Option::as_mut).collect();
            let _ = open(found, Some(&self.geometry), QUIET_FOR);
            self.counts.cut_starts += 1;
            power.goes_at(u64::MAX);
            disks.iter_mut().flatten().for_each(|disk| disk.cut(rng));
        }
        let mut opened =
            open(disks, Some(&self.geometry), QUIET_FOR).expect("no more failed than may");
        opened.assembly.lost |= lost;
        assert!(opened.replayed == 0 || !self.geometry.level.is_mirrored());
        self.counts.replayed += opened.replayed;
        self.check_rows(&opened);
        self.check_rebuilt(&opened);
        opened.assembly
    }

    /// A drive that is being rebuilt holds all data before its recorded cursor: the rebuild does
    /// not write it again.
    fn check_rebuilt(&mut self, opened: &Opened<SectorDisk>) {
        let Opened { assembly, disks, records, .. } = opened;
        let marked = records.intent.dirty_regions();
        let again = |start: u64, end: u64| {
            let meets = |from: u64, to: u64| from < end && start < to;
            let region = |region: &u32| u64::from(*region) * REGION_BYTES;
            marked.iter().any(|number| meets(region(number), region(number) + REGION_BYTES))
                || assembly.replayed.iter().any(|range| meets(range.start, range.end))
        };
        let member = (0..disks.len()).find(|drive| assembly.absent >> drive & 1 == 0);
        let member = member.expect("members");
        let first = DriveId(member as u8);
        let member = disks[member].as_ref().expect("it is there");
        for (drive, disk) in disks.iter().enumerate() {
            let MemberState::Rebuilding { cursor_bytes } = assembly.states[drive] else { continue };
            let disk = disk.as_ref().expect("it is being rebuilt");
            let recorded = records.superblock.states[drive];
            let MemberState::Rebuilding { cursor_bytes: recorded } = recorded else {
                panic!("{recorded:?}")
            };
            assert!(recorded <= cursor_bytes);
            for row in 0..self.begun.len() {
                let (offset_bytes, blocks) = self.row_extent(row as u64);
                let end = offset_bytes + blocks * BLOCK as u64;
                if end > cursor_bytes || again(offset_bytes, end) {
                    assert!(end > recorded, "the next start would not know of row {row}");
                    continue;
                }
                let there = disk.versions(self.code(DriveId(drive as u8)), offset_bytes, blocks);
                let others = member.versions(self.code(first), offset_bytes, blocks);
                assert_eq!(
                    there, others,
                    "row {row} of {cursor_bytes} on drive {drive}: {assembly:?}"
                );
                self.counts.resumed += 1;
            }
        }
    }

    fn check_rows(&mut self, opened: &Opened<SectorDisk>) {
        let Opened { assembly, disks, records, .. } = opened;
        let there = |drive: &usize| disks[*drive].is_some() && assembly.absent >> drive & 1 == 0;
        let members: Vec<usize> = (0..disks.len()).filter(there).collect();
        let marked = records.intent.dirty_regions();
        for row in 0..self.begun.len() {
            let (offset_bytes, blocks) = self.row_extent(row as u64);
            let versions: Vec<(u64, u64)> = members
                .iter()
                .filter_map(|&drive| {
                    let code = self.code(DriveId(drive as u8));
                    Some(disks[drive].as_ref()?.versions(code, offset_bytes, blocks))
                })
                .collect();
            let least = versions.iter().map(|(least, _)| *least).min().expect("members");
            let most = versions.iter().map(|(_, most)| *most).max().expect("members");
            let text = format!("row {row}: {versions:?} on {members:?}, {assembly:?}");
            assert!(least >= self.flushed[row], "{} was flushed; {text}", self.flushed[row]);
            assert!(most <= self.begun[row], "{text}");
            if least == most {
                continue;
            }
            self.counts.torn += 1;
            assert!(!assembly.clean, "{text}");
            let region = (offset_bytes / REGION_BYTES) as u32;
            assert!(marked.contains(&region), "torn and not marked: {text}");
            // Parity that does not fit can be recomputed only while all data is there. A drive that
            // is lost in the same moment is more than an array can miss.
            let can_resync = assembly.absent == 0 || self.geometry.level.is_mirrored();
            assert!(can_resync || assembly.lost != 0, "torn and degraded: {text}");
        }
    }
}
