//! Pauses between the requests of a trace: the longest one, and pauses that are shortened.
//!
//! If a tracer loses the clock for one event, the event's time is years before or after all others.
//! The replay would wait for it, and every rate of the trace would be nearly zero.

use std::fmt;
use units::{Duration, Instant};

/// Least length of a doubtful pause. It must also fulfil the next two conditions.
const DOUBTFUL_LENGTH: Duration = Duration::from_secs(60);
/// Least share of a doubtful pause in the span of the trace, as one part in this number.
const DOUBTFUL_PART: u64 = 2;
/// Least ratio of a doubtful pause to the mean of all other intervals.
const DOUBTFUL_INTERVALS: u64 = 1_000;

/// A pause between two consecutive requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Number of the request after the pause, counted from 1 in order of time.
    pub request: u64,
    /// Line of the file with that request, counted from 1.
    pub line: u64,
    /// Length of the pause in the file.
    pub length: Duration,
}

/// The pauses of a trace, as far as it has been read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gaps {
    /// Longer pauses are shortened to this; `None` leaves all pauses unchanged.
    pub limit: Option<Duration>,
    /// The longest pause; `None` with fewer than two requests.
    pub longest: Option<Gap>,
    /// Time from the first request to the last in the file.
    pub span: Duration,
    /// Number of shortened pauses.
    pub closed: u64,
    /// Time that was removed from them.
    pub closed_time: Duration,
    requests: u64,
    last: Option<Instant>,
}

impl Gaps {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Adds the next request in order of time, whose time in the file is `at`. Returns its time
    /// after all earlier pauses were shortened.
    pub(super) fn pass(&mut self, at: Instant, line: u64) -> Instant {
        self.requests += 1;
        let length = self.last.map_or(Duration::ZERO, |last| at.since(last));
        if self.last.is_some() && self.longest.is_none_or(|longest| length > longest.length) {
            self.longest = Some(Gap { request: self.requests, line, length });
        }
        self.span += length;
        self.last = Some(at);
        if let Some(limit) = self.limit
            && length > limit
        {
            self.closed += 1;
            self.closed_time += length.saturating_sub(limit);
        }
        Instant::from_nanos(at.as_nanos() - self.closed_time.as_nanos())
    }

    /// Share of the longest pause in the span, 0 to 1.
    #[must_use]
    pub fn longest_share(&self) -> f64 {
        let longest = self.longest.map_or(0.0, |longest| longest.length.as_secs_f64());
        if self.span == Duration::ZERO { 0.0 } else { longest / self.span.as_secs_f64() }
    }

    /// The longest pause, if it is so long that the time of a request is probably wrong: at least a
    /// minute, at least half of the span, and at least a thousand times the mean of all other
    /// intervals.
    #[must_use]
    pub fn doubtful(&self) -> Option<Gap> {
        let longest = self.longest?;
        let others =
            self.span.saturating_sub(longest.length) / self.requests.saturating_sub(2).max(1);
        let of_span = self.span / DOUBTFUL_PART;
        let is_doubtful = longest.length >= DOUBTFUL_LENGTH
            && longest.length >= of_span
            && longest.length.as_nanos() / DOUBTFUL_INTERVALS >= others.as_nanos();
        is_doubtful.then_some(longest)
    }

    /// Remark on the pauses for the user, in one sentence: shortened pauses, or a pause that is
    /// probably a mistake of the tracer.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let longest = self.longest?;
        let Gap { request, line, length } = longest;
        let place = format!("request {request} (line {line})");
        let share = 100.0 * self.longest_share();
        match self.limit {
            Some(limit) if self.closed > 0 => Some(format!(
                "pauses longer than {limit} closed to {limit}: {}, which takes {} out; the longest was {} \
                 before {place}, {share:.1} % of the span of {}",
                self.closed,
                Long(self.closed_time),
                Long(length),
                Long(self.span),
            )),
            _ => self.doubtful().map(|_| {
                format!(
                    "{place} comes {} after the one before it, {share:.1} % of the span of {}; if its \
                     time is wrong, close such gaps",
                    Long(length),
                    Long(self.span),
                )
            }),
        }
    }
}

/// A duration of up to many years.
struct Long(Duration);

impl fmt::Display for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.as_secs_f64() / 86_400.0;
        match days {
            _ if days >= 2.0 * 365.25 => write!(f, "{:.1} years", days / 365.25),
            _ if days >= 2.0 => write!(f, "{days:.1} days"),
            _ => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    /// A hundred requests, one per second, and one that comes `late` seconds later.
    fn trace(limit: Option<Duration>, late: u64) -> (Gaps, Vec<u64>) {
        let mut gaps = Gaps::new(limit);
        let times = (0..100).chain([99 + late]);
        let passed = times
            .zip(10..)
            .map(|(secs, line)| gaps.pass(at(secs), line).as_nanos() / 1_000_000_000);
        let passed = passed.collect();
        (gaps, passed)
    }

    #[test]
    fn a_request_years_later_is_doubted() {
        let (gaps, times) = trace(None, 1_262_304_000);
        assert_eq!(times[100], 1_262_304_099);
        let longest = Gap { request: 101, line: 110, length: Duration::from_secs(1_262_304_000) };
        assert_eq!(gaps.doubtful(), Some(longest));
        assert_eq!(
            gaps.remark().unwrap(),
            "request 101 (line 110) comes 40.0 years after the one before it, 100.0 % of the span of \
             40.0 years; if its time is wrong, close such gaps"
        );
    }

    #[test]
    fn an_idle_hour_is_not_doubted() {
        // A thousand times the mean interval would be 1000 s, and half of the span 1100 s.
        for late in [1, 59, 900] {
            assert_eq!(trace(None, late).0.remark(), None, "{late}");
        }
        assert!(trace(None, 1_200).0.remark().is_some());
        assert_eq!(Gaps::new(None).remark(), None);
        let mut alone = Gaps::new(None);
        alone.pass(at(7), 1);
        assert_eq!((alone.longest, alone.span, alone.remark()), (None, Duration::ZERO, None));
    }

    #[test]
    fn gaps_are_closed_to_the_limit_and_counted() {
        let (gaps, times) = trace(Some(Duration::from_secs(60)), 3_600 * 24 * 10);
        assert_eq!(times[..100], (0..100).collect::<Vec<_>>());
        assert_eq!(times[100], 99 + 60);
        assert_eq!((gaps.closed, gaps.closed_time), (1, Duration::from_secs(864_000 - 60)));
        assert_eq!(
            gaps.remark().unwrap(),
            "pauses longer than 60.0s closed to 60.0s: 1, which takes 10.0 days out; the longest was 10.0 \
             days before request 101 (line 110), 100.0 % of the span of 10.0 days"
        );
        let (kept, _) = trace(Some(Duration::from_secs(60)), 60);
        assert_eq!((kept.closed, kept.remark()), (0, None));
    }
}
