//! Oddities of a whole trace: impossible requests, or too many lines that are not requests. Both
//! are signs of a wrong format, or of wrong columns or units.

use super::{Counts, Format, Gaps};
use crate::Request;
use std::fmt::Write as _;
use units::{Bytes, Duration};

/// Fewer requests than this prove nothing.
const FEW: u64 = 20;
/// Percentage that counts as nearly all.
const NEARLY_ALL: u64 = 90;
/// Request rate above that of any trace.
const MOST_PER_SECOND: f64 = 1e7;
/// Two years, longer than any trace.
const LONGEST_SPAN: Duration = Duration::from_secs(2 * 366 * 86_400);
/// Bytes of the shortest request of a block device.
const SECTOR: u64 = 512;
/// Mean size of requests in bytes above that of any system.
const LONG_REQUEST: u64 = 64 << 20;
/// Requests for which a clock must run after it started again.
const RUN: u64 = 20;
/// The same number if nothing else is out of order.
const SHORT_RUN: u64 = 3;

/// Number of odd lines that any trace may have.
const ODD_LINES: u64 = 16;
/// With more odd lines, at most one line in this number may be odd.
const ODD_ONE_IN: u64 = 100;

/// Counts of oddities, in the order of the file.
pub(super) struct Odd {
    /// Nanoseconds in one unit of time.
    unit: u64,
    sector_bytes: u64,
    requests: u64,
    first: u64,
    earliest: u64,
    latest: u64,
    last: u64,
    /// Requests earlier than some request before them in the file.
    late: u64,
    /// Requests earlier than the request directly before them.
    falls: u64,
    /// Last time of each device.
    last_of: Vec<u64>,
    /// Requests earlier than the request directly before them for the same device.
    falls_of_devices: u64,
    /// Requests shorter than a sector.
    short: u64,
    bytes: u64,
    /// Requests whose address equals their time.
    like_times: u64,
    restart: Restart,
}

/// Detects a clock that starts again, as in concatenated logs.
#[derive(Default)]
struct Restart {
    /// Requests since the clock started.
    run: u64,
    /// Requests earlier than the request directly before them.
    falls: u64,
    /// Place where the clock may have started again.
    maybe: Option<Begun>,
    found: Option<Begun>,
}

/// A place where a clock starts again.
#[derive(Clone, Copy)]
struct Begun {
    line: u64,
    from: u64,
    to: u64,
    /// Requests since then.
    run: u64,
    /// Requests since then that are earlier than the request directly before them.
    falls: u64,
}

impl Begun {
    fn new(line: u64, from: u64, to: u64) -> Self {
        Self { line, from, to, run: 1, falls: 0 }
    }

    fn text(&self) -> String {
        format!(
            "at line {} the clock goes back from {} to {}, nearly to where it began, as where the \
             log of another job begins",
            self.line,
            Duration::from_nanos(self.from),
            Duration::from_nanos(self.to)
        )
    }
}

impl Restart {
    /// Adds a request at `at`; all before it are between `first` and `latest`.
    fn pass(&mut self, at: u64, line: u64, last: u64, (first, latest): (u64, u64)) {
        let falls = u64::from(at < last);
        if let Some(begun) = &mut self.maybe {
            if at >= begun.from {
                // A few late requests, after which the clock continues.
                self.run += begun.run + 1;
                self.falls += begun.falls + 1;
                self.maybe = None;
                return;
            }
            begun.run += 1;
            begun.falls += falls;
            // If most requests are out of order, this is no restart.
            if begun.run >= RUN && begun.falls * 5 <= begun.run && self.falls * 5 <= self.run {
                self.found.get_or_insert(*begun);
            }
            return;
        }
        let span = latest - first;
        if at < last && self.run >= SHORT_RUN && span > 0 && at <= first.saturating_add(span / 4) {
            self.maybe = Some(Begun::new(line, latest, at));
        } else {
            self.run += 1;
            self.falls += falls;
        }
    }

    fn verdict(&self) -> Option<Begun> {
        let in_order = |begun: &Begun| begun.falls == 0 && self.falls == 0;
        let short = self.maybe.filter(|begun| begun.run >= SHORT_RUN && in_order(begun));
        self.found.or(short)
    }
}

impl Odd {
    /// Counts for a trace with these units.
    pub(super) fn new(unit_nanos: u64, sector_bytes: u64) -> Self {
        Self {
            unit: unit_nanos,
            sector_bytes,
            requests: 0,
            first: 0,
            earliest: 0,
            latest: 0,
            last: 0,
            late: 0,
            falls: 0,
            last_of: Vec::new(),
            falls_of_devices: 0,
            short: 0,
            bytes: 0,
            like_times: 0,
            restart: Restart::default(),
        }
    }

