//! Experiments as data: what to run, what the article says, and whether it holds here.
//!
//! An experiment is one TOML file in `experiments/`. Experiments that need the same runs share
//! them: first everything that is needed is gathered, then each workload is simulated once, and
//! what no experiment needs any more is let go. What an experiment compares are its series:
//! policies, or variants of its setup. Experiments of the laboratory ([`lab`]) are files of their own
//! kind. The comparison with the real clock is none of these, and the command has it.

pub mod beside;
mod check;
mod claim;
mod description;
mod figure;
mod filter;
mod judge;
mod junit;
mod kept;
pub mod lab;
mod memory;
mod number;
mod packed;
pub mod pages;
mod plan;
mod published;
mod runs;
mod sequence;
mod series;
pub mod statement;

pub use description::{Experiment, builtin, load_folder, select, with_seeds};
pub use figure::figure;
pub use filter::filter;
pub use judge::judge;
pub use junit::Suites;
pub use kept::KeptResults;
pub use number::Number;
pub use pages::{Judged, Page};
pub use plan::Plan;
pub use runs::{Group, How, Results, gather};
pub use sequence::{Done, Event, run};
pub use series::Series;

/// Remark on the figures of `--quick`.
pub const SMOKE: &str = "smoke run (--quick): few requests on small drives, so the figures and verdicts mean nothing for the claims";
