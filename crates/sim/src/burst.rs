//! Test of the window formula: is it right, and how tight is it? One drive is put under a burst of
//! one cycle.
//!
//! Writes reach the drives of an array evenly, so one drive with the schedule of an array
//! represents all of them. The burst begins at the worst moment, when the busy window has just
//! ended and the drive is idle. It lasts for one cycle: the predictable part and the next busy
//! window. The formula is about such a cycle (IODA §4.3.2, "a full cycle").

use crate::plan::PlanError;
use nvme::{ArrayDescription, CollectionRight, Command, CommandId, Opcode, PlFlag, WindowSchedule};
use ssd::{Counters, Ssd};
use units::{Duration, Instant, Lba, Rng};

/// A burst of writes on one drive of an array.
#[derive(Clone, Debug)]
pub struct Burst {
    /// The drive.
    pub drive: ssd::Config,
    /// Its array.
    pub array: ArrayDescription,
    /// Busy time window.
    pub busy_time_window: Duration,
    /// Guard at both ends of each window.
    pub guard: Duration,
    /// Bytes written per second.
    pub bytes_per_second: f64,
    /// Length of the burst, in cycles.
    pub cycles: u32,
    /// Seed of the addresses and of the drive's state.
    pub seed: u64,
}

/// Result of a burst.
#[derive(Clone, Copy, Debug)]
pub struct BurstResult {
    /// Totals of the drive during the burst.
    pub counters: Counters,
    /// Bytes written per second; less than requested if the flash cannot program that fast.
    pub written_bytes_per_second: f64,
}

impl BurstResult {
    /// Returns true if the contract held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.counters.contract_violations == 0
    }
}

/// An idle aged drive, from which bursts start. Aging is the slow part, so it is done once.
#[derive(Clone, Debug)]
pub struct AtRest(Ssd);

impl AtRest {
    /// Prepares a drive in its steady state.
    ///
    /// # Errors
    ///
    /// If the drive is impossible.
    pub fn new(drive: &ssd::Config, seed: u64) -> Result<Self, PlanError> {
        let name = drive.name.clone();
        let mut ssd = Ssd::new(drive.clone()).map_err(|error| PlanError::Drive { name, error })?;
        ssd.age(seed);
        Ok(Self(ssd))
    }
}

/// Runs a burst on a drive that was made of `burst.drive`.
#[must_use]
pub fn burst(at_rest: &AtRest, burst: &Burst) -> BurstResult {
    run(at_rest, burst, false)
}

/// Returns true if a burst breaks the contract. Runs as [`burst`] does, and stops at the first
/// violation.
#[must_use]
pub fn breaks_contract(at_rest: &AtRest, burst: &Burst) -> bool {
    !run(at_rest, burst, true).holds()
}

fn run(at_rest: &AtRest, burst: &Burst, until_broken: bool) -> BurstResult {
    let mut drive = at_rest.0.clone();
    let schedule = WindowSchedule {
        array: burst.array,
        busy_time_window: burst.busy_time_window,
        cycle_start: Instant::ZERO,
        not_before: Instant::ZERO,
        guard: burst.guard,
    };
    let predictable = schedule.cycle().saturating_sub(burst.busy_time_window);
    let schedule = WindowSchedule { cycle_start: Instant::ZERO + predictable, ..schedule };
    drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
    let end = Instant::ZERO + schedule.cycle() * u64::from(burst.cycles);
    let page_bytes = f64::from(burst.drive.geometry.page_bytes);
    let interval_nanos = page_bytes / burst.bytes_per_second * 1e9;
    let blocks = drive.logical_blocks();
    let mut rng = Rng::stream(burst.seed, "burst");
    let mut id = 0;
    loop {
        let at = Instant::from_nanos((f64::from(id) * interval_nanos) as u64);
        let broken = until_broken && drive.counters().contract_violations > 0;
        if at >= end || broken {
            break;
        }
        let lba = Lba(rng.below(blocks));
        let (opcode, pl) = (Opcode::Write, PlFlag::Off);
        drive.handle_command(at, &Command { id: CommandId(id), opcode, lba, blocks: 1, pl });
        while drive.poll_completion().is_some() {}
        id += 1;
    }
    drive.handle_deadline(end);
    let counters = *drive.counters();
    let written = counters.host_programs_pages as f64 * page_bytes;
    BurstResult {
        counters,
        written_bytes_per_second: written / end.since(Instant::ZERO).as_secs_f64(),
    }
}

/// Returns the longest busy window, to 2 %, with which `plan` does not break the contract: the
/// bound that the formula approximates.
///
/// # Panics
///
/// If the burst writes nothing.
#[must_use]
pub fn longest_simulated_window(at_rest: &AtRest, plan: &Burst) -> Duration {
    const PRECISION: f64 = 1.02;
    const STEP: f64 = 1.4;
    assert!(plan.bytes_per_second > 0.0, "a burst of nothing has no bound");
    let holds = |window: Duration| {
        !breaks_contract(at_rest, &Burst { busy_time_window: window, ..plan.clone() })
    };
    let scaled = |window: Duration, by: f64| {
        Duration::from_nanos(((window.as_nanos() as f64 * by) as u64).max(1))
    };
    let parameters = plan.drive.window_parameters();
    let mut low = parameters.safe_window(plan.array, plan.bytes_per_second, plan.guard);
    // Windows below a microsecond are not tried.
    while low > Duration::from_micros(1) && !holds(low) {
        low = scaled(low, 1.0 / STEP);
    }
    let mut high = scaled(low, STEP);
    while holds(high) {
        low = high;
        high = scaled(high, STEP);
    }
    while high.as_nanos() as f64 > low.as_nanos() as f64 * PRECISION {
        let middle = scaled(low, (high.as_nanos() as f64 / low.as_nanos() as f64).sqrt());
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}
