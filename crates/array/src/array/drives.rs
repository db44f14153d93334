//! Drives that fail and are replaced, and what the others may do meanwhile.

use super::{Array, background, judging};
use crate::action::Action;
use crate::action::JobKind;
use crate::availability::CannotReplace;
use crate::event::Event;
use alloc::vec::Vec;
use core::ops::Range;
use units::{DriveId, Instant, Observe};

/// Gives a drive up, unless it is absent or there is none.
pub(super) fn fail<O: Observe>(array: &mut Array<O>, now: Instant, drive: DriveId) {
    let is_there = u32::from(drive.0) < array.layout.width();
    if !is_there || !array.availability.drive_failed(drive) {
        return;
    }
    array.jobs.cancel_rebuild(drive);
    if let Some(trust) = array.rules.trust_mut() {
        trust.drive_failed(now, drive);
        judging::tell_verdicts(array, now);
    }
    array.out.emit_event(now, || Event::DriveFailed { drive });
    array.out.emit(Action::DriveFailed { drive });
    note_missing(array, now);
    array.answer_for_absent(now);
    array.abandon_cache(now, drive);
    background::pump(array, now);
    array.refresh_deadline();
}

/// Begins to rebuild a drive that lacks these stripes.
pub(super) fn replace<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    drive: DriveId,
    stripes: impl IntoIterator<Item = Range<u64>>,
) -> Result<(), CannotReplace> {
    can_replace(array, drive)?;
    let all = array.layout.stripes();
    let stripes = stripes.into_iter().map(|Range { start, end }| start.min(all)..end.min(all));
    let stripes = array.availability.drive_replaced(drive, stripes);
    array.permits.drive_replaced(drive);
    if let Some(trust) = array.rules.trust_mut() {
        trust.drive_replaced(drive);
    }
    array.emit_notices(now);
    array.add_job(now, JobKind::Rebuild(drive), stripes);
    Ok(())
}

/// Begins to rebuild a drive that lacks these stripes, and those at work: they began without it.
pub(super) fn take_back<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    drive: DriveId,
    stripes: impl IntoIterator<Item = Range<u64>>,
) -> Result<(), CannotReplace> {
    let at_work: Vec<Range<u64>> =
        array.stripes.at_work().map(|stripe| stripe..stripe + 1).collect();
    replace(array, now, drive, stripes.into_iter().chain(at_work))
}

pub(super) fn can_replace<O: Observe>(
    array: &Array<O>,
    drive: DriveId,
) -> Result<(), CannotReplace> {
    let width = array.layout.width();
    if u32::from(drive.0) >= width {
        return Err(CannotReplace::NoSuchDrive { drive, width });
    }
    if !array.availability.is_absent(drive) {
        return Err(CannotReplace::Present { drive });
    }
    if array.commands.queues().of(drive).blocks() > 0 {
        return Err(CannotReplace::StillBusy { drive });
    }
    Ok(())
}

/// A drive has failed or is distrusted, or a rebuild has ended: fewer or more of the others may be
/// busy at once. Whom the array distrusts counts as long as that leaves a parity for the windows.
/// With none left a slow drive can still be waited for, so it counts only where the others give way
/// to reads all the better without windows.
pub(super) fn note_missing<O: Observe>(array: &mut Array<O>, now: Instant) {
    let incomplete = array.availability.incomplete();
    let with_distrusted = incomplete | array.rules.distrusted();
    let parities = array.layout.parities();
    let spare = if array.permits.can_do_without_turns() { 0 } else { 1 };
    let missing = match with_distrusted.len() + spare <= parities {
        true => with_distrusted,
        false => incomplete,
    };
    if array.permits.set_missing(now, missing) {
        array.emit_notices(now);
        array.refresh_deadline();
    }
}
