//! Arrays that serve, tortured: power cuts, failing drives and orders by people, in every sequence,
//! under a seed and in virtual time.
//!
//! The engine, its durability and its recovery are those that serve real data; disks and clients
//! are simulated. A model knows what every sector may hold. Within what the array promises to bear,
//! any loss is a [`Failure`]; beyond it errors are right, and wrong data is still a failure.

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

/// What came of a history.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What was done in it.
    pub counts: Counts,
    /// What met what.
    pub coverage: Coverage,
    /// What the array did wrong, if it did.
    pub failure: Option<Failure>,
    /// What happened, line by line, if that was asked for.
    pub story: Vec<String>,
}

/// What is demanded of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demands {
    /// Drives may be lost in the moment in which the power goes, as many as the array can miss,
    /// also where nobody promises that: with parity that is journalled only while drives are
    /// missing ([`Journalled::Degraded`](engine::durability::Journalled::Degraded)). Of all other
    /// arrays it is always demanded.
    pub write_hole: bool,
}

/// Lives through a history; `tells`: and notes what happens.
#[must_use]
pub fn torture(history: &History, demands: Demands, tells: bool) -> Verdict {
    let (report, done) = World::new(history, demands.write_hole, tells).live(history);
    let world::Report { counts, coverage, story } = report;
    Verdict { counts, coverage, failure: done.err(), story: story.unwrap_or_default() }
}
