//! The reader: lines in, requests in order of time out.

use super::clock::{Written, clock_of};
use super::csv::Sample;
use super::devices::Devices;
use super::events::Chosen;
use super::formats::blktrace::{self, Blktrace};
use super::formats::vscsi::{self, Records};
use super::formats::{Parser, blkparse, fio_iolog};
use super::input::{self, Content};
use super::lines::Lines;
use super::odd::{self, ONE_LOG_EACH, OR_IN_ORDER, Odd};
use super::order::{Arrived, Lined, Order};
use super::raw::{Parsed, RawRequest, Units};
use super::requeues::Requeues;
use super::{
    Compression, Counts, Detected, Format, Gaps, ReadOptions, SkipReason, TraceClock, detect,
    messages, stray,
};
use crate::error::{LineProblem, TraceError};
use crate::{Op, Request};
use std::collections::VecDeque;
use std::io::{BufRead, Read, Seek};
use std::path::Path;
use units::Instant;

/// Most lines, and most of their bytes, that are used for detection.
const SAMPLE_LINES: usize = 400;
const SAMPLE_BYTES: usize = 256 << 10;
/// Default of the reorder window: for most traces, and for clocks of whole seconds.
const WINDOW: usize = 4_096;
const WINDOW_OF_WHOLE_SECONDS: usize = 65_536;
/// Highest end of a device.
const LAST_BYTE: u128 = 1 << 60;
/// Longest request.
const LONGEST_REQUEST: u128 = 1 << 30;
/// Most requests of one second that are held to spread them over it.
const MOST_PER_SECOND: usize = 1 << 20;

/// Streams a trace as requests in order of time, the first at zero.
///
/// Memory is bounded by the reorder window, whatever the size of the file. Nothing follows the
/// first error; requests before the line with the error are delivered first.
pub struct TraceReader {
    name: String,
    input: Input,
    units: Units,
    detected: Detected,
    skip_zero_length: bool,
    clamp_time: bool,
    window: usize,
    counts: Counts,
    devices: Devices,
    order: Order,
    requeues: Requeues,
    origin: Option<u64>,
    gaps: Gaps,
    second: Option<Second>,
    written: Written,
    /// Whether a flush has come since the last request.
    flush_is_due: bool,
    /// Counts of oddities; `None` when they have been judged, or if odd traces are allowed.
    odd: Option<Odd>,
    ended: bool,
    error: Option<TraceError>,
}

/// Input of the requests.
enum Input {
    /// Lines of text.
    Text(Box<Text>),
    /// Records of a fixed length.
    Records(Records),
    /// Events of blktrace.
    Events(Box<Blktrace>),
}

/// Lines of text, and the sample of them that was read for detection.
struct Text {
    lines: Lines<'static>,
    sample: VecDeque<String>,
    sample_error: Option<TraceError>,
    parser: Parser,
    whole_sectors: bool,
}

/// Requests of one second, which are collected and then delivered.
#[derive(Default)]
struct Second {
    ready: VecDeque<Lined>,
    next: Option<Lined>,
}

