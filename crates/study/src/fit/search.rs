//! The search for the parameters of a drive whose modelled curve is nearest to a measured one.
//!
//! A stage sets what one part of the curve determines. Constant latencies come first, from the
//! lowest load, and the rate at saturation gives the program. Writes that stall give turns of
//! collections; others give the buffer and the time to take in a write. Latencies at saturation give
//! the slots for commands, and reads give suspension. The last stages move all parameters. A Nelder–Mead
//! search (the crate `argmin`) improves the best drive of a stage, after a grid where one is needed.
//! The same curve, drive and seed give the same result.

use crate::failure::Failure;
use crate::fit::curve::{MeasuredCurve, MeasuredLoad};
use crate::fit::distance::{Setting, distance};
use crate::fit::model::{ModelPoint, Modelling, model_rates};
use crate::fit::parameter::Parameter;
use crate::watch::Count;
use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use ssd::{Arbitration, Config, QueueConfig};
use std::cell::{Cell, RefCell};

/// Percentile of writes by which stalls are known: its index, 99.
const STALL_INDEX: usize = 2;
/// Latency in µs from which such a write has stalled.
const STALL_MICROS: f64 = 300.0;
/// Share of the rate at saturation below which writes should not stall.
const STALL_SHARE: f64 = 0.85;
/// Steps of the search for constant latencies.
const ALIGN_STEPS: u32 = 2;
/// Steps of the search for the program.
const PROGRAM_STEPS: u32 = 3;
/// Suspension before anything is known about it: most, and as shares of a program a pulse and the
/// least time between two.
const USUAL_SUSPENSION: (f64, f64, f64) = (4.0, 0.06, 0.15);
/// Most suspensions, in the grid.
const SUSPENSIONS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Lengths of a pulse, as shares of a program.
const PULSE_SHARES: [f64; 3] = [0.04, 0.1, 0.25];
/// Least times between suspensions, as shares of a program.
const APART_SHARES: [f64; 3] = [0.03, 0.12, 0.35];
/// Program units of a die in a turn of collections, in the grid.
const TURN_UNITS: [f64; 4] = [2.0, 3.0, 5.0, 8.0];
/// Least turns in the grid, as shares of the longest.
const LEAST_TURN_SHARES: [f64; 3] = [1.0, 0.3, 0.1];
/// Pages of the buffer for each die, in the grid for drives with turns.
const STALLING_BUFFERS: [f64; 4] = [12.0, 20.0, 32.0, 64.0];
/// Pages of the buffer for each die, in the grid for drives without turns.
const BUFFERS: [f64; 5] = [30.0, 36.0, 42.0, 56.0, 96.0];
/// Times to take in a write, as shares of the constant latency of a write.
const WRITE_SHARES: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// Slots of a drive that takes commands in their order, in the grid.
const DEPTHS: [u32; 5] = [24, 48, 96, 192, 384];
/// The same, as shares of the writes in flight at saturation: a few more than all.
const DEPTH_SHARES: [f64; 2] = [1.12, 1.16];
/// Slots of a drive that takes commands of submitters in turn, in the grid.
const SUBMITTERS_DEPTHS: [u32; 3] = [96, 160, 256];
/// Blocks that are erased at a time, in the grid.
const ERASE_BLOCKS: [f64; 7] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
/// Length of the loads of that grid as a multiple of the others': enough reads for p99.99.
const ERASE_LOADS: u64 = 7;

/// How long each stage searches: evaluations of Nelder–Mead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Of suspension.
    pub reads: u64,
    /// Of all together, each of two times.
    pub together: u64,
}

impl Effort {
    /// The effort of `ioda fit`.
    pub const USUAL: Self = Self { reads: 15, together: 40 };

    /// Most curves that a search models.
    pub(super) fn most_evaluations(self) -> u64 {
        let turns = TURN_UNITS.len() * STALLING_BUFFERS.len() + LEAST_TURN_SHARES.len();
        let without_turns = (BUFFERS.len() + 1) * (WRITE_SHARES.len() + 1);
        let queues = DEPTHS.len() + DEPTH_SHARES.len() + SUBMITTERS_DEPTHS.len();
        // Grids try the drive as it is as well.
        let unchanged = 7;
        let suspension = SUSPENSIONS.len() * PULSE_SHARES.len() * APART_SHARES.len();
        let grids =
            turns.max(without_turns) + 2 * (queues + suspension) + ERASE_BLOCKS.len() + unchanged;
        let constant = 2 * ALIGN_STEPS + 2 * PROGRAM_STEPS;
        grids as u64 + u64::from(constant) + self.reads + 2 * self.together
    }
}

