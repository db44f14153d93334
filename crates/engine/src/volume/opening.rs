//! Repairs that an array needs when it begins to serve.

use crate::durability::{Assembly, Geometry, Intent, Journalled, MemberState};
use crate::planted::Bug;
use crate::{Drive, Memory, Volume};
use alloc::vec::Vec;
use array::{CannotReplace, Layout};
use core::ops::Range;
use units::{DriveId, Instant, Observe};

/// Repairs that an array needs when it begins to serve.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repairs {
    /// Drives in their place whose rebuild was not complete.
    pub rebuild: Vec<Rebuild>,
    /// Stripes whose parity may not fit their data.
    pub resync: Vec<Range<u64>>,
}

/// A drive whose rebuild was not complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebuild {
    /// The drive.
    pub drive: DriveId,
    /// Bytes from its start that it held by the last record; 0 if the rebuild starts again.
    pub cursor_bytes: u64,
    /// Stripes that it lacks: those behind the cursor, and those before it that a crash may have
    /// left different.
    pub stripes: Vec<Range<u64>>,
}

impl Repairs {
    /// Repairs for an array with this assembly. Regions that are not resynced are unmarked in the
    /// intent record: with a drive missing, parity cannot be recomputed. It need not be: writes
    /// under way were in the journal. The journal also covers all writes with
    /// [`Journalled::Always`]. Regions stay marked while their checksums are in doubt.
    #[must_use]
    pub fn new(assembly: &Assembly, intent: &mut Intent, layout: &Layout) -> Self {
        let geometry = &assembly.geometry;
        let mut dirty = intent.dirty_regions();
        let marked = dirty.clone();
        let journalled = assembly.absent != 0 || geometry.journalled == Journalled::Always;
        let forced = assembly.forced.is_some();
        if journalled && !forced && !geometry.level.is_mirrored() {
            let keeps_marks = geometry.checksums && geometry.journalled != Journalled::Always;
            for region in dirty.drain(..).filter(|_| !keeps_marks) {
                intent.resynced(region);
            }
        }
        let (region_bytes, planted) = (intent.region_bytes(), intent.planted());
        let stripes = |region| stripes_of_region(geometry, layout, region_bytes, region);
        let rebuild = (0..geometry.width).filter(|drive| assembly.rebuilding >> drive & 1 == 1);
        let rebuild = rebuild.map(|drive| {
            let drive = DriveId(drive);
            let state = assembly.states.get(drive.index());
            let cursor_bytes = match state {
                Some(MemberState::Rebuilding { cursor_bytes }) => *cursor_bytes,
                _ => 0,
            };
            let behind = stripes_at(geometry, layout, cursor_bytes..geometry.drive_bytes);
            let is_meant =
                |_: &&u32| cursor_bytes == 0 || !planted.has(Bug::ResumedRebuildSkipsMarked);
            let marked = marked.iter().filter(is_meant).copied().map(stripes);
            let replayed = assembly.replayed.iter().cloned();
            let replayed = replayed.map(|range| stripes_at(geometry, layout, range));
            let stripes = [behind].into_iter().chain(marked).chain(replayed).collect();
            Rebuild { drive, cursor_bytes, stripes }
        });
        let rebuild = rebuild.collect();
        let mut resync: Vec<Range<u64>> = dirty.iter().copied().map(stripes).collect();
        if forced && assembly.absent != 0 && !geometry.level.is_mirrored() {
            // A stripe that misses a member is taken as it is: its parity cannot be recomputed.
            // Only stripes narrower than the array may have all their members.
            resync = resync
                .into_iter()
                .flat_map(|range| whole(layout, assembly.absent, range))
                .collect();
            // Marks stay while checksums are in doubt there.
            if resync.is_empty() && !geometry.checksums {
                dirty.drain(..).for_each(|region| intent.resynced(region));
            }
        }
        Self { rebuild, resync }
    }

    /// Stripes to be resynced; a stripe at the edge of two regions counts twice.
    #[must_use]
    pub fn resync_stripes(&self) -> u64 {
        self.resync.iter().map(|range| range.end - range.start).sum()
    }
}

/// Returns the stripes that miss no member.
fn whole(layout: &Layout, absent: u64, stripes: Range<u64>) -> Vec<Range<u64>> {
    let mut whole: Vec<Range<u64>> = Vec::new();
    for stripe in stripes.filter(|&stripe| layout.members(stripe) & absent == 0) {
        match whole.last_mut() {
            Some(last) if last.end == stripe => last.end += 1,
            _ => whole.push(stripe..stripe + 1),
        }
    }
    whole
}

/// Stripes that a failed drive missed, without those being written; all stripes if the records do
/// not know.
pub(super) fn stripes_missed<M: Memory, O: Observe>(
    volume: &Volume<M, O>,
    drive: DriveId,
) -> Vec<Range<u64>> {
    let layout = volume.engine().array().layout();
    let records = volume.engine().plane().records();
    let missed = records.and_then(|(superblock, intent, _)| {
        Some((&superblock.geometry, intent.region_bytes(), intent.missed(drive)?))
    });
    let Some((geometry, region_bytes, missed)) = missed else {
        return alloc::vec![0..layout.stripes()];
    };
    let stripes = |region| stripes_of_region(geometry, layout, region_bytes, region);
    missed.regions().map(stripes).collect()
}

