//! Opening of an array.
//!
//! 1. The superblocks are read, and the drives assembled.
//! 2. The journals of all drives and the write-intent record are read.
//! 3. All drives that take part are prepared for the next generation, then the running array is
//!    committed ([`lineage`](super::lineage)). Missing drives are not taken any more after that.
//! 4. The journals are replayed, and the drives synced. A repeated replay does no harm, as long as
//!    nothing else was written. The replay must follow the superblocks: some batch may count only
//!    because a drive was not found. It would not count if the next start found that drive.
//! 5. The records of the journals are cleared.
//!
//! If this is cut short anywhere, the next start repeats all of it.

use super::HEAD_BYTES;
use super::assembly::{Assembly, Found, assemble};
use super::disk::{Disk, read_copies, read_superblock, write_superblock};
use super::forced::{Forced, Taking, force, write_lineage};
use super::intent::{INTENT_OFFSET_BYTES, Intent};
use super::journal::{FoundContent, FoundPart, HeadWrite, Journal, Record, Replay};
use super::machine::Records;
use super::mend::{Filled, fill};
use super::opened::{OpenError, Opened};
use super::overwritten;
use super::refusal::Refusal;
use super::rows::Rows;
use super::setup::Setup;
use super::superblock::{Geometry, Journalled, MemberState, Superblock, newest_offset_bytes};
use crate::checksums::{ChecksumSetup, TablePlace, Written, note_written};
use crate::planted::{Bug, Planted};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use units::DriveId;

/// Most zeros that are written at a time.
const ZEROS_BYTES: u64 = 1 << 20;

/// Opens the array on `disks`, which may be in any order; `None` stands for a place without a
/// drive. `asked` is the configured geometry, if any. `setup` must be the one of the creation. On
/// return, the journal was replayed and the superblocks say that the array runs.
///
/// # Errors
///
/// For any reason of [`OpenError`]; nothing has been written unless the drives form one array with
/// enough drives.
pub fn open<D: Disk>(
    disks: Vec<Option<D>>,
    asked: Option<&Geometry>,
    setup: impl Into<Setup>,
) -> Result<Opened<D>, OpenError<D::Error>> {
    find(disks, asked)?.start(setup)
}

/// An assembled array. Nothing has been written.
#[derive(Debug)]
pub struct Opening<D> {
    /// The assembly.
    pub assembly: Assembly,
    /// The drives by their position; `None` where one is missing.
    pub disks: Vec<Option<D>>,
}

/// First half of [`open`], for callers that use the drives by their position before the start.
///
/// # Errors
///
/// If they are not one array, or too few of its drives.
pub fn find<D: Disk>(
    mut disks: Vec<Option<D>>,
    asked: Option<&Geometry>,
) -> Result<Opening<D>, Refusal> {
    let assembly = assemble(&superblocks(&mut disks), asked)?;
    let mut opening = Opening::new(assembly, disks);
    overwritten::leave_out(&mut opening.assembly, &mut opening.disks);
    Ok(opening)
}

/// Assembles outdated drives too, by order of the administrator ([`force`]). Also returns the plan
/// for each drive.
///
/// # Errors
///
/// If they are not one array, or too few even with outdated drives.
pub fn find_forced<D: Disk>(
    mut disks: Vec<Option<D>>,
    asked: Option<&Geometry>,
) -> Result<(Opening<D>, Vec<Taking>), Refusal> {
    let Forced { assembly, takings } = force(&superblocks(&mut disks), asked)?;
    Ok((Opening::new(assembly, disks), takings))
}

fn superblocks<D: Disk>(disks: &mut [Option<D>]) -> Vec<Found> {
    let found = disks.iter_mut().map(|disk| match disk {
        None => Found::Missing,
        Some(disk) => Found::Drive(read_superblock(disk)),
    });
    found.collect()
}

impl<D: Disk> Opening<D> {
    fn new(assembly: Assembly, mut disks: Vec<Option<D>>) -> Self {
        let by_position = assembly.order.iter();
        let disks = by_position.map(|place| place.and_then(|place| disks[place].take())).collect();
        Self { assembly, disks }
    }

