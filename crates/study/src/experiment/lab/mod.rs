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

pub use experiment::{Experiment, FileSystem, System, builtin, filter, load_folder, quick, select};
pub use job::{Asked, Failed, Jobs, Made, jobs, make};
pub use kept::Shelf;
pub use number::LabNumber;
pub use place::LabPlace;
pub use result::judged;
pub use show::text;
pub use tools::check as check_tools;
pub use twice::Twice;

/// How it is asked for.
pub const NAME: &str = "lab";

/// What a list of all experiments says of these.
pub const LISTED: &str = "lab: applications on file systems in the laboratory, in virtual time; only if it \
    is named\n  its experiments: ioda reproduce lab --list\n";
