//! Many runs that are kept one by one, so that they can be interrupted: surveys, sweeps and reproductions.
//!
//! A [`Job`] is one run and knows by its key whether it was made before. [`Journal`] keeps what
//! came of jobs in `runs.jsonl`, and [`run`] makes those that it does not have, several side by
//! side on drives that are prepared once. A [`Shard`] is a part of the jobs, and [`merge()`] puts
//! what came of the parts together.

mod command;
mod execute;
mod file;
mod job;
mod journal;
mod merge;
mod packed;
mod shard;
mod shelf;

pub use command::{end, end_shard, part, say_found, say_found_in, write};
pub use execute::{make, run};
pub use job::{Ended, Job, Subject, digits, key};
pub use journal::{Journal, Kept};
pub use merge::{Merged, merge};
pub use packed::Packed;
pub use shard::Shard;
pub use shelf::Shelf;