fn stripes_of_region(
    geometry: &Geometry,
    layout: &Layout,
    region_bytes: u64,
    region: u32,
) -> Range<u64> {
    let start = u64::from(region) * region_bytes;
    stripes_at(geometry, layout, start..(start + region_bytes).min(geometry.drive_bytes))
}

/// Returns the stripes with a chunk in bytes `range` of its drive.
fn stripes_at(geometry: &Geometry, layout: &Layout, range: Range<u64>) -> Range<u64> {
    let (width, members) = (u64::from(geometry.width), u64::from(geometry.stripe_width));
    let first = range.start / geometry.chunk_bytes * width / members;
    let last = (range.end.div_ceil(geometry.chunk_bytes) * width).div_ceil(members);
    first.min(layout.stripes())..last.min(layout.stripes())
}

impl<M: Memory, O: Observe> Volume<M, O> {
    /// Begins the repairs that the last end of the array has left, before the first request.
    /// `new_drive` makes the model of a drive that is rebuilt from its start; other drives keep
    /// theirs.
    ///
    /// # Errors
    ///
    /// If a drive to be rebuilt does not count as missing.
    pub fn begin_repairs(
        &mut self,
        now: Instant,
        repairs: &Repairs,
        mut new_drive: impl FnMut(DriveId) -> Drive<O>,
    ) -> Result<(), CannotReplace> {
        // Before any rebuild: a rebuild must not trust a copy that may differ from others.
        let is_redundant = self.engine().array().layout().level().is_redundant();
        let resyncs = is_redundant && !repairs.resync.is_empty();
        self.engine_mut().plane_mut().begin_repairs(resyncs);
        if !repairs.resync.is_empty() {
            self.engine_mut().resync(now, repairs.resync.iter().cloned());
        }
        for Rebuild { drive, cursor_bytes, stripes } in &repairs.rebuild {
            if *cursor_bytes == 0 {
                self.replace_drive(now, *drive, new_drive(*drive))?;
            } else {
                self.engine_mut().resume_rebuild(now, *drive, stripes.iter().cloned())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::Level;

    #[test]
    fn a_rebuild_goes_on_behind_its_cursor_and_where_a_crash_may_have_struck() {
        let geometry = Geometry {
            checksums: false,
            journalled: Journalled::Degraded,
            level: Level::Raid5,
            width: 3,
            stripe_width: 3,
            chunk_bytes: 64 << 10,
            page_bytes: 4096,
            drive_bytes: 8 << 20,
        };
        let layout = Layout::striped(Level::Raid5, 3, 3, 16, 8 << 8).unwrap();
        let uuid = crate::durability::Uuid([1; 16]);
        let quiet_for = units::Duration::from_secs(1);
        let mut intent = Intent::new(uuid, geometry.drive_bytes, 1 << 20, quiet_for);
        let mut record = alloc::vec![];
        intent.mark(Instant::ZERO, 2);
        intent.all_blocks().iter().for_each(|block| record.extend_from_slice(&block.bytes[..]));
        let mut intent = Intent::new(uuid, geometry.drive_bytes, 1 << 20, quiet_for);
        intent.recover(&record);
        let mut assembly = crate::durability::Assembly::example(&geometry);
        assembly.absent = 0b10;
        assembly.rebuilding = 0b10;
        assembly.states[1] = MemberState::Rebuilding { cursor_bytes: 5 << 20 };
        assembly.replayed.push(70_000..74_096);
        let repairs = Repairs::new(&assembly, &mut intent, &layout);
        let stripes = alloc::vec![80..128, 32..48, 1..2];
        let rebuild = Rebuild { drive: DriveId(1), cursor_bytes: 5 << 20, stripes };
        assert_eq!(repairs.rebuild, [rebuild]);
        assert_eq!(repairs.resync, [], "with a drive missing the journal is relied on");
        // Until these stripes are rebuilt, the next start must not trust the cursor.
        intent.recover(&record);
        assert_eq!(assembly.rebuilt_up_to(5 << 20, &intent), 70_000);
        assembly.replayed.clear();
        assert_eq!(assembly.rebuilt_up_to(5 << 20, &intent), 2 << 20);
        assert_eq!(geometry.bytes_before(80), 5 << 20);
    }

    #[test]
    fn stripes_of_a_region_are_all_that_touch_it() {
        for (width, members) in [(4u8, 4u8), (6, 4), (5, 3)] {
            let geometry = Geometry {
                journalled: Journalled::Degraded,
                checksums: false,
                level: Level::Raid5,
                width,
                stripe_width: members,
                chunk_bytes: 8192,
                page_bytes: 4096,
                drive_bytes: 100 * 8192,
            };
            let layout =
                Layout::striped(Level::Raid5, u32::from(width), u32::from(members), 2, 200)
                    .unwrap();
            for start in [0, 3 * 8192, 50 * 8192] {
                let range = start..start + 5 * 8192;
                let found = stripes_at(&geometry, &layout, range.clone());
                for stripe in 0..layout.stripes() {
                    let touches = (0..width).any(|drive| {
                        layout.members(stripe) >> drive & 1 == 1 && {
                            let lba = layout.lba(stripe, 0, units::DriveId(drive)).0 * 4096;
                            lba < range.end && range.start < lba + 8192
                        }
                    });
                    assert!(!touches || found.contains(&stripe), "{width} {members} {stripe}");
                }
            }
        }
    }
}