    /// Second half of [`open`].
    ///
    /// # Errors
    ///
    /// If a drive fails an I/O, or the journal cannot be replayed.
    pub fn start(self, setup: impl Into<Setup>) -> Result<Opened<D>, OpenError<D::Error>> {
        let Self { mut assembly, mut disks } = self;
        let setup = setup.into();
        let planted = setup.planted;
        let mut replay = read_journals(&assembly, &mut disks, &setup)?;
        let filled = mend(&assembly, &mut disks, &mut replay, &setup)?;
        if planted.has(Bug::ReplayReversed) {
            replay.records.reverse();
        }
        let mut intent = recover_intent(&assembly, &mut disks, setup)?;
        let parts = replay.records.iter().flat_map(|record| &record.parts);
        assembly.replayed =
            parts.map(|part| part.offset_bytes..part.offset_bytes + part.length_bytes()).collect();
        let superblock = match assembly.forced {
            None => write_superblocks(&assembly, &intent, &mut disks)?,
            Some(_) => write_lineage(&assembly, &mut disks, &mut intent)?,
        };
        let mended = filled.len();
        write_filled(&mut disks, &filled)?;
        write_again(&assembly, &mut disks, &replay.records, planted)?;
        clear_journal(&assembly, &mut disks, &mut replay)?;
        let replayed = replay.records.len();
        let marked = marked(&assembly.geometry, &intent);
        let has_doubts = match has_doubts(&assembly) {
            true => !planted.has(Bug::DoubtsDropped),
            false => planted.has(Bug::DoubtsEverywhere),
        };
        let doubtful = if has_doubts { marked.clone() } else { Vec::new() };
        let checksums = ChecksumSetup::of(&superblock, doubtful, marked, &setup);
        let records = Records { superblock, intent, journal: replay.journal, checksums, setup };
        Ok(Opened { assembly, disks, records, replayed, mended })
    }
}

/// Prepares all drives that take part for the next generation, and commits the running array.
/// Marked regions before a rebuild's cursor have to be rebuilt again. Their marks do not outlast
/// this start, so the recorded cursor is set back before them.
fn write_superblocks<D: Disk>(
    assembly: &Assembly,
    intent: &Intent,
    disks: &mut [Option<D>],
) -> Result<Superblock, OpenError<D::Error>> {
    let mut superblock = assembly.leader.clone();
    superblock.generation = assembly.generation.saturating_add(1);
    let mut states = assembly.states.clone();
    for state in &mut states {
        if let MemberState::Rebuilding { cursor_bytes } = state {
            *cursor_bytes = assembly.rebuilt_up_to(*cursor_bytes, intent);
        }
    }
    superblock.propose(&states, &assembly.leader.joined);
    for (drive, disk) in taking_part(&assembly.states, disks) {
        superblock.member = DriveId(drive as u8);
        let newest = newest_offset_bytes(&read_copies(disk));
        if newest == Some(superblock.offset_bytes()) {
            // The newest superblock must outlast a torn write.
            let before = Superblock { generation: assembly.generation, ..superblock.clone() };
            write_superblock(&before, disk).map_err(OpenError::io(drive))?;
        }
        write_superblock(&superblock, disk).map_err(OpenError::io(drive))?;
    }
    superblock.commit(states, superblock.joined.clone(), false);
    for (drive, disk) in taking_part(&assembly.states, disks) {
        superblock.member = DriveId(drive as u8);
        write_superblock(&superblock, disk).map_err(OpenError::io(drive))?;
    }
    Ok(superblock)
}

/// Reads the journals of all drives that hold data. Reads only the headers if all records are
/// stable in their place: after a clean end, or if the array journals only while degraded and no
/// drive is missing.
fn read_journals<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    setup: &Setup,
) -> Result<Replay, OpenError<D::Error>> {
    let counts = !assembly.clean && Journal::is_needed(&assembly.geometry, assembly.absent);
    let mut journals = Vec::new();
    for (drive, disk) in members(assembly, disks) {
        let id = DriveId(drive as u8);
        let read = |offset_bytes, into: &mut [u8]| disk.read(offset_bytes, into);
        let image = match counts {
            true => Journal::read(assembly.uuid, id, &setup.sizes, read),
            false => Journal::read_headers(read),
        };
        journals.push((id, image.map_err(OpenError::io(drive))?));
    }
    // An outdated drive may have records of data that was overwritten since.
    let outdated = assembly.forced.unwrap_or(0);
    let bytes = journals.iter().map(|(drive, image)| (*drive, &image[..]));
    let current = bytes.clone().filter(|(drive, _)| outdated >> drive.0 & 1 == 0);
    let mut replay = Journal::replay(assembly.uuid, setup, current);
    if assembly.forced.is_some() {
        replay.journal = Journal::replay(assembly.uuid, setup, bytes).journal;
        replay.damage = None;
        replay.drop_last();
        replay.gaps.clear();
    }
    if !counts {
        replay.gaps.clear();
    }
    if let Some(damage) = replay.damage.filter(|_| counts) {
        return Err(OpenError::Journal(damage));
    }
    for record in &replay.records {
        let outside = record.parts.iter().find(|part| {
            let end = part.offset_bytes.checked_add(part.length_bytes());
            end.is_none_or(|end| end > assembly.geometry.drive_bytes)
        });
        if let Some(part) = outside {
            return Err(OpenError::Record {
                drive: record.drive.0,
                offset_bytes: part.offset_bytes,
                length_bytes: part.length_bytes(),
            });
        }
    }
    Ok(replay)
}

