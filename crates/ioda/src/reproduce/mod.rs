//! Experiments as data: what to run, what the article says, and whether it holds here.
//!
//! An experiment is one TOML file in `experiments/`. Experiments that need the same runs share
//! them: first everything that is needed is gathered, then each workload is simulated once, and
//! what no experiment needs any more is let go. What an experiment compares are its series:
//! policies, or variants of its setup. The one experiment that is not a file there is [`live`],
//! which needs a real clock; those of the laboratory ([`lab`]) are files of their own kind.

mod check;
mod claim;
mod experiment;
mod figure;
mod filter;
mod judge;
mod junit;
mod kept;
pub(crate) mod lab;
pub(crate) mod live;
mod number;
pub(crate) mod pages;
mod plan;
mod runs;
mod sequence;
mod series;

pub(crate) use experiment::{Experiment, builtin, load_folder, select, with_seeds};
pub(crate) use figure::figure;
pub(crate) use filter::filter;
pub(crate) use judge::judge;
pub(crate) use junit::Suites;
pub(crate) use kept::KeptResults;
pub(crate) use number::Number;
pub(crate) use pages::{Judged, Page};
pub(crate) use plan::Plan;
pub(crate) use runs::{Group, How, Results, gather};
pub(crate) use sequence::{Done, Event, run};
pub(crate) use series::Series;

/// Remark on the figures of `--quick`.
pub(crate) const SMOKE: &str = "smoke run (--quick): few requests on small drives, so the figures and verdicts mean nothing for the claims";
