//! Options for reading a trace.

use super::{ColumnMap, Format, TimeUnit};
use crate::error::OptionError;
use std::str::FromStr;
use units::Duration;

/// Event of blktrace that counts as the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlkparseEvent {
    /// `D`: issued to the driver, as the device sees it.
    Issue,
    /// `Q`: queued by the file system, before merging.
    Queue,
    /// `C`: completed.
    Complete,
}

impl BlkparseEvent {
    /// Letter that blkparse prints.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Issue => 'D',
            Self::Queue => 'Q',
            Self::Complete => 'C',
        }
    }
}

impl FromStr for BlkparseEvent {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text {
            "D" | "d" => Ok(Self::Issue),
            "Q" | "q" => Ok(Self::Queue),
            "C" | "c" => Ok(Self::Complete),
            _ => Err(OptionError::NotUnderstood {
                option: "blkparse event",
                value: text.to_owned(),
                expected: "one of D (issue), Q (queue), C (complete)",
            }),
        }
    }
}

/// Options for reading a trace. The default detects everything and refuses doubtful traces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    /// Format; `None` detects it.
    pub format: Option<Format>,
    /// Time unit; `None` takes that of the format, or detects it.
    pub time_unit: Option<TimeUnit>,
    /// Sector size in bytes, 1 to 1 MiB. `None` takes 512 for formats that count in sectors.
    pub sector_bytes: Option<u64>,
    /// Column map for [`Format::Csv`]. A map implies that format.
    pub columns: Option<ColumnMap>,
    /// Event of blktrace that counts as the request. `None` takes issues, or the next best event if
    /// there are none.
    pub blkparse_event: Option<BlkparseEvent>,
    /// Number of requests that are held back to put them in order of time. `None` takes 4,096, or
    /// 65,536 if the clock of the trace has whole seconds only. 0 allows no disorder.
    pub reorder_window: Option<usize>,
    /// Whether a request beyond the reorder window gets the time of its predecessor, and is
    /// counted, instead of being an error.
    pub clamp_time: bool,
    /// Whether requests of zero length are skipped, and counted, instead of being an error.
    pub skip_zero_length: bool,
    /// Whether the requests of one second are spread evenly over it. `None` does so if the clock of
    /// the trace has whole seconds only.
    pub spread_seconds: Option<bool>,
    /// Whether odd traces are read unchanged: a device for each request, a clock that starts again,
    /// a span of decades, many lines that are no requests.
    pub allow_odd: bool,
    /// Longest pause between two requests; longer ones are shortened to it, and counted. `None`
    /// keeps all times unchanged.
    pub close_gaps: Option<Duration>,
}

impl ReadOptions {
    /// Checks the options that do not depend on the file.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        if let Some(bytes) = self.sector_bytes
            && !(1..=1 << 20).contains(&bytes)
        {
            return Err(OptionError::OutOfRange {
                option: "sector size",
                value: bytes.to_string(),
                limit: "between 1 and 1048576 bytes".to_owned(),
            });
        }
        if let Some(window) = self.reorder_window
            && window > 1 << 24
        {
            return Err(OptionError::OutOfRange {
                option: "reorder window",
                value: window.to_string(),
                limit: "at most 16777216 requests".to_owned(),
            });
        }
        if self.close_gaps == Some(Duration::ZERO) {
            return Err(OptionError::OutOfRange {
                option: "close-gaps",
                value: "0s".to_owned(),
                limit: "longer than 0".to_owned(),
            });
        }
        if self.columns.is_some() && self.format.is_some_and(|format| format != Format::Csv) {
            return Err(OptionError::Conflict {
                option: "column map",
                reason: "it describes the csv format, but another format is given; give one of \
                         the two"
                    .to_owned(),
            });
        }
        Ok(())
    }
}
