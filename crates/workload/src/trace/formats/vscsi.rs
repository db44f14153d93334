//! VSCSI, the binary records of virtual disks that CloudPhysics collected: two layouts, both little
//! endian and without a header.
//!
//! | bytes | version 1 | version 2 |
//! |---|---|---|
//! | 2 | | command, version |
//! | 4 each | number, length, scatter-gather elements | the same |
//! | 2 each | command, version | |
//! | 8 each | address, time | address, time, response time |
//!
//! Addresses count sectors, lengths bytes, times microseconds. The high byte of the version
//! determines the layout.

use super::about::{About, Addressing, Reader};
use super::blkparse::Rwbs;
use crate::error::{LineProblem, TraceError};
use crate::trace::TimeUnit;
use crate::trace::fields;
use crate::trace::input::{self, fill};
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::{Compression, SkipReason, ops};
use std::io::BufRead;

/// Bytes that determine the layout: many records of either.
pub(in crate::trace) const TELLING_BYTES: usize = 64 * 40;

/// Layout of the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Version {
    One,
    Two,
}

impl Version {
    pub(in crate::trace) const fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    pub(in crate::trace) const fn record_bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }
}

/// One record, without unused fields.
struct Record {
    command: u16,
    version: u16,
    length: u32,
    sector: u64,
    time: u64,
}

impl Record {
    fn new(version: Version, bytes: &[u8]) -> Self {
        let part = |at: usize, length: usize| {
            let little = bytes.iter().skip(at).take(length).rev();
            little.fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let (command, length, sector, time) = match version {
            Version::One => (12, 4, 16, 24),
            Version::Two => (0, 8, 16, 24),
        };
        Self {
            command: part(command, 2) as u16,
            version: part(command + 2, 2) as u16,
            length: part(length, 4) as u32,
            sector: part(sector, 8),
            time: part(time, 8),
        }
    }

    fn is_of(&self, version: Version) -> bool {
        self.version >> 8 == u16::from(version.number())
    }
}

/// Layout of the records at the start of a file; `None` for another kind of file.
pub(in crate::trace) fn version_of(prefix: &[u8]) -> Option<Version> {
    // Text has no zero bytes, and records have many.
    if !prefix.contains(&0) {
        return None;
    }
    [Version::Two, Version::One].into_iter().find(|version| {
        let mut records = prefix.chunks_exact(version.record_bytes()).peekable();
        records.peek().is_some()
            && records.all(|bytes| {
                let record = Record::new(*version, bytes);
                record.is_of(*version) && record.command <= 0xff
            })
    })
}

/// Reads records.
pub(in crate::trace) struct Records {
    input: Box<dyn BufRead + Send>,
    name: String,
    compression: Compression,
    version: Version,
    /// Number of records read so far.
    number: u64,
}

impl Records {
    pub(in crate::trace) fn new(
        input: Box<dyn BufRead + Send>,
        name: &str,
        compression: Compression,
        version: Version,
    ) -> Self {
        Self { input, name: name.to_owned(), compression, version, number: 0 }
    }

    /// Meaning of the next record, or its problem; `None` at the end of the file.
    pub(in crate::trace) fn next(
        &mut self,
        units: &Units,
    ) -> Result<Option<Result<Parsed<'static>, LineProblem>>, TraceError> {
        let mut bytes = [0; 40];
        let bytes = &mut bytes[..self.version.record_bytes()];
        let found = fill(&mut *self.input, bytes).map_err(|(_, source)| {
            input::read_error(&self.name, self.compression, self.number, source)
        })?;
        if found == 0 {
            return Ok(None);
        }
        self.number += 1;
        if found < bytes.len() {
            return Ok(Some(Err(LineProblem::PartOfRecord { found, needed: bytes.len() })));
        }
        Ok(Some(self.parse(&Record::new(self.version, bytes), units)))
    }

    fn parse(&self, record: &Record, units: &Units) -> Result<Parsed<'static>, LineProblem> {
        if !record.is_of(self.version) {
            return Err(LineProblem::OtherVersion {
                found: record.version,
                expected: self.version.number(),
            });
        }
        let op = match ops::scsi_command(record.command) {
            Some(Rwbs::Data(op)) => op,
            Some(Rwbs::Skip(reason)) => return Ok(Parsed::Skip(reason)),
            None => return Ok(Parsed::Skip(SkipReason::Command(record.command))),
        };
        let nanos = record.time.checked_mul(units.time.nanos());
        Ok(Parsed::Request(RawRequest {
            nanos: nanos
                .ok_or_else(|| fields::too_large("time", &record.time.to_string(), "584 years"))?,
            op,
            offset_bytes: units.sectors(record.sector),
            size_bytes: record.length.into(),
            device: "",
            durable: false,
        }))
    }
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "vscsi",
    time_unit: Some(TimeUnit::Microseconds),
    counted: Addressing::Sectors,
    reader: Reader::Records,
    columns: None,
};
