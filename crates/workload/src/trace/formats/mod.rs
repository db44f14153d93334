//! The trace formats. A new format needs a file here, four lines below (`mod`, the variant, `ALL`
//! and `about`) and its name in the help of `--format`. A format whose reader has state also needs
//! two lines in `parser.rs`.

mod about;
pub(super) mod alibaba;
pub(super) mod blkparse;
pub(super) mod blkreplay;
pub(super) mod blktrace;
pub(super) mod disksim;
pub(super) mod fio_iolog;
pub(super) mod msr;
mod parser;
pub(super) mod spc;
pub(super) mod systor;
pub(super) mod tencent;
pub(super) mod vscsi;

pub(super) use about::{About, Addressing, Columns, Dated, Reader};
pub(super) use parser::Parser;

use super::TimeUnit;
use crate::error::OptionError;
use std::fmt;
use std::str::FromStr;

/// The layout of a trace file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// MSR Cambridge: `filetime,host,disk,Read|Write,offset,size,response`.
    Msr,
    /// DiskSim: `milliseconds device sector sectors flag`, where flag 1 reads.
    DiskSim,
    /// MQSim: the columns of DiskSim, with times in nanoseconds.
    MqSim,
    /// SSDSim: the columns of DiskSim. Its own times are nanoseconds, but files under its name also
    /// count microseconds or milliseconds.
    SsdSim,
    /// MSPS: traces of Microsoft's servers in the columns of DiskSim, with times of several units.
    Msps,
    /// SYSTOR'17: `Timestamp,Response,IOType,LUN,Offset,Size` with a header.
    Systor,
    /// Tencent CBS: `seconds,sector,sectors,0|1,volume`, where 0 reads.
    Tencent,
    /// Alibaba block: `device,R|W,offset,length,microseconds`.
    Alibaba,
    /// SPC: `ASU,LBA,bytes,r|w,seconds`.
    Spc,
    /// The default text output of blkparse.
    Blkparse,
    /// The binary output of blktrace, of one CPU or of all.
    Blktrace,
    /// fio's I/O log, version 2, whose only time is in `wait` entries.
    FioIologV2,
    /// fio's I/O log, version 3, with a timestamp on each line.
    FioIologV3,
    /// blkreplay: `seconds ; sector ; sectors ; R|W ; 0.0 ; 0.0` below a free text header.
    Blkreplay,
    /// Comma-separated columns: the common form `t_us,op,offset_bytes,size_bytes[,dev]`, or any
    /// other order that follows from the header, the values or a column map.
    Csv,
    /// The binary records of virtual disks, of either version, that CloudPhysics collected.
    Vscsi,
}

/// The common form of a CSV.
const COMMON: About = About {
    name: "csv",
    time_unit: Some(TimeUnit::Microseconds),
    counted: Addressing::Bytes,
    reader: Reader::Stateful,
    columns: None,
};

impl Format {
    /// All formats, in the order of listings.
    pub const ALL: [Self; 16] = [
        Self::Msr,
        Self::DiskSim,
        Self::MqSim,
        Self::SsdSim,
        Self::Msps,
        Self::Systor,
        Self::Tencent,
        Self::Alibaba,
        Self::Spc,
        Self::Blkparse,
        Self::Blktrace,
        Self::FioIologV2,
        Self::FioIologV3,
        Self::Blkreplay,
        Self::Csv,
        Self::Vscsi,
    ];

    /// Properties of the format.
    pub(super) const fn about(self) -> &'static About {
        match self {
            Self::Msr => &msr::ABOUT,
            Self::DiskSim => &disksim::DISKSIM,
            Self::MqSim => &disksim::MQSIM,
            Self::SsdSim => &disksim::SSDSIM,
            Self::Msps => &disksim::MSPS,
            Self::Systor => &systor::ABOUT,
            Self::Tencent => &tencent::ABOUT,
            Self::Alibaba => &alibaba::ABOUT,
            Self::Spc => &spc::ABOUT,
            Self::Blkparse => &blkparse::ABOUT,
            Self::Blktrace => &blktrace::ABOUT,
            Self::FioIologV2 => &fio_iolog::VERSION_2,
            Self::FioIologV3 => &fio_iolog::VERSION_3,
            Self::Blkreplay => &blkreplay::ABOUT,
            Self::Csv => &COMMON,
            Self::Vscsi => &vscsi::ABOUT,
        }
    }

    /// Name on the command line and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// Time unit that the format prescribes; `None` if files of the format differ.
    #[must_use]
    pub const fn time_unit(self) -> Option<TimeUnit> {
        self.about().time_unit
    }

    /// Whether it has the five columns of DiskSim.
    #[must_use]
    pub const fn is_like_disksim(self) -> bool {
        matches!(self, Self::DiskSim | Self::MqSim | Self::SsdSim | Self::Msps)
    }

    /// Whether the format consists of lines of text.
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self.about().reader, Reader::Records)
    }

    /// Whether addresses or sizes are counted in sectors.
    #[must_use]
    pub const fn counts_sectors(self) -> bool {
        !matches!(self.about().counted, Addressing::Bytes)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let lower = text.to_ascii_lowercase();
        if lower == "norm" {
            return Ok(Self::Csv);
        }
        Self::ALL.into_iter().find(|format| format.name() == lower).ok_or_else(|| {
            OptionError::NotUnderstood {
                option: "format",
                value: text.to_owned(),
                expected: "one of msr, disksim, mqsim, ssdsim, msps, systor, tencent, alibaba, \
                           spc, blkparse, blktrace, fio-iolog-v2, fio-iolog-v3, blkreplay, csv, \
                           vscsi",
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
        }
        assert_eq!("MQSim".parse::<Format>().unwrap(), Format::MqSim);
        assert_eq!(Format::MqSim.time_unit(), Some(TimeUnit::Nanoseconds));
        assert_eq!(
            "msrx".parse::<Format>().unwrap_err().to_string(),
            format!("format \"msrx\" is not one of {}", Format::ALL.map(Format::name).join(", "))
        );
    }
}
