//! Writer of requests to a trace file.

use crate::error::OptionError;
use crate::{Op, Request};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// Start of an MSR trace written here, as a file time: 2007-02-22 17:00 UTC, as in the originals.
const MSR_START_TICKS: u64 = 128_166_372_000_000_000;

/// Start of a log for fio. fio ignores a time of 0, and would not wait after it.
const FIO_START_MICROS: u64 = 1;

/// Formats for writing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WriteFormat {
    /// The common form, `t_us,op,offset_bytes,size_bytes,dev`, exact to the nanosecond.
    Csv,
    /// fio's I/O log, version 3, exact to the microsecond.
    FioIologV3,
    /// MSR Cambridge, exact to 100 ns; the response time is written as 0.
    Msr,
}

impl WriteFormat {
    /// Name on the command line and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::FioIologV3 => "fio-iolog-v3",
            Self::Msr => "msr",
        }
    }
}

impl fmt::Display for WriteFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WriteFormat {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        [Self::Csv, Self::FioIologV3, Self::Msr]
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| OptionError::NotUnderstood {
                option: "output format",
                value: text.to_owned(),
                expected: "one of csv, fio-iolog-v3, msr",
            })
    }
}

/// Writes requests to a trace file, one line each, and flushes if the format has them. Call
/// [`TraceWriter::finish`] at the end.
pub struct TraceWriter<W: Write> {
    out: W,
    format: WriteFormat,
    opened: BTreeSet<u32>,
    last_micros: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header, if the format has one. `out` should be buffered.
    pub fn new(mut out: W, format: WriteFormat) -> io::Result<Self> {
        match format {
            WriteFormat::Csv => writeln!(out, "t_us,op,offset_bytes,size_bytes,dev")?,
            WriteFormat::FioIologV3 => writeln!(out, "fio version 3 iolog")?,
            WriteFormat::Msr => {}
        }
        Ok(Self { out, format, opened: BTreeSet::new(), last_micros: 0 })
    }

    /// Writes one request.
    pub fn write(&mut self, request: &Request) -> io::Result<()> {
        let Request { at, op, offset_bytes, size_bytes, device, durable, after_flush } = *request;
        let nanos = at.as_nanos();
        match self.format {
            WriteFormat::Csv => {
                let letters = match op {
                    Op::Read => "R",
                    Op::Write if durable => "WF",
                    Op::Write => "W",
                };
                let (micros, rest) = (nanos / 1_000, nanos % 1_000);
                if after_flush {
                    writeln!(self.out, "{micros}.{rest:03},F,0,0,{device}")?;
                }
                writeln!(
                    self.out,
                    "{micros}.{rest:03},{letters},{offset_bytes},{size_bytes},{device}"
                )
            }
            WriteFormat::FioIologV3 => {
                let micros = nanos / 1_000 + FIO_START_MICROS;
                self.last_micros = micros;
                if self.opened.insert(device) {
                    writeln!(self.out, "{micros} device{device} add")?;
                    writeln!(self.out, "{micros} device{device} open")?;
                }
                if after_flush {
                    writeln!(self.out, "{micros} device{device} sync 0 0")?;
                }
                writeln!(self.out, "{micros} device{device} {op} {offset_bytes} {size_bytes}")
            }
            WriteFormat::Msr => {
                let ticks = MSR_START_TICKS.saturating_add(nanos / 100);
                let word = match op {
                    Op::Read => "Read",
                    Op::Write => "Write",
                };
                writeln!(self.out, "{ticks},ioda,{device},{word},{offset_bytes},{size_bytes},0")
            }
        }
    }

    /// Writes the end, if the format has one, flushes, and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.format == WriteFormat::FioIologV3 {
            for device in &self.opened {
                writeln!(self.out, "{} device{device} close", self.last_micros)?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }
}
