//! Drives on the network that know IODA: which windows suit all of them, and how large guards have
//! to be (`docs/ioda-on-the-wire.md`).

use super::{Built, build};
use array::Coordination;
use live::storage::{ArrayPlace, DriveWindows, StoredDrive};
use nvme::WindowScope;
use study::Failure;
use study::settings::Settings;
use study::values::quantity::exact_duration;
use units::Duration;

/// What a guard has beside the bound of the clocks: for what is not measured, such as how late a
/// command is sent.
const GUARD_MARGIN: Duration = Duration::from_micros(100);

/// Tells the drives of their array, and has the windows follow from what they say; the array as it
/// is, if none of them knows IODA.
pub(super) fn agree(
    settings: &Settings,
    built: Built,
    drives: &mut [Option<StoredDrive>],
    notes: &mut Vec<String>,
) -> Result<Built, Failure> {
    let array = built.plan.array_description();
    let scope = built.plan.policy.about().windows.scope();
    let mut found: Vec<DriveWindows> = Vec::new();
    let mut others = 0;
    for (slot, drive) in drives.iter_mut().enumerate() {
        let Some(StoredDrive::Remote(remote)) = drive else { continue };
        let Some(ioda) = remote.facts().ioda else {
            others += 1;
            continue;
        };
        if scope == WindowScope::AllWork && !ioda.all_work {
            return Err(Failure::usage(format!(
                "policy {} wants all work that changes flash in windows, which {} cannot keep there",
                built.plan.policy.name(),
                remote.address()
            )));
        }
        let slot = slot as u16;
        let windows = remote
            .ask_windows_now(ArrayPlace { array, slot, scope })
            .map_err(|error| Failure::usage(format!("{}: {error}", remote.address())))?;
        found.extend(windows);
    }
    if found.is_empty() {
        return Ok(built);
    }
    if others > 0 {
        notes.push(format!(
            "{others} drives do not know IODA: they collect when they like, and fail no read fast"
        ));
    }
    if matches!(built.config.coordination, Coordination::Token(_) | Coordination::Synchronized(_)) {
        notes.push(
            "drives on the network cannot be given tokens: they collect when they like".into(),
        );
    }
    let bound = found.iter().map(|drive| drive.clock_bound).max().unwrap_or(Duration::ZERO);
    let guard = match &settings.windows.guard {
        Some(guard) => guard.value.0,
        None => bound + GUARD_MARGIN,
    };
    if guard < bound {
        notes.push(format!(
            "--guard is {guard}, and clocks of drives may be off by {bound}: windows may overlap"
        ));
    }
    let window = window(&found, guard);
    let mut settings = settings.clone();
    if settings.windows.guard.is_none() {
        settings.windows.guard = Some(exact_duration(guard).parse().map_err(Failure::internal)?);
    }
    if settings.array.tw.is_none() && !window.is_zero() {
        settings.array.tw = Some(exact_duration(window).parse().map_err(Failure::internal)?);
    }
    notes.push(format!(
        "{} drives know IODA: windows of {window}, guards of {guard}, clocks known to {bound}",
        found.len()
    ));
    build(&settings, Some(&built.geometry))
}

/// The least window that a drive names, and no less than what any needs.
fn window(found: &[DriveWindows], guard: Duration) -> Duration {
    let named = found.iter().map(|drive| drive.report.busy_time_window);
    let named = named.filter(|window| !window.is_zero()).min().unwrap_or(Duration::ZERO);
    let needed = found.iter().map(|drive| drive.report.advertised.shortest).max();
    named.max(needed.unwrap_or(Duration::ZERO) + guard * 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvme::wire::ioda::{CollectionActivity, WindowReport};
    use nvme::{Advertised, ArrayDescription};
    use units::Instant;

    fn drive(window_ms: u64, shortest_ms: u64) -> DriveWindows {
        let report = WindowReport {
            array: ArrayDescription { width: 4, parities: 1 },
            slot: 0,
            scope: WindowScope::Collections,
            busy_time_window: Duration::from_millis(window_ms),
            cycle_start: Instant::ZERO,
            guard: Duration::ZERO,
            now: Instant::ZERO,
            advertised: Advertised { shortest: Duration::from_millis(shortest_ms), longest: None },
            activity: CollectionActivity::default(),
        };
        DriveWindows { report, clock_bound: Duration::ZERO }
    }

    #[test]
    fn the_window_is_the_least_that_one_names_and_the_largest_that_any_needs() {
        let guard = Duration::from_millis(1);
        let millis = Duration::from_millis;
        assert_eq!(window(&[drive(100, 5), drive(80, 5)], guard), millis(80));
        assert_eq!(window(&[drive(100, 5), drive(80, 90)], guard), millis(92));
        assert_eq!(window(&[drive(0, 5)], guard), millis(7), "it names none");
    }
}
