//! The formats, time units and compressions that are read.

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
    /// SSDSim: the columns of DiskSim. Its own times are nanoseconds, but files that have its name
    /// also count microseconds or milliseconds.
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
    /// The text that blkparse prints by default.
    Blkparse,
    /// The binary that blktrace writes, of one CPU or of all.
    Blktrace,
    /// fio's I/O log, version 2, whose only time is in `wait` entries.
    FioIologV2,
    /// fio's I/O log, version 3, with a timestamp on each line.
    FioIologV3,
    /// blkreplay: `seconds ; sector ; sectors ; R|W ; 0.0 ; 0.0` below a free text header.
    Blkreplay,
    /// Comma-separated columns: the common form `t_us,op,offset_bytes,size_bytes[,dev]`, or any
    /// other order that the header, the values or a column map tell.
    Csv,
    /// The binary records of virtual disks, of either version, that CloudPhysics collected.
    Vscsi,
}

impl Format {
    /// All formats, in the order in which they are listed to people.
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

    /// The name that is typed and printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::DiskSim => "disksim",
            Self::MqSim => "mqsim",
            Self::SsdSim => "ssdsim",
            Self::Msps => "msps",
            Self::Systor => "systor",
            Self::Tencent => "tencent",
            Self::Alibaba => "alibaba",
            Self::Spc => "spc",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::FioIologV2 => "fio-iolog-v2",
            Self::FioIologV3 => "fio-iolog-v3",
            Self::Blkreplay => "blkreplay",
            Self::Csv => "csv",
            Self::Vscsi => "vscsi",
        }
    }

    /// The time unit that the format prescribes; `None` where files of the format differ.
    #[must_use]
    pub const fn time_unit(self) -> Option<TimeUnit> {
        match self {
            Self::Msr => Some(TimeUnit::HundredNanoseconds),
            Self::DiskSim => Some(TimeUnit::Milliseconds),
            Self::MqSim => Some(TimeUnit::Nanoseconds),
            Self::SsdSim | Self::Msps => None,
            Self::Systor | Self::Tencent | Self::Spc | Self::Blkparse | Self::Blkreplay => {
                Some(TimeUnit::Seconds)
            }
            Self::Alibaba | Self::FioIologV3 | Self::Csv | Self::Vscsi => {
                Some(TimeUnit::Microseconds)
            }
            Self::FioIologV2 => Some(TimeUnit::Milliseconds),
            Self::Blktrace => Some(TimeUnit::Nanoseconds),
        }
    }

    /// Whether it has the five columns of DiskSim.
    #[must_use]
    pub const fn is_like_disksim(self) -> bool {
        matches!(self, Self::DiskSim | Self::MqSim | Self::SsdSim | Self::Msps)
    }

    /// Whether it is lines of text.
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Vscsi | Self::Blktrace)
    }

    /// Whether addresses or sizes are counted in sectors.
    #[must_use]
    pub const fn counts_sectors(self) -> bool {
        self.is_like_disksim()
            || matches!(
                self,
                Self::Tencent
                    | Self::Spc
                    | Self::Blkparse
                    | Self::Blktrace
                    | Self::Blkreplay
                    | Self::Vscsi
            )
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

/// The unit of the times in a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// The tick of a Windows file time.
    HundredNanoseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// Nanoseconds in one unit.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
            Self::HundredNanoseconds => 100,
            Self::Nanoseconds => 1,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::HundredNanoseconds => "100ns",
            Self::Nanoseconds => "ns",
        })
    }
}

impl FromStr for TimeUnit {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text.to_ascii_lowercase().as_str() {
            "s" => Ok(Self::Seconds),
            "ms" => Ok(Self::Milliseconds),
            "us" | "µs" => Ok(Self::Microseconds),
            "100ns" => Ok(Self::HundredNanoseconds),
            "ns" => Ok(Self::Nanoseconds),
            _ => Err(OptionError::NotUnderstood {
                option: "time unit",
                value: text.to_owned(),
                expected: "one of s, ms, us, 100ns, ns",
            }),
        }
    }
}

/// How a trace file is compressed, told by its first bytes and not by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// A zip archive with one file in it.
    Zip,
}

impl Compression {
    /// The name that is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zip => "zip",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
        assert!("msrx".parse::<Format>().unwrap_err().to_string().starts_with("format \"msrx\""));
        assert_eq!("100ns".parse::<TimeUnit>().unwrap(), TimeUnit::HundredNanoseconds);
        assert_eq!(
            "min".parse::<TimeUnit>().unwrap_err().to_string(),
            "time unit \"min\" is not one of s, ms, us, 100ns, ns"
        );
    }
}
