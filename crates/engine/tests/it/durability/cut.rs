//! The power goes: what a start finds, and what it must not.

use super::disk::Disk;
use super::world::{QUIET_FOR, REGION_BYTES, World};
use engine::durability::{Assembly, Opened, open};
use units::{DriveId, Rng};

impl World {
    /// Cuts the power, in a copy of the world, and starts again with what is left.
    pub(crate) fn cut(&mut self, rng: &mut Rng) -> Assembly {
        self.counts.cuts += 1;
        // A drive that has failed may be found again, or not.
        let mut disks: Vec<Option<Disk>> = Vec::new();
        for (drive, disk) in self.disks.iter().enumerate() {
            let gone = self.failed.contains(DriveId(drive as u8)) && rng.below(2) == 0;
            disks.push((!gone).then(|| disk.clone().cut(rng)));
        }
        if self.failed.iter().any(|drive| disks[drive.index()].is_some()) {
            self.counts.stale += 1;
        }
        let opened = open(disks, Some(&self.geometry), QUIET_FOR).expect("no more failed than may");
        assert!(opened.replayed == 0 || !self.geometry.level.is_mirrored());
        self.counts.replayed += opened.replayed;
        self.check_rows(&opened);
        opened.assembly
    }

    fn check_rows(&mut self, opened: &Opened<Disk>) {
        let Opened { assembly, disks, records, .. } = opened;
        let there = |drive: &usize| disks[*drive].is_some() && assembly.absent >> drive & 1 == 0;
        let members: Vec<usize> = (0..disks.len()).filter(there).collect();
        let marked = records.intent.dirty_regions();
        for row in 0..self.begun.len() {
            let (offset_bytes, blocks) = self.row_extent(row as u64);
            let versions: Vec<(u64, u64)> = members
                .iter()
                .filter_map(|&drive| Some(disks[drive].as_ref()?.versions(offset_bytes, blocks)))
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
            // Parity that does not fit can be computed again only while all data is there. A drive
            // that is lost in the same moment is more than an array can stand.
            let can_resync = assembly.absent == 0 || self.geometry.level.is_mirrored();
            assert!(can_resync || assembly.lost != 0, "torn and degraded: {text}");
        }
    }
}