/// Fills the gaps of the journal, or leaves out the last batch if it has a gap that cannot be
/// filled. Writes nothing.
fn mend<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    replay: &mut Replay,
    setup: &Setup,
) -> Result<Vec<(DriveId, HeadWrite)>, OpenError<D::Error>> {
    if replay.gaps.is_empty() {
        return Ok(Vec::new());
    }
    if setup.planted.has(Bug::LastBatchLeftOut) {
        replay.drop_last();
    }
    let mut filled = try_to_fill(assembly, disks, replay, setup);
    if filled.is_none() {
        replay.drop_last();
        filled = try_to_fill(assembly, disks, replay, setup);
    }
    match (filled, replay.missing()) {
        (Some(Filled { writes, records }), _) => {
            replay.records.extend(records);
            replay.records.sort_by_key(|record| record.sequence);
            Ok(writes)
        }
        (None, Some(damage)) => Err(OpenError::Journal(damage)),
        (None, None) => Ok(Vec::new()),
    }
}

/// Returns the records that fill all gaps of a journal; `None` if too much is missing, or parity
/// may not fit its data.
fn try_to_fill<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    replay: &Replay,
    setup: &Setup,
) -> Option<Filled> {
    let geometry = &assembly.geometry;
    if geometry.journalled != Journalled::Always {
        return None;
    }
    let mut by_drive: Vec<Option<&mut D>> = disks.iter().map(|_| None).collect();
    for (drive, disk) in members(assembly, disks) {
        by_drive[drive] = Some(disk);
    }
    let mut rows = Rows::new(geometry, tables(assembly), by_drive)?;
    fill(&mut rows, replay, assembly.uuid, setup)
}

/// Writes records into the gaps of the journal, on stable storage.
fn write_filled<D: Disk>(
    disks: &mut [Option<D>],
    writes: &[(DriveId, HeadWrite)],
) -> Result<(), OpenError<D::Error>> {
    for (drive, write) in writes {
        let io = || OpenError::io(drive.index());
        let Some(disk) = disks.get_mut(drive.index()).and_then(Option::as_mut) else { continue };
        disk.write(write.offset_bytes, &write.bytes).map_err(io())?;
        disk.sync().map_err(io())?;
    }
    Ok(())
}

/// Place and format of the checksum tables.
fn tables(assembly: &Assembly) -> TablePlace {
    let (uuid, seal) = (assembly.uuid, assembly.leader.table_seal());
    TablePlace { uuid, seal, drive_bytes: assembly.geometry.drive_bytes }
}

/// Clears the records of the journals.
fn clear_journal<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    replay: &mut Replay,
) -> Result<(), OpenError<D::Error>> {
    // The journal cannot be busy: nothing was appended to it.
    let header = replay.journal.clear().ok();
    let _ = replay.journal.header_written();
    // A drive without any sound header gets both.
    let unsound = replay.is_unsound || assembly.forced.is_some();
    let both = unsound.then(|| replay.journal.headers());
    for (drive, disk) in members(assembly, disks) {
        write_heads(disk, header.iter().chain(both.iter().flatten()))
            .map_err(OpenError::io(drive))?;
    }
    Ok(())
}

/// Replays the journal on each drive, on stable storage.
fn write_again<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    records: &[Record],
    planted: Planted,
) -> Result<(), OpenError<D::Error>> {
    let tables = tables(assembly);
    for (drive, disk) in members(assembly, disks) {
        let id = DriveId(drive as u8);
        let its = records.iter().filter(|record| record.drive == id);
        let parts = || its.clone().flat_map(|record| &record.parts);
        for part in parts() {
            write_part(disk, part).map_err(OpenError::io(drive))?;
        }
        if assembly.geometry.checksums && !planted.has(Bug::ReplaySumsForgotten) {
            // All at once: the parts of many batches have their sums in the same blocks.
            note_written(disk, tables, id, parts().map(written)).map_err(OpenError::io(drive))?;
        }
    }
    if planted.has(Bug::ReplayUnsynced) {
        return Ok(());
    }
    for (drive, disk) in members(assembly, disks) {
        disk.sync().map_err(OpenError::io(drive))?;
    }
    Ok(())
}

