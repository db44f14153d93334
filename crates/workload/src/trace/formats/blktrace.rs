//! The binary that blktrace writes, in version 7, as Linux has it in
//! `include/uapi/linux/blktrace_api.h`. Each event has a head of 48 bytes in the byte order of the
//! machine.
//!
//! | bytes | what |
//! |---|---|
//! | 4, 4 | magic with the version in its last byte, sequence |
//! | 8, 8 | time in ns, sector of 512 bytes |
//! | 4, 4 | length in bytes, action: what happened below, kinds above |
//! | 4, 4, 4 | process, device, CPU |
//! | 2, 2 | error, bytes behind the head that belong to the event |
//!
//! Each CPU has its own file, in order of time. The files of several CPUs are merged.

use super::about::{About, Addressing, Reader};
use crate::Op;
use crate::error::{LineProblem, TraceError};
use crate::trace::events::Chosen;
use crate::trace::fields;
use crate::trace::input::{self, fill};
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::{
    BlkparseEvent, Compression, Detected, Format, ReadOptions, SkipReason, TimeUnit,
};
use std::io::{self, BufRead, Read};

/// Bytes of an event's head.
const HEAD: usize = 48;
/// Version that is supported.
const VERSION: u8 = 7;
const SECTOR_BYTES: u64 = 512;
/// Bytes at the start of each file that are searched for events that can be requests.
const TELLING_BYTES: usize = 64 << 10;

/// Kinds of actions, in the upper half of the action.
const READS: u32 = 1 << 16;
const WRITES: u32 = 1 << 17;
const FLUSHES: u32 = 1 << 18;
const PASSES_THROUGH: u32 = 1 << 25;
const NOTIFIES: u32 = 1 << 26;
const DISCARDS: u32 = 1 << 29;
const FORCES: u32 = 1 << 31;
/// Event, in the lower half of the action, where bit 8 says that a control group follows.
const HAPPENED: u32 = 0xff;
/// Letters of events as blkparse prints them, from 1.
const LETTERS: [char; 16] =
    ['Q', 'M', 'F', 'G', 'S', 'R', 'D', 'C', 'P', 'U', 'T', 'I', 'X', 'B', 'A', 'a'];

/// Whether a file begins with an event of any version, in either byte order.
pub(in crate::trace) fn is_magic(first: &[u8]) -> bool {
    matches!(first, [_, b't', b'a', b'e', ..] | [b'e', b'a', b't', _, ..]) && version(first) < 32
}

/// Version of the event at the start of `head`.
fn version(head: &[u8]) -> u8 {
    if head.first() == Some(&b'e') { head[3] } else { head[0] }
}

/// An event, without unused fields.
#[derive(Clone, Copy)]
struct Event {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
}

impl Event {
    /// Letter that blkparse prints for it; `None` for an unknown event.
    fn letter(&self) -> Option<char> {
        LETTERS.get(((self.action & HAPPENED) as usize).checked_sub(1)?).copied()
    }

    fn is(&self, kind: u32) -> bool {
        self.action & kind != 0
    }
}

/// The events of one CPU.
struct Stream {
    input: Box<dyn BufRead + Send>,
    is_big: bool,
    /// Next event, or its problem; `None` at the end.
    next: Option<Result<Event, LineProblem>>,
}

impl Stream {
    /// Reads the next event.
    fn advance(&mut self) -> io::Result<()> {
        let mut head = [0; HEAD];
        let found = fill(&mut *self.input, &mut head).map_err(|(_, error)| error)?;
        if found == 0 {
            self.next = None;
            return Ok(());
        }
        self.next = Some(if found < HEAD {
            Err(LineProblem::PartOfRecord { found, needed: HEAD })
        } else if !is_magic(&head) || (head[0] == b'e') != self.is_big {
            Err(LineProblem::NoEvent)
        } else if version(&head) != VERSION {
            Err(LineProblem::OtherVersion { found: version(&head).into(), expected: VERSION })
        } else {
            let behind = self.number(&head, 46, 2);
            let skipped = io::copy(&mut (&mut self.input).take(behind), &mut io::sink())?;
            if skipped < behind {
                let needed = HEAD + behind as usize;
                Err(LineProblem::PartOfRecord { found: HEAD + skipped as usize, needed })
            } else {
                Ok(Event {
                    time: self.number(&head, 8, 8),
                    sector: self.number(&head, 16, 8),
                    bytes: self.number(&head, 24, 4) as u32,
                    action: self.number(&head, 28, 4) as u32,
                    device: self.number(&head, 36, 4) as u32,
                })
            }
        });
        Ok(())
    }