/// Loads that a stage models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loads {
    All,
    Lowest,
    /// The highest below saturation.
    Highest,
    Saturated,
}

/// A step from one drive of a grid to another.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Change {
    Set(Parameter, f64),
    Queue(QueueConfig),
}

impl Change {
    fn apply(self, drive: &mut Config) {
        match self {
            Self::Set(parameter, value) => parameter.set(drive, value),
            Self::Queue(queue) => drive.queue = Some(queue),
        }
    }
}

/// The search.
pub(super) struct Search<'a> {
    curve: &'a MeasuredCurve,
    setting: Setting,
    modelling: Modelling,
    /// The drive before the search.
    start: Config,
    best: Config,
    evaluations: Cell<u64>,
    /// Drives that were modelled at all loads, with their distances.
    tried: RefCell<Vec<(f64, Config)>>,
    count: &'a dyn Count,
    /// What the current stage looks for.
    stage: Cell<&'static str>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        curve: &'a MeasuredCurve,
        start: &Config,
        (setting, modelling): (Setting, Modelling),
        count: &'a dyn Count,
    ) -> Self {
        let (start, best) = (start.clone(), start.clone());
        let (evaluations, stage) = (Cell::new(0), Cell::new(""));
        let tried = RefCell::default();
        Self { curve, setting, modelling, start, best, evaluations, tried, count, stage }
    }

    /// Does all stages.
    pub(super) fn run(mut self, effort: Effort) -> Result<Found, Failure> {
        self.stage.set("constant latencies");
        for change in suspension(USUAL_SUSPENSION, self.program()) {
            change.apply(&mut self.best);
        }
        self.align()?;
        self.stage.set("programs");
        self.saturate()?;
        let stalls = self.stalls();
        let reads = [Parameter::ProgramPulse, Parameter::SuspensionsApart];
        let mut together = vec![Parameter::ReadOverhead, Parameter::Program];
        together.extend(reads);
        if stalls {
            self.stage.set("turns of collections");
            self.try_grid(&self.grid_of_turns(), Loads::All)?;
            self.try_grid(&self.grid_of_queues(), Loads::All)?;
            self.try_grid(&self.grid_of_least_turns(), Loads::All)?;
            together.extend([Parameter::TurnPages, Parameter::BufferPages]);
            if Parameter::LeastTurnPages.get(&self.best) < Parameter::TurnPages.get(&self.best) {
                together.push(Parameter::LeastTurnPages);
            }
        } else {
            self.stage.set("writes");
            self.try_grid(&self.grid_of_buffers(), Loads::Highest)?;
            self.stage.set("slots for commands");
            self.try_grid(&self.grid_of_queues(), Loads::Saturated)?;
            together.extend([Parameter::BufferPages, Parameter::WriteCommand]);
        }
        self.stage.set("suspension");
        self.try_grid(&self.grid_of_suspension(), Loads::All)?;
        self.improve(&reads, effort.reads, Loads::All)?;
        self.stage.set("programs");
        self.align()?;
        self.saturate()?;
        self.improve_together(&mut together, effort.together)?;
        self.stage.set("erases");
        self.try_erases()?;
        // What was found first was found on drives that were wrong elsewhere.
        self.stage.set("slots and suspension once more");
        if !stalls {
            self.try_grid(&self.grid_of_write_times(), Loads::All)?;
        }
        self.try_grid(&self.grid_of_queues(), Loads::All)?;
        self.try_grid(&self.grid_of_suspension(), Loads::All)?;
        self.improve_together(&mut together, effort.together)?;
        self.count.end();
        let evaluations = self.evaluations.get();
        let tried = self.tried.into_inner();
        Ok(Found { drive: self.best, evaluations, set: together, tried })
    }

    /// Improves `parameters`, and the number of slots if the drive has any.
    fn improve_together(
        &mut self,
        parameters: &mut Vec<Parameter>,
        evaluations: u64,
    ) -> Result<(), Failure> {
        self.stage.set("all together");
        parameters.retain(|one| *one != Parameter::QueueDepth);
        if self.best.queue.is_some() {
            parameters.push(Parameter::QueueDepth);
        }
        self.improve(parameters, evaluations, Loads::All)
    }

    /// Whether a stage models a load.
    fn takes(&self, loads: Loads, load: &MeasuredLoad) -> bool {
        let probe = self.setting.probe_writes_per_second;
        let is_saturated = |load: &MeasuredLoad| self.curve.is_saturated(load, probe);
        match loads {
            Loads::All => true,
            Loads::Lowest => {
                self.curve.loads().first().map(|first| first.writes_per_second)
                    == Some(load.writes_per_second)
            }
            Loads::Highest => {
                let higher = self.curve.loads().iter();
                let mut higher =
                    higher.filter(|other| other.writes_per_second > load.writes_per_second);
                !is_saturated(load) && higher.all(is_saturated)
            }
            Loads::Saturated => is_saturated(load),
        }
    }

    /// Whether writes stall at loads well below saturation.
    fn stalls(&self) -> bool {
        let probe = self.setting.probe_writes_per_second;
        let saturation = self.curve.saturation(self.setting.in_flight, probe);
        let limit = saturation.estimate.unwrap_or(saturation.above) * STALL_SHARE;
        let low = self.curve.loads().iter().filter(|load| load.writes_per_second + probe < limit);
        low.filter_map(|load| load.writes.0[STALL_INDEX]).any(|latency| latency > STALL_MICROS)
    }

    /// One more curve is modelled.
    fn begin(&self) {
        if self.evaluations.get() > 0 {
            self.count.end();
        }
        self.evaluations.set(self.evaluations.get() + 1);
        self.count.begin(self.stage.get());
    }

    fn model(&self, drive: &Config, loads: Loads) -> Result<Vec<ModelPoint>, Failure> {
        self.begin();
        let taken = self.curve.loads().iter().filter(|load| self.takes(loads, load));
        let rates: Vec<f64> = taken.map(|load| load.writes_per_second).collect();
        model_rates(drive, &rates, self.modelling)
    }

    /// The distance of a drive; as good as infinite for one that cannot exist.
    fn distance_of(&self, drive: &Config, loads: Loads) -> Result<f64, Failure> {
        if drive.validate().is_err() {
            return Ok(f64::MAX.sqrt());
        }
        let distance = distance(self.curve, &self.model(drive, loads)?, self.setting);
        if loads == Loads::All {
            self.tried.borrow_mut().push((distance, drive.clone()));
        }
        Ok(distance)
    }

    /// Constant latencies as the medians of the lowest load need them.
    fn align(&mut self) -> Result<(), Failure> {
        let Some(lowest) = self.curve.loads().first().copied() else { return Ok(()) };
        for _ in 0..ALIGN_STEPS {
            let points = self.model(&self.best, Loads::Lowest)?;
            let Some(point) = points.first() else { return Ok(()) };
            let medians = [
                (Parameter::ReadOverhead, lowest.reads.0[0], point.reads.0[0]),
                (Parameter::BufferLatency, lowest.writes.0[0], point.writes.0[0]),
            ];
            for (parameter, measured, modelled) in medians {
                if let (Some(measured), Some(modelled), Some(value)) =
                    (measured, modelled, parameter.get(&self.best))
                {
                    let (least, most) = parameter.bounds(&self.start);
                    let value = (value + measured - modelled).clamp(least, most);
                    parameter.set(&mut self.best, value);
                }
            }
        }
        Ok(())
    }

    /// The program as the rate at saturation needs it.
    fn saturate(&mut self) -> Result<(), Failure> {
        let probe = self.setting.probe_writes_per_second;
        let saturation = self.curve.saturation(self.setting.in_flight, probe);
        let Some(last) = self.curve.loads().last() else { return Ok(()) };
        let wanted = saturation.estimate.unwrap_or(saturation.above);
        let (least, most) = Parameter::Program.bounds(&self.start);
        for _ in 0..PROGRAM_STEPS {
            self.begin();
            // Well beyond the limit, so that the drive is saturated.
            let rates = [last.writes_per_second.max(wanted * 1.2)];
            let points = model_rates(&self.best, &rates, self.modelling)?;
            let Some(point) = points.first() else { return Ok(()) };
            let reached = point.writes_per_second / wanted;
            let enough = saturation.estimate.is_none() && reached > 1.0;
            if enough || (reached - 1.0).abs() < 0.01 {
                break;
            }
            let Some(value) = Parameter::Program.get(&self.best) else { break };
            Parameter::Program.set(&mut self.best, (value * reached).clamp(least, most));
        }
        Ok(())
    }

    /// Time to program in µs.
    fn program(&self) -> f64 {
        Parameter::Program.get(&self.best).unwrap_or(1_000.0)
    }

    /// Suspension as it is, and all others.
    fn grid_of_suspension(&self) -> Vec<Vec<Change>> {
        let program = self.program();
        let mut grid = vec![Vec::new()];
        for most in SUSPENSIONS {
            // A single suspension has no distance to another.
            let aparts = if most == 1.0 { &APART_SHARES[..1] } else { &APART_SHARES[..] };
            for pulse in PULSE_SHARES {
                for &apart in aparts {
                    grid.push(suspension((most, pulse, apart), program).to_vec());
                }
            }
        }
        grid
    }

    fn grid_of_turns(&self) -> Vec<Vec<Change>> {
        let unit = self.best.cells.map_or(1.0, |cells| f64::from(cells.unit_pages()));
        let dies = f64::from(self.best.geometry.dies());
        let mut grid = vec![Vec::new()];
        for turn in TURN_UNITS {
            for buffer in STALLING_BUFFERS {
                grid.push(vec![
                    Change::Set(Parameter::TurnPages, turn * unit),
                    Change::Set(Parameter::BufferPages, buffer * dies),
                ]);
            }
        }
        grid
    }

    fn grid_of_least_turns(&self) -> Vec<Vec<Change>> {
        let most = Parameter::TurnPages.get(&self.best).unwrap_or(0.0);
        multiples(Parameter::LeastTurnPages, most, &LEAST_TURN_SHARES).collect()
    }

    /// Buffers with each time to take in a write: both make writes wait near the limit, and either
    /// alone may be worse than neither.
    fn grid_of_buffers(&self) -> Vec<Vec<Change>> {
        let dies = f64::from(self.best.geometry.dies());
        let times = self.grid_of_write_times();
        let buffers = multiples(Parameter::BufferPages, dies, &BUFFERS);
        let with_times = buffers.flat_map(|buffer| {
            times.iter().map(move |time| [buffer.clone(), time.clone()].concat())
        });
        with_unchanged(with_times)
    }

    /// The time to take in a write as it is, and others, as shares of the constant latency of a write.
    fn grid_of_write_times(&self) -> Vec<Vec<Change>> {
        let parts = [Parameter::BufferLatency, Parameter::WriteCommand];
        let constant = parts.iter().filter_map(|part| part.get(&self.best)).sum();
        let times = multiples(Parameter::WriteCommand, constant, &WRITE_SHARES);
        with_unchanged(times)
    }

    fn grid_of_queues(&self) -> Vec<Vec<Change>> {
        let queue = |depth, arbitration| vec![Change::Queue(QueueConfig { depth, arbitration })];
        let shares = DEPTH_SHARES.map(|share| (share * self.setting.in_flight) as u32);
        let in_order = DEPTHS.into_iter().chain(shares);
        let in_order = in_order.map(|depth| queue(depth, Arbitration::OneQueue));
        let in_turn = SUBMITTERS_DEPTHS.map(|depth| queue(depth, Arbitration::Submitters));
        with_unchanged(in_order.chain(in_turn))
    }

    /// Sets the blocks that are erased at a time by the reads that wait for them, about one in ten
    /// thousand.
    fn try_erases(&mut self) -> Result<(), Failure> {
        let grid = with_unchanged(multiples(Parameter::EraseBlocks, 1.0, &ERASE_BLOCKS));
        let usual = self.modelling;
        self.modelling.measured = usual.measured * ERASE_LOADS;
        let tried = std::mem::take(&mut self.tried);
        let result = self.try_grid(&grid, Loads::All);
        self.modelling = usual;
        // Distances of longer loads are others.
        self.tried = tried;
        result
    }

    /// Keeps the nearest drive of a grid.
    fn try_grid(&mut self, grid: &[Vec<Change>], loads: Loads) -> Result<(), Failure> {
        let base = self.best.clone();
        let mut nearest = (f64::INFINITY, base.clone());
        for point in grid {
            let mut drive = base.clone();
            for change in point {
                change.apply(&mut drive);
            }
            let distance = self.distance_of(&drive, loads)?;
            if distance < nearest.0 {
                nearest = (distance, drive);
            }
        }
        self.best = nearest.1;
        Ok(())
    }

    /// Improves the best drive by `parameters` in at most `evaluations`.
    fn improve(
        &mut self,
        parameters: &[Parameter],
        evaluations: u64,
        loads: Loads,
    ) -> Result<(), Failure> {
        let present: Vec<Parameter> =
            parameters.iter().copied().filter(|one| one.get(&self.best).is_some()).collect();
        let bounds: Vec<_> = present.iter().map(|one| one.bounds(&self.start)).collect();
        let first: Vec<f64> = present
            .iter()
            .zip(&bounds)
            .map(|(one, bounds)| {
                let value = one.get(&self.best).unwrap_or(bounds.0);
                value.clamp(bounds.0, bounds.1).ln()
            })
            .collect();
        let mut simplex = vec![first.clone()];
        for index in 0..first.len() {
            let mut corner = first.clone();
            // A fifth more, or less where that is beyond the bounds.
            let step = if corner[index] + 0.2 > bounds[index].1.ln() { -0.2 } else { 0.2 };
            corner[index] += step;
            simplex.push(corner);
        }
        let (_, nearest) = {
            let problem = Problem {
                search: self,
                parameters: &present,
                bounds: &bounds,
                loads,
                nearest: RefCell::new((f64::INFINITY, self.best.clone())),
                left: Cell::new(evaluations),
                failure: RefCell::new(None),
            };
            let solver = NelderMead::new(simplex)
                .with_sd_tolerance(1e-4)
                .map_err(|error| Failure::internal(format!("the search cannot begin: {error}")))?;
            let ended = Executor::new(&problem, solver)
                .configure(|state| state.max_iters(evaluations))
                .run()
                .map(drop)
                .map_err(|error| Failure::internal(format!("the search ended early: {error}")));
            problem.failure.into_inner().map_or(ended, Err)?;
            problem.nearest.into_inner()
        };
        self.best = nearest;
        Ok(())
    }
}

