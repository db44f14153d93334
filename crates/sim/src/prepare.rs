//! Drives in the state in which they are measured.

use crate::plan::{Plan, PlanError, Preparation};
use ssd::Ssd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use units::{Lba, Rng};

/// Drives that are prepared side by side at most: preparing waits for memory, and more cores would only
/// wait with each other.
const SIDE_BY_SIDE: usize = 8;

/// Brings the drives of `plan` into the state in which they are measured, on as many cores as there
/// are. The result depends on the drive, the width, the preparation and the seed, not on the policy, so
/// runs can share it; every drive is aged with a seed of its own, so no two collect in step.
///
/// # Errors
///
/// If the drive is impossible.
pub fn prepare_drives(plan: &Plan) -> Result<Vec<Ssd>, PlanError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(SIDE_BY_SIDE).min(plan.width as usize);
    if threads <= 1 {
        return (0..plan.width).map(|position| prepare(plan, position)).collect();
    }
    let next = AtomicU32::new(0);
    let prepared = Mutex::new(Vec::with_capacity(plan.width as usize));
    let worker = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= plan.width {
                return;
            }
            let drive = prepare(plan, position);
            prepared.lock().unwrap_or_else(PoisonError::into_inner).push((position, drive));
        }
    };
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| {
            scope.spawn(worker);
        });
    });
    let mut prepared = prepared.into_inner().unwrap_or_else(PoisonError::into_inner);
    prepared.sort_unstable_by_key(|&(position, _)| position);
    prepared.into_iter().map(|(_, drive)| drive).collect()
}

/// The drive at `position` of the array.
fn prepare(plan: &Plan, position: u32) -> Result<Ssd, PlanError> {
    let mut drive = Ssd::new(plan.drive.clone())
        .map_err(|error| PlanError::Drive { name: plan.drive.name.clone(), error })?;
    let seed = Rng::stream(plan.seed, &format!("drive {position}")).next_u64();
    match plan.preparation {
        Preparation::Steady => {
            drive.precondition(seed);
        }
        Preparation::Aged => drive.age(seed),
        Preparation::Fresh => {}
    }
    let spare = plan.spare_pages();
    if !spare.is_empty() {
        drive.forget(Lba(spare.start), (spare.end - spare.start) as u32);
        drive.reset_counters();
    }
    Ok(drive)
}