impl TraceReader {
    /// Opens the file or pipe at `path`, which may be compressed; `-` is standard input.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        let opened = input::open(path.as_ref(), |_| {})?;
        Self::of_content(opened.content, &opened.name, options)
    }

    /// Reads from `input`, which may be compressed; `name` stands for it in messages.
    pub fn from_reader(
        input: impl BufRead + Send + 'static,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        Self::of_content(Content::Bytes(Box::new(input)), name, options)
    }

    /// Reads the only file in a zip archive.
    pub(crate) fn from_zip(
        archive: impl Read + Seek + Send + 'static,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let (member, input) = input::open_only_member(archive, name)?;
        Self::of_content(Content::Member(member, input), name, options)
    }

    /// Reads the content of an opened path.
    pub(super) fn of_content(
        content: Content,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        options.check()?;
        let (mut detected, input, written) = match content {
            Content::Bytes(input) => {
                let (compression, input) = input::decompress(input, name)?;
                Self::begin(input, name, compression, options)?
            }
            Content::Member(member, input) => {
                let begun = Self::begin(input, name, Compression::Zip, options);
                let (mut detected, input, written) = begun?;
                let member = crate::error::excerpt(&member);
                detected.evidence.push(format!("the only file in the archive is {member}"));
                (detected, input, written)
            }
            Content::Cpus(inputs) => {
                refuse_other_than_events(options, name)?;
                events(inputs, name, Compression::Plain, options)?
            }
        };
        let whole_seconds = detected.whole_second_clock;
        let window = options.reorder_window.unwrap_or(if whole_seconds {
            WINDOW_OF_WHOLE_SECONDS
        } else {
            WINDOW
        });
        if let Some(limit) = options.close_gaps {
            detected.evidence.push(format!(
                "pauses longer than {limit} become {limit} long, as was asked for (close-gaps)"
            ));
        }
        let spread = options.spread_seconds.unwrap_or(whole_seconds);
        if spread {
            detected.evidence.push(
                "the requests of each second are spread evenly over it, because the trace does \
                 not say when in the second they came; this can be switched off"
                    .to_owned(),
            );
        }
        let units =
            Units { time: detected.time_unit, sector_bytes: detected.sector_bytes.unwrap_or(1) };
        let odd = Odd::new(units.time.nanos(), units.sector_bytes);
        Ok(Self {
            name: name.to_owned(),
            input,
            units,
            detected,
            skip_zero_length: options.skip_zero_length,
            clamp_time: options.clamp_time,
            window,
            counts: Counts::default(),
            devices: Devices::default(),
            order: Order::new(window),
            requeues: Requeues::default(),
            origin: None,
            gaps: Gaps::new(options.close_gaps),
            second: spread.then(Second::default),
            written,
            flush_is_due: false,
            odd: (!options.allow_odd).then_some(odd),
            ended: false,
            error: None,
        })
    }

    /// Detects the format of `input`.
    fn begin(
        input: Box<dyn BufRead + Send>,
        name: &str,
        compression: Compression,
        options: &ReadOptions,
    ) -> Result<(Detected, Input, Written), TraceError> {
        let (prefix, mut input) = input::peek(input, vscsi::TELLING_BYTES, name, compression)?;
        if blktrace::is_magic(&prefix) {
            refuse_other_than_events(options, name)?;
            return events(vec![input], name, compression, options);
        }
        let may_be_records = options.columns.is_none()
            && options.format.is_none_or(|format| format == Format::Vscsi);
        if may_be_records && let Some(version) = vscsi::version_of(&prefix) {
            let records = Records::new(input, name, compression, version);
            let detected = detect::detect_records(version, compression, options);
            return Ok((detected, Input::Records(records), Written::Number));
        }
        input::refuse_foreign(&prefix, &mut *input, name, compression)?;
        if let Some(format) = options.format.filter(|format| !format.is_text()) {
            return Err(match prefix.is_empty() {
                true => nothing_at_all(name),
                false => not_of(format, name),
            });
        }
        let mut lines = Lines::new(input, name, compression);
        let read = read_sample(&mut lines);
        let told = match Self::detect(name, &read, compression, options) {
            Ok(found) => found,
            // The error that ended the sample is more informative than the missing detection.
            Err(
                unknown @ (TraceError::Unrecognised { .. }
                | TraceError::Unclear { .. }
                | TraceError::Undecided { .. }),
            ) => {
                let not_text = read.lines.iter().position(|line| !is_text(line));
                return Err(match (read.error, not_text) {
                    (Some(error), _) => error,
                    (None, _) if read.lines.is_empty() => nothing_at_all(name),
                    (None, Some(at)) if matches!(unknown, TraceError::Unrecognised { .. }) => {
                        let (line, problem) = (at as u64 + 1, LineProblem::NotText);
                        TraceError::Line { name: name.to_owned(), line, problem }
                    }
                    (None, _) => unknown,
                });
            }
            Err(error) => return Err(error),
        };
        let detect::Told { detected, layout, whole_sectors } = told;
        let mut parser = Parser::new(detected.format, layout.as_ref(), options);
        if let Parser::Blkparse(state) = &mut parser {
            *state = blkparse::Blkparse::new(events_of(&read, options));
        }
        let written = layout.as_ref().map_or(Written::Number, super::csv::Layout::written);
        let FirstLines { lines: sample, error: sample_error, .. } = read;
        let text = Text { lines, sample, sample_error, parser, whole_sectors };
        Ok((detected, Input::Text(Box::new(text)), written))
    }

    fn detect(
        name: &str,
        read: &FirstLines,
        compression: Compression,
        options: &ReadOptions,
    ) -> Result<detect::Told, TraceError> {
        let (mut telling, mut numbers): (Vec<&str>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut comment = None;
        for (line, number) in read.lines.iter().zip(1..) {
            if is_telling(line) && messages::certainly_no_request(line).is_none() {
                telling.push(line);
                numbers.push(number);
            } else if telling.is_empty() && !line.trim().is_empty() {
                comment = Some(line.trim_start_matches('#').trim());
            }
        }
        let sample =
            Sample { name, lines: &telling, numbers: &numbers, comment, is_all: read.is_all };
        let chosen = events_of(read, options);
        let options = ReadOptions { blkparse_event: Some(chosen.event()), ..options.clone() };
        let mut told = detect::detect(&sample, compression, &options)?;
        let detected = &mut told.detected;
        match detected.format {
            Format::Blkparse => detected.evidence.extend(chosen.evidence()),
            Format::FioIologV2 => {
                fio_iolog::check_unit(options.time_unit)?;
                let meaning = fio_iolog::meaning_of_waits(&telling, options.time_unit);
                let said = |reason| TraceError::Unusable { name: name.to_owned(), reason };
                detected.evidence.extend(meaning.map_err(said)?);
            }
            _ => {}
        }
        Ok(told)
    }

    /// Format and units, with the evidence.
    #[must_use]
    pub fn detected(&self) -> &Detected {
        &self.detected
    }

    /// Counts of the lines so far. The reader is ahead of the delivered requests by the reorder
    /// window, so the counts are final only at the end.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Origin of the times, and the first time in nanoseconds since then, or since 1970 if the
    /// times are dates; `None` before the first request.
    #[must_use]
    pub fn clock(&self) -> Option<(TraceClock, u64)> {
        let origin = self.origin?;
        let (clock, before_1970) = clock_of(self.written, self.units.time, origin);
        Some((clock, origin - before_1970))
    }

    /// Pauses between the delivered requests.
    #[must_use]
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// Names of the devices so far, as in the trace; the index is [`Request::device`].
    #[must_use]
    pub fn device_names(&self) -> Vec<String> {
        self.devices.names()
    }

    /// Name of the device with this number, as in the trace.
    pub(super) fn device_name(&self, number: u32) -> &str {
        self.devices.name(number)
    }

    /// Reads one line. Returns false at the end of the file.
    fn take_line(&mut self) -> Result<bool, TraceError> {
        let from_sample;
        let outcome = match &mut self.input {
            Input::Records(records) => match records.next(&self.units)? {
                Some(outcome) => outcome,
                None => return Ok(false),
            },
            Input::Events(events) => match events.next(&self.units)? {
                Some(outcome) => outcome,
                None => return Ok(false),
            },
            Input::Text(text) => {
                let Text { lines, sample, sample_error, parser, whole_sectors } = &mut **text;
                from_sample = sample.pop_front();
                let line = match &from_sample {
                    Some(line) => line.as_str(),
                    None => {
                        if let Some(error) = sample_error.take() {
                            return Err(error);
                        }
                        match lines.next()? {
                            Some(line) => line,
                            None => return Ok(false),
                        }
                    }
                };
                if line.trim().is_empty() {
                    Ok(Parsed::Skip(SkipReason::Blank))
                } else if line.starts_with('#') {
                    Ok(Parsed::Skip(SkipReason::Comment))
                } else if self.odd.is_some()
                    && self.counts.requests > 0
                    && is_log_of_fio(self.detected.format, line)
                {
                    Err(LineProblem::SecondLog { advice: ONE_LOG_EACH })
                } else {
                    match parser.parse(line, &self.units) {
                        Ok(parsed) if *whole_sectors => of_whole_sectors(parsed),
                        Ok(parsed) => Ok(parsed),
                        Err(problem) => {
                            messages::certainly_no_request(line).map(Parsed::Skip).ok_or(problem)
                        }
                    }
                }
            }
        };
        self.counts.lines += 1;
        let accepted = outcome.and_then(|parsed| match parsed {
            Parsed::Skip(reason) => {
                self.counts.skip(reason);
                self.flush_is_due |= reason == SkipReason::Flush;
                Ok(())
            }
            Parsed::Requeued(raw) => {
                self.counts.skip(SkipReason::Event('R'));
                match raw.size_bytes {
                    0 => Ok(()),
                    _ => {
                        let request = checked(&raw, &mut self.devices)?;
                        self.requeues.put_back(&request, &self.order, self.origin.is_some())
                    }
                }
            }
            Parsed::Request(raw) | Parsed::Flagged(raw, _)
                if raw.size_bytes == 0 && self.skip_zero_length =>
            {
                self.counts.skip(SkipReason::ZeroLength);
                Ok(())
            }
            Parsed::Request(raw) | Parsed::Flagged(raw, _) => {
                let mut request = checked(&raw, &mut self.devices)?;
                request.after_flush = std::mem::take(&mut self.flush_is_due);
                self.counts.durable += u64::from(request.durable);
                self.counts.requeued += u64::from(self.requeues.issued_again(&request));
                if let Parsed::Flagged(_, flag) = parsed {
                    *self.counts.unknown_flags.entry(flag).or_default() += 1;
                }
                let lined = Lined { request, line: self.counts.lines };
                let is_events = self.detected.format == Format::Blktrace;
                let arrived = self.order.push(lined, self.clamp_time).map_err(|late| {
                    let back_us = late.back_nanos / 1_000;
                    if is_events {
                        return LineProblem::JoinedCpus { back_us };
                    }
                    let again = self
                        .odd
                        .as_ref()
                        .and_then(|odd| odd.begins_again(lined.request.at.as_nanos(), lined.line));
                    match again {
                        Some(what) => LineProblem::BeginsAgain { what, advice: OR_IN_ORDER },
                        None => LineProblem::TimeBackwards { back_us, window: self.window },
                    }
                })?;
                if let Some(odd) = &mut self.odd {
                    odd.pass(&request, request.at.as_nanos(), lined.line);
                }
                self.counts.requests += 1;
                self.counts.reordered += u64::from(arrived == Arrived::Reordered);
                self.counts.clamped += u64::from(arrived == Arrived::Clamped);
                Ok(())
            }
        });
        accepted.map(|()| true).map_err(|problem| self.at_this_line(problem))
    }

    /// `problem` at the line or record that was read last.
    fn at_this_line(&self, problem: LineProblem) -> TraceError {
        let (name, number) = (self.name.clone(), self.counts.lines);
        match self.input {
            Input::Text(_) => TraceError::Line { name, line: number, problem },
            Input::Records(_) | Input::Events(_) => {
                TraceError::Record { name, record: number, problem }
            }
        }
    }

    /// The next request in order of time, on the trace's own clock.
    fn next_in_order(&mut self) -> Option<Lined> {
        while !self.ended && !self.order.is_full() {
            match self.take_line() {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    if self.counts.requests == 0 {
                        self.error = Some(self.no_request());
                    }
                }
                Err(error) => {
                    self.ended = true;
                    self.error = Some(error);
                    self.odd = None;
                }
            }
        }
        self.order.pop()
    }

    /// Oddity of the whole trace; returned only once, and not after an error.
    fn odd(&mut self) -> Option<TraceError> {
        let odd = self.odd.take()?;
        let counts_from_start = self.clock().is_some_and(|(clock, _)| clock == TraceClock::Start);
        let (format, spread) = (self.detected.format, self.second.is_some());
        let what = odd::of_lines(&self.counts)
            .or_else(|| odd.verdict(format, counts_from_start, spread, &self.gaps))?;
        Some(TraceError::Odd { name: self.name.clone(), what })
    }

    fn no_request(&self) -> TraceError {
        TraceError::NoRequest {
            name: self.name.clone(),
            lines: self.counts.lines,
            skipped: self.counts.skipped_text(),
            advice: match self.detected.format {
                Format::Blkparse | Format::Blktrace => {
                    "choose another blkparse event or another file"
                }
                _ => "check the format or choose another file",
            },
        }
    }

    /// The next request, after all requests of its second are known.
    fn next_spread(&mut self, mut second: Second) -> (Second, Option<Lined>) {
        if second.ready.is_empty() {
            let first = second.next.take().or_else(|| self.next_in_order());
            if let Some(first) = first {
                let start = whole_second(&first.request);
                second.ready.push_back(first);
                loop {
                    match self.next_in_order() {
                        Some(next) if whole_second(&next.request) == start => {
                            if second.ready.len() == MOST_PER_SECOND {
                                self.ended = true;
                                self.order = Order::new(0);
                                let problem = LineProblem::CrowdedSecond { limit: MOST_PER_SECOND };
                                self.error = Some(self.at_this_line(problem));
                                break;
                            }
                            second.ready.push_back(next);
                        }
                        other => {
                            second.next = other;
                            break;
                        }
                    }
                }
                spread_evenly(second.ready.make_contiguous(), start);
            }
        }
        let request = second.ready.pop_front();
        (second, request)
    }
}

