//! A slice of a run, read by read, with windows and collections.

use engine::Drive;
use nvme::{Cause, CollectionRight, Delays};
use ssd::{CollectionSpan, Ssd};
use units::{Duration, Instant, Observe};

/// Slice to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimelineConfig {
    /// Start of the slice.
    pub start: Instant,
    /// Length of the slice.
    pub length: Duration,
}

/// One read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimelinePoint {
    /// Time of completion.
    pub completed: Instant,
    /// Latency.
    pub latency: Duration,
    /// Cause of most of its latency.
    pub dominant_cause: Cause,
}

/// A stretch of time on one drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Band {
    /// Position of the drive.
    pub drive: usize,
    /// Start.
    pub start: Instant,
    /// End.
    pub end: Instant,
}

/// Recorded timeline.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timeline {
    /// The slice.
    pub slice: Option<TimelineConfig>,
    /// Reads of the slice: the slowest and the first of each small interval.
    pub points: Vec<TimelinePoint>,
    /// Stretches of the slice in which a drive may collect, by the host's clock.
    pub windows: Vec<Band>,
    /// Collections that touch the slice, joined where they overlap on a drive.
    pub collections: Vec<Band>,
    /// The whole run in intervals: end of the interval, 99th percentile of its reads.
    pub p99: Vec<(Instant, Duration)>,
    /// The whole run: the share of free blocks of each drive, about every [`FREE_INTERVAL`].
    pub free: Vec<(Instant, Vec<f64>)>,
}

/// Number of intervals of the slice from which points are kept.
const SLICE_INTERVALS: u64 = 800;
/// Length of the intervals of [`Timeline::p99`].
pub const P99_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two entries of [`Timeline::free`].
pub const FREE_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct Recorder {
    timeline: Timeline,
    interval: u64,
    slowest: Option<TimelinePoint>,
    /// Latencies of the current p99 interval.
    latencies: Vec<Duration>,
    interval_end: Instant,
    /// Time of the next sample of free blocks.
    next_look: Instant,
    /// Right of each drive, and the time since which it has it.
    rights: Vec<(Instant, CollectionRight)>,
}

impl Recorder {
    pub(crate) fn new(slice: Option<TimelineConfig>, drives: usize) -> Self {
        Self {
            rights: vec![(Instant::ZERO, CollectionRight::Always); drives],
            timeline: Timeline { slice, ..Timeline::default() },
            interval: u64::MAX,
            slowest: None,
            latencies: Vec::new(),
            interval_end: Instant::ZERO + P99_INTERVAL,
            next_look: if slice.is_some() { Instant::ZERO } else { Instant::NEVER },
        }
    }

    pub(crate) fn record_read(&mut self, completed: Instant, latency: Duration, delays: &Delays) {
        let Some(slice) = self.timeline.slice else { return };
        self.roll_p99(completed);
        self.latencies.push(latency);
        if completed < slice.start || completed >= slice.start + slice.length {
            return;
        }
        let interval_nanos = (slice.length.as_nanos() / SLICE_INTERVALS).max(1);
        let interval = completed.since(slice.start).as_nanos() / interval_nanos;
        let dominant_cause = Cause::ALL
            .into_iter()
            .max_by_key(|&cause| delays.get(cause))
            .unwrap_or(Cause::NandRead);
        let point = TimelinePoint { completed, latency, dominant_cause };
        if interval != self.interval {
            self.interval = interval;
            self.timeline.points.extend(self.slowest.take());
            self.timeline.points.push(point);
        } else if self.slowest.is_none_or(|slowest| slowest.latency < latency) {
            self.slowest = Some(point);
        }
    }

    fn roll_p99(&mut self, now: Instant) {
        while now >= self.interval_end {
            if !self.latencies.is_empty() {
                let rank = (self.latencies.len() - 1) * 99 / 100;
                let (_, p99, _) = self.latencies.select_nth_unstable(rank);
                self.timeline.p99.push((self.interval_end, *p99));
                self.latencies.clear();
            }
            self.interval_end += P99_INTERVAL;
        }
    }

    /// Returns true if a sample of free blocks is due.
    #[inline]
    pub(crate) fn looks_at_space(&self, now: Instant) -> bool {
        now >= self.next_look
    }

    /// Records the share of free blocks of each drive, if that is due.
    #[inline]
    pub(crate) fn look_at_space<O: Observe>(&mut self, now: Instant, drives: &[Drive<O>]) {
        if self.looks_at_space(now) {
            self.next_look = now + FREE_INTERVAL;
            let shares = drives.iter().filter_map(Drive::ssd).map(Ssd::free_share).collect();
            self.timeline.free.push((now, shares));
        }
    }

    pub(crate) fn record_collections(&mut self, drive: usize, spans: &[CollectionSpan]) {
        let Some(slice) = self.timeline.slice else { return };
        let end = slice.start + slice.length;
        for span in spans.iter().filter(|span| span.ended > slice.start && span.began < end) {
            let band = Band { drive, start: span.began, end: span.ended };
            // Parts of a line end at slightly different times; together they are one band.
            let last = self.timeline.collections.iter_mut().rev().find(|last| last.drive == drive);
            match last {
                Some(last) if last.end >= band.start => {
                    last.end = last.end.max(band.end);
                    last.start = last.start.min(band.start);
                }
                _ => self.timeline.collections.push(band),
            }
        }
    }

    /// Notes the new right of `drive` from `now`, and draws the windows of its former right.
    pub(crate) fn record_right(&mut self, drive: usize, now: Instant, right: CollectionRight) {
        let (since, before) = std::mem::replace(&mut self.rights[drive], (now, right));
        self.draw(drive, since, now, before);
    }

    /// Adds the stretches between `from` and `to` in which a drive with this right may collect.
    fn draw(&mut self, drive: usize, from: Instant, to: Instant, right: CollectionRight) {
        let Some(slice) = self.timeline.slice else { return };
        let (from, to) = (from.max(slice.start), to.min(slice.start + slice.length));
        let mut add = |start: Instant, end: Instant| {
            let (start, end) = (start.max(from), end.min(to));
            if start < end {
                self.timeline.windows.push(Band { drive, start, end });
            }
        };
        match right {
            CollectionRight::Always => {}
            CollectionRight::Lease { until } | CollectionRight::Order { until } => add(from, until),
            CollectionRight::Windows(schedule) => {
                let mut at = from;
                while at < to {
                    if let Some((start, end)) = schedule.window_at(at) {
                        add(start, end);
                    }
                    let next = schedule.next_busy_start(at);
                    at = next.max(at + Duration::from_nanos(1));
                }
            }
        }
    }

    pub(crate) fn finish(mut self) -> Timeline {
        for drive in 0..self.rights.len() {
            let (since, right) = self.rights[drive];
            self.draw(drive, since, Instant::NEVER, right);
        }
        self.timeline.points.extend(self.slowest.take());
        self.timeline
    }
}