/// Returns the write of a part of a record, for the checksums.
fn written(part: &FoundPart) -> Written<'_> {
    Written {
        offset_bytes: part.offset_bytes,
        length_bytes: part.length_bytes(),
        bytes: match &part.content {
            FoundContent::Bytes(bytes) => Some(bytes),
            FoundContent::Zeros { .. } => None,
        },
    }
}

/// Returns true if the checksums of marked regions may be wrong, because some writes were not in
/// the journal.
fn has_doubts(assembly: &Assembly) -> bool {
    // A drive that was forced in may hold data and checksums of different times.
    !Journal::is_needed(&assembly.geometry, 0) || assembly.forced.is_some()
}

/// Returns the bytes of each drive in marked regions.
fn marked(geometry: &Geometry, intent: &Intent) -> Vec<Range<u64>> {
    let bytes = |region: u32| {
        let start = u64::from(region) * intent.region_bytes();
        start..(start + intent.region_bytes()).min(geometry.drive_bytes)
    };
    intent.dirty_regions().into_iter().map(bytes).collect()
}

fn write_part<D: Disk>(disk: &mut D, part: &FoundPart) -> Result<(), D::Error> {
    let at = HEAD_BYTES + part.offset_bytes;
    match &part.content {
        FoundContent::Bytes(bytes) => disk.write(at, bytes),
        FoundContent::Zeros { bytes } => {
            let zeros = vec![0; (*bytes).min(ZEROS_BYTES) as usize];
            let mut done = 0;
            while done < *bytes {
                let now = (*bytes - done).min(ZEROS_BYTES);
                disk.write(at + done, &zeros[..now as usize])?;
                done += now;
            }
            Ok(())
        }
    }
}

pub(super) fn recover_intent<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    setup: Setup,
) -> Result<Intent, OpenError<D::Error>> {
    let drive_bytes = assembly.geometry.drive_bytes;
    let mut intent = Intent::new(assembly.uuid, drive_bytes, assembly.region_bytes, setup);
    if assembly.clean {
        // These marks are merely not cleared yet; they are, with the first block written.
        intent.rewrite();
        return Ok(intent);
    }
    let mut record = vec![0; intent.record_bytes()];
    for (drive, disk) in members(assembly, disks) {
        disk.read(INTENT_OFFSET_BYTES, &mut record).map_err(OpenError::io(drive))?;
        intent.recover(&record);
    }
    Ok(intent)
}

/// Returns the drives that get superblocks.
fn taking_part<'a, D>(
    states: &'a [MemberState],
    disks: &'a mut [Option<D>],
) -> impl Iterator<Item = (usize, &'a mut D)> {
    let present = disks.iter_mut().enumerate();
    present.filter_map(|(drive, disk)| {
        Some((drive, disk.as_mut().filter(|_| states[drive] != MemberState::Failed)?))
    })
}

/// Returns the drives that hold data.
pub(super) fn members<'a, D>(
    assembly: &Assembly,
    disks: &'a mut [Option<D>],
) -> impl Iterator<Item = (usize, &'a mut D)> + use<'a, D> {
    let absent = assembly.absent;
    let present = disks.iter_mut().enumerate();
    present.filter_map(move |(drive, disk)| {
        Some((drive, disk.as_mut().filter(|_| absent >> drive & 1 == 0)?))
    })
}

fn write_heads<'a, D: Disk>(
    disk: &mut D,
    writes: impl Iterator<Item = &'a HeadWrite>,
) -> Result<(), D::Error> {
    for write in writes {
        disk.write(write.offset_bytes, &write.bytes)?;
    }
    disk.sync()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;

    /// Offset and length of each write.
    struct Writes(Vec<(u64, usize)>);

    impl Disk for Writes {
        type Error = Infallible;

        fn size_bytes(&mut self) -> Result<u64, Infallible> {
            Ok(1 << 40)
        }

        fn read(&mut self, _: u64, into: &mut [u8]) -> Result<(), Infallible> {
            into.fill(0);
            Ok(())
        }

        fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Infallible> {
            assert!(bytes.iter().all(|&byte| byte == 0));
            assert!(self.0.len() < 10, "it does not come to its end");
            self.0.push((offset_bytes, bytes.len()));
            Ok(())
        }

        fn sync(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[test]
    fn zeros_are_written_piece_by_piece() {
        let content = FoundContent::Zeros { bytes: 2 * ZEROS_BYTES + 4096 };
        let mut disk = Writes(Vec::new());
        let Ok(()) = write_part(&mut disk, &FoundPart { offset_bytes: 8192, content });
        let (at, piece) = (HEAD_BYTES + 8192, ZEROS_BYTES as usize);
        let last = (at + 2 * ZEROS_BYTES, 4096);
        assert_eq!(disk.0, [(at, piece), (at + ZEROS_BYTES, piece), last]);
    }
}
