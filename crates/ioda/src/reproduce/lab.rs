//! Experiments of the laboratory (`lab/`): applications on file systems, over Linux's md and our
//! arrays, in virtual time.
//!
//! An experiment is one TOML file in `experiments/lab/`. Every application runs on every file
//! system and every system; each of these runs is a kernel of its own, a process on one core, and
//! its result is a JSON file that is kept under a hash of all that determines it. Claims are judged
//! as those of simulated runs are.

mod experiment;
mod job;
mod kept;
mod number;
mod place;
mod processes;
mod result;
mod show;
mod tools;
mod twice;

pub(crate) use experiment::{
    Experiment, FileSystem, System, builtin, filter, load_folder, quick, select,
};
pub(crate) use job::{Asked, Failed, Jobs, Made, jobs, make};
pub(crate) use kept::Shelf;
pub(crate) use number::LabNumber;
pub(crate) use place::Place;
pub(crate) use result::judged;
pub(crate) use show::text;
pub(crate) use tools::check as check_tools;
pub(crate) use twice::Twice;

/// How it is asked for.
pub(crate) const NAME: &str = "lab";

/// What a list of all experiments says of these.
pub(crate) const LISTED: &str = "lab: applications on file systems in the laboratory, in virtual time; only if it \
    is named\n  its experiments: ioda reproduce lab --list\n";
