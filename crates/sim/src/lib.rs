//! The virtual clock: the same drives and the same array that serve live data, driven as fast as
//! the processor allows.
//!
//! Knows: one run (a plan, a workload, a result), many runs in parallel, latency and the cause of
//! every delay, verified runs that carry a tag in every page. Does not know: sockets, files,
//! arguments, the display of results.
//!
//! A run is single-threaded and its result depends on the plan, the workload and the seed alone;
//! [`RunResult::hash`] is the same on every machine and with any number of threads.

mod bench;
mod bench_loading;
mod bench_policy;
mod bench_waiting;
mod burst;
mod busy_members;
mod calibration;
mod causes;
mod compare;
mod degraded;
mod difference;
mod driver;
mod error;
mod faults;
mod feed;
mod free_space;
mod intervals;
mod latency;
mod load_curve;
mod measures;
mod overwrite;
mod plan;
mod pool;
mod pooled;
mod prepare;
mod progress;
mod requests;
mod result;
mod returned_busy;
mod stalled_reads;
#[cfg(feature = "serde")]
mod stored;
mod story;
mod sub_reads;
mod timeline;
pub mod torture;
mod verify;
mod watch;
mod windows;

pub use bench::{BenchResult, Copies, bench_array, bench_drive, with_every_feature};
pub use bench_loading::{TraceTime, bench_preparation, bench_trace};
pub use bench_policy::{PolicyTime, bench_policies};
pub use bench_waiting::bench_waiting;
pub use burst::{AtRest, Burst, BurstResult, breaks_contract, burst, longest_simulated_window};
pub use calibration::{
    CacheCalibration, Calibration, DEPTH as CALIBRATION_DEPTH, SEQUENTIAL_DEPTH, calibrate,
};
pub use causes::{CauseBuckets, CauseSplit};
pub use compare::{Listeners, RequestSink, ResultSink, memory_bytes, run_all, run_all_watched};
pub use degraded::{Degraded, Rebuild};
pub use difference::{Compared, Difference, Side, first_difference};
pub use driver::{run, run_bounded, run_recorded, run_with_faults};
pub use error::SimError;
pub use faults::Fault;
pub use free_space::FreeSpaceTrend;
pub use intervals::{
    BlockLatencies, Blocks, FEWEST_ABOVE, FEWEST_BLOCKS, FEWEST_BLOCKS_ABOVE, HostBlocks, Interval,
    NoInterval, Resampled,
};
pub use latency::{LatencySummary, PERCENTILES, percentile_of_each};
pub use load_curve::{CurveLoad, CurvePoint, LoadedDrive};
pub use plan::{Measured, OtherDriveError, Plan, PlanError, Preparation};
pub use pool::{cores, each_side_by_side, side_by_side};
pub use prepare::prepare_drives;
pub use progress::{Progress, RunProgress};
pub use requests::{REQUESTS_AT_ONCE, RequestColumns, RequestRecord};
pub use result::{BlockedReads, DriveResult, HostLatency, RunResult};
pub use stalled_reads::StalledReads;
pub use story::{
    Activity, Explained, Lane, PathSums, Segment, Sentence, Span, Story, StoryPlace, explain,
    slowest,
};
pub use sub_reads::SubReads;
pub use timeline::{Band, FREE_INTERVAL, P99_INTERVAL, Timeline, TimelineConfig, TimelinePoint};
pub use verify::Mismatch;
pub use windows::{Coordinate, WindowError, WindowPlan};

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