/// Suspension as [`USUAL_SUSPENSION`] spells it, for programs of `program` µs.
fn suspension((most, pulse, apart): (f64, f64, f64), program: f64) -> [Change; 3] {
    [
        Change::Set(Parameter::Suspensions, most),
        Change::Set(Parameter::ProgramPulse, pulse * program),
        Change::Set(Parameter::SuspensionsApart, apart * program),
    ]
}

/// A grid of the drive as it is, and of `changes`.
fn with_unchanged(changes: impl Iterator<Item = Vec<Change>>) -> Vec<Vec<Change>> {
    std::iter::once(Vec::new()).chain(changes).collect()
}

/// Points of a grid in which a parameter is `unit` times each of `factors`.
fn multiples(
    parameter: Parameter,
    unit: f64,
    factors: &[f64],
) -> impl Iterator<Item = Vec<Change>> {
    factors.iter().map(move |factor| vec![Change::Set(parameter, factor * unit)])
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) drive: Config,
    pub(super) evaluations: u64,
    /// Parameters of the last stage.
    pub(super) set: Vec<Parameter>,
    /// Drives that were modelled at all loads, with their distances.
    pub(super) tried: Vec<(f64, Config)>,
}

/// A stage, as the optimiser sees it: natural logarithms of parameters in, a distance out.
struct Problem<'a, 'b> {
    search: &'a Search<'b>,
    parameters: &'a [Parameter],
    bounds: &'a [(f64, f64)],
    loads: Loads,
    nearest: RefCell<(f64, Config)>,
    /// Curves that the stage may still model.
    left: Cell<u64>,
    failure: RefCell<Option<Failure>>,
}

impl CostFunction for &Problem<'_, '_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logarithms: &Vec<f64>) -> Result<f64, Error> {
        // An iteration models several curves, and the limit is in curves.
        if self.left.get() == 0 {
            return Ok(f64::MAX.sqrt());
        }
        self.left.set(self.left.get() - 1);
        let mut drive = self.search.best.clone();
        let mut outside = 0.0;
        for ((parameter, bounds), value) in self.parameters.iter().zip(self.bounds).zip(logarithms)
        {
            let (least, most) = (bounds.0.ln(), bounds.1.ln());
            let inside = value.clamp(least, most);
            outside += (value - inside).abs();
            parameter.set(&mut drive, inside.exp());
        }
        match self.search.distance_of(&drive, self.loads) {
            Ok(distance) => {
                let mut nearest = self.nearest.borrow_mut();
                if distance < nearest.0 {
                    *nearest = (distance, drive);
                }
                Ok(distance + outside)
            }
            Err(failure) => {
                let error = Error::msg(failure.to_string());
                *self.failure.borrow_mut() = Some(failure);
                Err(error)
            }
        }
    }
}