    fn number(&self, head: &[u8; HEAD], at: usize, length: usize) -> u64 {
        let part = &head[at..at + length];
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.is_big { part.iter().fold(0, add) } else { part.iter().rev().fold(0, add) }
    }
}

/// Reader of the events of all CPUs in order of time.
pub(in crate::trace) struct Blktrace {
    streams: Vec<Stream>,
    name: String,
    compression: Compression,
    chosen: Chosen,
    /// Number of events read so far.
    number: u64,
    /// The device of the last request, as blkparse prints it.
    device: (u32, String),
    /// Whether the first events have been read. Times of notices are ignored.
    is_begun: bool,
}

impl Blktrace {
    /// Opens these files, and determines their properties.
    pub(in crate::trace) fn open(
        inputs: Vec<Box<dyn BufRead + Send>>,
        name: &str,
        compression: Compression,
        options: &ReadOptions,
    ) -> Result<(Detected, Self), TraceError> {
        let (mut streams, mut letters) = (Vec::new(), Vec::new());
        for input in inputs {
            let (prefix, input) = input::peek(input, TELLING_BYTES, name, compression)?;
            if is_magic(&prefix) && version(&prefix) != VERSION {
                return Err(TraceError::Container {
                    name: name.to_owned(),
                    container: format!("the binary of blktrace in version {}", version(&prefix)),
                    advice: format!(
                        "version {VERSION} is read; print this one with blkparse: blkparse -i - < {} | ioda trace \
                         inspect -",
                        input::typed(name)
                    ),
                });
            }
            let is_big = prefix.first() == Some(&b'e');
            let first: Box<dyn BufRead + Send> = Box::new(io::Cursor::new(prefix));
            let mut sample = Stream { input: first, is_big, next: None };
            while sample.advance().is_ok() {
                match &sample.next {
                    Some(Ok(event)) if !event.is(NOTIFIES) => letters.extend(event.letter()),
                    Some(Ok(_)) => {}
                    _ => break,
                }
            }
            streams.push(Stream { input, is_big, next: None });
        }
        let chosen = Chosen::of(options.blkparse_event, letters.into_iter());
        let detected = detected(&streams, compression, chosen, options);
        let reader = Self {
            streams,
            name: name.to_owned(),
            compression,
            chosen,
            number: 0,
            device: (u32::MAX, String::new()),
            is_begun: false,
        };
        Ok((detected, reader))
    }

