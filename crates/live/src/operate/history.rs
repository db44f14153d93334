//! The last minutes of a running array, second by second, for the page.

use crate::control::{BusyWindow, Latency, Status};
use serde::Serialize;
use std::collections::VecDeque;

/// Samples that are kept: ten minutes.
pub const SAMPLES: usize = 600;

/// Percentiles of the requests of one interval, in nanoseconds; none where there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Requests of the interval.
    pub count: u64,
    /// Half were at most so long.
    pub p50: Option<u64>,
    /// 95 of 100.
    pub p95: Option<u64>,
    /// 99 of 100.
    pub p99: Option<u64>,
    /// 999 of 1000.
    pub p999: Option<u64>,
}

impl Percentiles {
    fn of(latency: &Latency) -> Self {
        Self {
            count: latency.count,
            p50: latency.percentile(50.0),
            p95: latency.percentile(95.0),
            p99: latency.percentile(99.0),
            p999: latency.percentile(99.9),
        }
    }
}

/// One drive in a [`Sample`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DriveSample {
    /// Its position.
    pub drive: u8,
    /// Whether its busy window was open at the end of the interval.
    pub in_window: bool,
    /// Busy windows of the interval and shortly before.
    pub windows: Vec<BusyWindow>,
}

/// One interval in the life of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Number of the sample; they are counted from 1.
    pub number: u64,
    /// Its end, as the time since the start of the array.
    pub uptime_nanoseconds: u64,
    /// Policy in force at the end.
    pub policy: String,
    /// When that came into force.
    pub policy_since_nanoseconds: u64,
    /// Reads that ended in the interval.
    pub read: Percentiles,
    /// Writes that ended in the interval.
    pub write: Percentiles,
    /// How late emulated drives answered in the interval.
    pub lateness: Percentiles,
    /// The drives.
    pub drives: Vec<DriveSample>,
}

/// The samples of the last minutes.
#[derive(Debug, Default)]
pub struct History {
    samples: VecDeque<Sample>,
    last: Option<Status>,
    number: u64,
}

impl History {
    /// Adds the status of the array. The first one has nothing to be compared with and gives no
    /// sample.
    pub fn add(&mut self, status: Status) {
        if let Some(last) = &self.last {
            self.number += 1;
            let interval = |now: &Latency, then: &Latency| Percentiles::of(&now.since(then));
            let drives = status.drives.iter().map(|drive| DriveSample {
                drive: drive.drive,
                in_window: drive.in_window,
                windows: drive.recent_windows.clone(),
            });
            let sample = Sample {
                number: self.number,
                uptime_nanoseconds: status.uptime_nanoseconds,
                policy: status.policy.clone(),
                policy_since_nanoseconds: status.policy_since_nanoseconds,
                read: interval(&status.requests.read, &last.requests.read),
                write: interval(&status.requests.write, &last.requests.write),
                lateness: interval(&status.requests.lateness, &last.requests.lateness),
                drives: drives.collect(),
            };
            if self.samples.len() == SAMPLES {
                self.samples.pop_front();
            }
            self.samples.push_back(sample);
        }
        self.last = Some(status);
    }

    /// The samples whose numbers are larger than `number`, in their order.
    pub fn after(&self, number: u64) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.number > number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Recorder, RequestStatus};

    #[test]
    fn intervals_are_differences_and_old_ones_are_dropped() {
        let mut history = History::default();
        let mut reads = Recorder::default();
        for second in 0..2 * SAMPLES as u64 {
            // Ten times as slow from one second to the next.
            let latency = if second % 2 == 0 { 100_000 } else { 1_000_000 };
            (0..10).for_each(|_| reads.record(latency));
            history.add(Status {
                uptime_nanoseconds: second * 1_000_000_000,
                requests: RequestStatus { read: reads.latency(), ..RequestStatus::default() },
                ..Status::default()
            });
        }
        assert_eq!(history.after(0).count(), SAMPLES);
        let newest: Vec<&Sample> = history.after(2 * SAMPLES as u64 - 3).collect();
        assert_eq!(newest.len(), 2);
        for sample in newest {
            let exact = if sample.number % 2 == 0 { 100_000.0 } else { 1_000_000.0 };
            let reported = sample.read.p50.unwrap() as f64;
            assert!((reported / exact - 1.0).abs() <= 0.07, "{sample:?}");
            assert_eq!((sample.read.count, sample.write), (10, Percentiles::default()));
        }
        assert_eq!(history.after(u64::MAX).count(), 0);
    }
}