impl Iterator for TraceReader {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let request = match self.second.take() {
            Some(second) => {
                let (second, request) = self.next_spread(second);
                self.second = Some(second);
                request
            }
            None => self.next_in_order(),
        };
        let Some(Lined { mut request, line }) = request else {
            let error = self.error.take().or_else(|| self.odd());
            return error.map(Err);
        };
        let nanos = request.at.as_nanos();
        let origin = *self.origin.get_or_insert(nanos);
        let since_start = Instant::from_nanos(nanos.saturating_sub(origin));
        request.at = self.gaps.pass(since_start, line);
        Some(Ok(request))
    }
}

/// Whether `format` is a log of fio, and a line begins such a log.
fn is_log_of_fio(format: Format, line: &str) -> bool {
    matches!(format, Format::FioIologV2 | Format::FioIologV3)
        && ['2', '3'].into_iter().any(|version| fio_iolog::is_first_line(line, version))
}

/// Whether a line is used for detection.
fn is_telling(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// The first lines of a file.
struct FirstLines {
    lines: VecDeque<String>,
    /// Error that ended them early.
    error: Option<TraceError>,
    /// Whether these are all lines.
    is_all: bool,
}

fn read_sample(lines: &mut Lines<'_>) -> FirstLines {
    let mut read = FirstLines { lines: VecDeque::new(), error: None, is_all: false };
    let (mut telling, mut bytes) = (0, 0);
    while telling < SAMPLE_LINES && bytes < SAMPLE_BYTES {
        match lines.next() {
            Ok(Some(line)) => {
                telling += usize::from(is_telling(line));
                bytes += line.len() + 1;
                read.lines.push_back(line.to_owned());
            }
            Ok(None) => {
                read.is_all = true;
                break;
            }
            Err(error) => {
                read.error = Some(error);
                break;
            }
        }
    }
    read
}

/// Event that counts as the request, if the sample is of blkparse.
fn events_of(read: &FirstLines, options: &ReadOptions) -> Chosen {
    let lines: Vec<&str> = read.lines.iter().map(String::as_str).collect();
    Chosen::of(options.blkparse_event, blkparse::letters(&lines))
}

/// Opens the events of blktrace in `inputs`.
fn events(
    inputs: Vec<Box<dyn BufRead + Send>>,
    name: &str,
    compression: Compression,
    options: &ReadOptions,
) -> Result<(Detected, Input, Written), TraceError> {
    let (detected, events) = Blktrace::open(inputs, name, compression, options)?;
    Ok((detected, Input::Events(Box::new(events)), Written::Number))
}

/// Refuses options that contradict the events of blktrace.
fn refuse_other_than_events(options: &ReadOptions, name: &str) -> Result<(), TraceError> {
    let is_other = options.format.is_some_and(|format| format != Format::Blktrace);
    match is_other || options.columns.is_some() {
        false => Ok(()),
        true => Err(TraceError::Unusable {
            name: name.to_owned(),
            reason: "it is the binary of blktrace, and not the format that was given; leave --format and --columns \
                     out"
                .to_owned(),
        }),
    }
}

/// Whether a line of a file of unknown format is text.
fn is_text(line: &str) -> bool {
    !line.contains(|letter: char| letter == '\0' || stray::is_stray(letter))
}

fn not_of(format: Format, name: &str) -> TraceError {
    let expected = match format {
        Format::Blktrace => "an event of blktrace",
        _ => "records of vscsi, of 32 bytes in version 1 or 40 bytes in version 2",
    };
    TraceError::Unusable {
        name: name.to_owned(),
        reason: format!("it does not begin with {expected}; choose another format or another file"),
    }
}

fn nothing_at_all(name: &str) -> TraceError {
    TraceError::NoRequest {
        name: name.to_owned(),
        lines: 0,
        skipped: Counts::default().skipped_text(),
        advice: "the file is empty",
    }
}

/// Refuses a part of a sector, if whole sectors were the evidence for bytes.
fn of_whole_sectors(parsed: Parsed<'_>) -> Result<Parsed<'_>, LineProblem> {
    if let Parsed::Request(RawRequest { offset_bytes, size_bytes, .. }) = parsed
        && let Some(bytes) = [offset_bytes, size_bytes].into_iter().find(|bytes| bytes % 512 != 0)
    {
        return Err(LineProblem::PartOfSector { bytes });
    }
    Ok(parsed)
}

/// Checks the limits, and replaces the device by its number.
fn checked(raw: &RawRequest<'_>, devices: &mut Devices) -> Result<Request, LineProblem> {
    let RawRequest { nanos, op, offset_bytes, size_bytes, device, durable } = *raw;
    if size_bytes == 0 {
        return Err(LineProblem::ZeroLength);
    }
    if size_bytes > LONGEST_REQUEST {
        return Err(LineProblem::RequestTooLong { bytes: size_bytes });
    }
    if offset_bytes + size_bytes > LAST_BYTE {
        return Err(LineProblem::BeyondAnyDevice { offset: offset_bytes });
    }
    let number = devices.number(device)?;
    let op: Op = op;
    Ok(Request {
        at: Instant::from_nanos(nanos),
        op,
        // Both fit: they were checked to be at most 2^60.
        offset_bytes: offset_bytes as u64,
        size_bytes: size_bytes as u64,
        device: number,
        durable,
        after_flush: false,
    })
}

/// Start of the second of a request, in nanoseconds.
fn whole_second(request: &Request) -> u64 {
    let nanos = request.at.as_nanos();
    nanos - nanos % 1_000_000_000
}

fn spread_evenly(requests: &mut [Lined], start: u64) {
    let count = requests.len() as u64;
    for (index, request) in (0_u64..).zip(requests) {
        // At most 2^20 requests, so the product stays below 2^50.
        let at = start.saturating_add(index * 1_000_000_000 / count);
        request.request.at = Instant::from_nanos(at);
    }
}