    /// Meaning of the next event, or its problem; `None` at the end.
    pub(in crate::trace) fn next(
        &mut self,
        units: &Units,
    ) -> Result<Option<Result<Parsed<'_>, LineProblem>>, TraceError> {
        if !self.is_begun {
            self.is_begun = true;
            for index in 0..self.streams.len() {
                self.advance(index)?;
            }
        }
        // There are few CPUs, so examining each is fast enough. Problems come first.
        let time = |stream: &Stream| match &stream.next {
            Some(Ok(event)) if event.is(NOTIFIES) => Some(0),
            Some(Ok(event)) => Some(event.time),
            Some(Err(_)) => Some(0),
            None => None,
        };
        let times = self.streams.iter().enumerate();
        let Some((_, index)) =
            times.filter_map(|(index, stream)| Some((time(stream)?, index))).min()
        else {
            return Ok(None);
        };
        let Some(next) = self.streams[index].next.take() else { return Ok(None) };
        self.number += 1;
        let event = match next {
            Ok(event) => event,
            Err(problem) => return Ok(Some(Err(problem))),
        };
        self.advance(index)?;
        Ok(Some(self.parse(event, units)))
    }

    fn advance(&mut self, index: usize) -> Result<(), TraceError> {
        let failed = |source| input::read_error(&self.name, self.compression, self.number, source);
        self.streams[index].advance().map_err(failed)
    }

    fn parse(&mut self, event: Event, units: &Units) -> Result<Parsed<'_>, LineProblem> {
        if event.is(NOTIFIES) {
            return Ok(Parsed::Skip(SkipReason::Notice));
        }
        let Some(letter) = event.letter() else {
            return Ok(Parsed::Skip(SkipReason::Event('?')));
        };
        let is_requeue = letter == 'R' && self.chosen.is_issue();
        if let Some(reason) = self.chosen.skipped(letter)?
            && !is_requeue
        {
            return Ok(Parsed::Skip(reason));
        }
        let op = if event.is(DISCARDS) {
            return Ok(Parsed::Skip(SkipReason::Discard));
        } else if event.bytes == 0 && event.is(FLUSHES) {
            return Ok(Parsed::Skip(SkipReason::Flush));
        } else if event.bytes == 0 || event.is(PASSES_THROUGH) {
            return Ok(Parsed::Skip(SkipReason::NoData));
        } else if event.is(WRITES) {
            Op::Write
        } else if event.is(READS) {
            Op::Read
        } else {
            return Ok(Parsed::Skip(SkipReason::NoData));
        };
        if self.device.0 != event.device {
            // The lower twenty bits of a device number are its minor part.
            let (major, minor) = (event.device >> 20, event.device & 0xf_ffff);
            self.device = (event.device, format!("{major},{minor}"));
        }
        let nanos = event
            .time
            .checked_mul(units.time.nanos())
            .ok_or_else(|| fields::too_large("time", &event.time.to_string(), "584 years"))?;
        let request = RawRequest {
            nanos,
            op,
            offset_bytes: units.sectors(event.sector),
            size_bytes: event.bytes.into(),
            device: &self.device.1,
            durable: op == Op::Write && event.is(FLUSHES | FORCES),
        };
        Ok(if is_requeue { Parsed::Requeued(request) } else { Parsed::Request(request) })
    }
}

/// Properties of the files before they are read.
fn detected(
    streams: &[Stream],
    compression: Compression,
    chosen: Chosen,
    options: &ReadOptions,
) -> Detected {
    let mut evidence = Vec::new();
    if compression != Compression::Plain {
        evidence.push(format!("the first bytes are those of {compression}"));
    }
    if let Some(format) = options.format {
        evidence.push(format!("the format {format} was given"));
    }
    let order = match streams.first() {
        Some(stream) if stream.is_big => "big",
        _ => "little",
    };
    evidence.push(format!(
        "the first bytes are those of an event of blktrace, version {VERSION}, {order} endian"
    ));
    evidence.push(match streams.len() {
        1 => "this is the file of one CPU, or of several that were joined".to_owned(),
        files => {
            format!("the files of {files} CPUs that stand beside each other are merged by time")
        }
    });
    evidence.push(match options.sector_bytes {
        Some(bytes) => format!("the sector size of {bytes} B was given"),
        None => {
            format!("blktrace counts addresses in sectors of {SECTOR_BYTES} B and sizes in bytes")
        }
    });
    evidence.push(match options.time_unit {
        Some(unit) => format!("the time unit {unit} was given"),
        None => "blktrace prescribes times in ns".to_owned(),
    });
    evidence.extend(chosen.evidence());
    if options.blkparse_event.is_some_and(|event| event != BlkparseEvent::Issue) {
        evidence.push("the event was given that is a request".to_owned());
    }
    Detected {
        format: Format::Blktrace,
        time_unit: options.time_unit.unwrap_or(TimeUnit::Nanoseconds),
        sector_bytes: Some(options.sector_bytes.unwrap_or(SECTOR_BYTES)),
        compression,
        whole_second_clock: false,
        evidence,
    }
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "blktrace",
    time_unit: Some(TimeUnit::Nanoseconds),
    counted: Addressing::Sectors,
    reader: Reader::Records,
    columns: None,
};
