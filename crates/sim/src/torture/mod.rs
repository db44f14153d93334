//! Torture of arrays that serve: power cuts, failing drives and administrators' orders, in every
//! sequence, under a seed and in virtual time.
//!
//! The engine, its durability and its recovery are those that serve real data; disks and clients
//! are simulated. A model has the allowed contents of every sector. Within the faults that the
//! array must bear, any loss is a [`Failure`]. Beyond them errors are right, but wrong data is
//! still a failure.

mod ahead;
mod array;
mod collecting;
mod constants;
mod coverage;
mod disk;
mod ending;
mod failure;
mod field;
mod formatting;
mod harm;
mod history;
mod living;
mod look;
mod looks;
mod memo;
mod model;
mod pages;
mod place;
mod play;
mod powered;
mod shrink;
mod sweep;
mod transition;
mod world;

pub use coverage::{ArrayState, Coverage, Event, Times};
pub use disk::Loss;
pub use failure::Failure;
pub use history::{Access, Fault, History, HistoryStep, Order, Shape, Start};
pub use play::{Coordinated, Play};
pub use shrink::{shrink, shrink_while};
pub use sweep::{Act, Case, CaseError, Cutting, Script};
pub use transition::Transition;
pub use world::Counts;

use world::World;

/// Result of a history.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Counts of its steps and effects.
    pub counts: Counts,
    /// Coverage of events, states and transitions.
    pub coverage: Coverage,
    /// Failure of the array, if any.
    pub failure: Option<Failure>,
    /// Story, line by line, if it was asked for.
    pub story: Vec<String>,
}

/// Demands on an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demands {
    /// True to lose drives in power cuts, as many as the array can miss, even where survival is not
    /// guaranteed. That is with parity that is journalled only while drives are missing
    /// ([`Journalled::Degraded`](engine::durability::Journalled::Degraded)). All other arrays must
    /// always survive it.
    pub write_hole: bool,
}

/// Lives through a history; `tells` is true to record its story.
#[must_use]
pub fn torture(history: &History, demands: Demands, tells: bool) -> Verdict {
    let (report, done) = World::new(history, demands.write_hole, tells).live(history);
    let world::Report { counts, coverage, story } = report;
    Verdict { counts, coverage, failure: done.err(), story: story.unwrap_or_default() }
}
