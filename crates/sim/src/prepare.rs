//! Preparation of drives to the state in which they are measured.

use crate::overwrite::overwrite;
use crate::plan::{Plan, PlanError, Preparation};
use crate::pool::{cores, side_by_side};
use ssd::Ssd;
use units::{DriveId, Lba, Rng};

/// Most drives that are prepared in parallel: preparation waits for memory, and more cores would
/// only compete for it.
const SIDE_BY_SIDE: usize = 8;

/// Brings the drives of `plan` into the state in which they are measured, on all cores. The result
/// depends on the drive, the array, the preparation and the seed. Runs under several policies share
/// the drives. Every drive is aged with a seed of its own, so no two collect in step, unless the
/// plan has fewer ages than drives (IODA §4.2.2).
///
/// # Errors
///
/// If the drive is impossible.
pub fn prepare_drives(plan: &Plan) -> Result<Vec<Ssd>, PlanError> {
    let prepared = prepare_unless(plan, cores(), || false)?;
    Ok(prepared.unwrap_or_else(|| unreachable!("nobody stops it")))
}

/// Prepares as [`prepare_drives`] does, on at most `threads` threads; a single one is the caller's
/// own. `None` if `is_stopped` returned true before the last drive was begun.
pub(crate) fn prepare_unless(
    plan: &Plan,
    threads: usize,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<Option<Vec<Ssd>>, PlanError> {
    let threads = threads.min(SIDE_BY_SIDE).min(plan.width as usize);
    let prepared = side_by_side(threads, plan.width as usize, |position| {
        (!is_stopped()).then(|| prepare(plan, position as u32)).transpose()
    });
    let prepared: Result<Option<Vec<Ssd>>, PlanError> = prepared.into_iter().collect();
    let Some(mut drives) = prepared? else { return Ok(None) };
    if let Preparation::Load(source) = &plan.preparation {
        let seed = Rng::stream(plan.seed, "before").next_u64();
        let requests = source.before(seed, plan.capacity_bytes()?)?;
        if !overwrite(plan, &mut drives, requests, threads, is_stopped)? {
            return Ok(None);
        }
    }
    Ok(Some(drives))
}

/// Prepares the drive at `position` of the array.
fn prepare(plan: &Plan, position: u32) -> Result<Ssd, PlanError> {
    let config = plan.drive_at(DriveId(position as u8));
    let mut drive = Ssd::new(config.clone())
        .map_err(|error| PlanError::Drive { name: config.name.clone(), error })?;
    let age = plan.ages.map_or(position, |ages| position % ages.max(1));
    let seed = Rng::stream(plan.seed, &format!("drive {age}")).next_u64();
    match &plan.preparation {
        Preparation::Steady => {
            drive.precondition(seed);
        }
        Preparation::Aged | Preparation::Load(_) => drive.age(seed),
        Preparation::Fresh => {}
    }
    let spare = plan.first_spare_page()..drive.logical_blocks();
    if !spare.is_empty() {
        drive.forget(Lba(spare.start), (spare.end - spare.start) as u32);
        drive.reset_counters();
    }
    Ok(drive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{OtherDriveError, small};
    use array::policy::PolicyKind;
    use workload::{Rw, Source, Synthetic};

    fn plan(preparation: Preparation) -> Plan {
        let mut plan = Plan { width: 3, ..small(PolicyKind::BASE, preparation) };
        plan.drive.geometry.pages_per_block = 16;
        plan
    }

    /// Places of the pages of all drives.
    fn places(drives: &[Ssd]) -> Vec<Option<u32>> {
        drives
            .iter()
            .flat_map(|drive| (0..drive.logical_blocks()).map(|lba| drive.flash_page(Lba(lba))))
            .collect()
    }

    #[test]
    fn drives_that_have_served_a_load_are_the_same_on_any_number_of_threads() {
        let hot = Synthetic { rw: Rw::RandWrite, size: 1 << 20, ..Synthetic::default() };
        let served = plan(Preparation::Load(Box::new(Source::from(hot))));
        let prepared = |threads| prepare_unless(&served, threads, || false).unwrap().unwrap();
        let drives = prepared(1);
        drives.iter().for_each(Ssd::check_invariants);
        assert_eq!(places(&drives), places(&prepared(3)));
        let aged = prepare_drives(&plan(Preparation::Aged)).unwrap();
        let two_ages = Plan { ages: Some(2), ..plan(Preparation::Aged) };
        let alike = prepare_drives(&two_ages).unwrap();
        assert_eq!(places(&alike[0..2]), places(&aged[0..2]));
        assert_eq!(places(&alike[2..3]), places(&aged[0..1]));
        assert_ne!(places(&drives), places(&aged));
        assert!(drives.iter().all(|drive| drive.counters().host_programs_pages == 0));
        assert!(prepare_unless(&served, 1, || true).unwrap().is_none());
    }

    #[test]
    fn a_drive_of_another_model_has_its_place_and_must_fit() {
        let mut mixed = plan(Preparation::Aged);
        let mut other = mixed.drive.clone();
        other.timing.program = other.timing.program * 3;
        let one = |place, drive: &ssd::Config| vec![(DriveId(place), drive.clone())];
        mixed.other_drives = one(2, &other);
        let drives = prepare_drives(&mixed).unwrap();
        let programs: Vec<_> = drives.iter().map(|drive| drive.config().timing.program).collect();
        assert_eq!(
            programs,
            [mixed.drive.timing.program, mixed.drive.timing.program, other.timing.program]
        );

        let refused = |others| {
            let plan = Plan { other_drives: others, ..plan(Preparation::Aged) };
            match plan.layout().unwrap_err() {
                PlanError::OtherDrive { why, .. } => why,
                error => panic!("{error}"),
            }
        };
        assert_eq!(refused(one(3, &other)), OtherDriveError::NoPlace { last: 2 });
        assert_eq!(refused([one(1, &other), one(1, &other)].concat()), OtherDriveError::Taken);
        let mut small = other.clone();
        small.geometry.pages_per_block -= 4;
        assert!(matches!(refused(one(1, &small)), OtherDriveError::Small { .. }));
        let mut page = other.clone();
        page.geometry.page_bytes *= 2;
        assert!(matches!(refused(one(1, &page)), OtherDriveError::Page { .. }));
    }

    #[test]
    fn what_a_larger_drive_has_more_is_unused() {
        let mut mixed = plan(Preparation::Aged);
        let mut large = mixed.drive.clone();
        large.geometry.blocks_per_plane += 8;
        mixed.other_drives = vec![(DriveId(1), large)];
        let drives = prepare_drives(&mixed).unwrap();
        let used = mixed.drive.logical_pages();
        assert!(drives[1].logical_blocks() > used);
        assert!(drives[1].flash_page(Lba(used - 1)).is_some());
        assert!(drives[1].flash_page(Lba(used)).is_none());
    }
}