    /// Adds the request of `line`, at `at` on the clock of the file.
    pub(super) fn pass(&mut self, request: &Request, at: u64, line: u64) {
        if self.requests == 0 {
            (self.first, self.earliest, self.latest, self.last) = (at, at, at, at);
        }
        self.requests += 1;
        let device = request.device as usize;
        if self.last_of.len() <= device {
            self.last_of.resize(device + 1, 0);
        }
        // Nearly all requests are in order, and none of them is late in any sense.
        if at >= self.latest && self.restart.maybe.is_none() {
            self.restart.run += 1;
            self.latest = at;
        } else {
            self.pass_late(at, line, device);
        }
        self.last_of[device] = at;
        self.last = at;
        self.short += u64::from(request.size_bytes < SECTOR);
        self.bytes = self.bytes.saturating_add(request.size_bytes);
        // When most requests differ, nearly all can no longer be alike, however long the trace.
        if self.requests <= 1_000 || self.like_times * 2 > self.requests {
            let number = at / self.unit;
            let same = request.offset_bytes == number
                || request.offset_bytes == number.saturating_mul(self.sector_bytes);
            self.like_times += u64::from(same);
        }
    }

    /// Adds the time of a request that may be earlier than others.
    fn pass_late(&mut self, at: u64, line: u64, device: usize) {
        self.restart.pass(at, line, self.last, (self.first, self.latest));
        self.late += u64::from(at < self.latest);
        self.falls += u64::from(at < self.last);
        self.falls_of_devices += u64::from(at < self.last_of[device]);
        self.earliest = self.earliest.min(at);
        self.latest = self.latest.max(at);
    }

    /// Text about a restart of the clock, if a request at `at` is far behind all others.
    pub(super) fn begins_again(&self, at: u64, line: u64) -> Option<String> {
        let span = self.latest - self.first;
        let begins = self.requests >= SHORT_RUN && at <= self.first.saturating_add(span / 4);
        begins.then(|| Begun::new(line, self.latest, at).text())
    }

    /// Impossible properties of the trace, with the usual cause; `None` if there are none.
    /// `counts_from_start` says that the times are not dates, and `spread` that the requests of a
    /// second are spread over it.
    pub(super) fn verdict(
        &self,
        format: Format,
        counts_from_start: bool,
        spread: bool,
        gaps: &Gaps,
    ) -> Option<String> {
        if counts_from_start && let Some(begun) = self.restart.verdict() {
            return Some(format!("{}; {ONE_LOG_EACH}", begun.text()));
        }
        let requests = self.requests;
        if requests > 1 && self.bytes / requests > LONG_REQUEST {
            let mean = Bytes(self.bytes / requests);
            return Some(format!("its requests are {mean} long on average{OTHER_COLUMNS}"));
        }
        if requests < FEW {
            return None;
        }
        let nearly_all = |count: u64| count * 100 >= requests * NEARLY_ALL;
        let devices = self.last_of.len() as u64;
        let span = Duration::from_nanos(self.latest - self.earliest);
        let per_second = (requests - 1) as f64 / span.as_secs_f64();
        let mut said = String::new();
        if nearly_all(devices) {
            write!(said, "its {requests} requests are for {devices} devices").ok()?;
        } else if nearly_all(self.late) && self.falls * 5 >= requests * 2 {
            write!(
                said,
                "{} of its {requests} requests are earlier than one above them",
                self.late
            )
            .ok()?;
        } else if span == Duration::ZERO && !spread {
            write!(said, "its {requests} requests all come at the same time").ok()?;
            if format == Format::FioIologV2 {
                said.push_str(NO_WAITS);
                return Some(said);
            }
        } else if span > Duration::ZERO && per_second > MOST_PER_SECOND {
            write!(said, "{per_second:.1e} requests come in a second").ok()?;
        } else if gaps.limit.is_none() && span > LONGEST_SPAN && gaps.doubtful().is_none() {
            let years = span.as_secs_f64() / (365.25 * 86_400.0);
            write!(said, "its requests come within {years:.1} years").ok()?;
        } else if self.short * 2 > requests {
            write!(
                said,
                "{} of its {requests} requests are shorter than a sector of {SECTOR} bytes",
                self.short
            )
            .ok()?;
        } else if nearly_all(self.like_times) {
            said.push_str("its addresses are the same numbers as its times");
        } else if counts_from_start && self.clocks_differ() {
            write!(
                said,
                "the clock of each device goes on, but together they go back in {} of {requests} \
                 lines; {ONE_LOG_EACH}",
                self.falls
            )
            .ok()?;
            return Some(said);
        } else {
            return None;
        }
        said.push_str(OTHER_COLUMNS);
        Some(said)
    }

