//! Turns the results of a comparison into a terminal table, JSON, fio's JSON and one HTML page.
//!
//! Knows: the document that describes a comparison ([`Comparison`]) and how to show it. Does not
//! know: how the numbers came about. Of the other rooms of the project it uses `statistics`
//! alone. It reads no clock and writes no file; every function takes a document and returns a
//! string.

mod assertions;
mod causes;
mod costs;
mod degraded;
mod document;
mod format;
mod hosts;
mod intervals;
mod layouts;
mod markdown;
mod summary;
mod windows;
mod wrap;

pub mod fio;
pub mod fit;
pub mod html;

pub mod json;
pub mod lab;
pub mod published;
pub mod schema;
pub mod seeds;
pub mod statements;
pub mod story;
pub mod survey;
pub mod sweep;
pub mod table;
pub mod violation;

pub use assertions::{Assertion, Verdict};
/// The mark behind the name of a policy that needs firmware which its drives lack.
pub const FIRMWARE_MARK: char = '†';

pub use document::{
    Band, BlockedReads, BufferCounters, CauseSplit, Claim, ClaimKind, ClaimNumber, Comparison,
    Degraded, DegradedContract, DriveSummary, HedgeCounters, HostLatency, Latency, LatencyRatio,
    LearntMedian, LearntStalls, LearntTrigger, Manifest, Percentile, ProgrammedWindow,
    RainCounters, Rebuild, Run, Side, Slowest, Tally, Timeline, TimelinePoint, WriteCacheCounters,
};
pub use summary::{Finding, Weight, findings};
pub use windows::{AskedLoad, WindowCurve, WindowReport};

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The invented documents of all tests. They name this crate as the other tests and the example do.
#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;

#[cfg(test)]
extern crate self as ioda_report;
