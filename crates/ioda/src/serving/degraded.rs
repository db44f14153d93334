//! Starts without drives that are missing: which need a word from the operator, and what is said of
//! the others.

use super::bytes::QUIET_FOR;
use engine::durability::{Doubt, DriveSet, Note};
use live::durable::{Assembly, FoundArray};
use live::storage::DriveLocation;
use study::Failure;
use study::settings::Settings;

/// A drive that the array does without.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    /// Its slot.
    pub(crate) slot: usize,
    /// Where it is, or is to be.
    pub(crate) place: String,
    /// What is the matter with it, and what to do.
    pub(crate) text: String,
}

/// Gives `found` back if it may start: its drives are all there, or nothing can be lost by starting
/// without the others, or the operator has said that it may.
pub(super) fn check(
    settings: &Settings,
    mut found: FoundArray,
    places: &[DriveLocation],
) -> Result<FoundArray, Failure> {
    if settings.serve.degraded || settings.serve.force_assembly {
        return Ok(found);
    }
    match found.doubt(QUIET_FOR).map_err(Failure::usage)? {
        None => Ok(found),
        Some(doubt) => Err(Failure::usage(refusal(doubt, found.assembly(), places))),
    }
}

fn refusal(doubt: Doubt, assembly: &Assembly, places: &[DriveLocation]) -> String {
    let level = assembly.geometry.level.name();
    match doubt {
        Doubt::Apart { away } => format!(
            "{} not found, and could be served without the others, because {level} needs no more: bring back what \
             is missing, or say --degraded if it is served nowhere else; both halves on their own would lose data",
            listed(assembly, places, away),
        ),
        Doubt::WriteHole { lost, regions } => format!(
            "{} not found, and the last end was a crash: data beside the writes of that moment may be wrong in \
             {regions} regions of {} bytes, without a journal; bring back what is missing, or say --degraded",
            listed(assembly, places, lost),
            assembly.region_bytes
        ),
    }
}

/// Drives with their places, and the verb.
fn listed(assembly: &Assembly, places: &[DriveLocation], drives: u64) -> String {
    let drives: Vec<usize> =
        DriveSet::from_bits(drives).iter().map(|drive| drive.index()).collect();
    let name = |drive: &usize| format!("drive {drive} at {}", place(assembly, places, *drive));
    let names: Vec<String> = drives.iter().map(name).collect();
    format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}

/// Where a drive is, or else the place of its number if no other drive is there.
fn place(assembly: &Assembly, places: &[DriveLocation], member: usize) -> String {
    let is_free = |place: &usize| !assembly.order.contains(&Some(*place));
    let found = assembly.order.get(member).copied().flatten();
    let place = found.or_else(|| Some(member).filter(is_free));
    let place = place.or_else(|| (0..places.len()).find(is_free));
    place.and_then(|place| places.get(place)).map_or_else(String::new, ToString::to_string)
}

/// Notes about a start besides its [`warnings`].
pub(super) fn other_notes(assembly: &Assembly) -> Vec<String> {
    let is_other = |note: &&Note| note.left_out().is_none();
    assembly.notes.iter().filter(is_other).map(ToString::to_string).collect()
}

/// One for each drive that does not hold all its data.
pub(super) fn warnings(assembly: &Assembly, places: &[DriveLocation]) -> Vec<Warning> {
    let warning = |slot: usize| {
        let place = place(assembly, places, slot);
        let text = match assembly.rebuilding >> slot & 1 {
            1 => format!(
                "DEGRADED: drive {slot} at {place} was being rebuilt, and its rebuild goes on"
            ),
            _ => {
                let mut notes = assembly.notes.iter();
                let note = notes.rfind(|note| note.left_out() == Some(slot));
                let what = note.map_or_else(|| "is not used".into(), Note::why_left_out);
                format!(
                    "DEGRADED: drive {slot} at {place} {what}; `ioda ctl replace {slot}` rebuilds it as a new drive"
                )
            }
        };
        Warning { slot, place, text }
    };
    DriveSet::from_bits(assembly.absent).iter().map(|drive| warning(drive.index())).collect()
}
