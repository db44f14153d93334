//! How drives behave in time.

use super::Built;
use engine::Drive;
use live::durable::{Assembly, ftl};
use std::path::Path;
use study::Failure;
use units::DriveId;

/// What the map of an emulated drive was at the last clean end; none after a crash.
pub(super) fn state_of(
    path: &Path,
    assembly: &Assembly,
    drive: DriveId,
    notes: &mut Vec<String>,
) -> Option<Vec<u8>> {
    let owner = ftl::Owner { uuid: assembly.uuid, drive, generation: assembly.end_generation() };
    match ftl::take(path, &owner) {
        Ok(state) => state,
        Err(error) => {
            notes.push(error.to_string());
            None
        }
    }
}

/// The drives: emulated ones as they were, or else prepared as is asked for.
pub(super) fn models(built: &Built, states: Vec<Option<Vec<u8>>>) -> Result<Vec<Drive>, Failure> {
    if built.plain {
        return Ok(states.iter().map(|_| Drive::Plain).collect());
    }
    let mut models = Vec::with_capacity(states.len());
    if states.iter().all(Option::is_some) {
        for (place, state) in (0..).map(DriveId).zip(states.iter().flatten()) {
            let restored = ssd::Ssd::restore(built.plan.drive_at(place).clone(), state);
            let ssd = restored.map_err(|error| Failure::data(error.to_string()))?;
            models.push(Drive::emulated(ssd));
        }
        return Ok(models);
    }
    let prepared = sim::prepare_drives(&built.plan)?;
    for (place, (mut ssd, state)) in (0..).map(DriveId).zip(prepared.into_iter().zip(states)) {
        if let Some(state) = state
            && let Ok(restored) = ssd::Ssd::restore(built.plan.drive_at(place).clone(), &state)
        {
            ssd = restored;
        }
        models.push(Drive::emulated(ssd));
    }
    Ok(models)
}
