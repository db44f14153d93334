//! The power goes: what a start finds, and what it must not.

use super::disk::Disk;
use super::world::{QUIET_FOR, REGION_BYTES, UUID, World};
use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::{Assembly, Found, HEAD_BYTES, Intent, Journal, assemble};
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
        let found: Vec<Found> = disks
            .iter()
            .map(|disk| match disk {
                None => Found::Missing,
                Some(disk) => Found::Drive(Self::superblock_of(disk)),
            })
            .collect();
        let assembly = assemble(&found, Some(&self.geometry)).expect("no more failed than may");
        let there = |drive: &usize| disks[*drive].is_some() && assembly.absent >> drive & 1 == 0;
        let members: Vec<usize> = (0..disks.len()).filter(there).collect();
        self.replay(&assembly, &members, &mut disks);
        self.check_rows(&assembly, &members, &disks);
        assembly
    }

    /// Writes again what the journals of the members say.
    fn replay(&mut self, assembly: &Assembly, members: &[usize], disks: &mut [Option<Disk>]) {
        let journals: Vec<(DriveId, Vec<u8>)> = members
            .iter()
            .filter_map(|&drive| {
                Some((DriveId(drive as u8), self.journal_of(disks[drive].as_ref()?)))
            })
            .collect();
        let journals = journals.iter().map(|(drive, bytes)| (*drive, &bytes[..]));
        let replay = Journal::replay(UUID, journals);
        assert_eq!(replay.unsound, 0, "every member has a journal");
        assert!(replay.records.is_empty() || !self.geometry.level.is_mirrored());
        self.counts.replayed += replay.records.len();
        for part in replay.records.iter().flat_map(|record| &record.parts) {
            let drive = part.drive.index();
            if let Some(disk) = disks[drive].as_mut().filter(|_| assembly.absent >> drive & 1 == 0)
            {
                disk.write_now(HEAD_BYTES + part.offset_bytes, &part.bytes);
            }
        }
    }

    fn check_rows(&mut self, assembly: &Assembly, members: &[usize], disks: &[Option<Disk>]) {
        let mut intent = Intent::new(UUID, self.geometry.drive_bytes, REGION_BYTES, QUIET_FOR);
        for disk in members.iter().filter_map(|&drive| disks[drive].as_ref()) {
            let mut record = vec![0; intent.record_bytes()];
            disk.read(INTENT_OFFSET_BYTES, &mut record);
            intent.recover(&record);
        }
        let marked = intent.dirty_regions();
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
