//! Requests of a host to an array: traces from files, generators, presets from the papers.
//!
//! Knows: trace formats, statistics, transforms, random arrivals, sizes and addresses. Does not
//! know: drives, arrays, policies, clocks. Everything here is an iterator of [`Request`]; its
//! driver decides when the simulated time of a request has come.
//!
//! - [`TraceReader`] streams a trace file of any [`Format`], detected or given.
//! - [`Trace`] is such a file, parsed once and kept in memory for all replays.
//! - [`Merge`] delivers the requests of several such files in order of time.
//! - [`Statistics`] describes a stream of requests in one pass.
//! - [`Transform`] re-rates, resizes, folds, fits, cuts and repeats, and counts its changes.
//! - [`Synthetic`] generates in fio's vocabulary; [`presets`] after Table 3 of the IODA paper.
//! - [`Source`] is any of the three, and [`TraceWriter`] writes a stream back to a file.

mod before;
mod error;
mod generate;
mod request;
mod source;
mod statistics;
mod trace;
mod transform;
mod write;

#[doc(hidden)]
pub mod fuzz;

pub use before::Before;
pub use error::{LineProblem, OptionError, TraceError, WorkloadError};
pub use generate::{
    Arrival, BlockSizes, Bursts, Generator, HotPlaces, IoDepth, MEAN_BURST, PRESET_ZIPF_THETA,
    Phase, Preset, PresetSource, RandomDistribution, RateProcess, Room, Rw, SizeRange, Synthetic,
    WITHIN_BURST_RATIO, Zipf, parse_duration, parse_runtime, parse_size, preset, presets,
};
pub use request::{Op, Request};
pub use source::{Source, TraceSource, Workload};
pub use statistics::{DeviceExtent, PAGE_BYTES, Statistics};
pub use trace::{
    Align, BlkparseEvent, ColumnMap, Compression, Counts, Detected, FileIdentity, Format, Gap,
    Gaps, HELD_REQUESTS_MOST, Keep, Merge, MergeOptions, Merged, ReadOptions, SkipReason, TimeUnit,
    Trace, TraceClock, TraceReader, TraceRequests,
};
pub use transform::{
    Cut, DropReason, Fit, Fold, Replayed, Resize, Transform, Transformed, parse_factor,
};
pub use write::{TraceWriter, WriteFormat};

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