    /// Whether the requests of each device are in order, but those of all devices together are not.
    fn clocks_differ(&self) -> bool {
        self.last_of.len() > 1
            && self.falls * 4 >= self.requests
            && self.falls_of_devices * 100 <= self.requests
    }
}

/// Oddity of the lines of a trace; `None` if there is none.
pub(super) fn of_lines(counts: &Counts) -> Option<String> {
    let (odd, lines) = (counts.odd_total(), counts.lines);
    (odd > ODD_LINES && odd.saturating_mul(ODD_ONE_IN) > lines).then(|| {
        format!(
            "{odd} of its {lines} lines are odd (skipped: {}), more than 1 in {ODD_ONE_IN}; check the format, take \
             these lines out, or type --allow-odd to skip them",
            counts.skipped_text()
        )
    })
}

/// Advice for wrong columns or units.
const OTHER_COLUMNS: &str = ", which says that columns or units are others; give the right ones with \
    --format, --columns, --time-unit or --sector-bytes, or type --allow-odd if it is so";

/// Advice for a log of fio without waits.
const NO_WAITS: &str = ", because this log has no times; fio replays it as fast as its depth allows, \
    and --allow-odd sends all at once";

/// Advice for several logs in one file.
pub(super) const ONE_LOG_EACH: &str = "give each job or device a log of its own and put them \
    together with `ioda trace merge`, or type --allow-odd to take the times as they are";

/// Advice for several logs in one file whose times cannot be taken as they are.
pub(super) const OR_IN_ORDER: &str = "give each job or device a log of its own and put them \
    together with `ioda trace merge`; or sort the file, enlarge --reorder-window, or choose \
    --clamp-time";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use units::Instant;

    const SECOND: u64 = 1_000_000_000;

    /// Requests at these times, in seconds, for these devices.
    fn odd(requests: impl IntoIterator<Item = (u64, u32)>) -> Odd {
        let mut odd = Odd::new(SECOND, 1);
        for ((at, device), line) in requests.into_iter().zip(1..) {
            let at = at * SECOND;
            let (offset_bytes, size_bytes) = (1 << 30, 4_096);
            let request = Request {
                at: Instant::from_nanos(at),
                op: Op::Read,
                offset_bytes,
                size_bytes,
                device,
                durable: false,
                after_flush: false,
            };
            odd.pass(&request, at, line);
        }
        odd
    }

    fn said(odd: &Odd) -> Option<String> {
        odd.verdict(Format::Csv, true, false, &Gaps::default())
    }

    #[test]
    fn what_is_possible_is_not_odd() {
        assert_eq!(said(&odd((0..100).map(|i| (i, i as u32 % 16)))), None);
        // A few late requests, as in a trace that is sorted by completion.
        let late = (0..100).map(|i| (if i % 10 == 9 { i - 5 } else { i }, 0));
        assert_eq!(said(&odd(late)), None);
        // A single request that is very late.
        let one = (0..100).map(|i| (if i == 60 { 1 } else { i }, 0));
        assert_eq!(said(&odd(one)), None);
        assert_eq!(said(&odd([(5, 0), (3, 0), (4, 1), (9, 0)])), None);
    }

    #[test]
    fn a_clock_that_begins_again_is_found() {
        let jobs = (0..3).flat_map(|_| (0..50).map(|i| (i, 0)));
        let text = said(&odd(jobs)).unwrap();
        assert!(text.starts_with("at line 51 the clock goes back from 49.0s to 0ns"), "{text}");
        // Short logs, the second of which begins a little later.
        let jobs = [(0, 0), (10, 0), (20, 0), (30, 0), (2, 1), (12, 1), (22, 1)];
        assert!(said(&odd(jobs)).unwrap().starts_with("at line 5 the clock goes back"));
        // Two jobs line by line, one of which began earlier.
        let jobs = (0..60).map(|i| (if i % 2 == 0 { i } else { 1_000 + i }, i as u32 % 2));
        let text = said(&odd(jobs)).unwrap();
        assert!(text.starts_with("the clock of each device goes on"), "{text}");
    }

    #[test]
    fn what_is_impossible_is_said() {
        let begins = |odd: &Odd, text: &str| {
            let said = said(odd).unwrap();
            assert!(said.starts_with(text), "{said}");
        };
        begins(&odd((0..50).map(|i| (i, i as u32))), "its 50 requests are for 50 devices");
        let shuffled = (0..50).map(|i| (1_000 + i * 27 % 50, 0));
        begins(&odd([(9_999, 0)].into_iter().chain(shuffled)), "50 of its 51 requests");
        begins(&odd((0..50).map(|_| (7, 0))), "its 50 requests all come at the same time");
        begins(&odd((0..50).map(|i| (i * 20_000_000, 0))), "its requests come within 31.1 years");
    }
}
