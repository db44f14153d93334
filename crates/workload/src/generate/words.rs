//! fio's options for directions, block sizes, distributions and arrivals.

use super::parse::parse_size;
use crate::error::OptionError;
use std::fmt;
use std::str::FromStr;
use units::Bytes;

/// fio's `rw`: direction and order of requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes, each with its own position.
    ReadWrite,
    /// Random reads and writes.
    RandRw,
}

impl Rw {
    const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::RandRead, Self::RandWrite, Self::ReadWrite, Self::RandRw];

    /// Whether addresses are random.
    #[must_use]
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw)
    }
}

impl fmt::Display for Rw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::ReadWrite => "rw",
            Self::RandRw => "randrw",
        })
    }
}

impl FromStr for Rw {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        if text == "readwrite" {
            return Ok(Self::ReadWrite);
        }
        Self::ALL.into_iter().find(|rw| rw.to_string() == text).ok_or_else(|| {
            OptionError::NotUnderstood {
                option: "rw",
                value: text.to_owned(),
                expected: "one of read, write, randread, randwrite, rw (also readwrite), randrw",
            }
        })
    }
}

/// fio's `bs`: block size in bytes, one for both or one each for reads and writes (`8k,128k`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockSizes {
    /// For reads.
    pub read: u64,
    /// For writes.
    pub write: u64,
}

impl FromStr for BlockSizes {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text.split_once(',') {
            None => parse_size(text).map(|both| Self { read: both, write: both }),
            Some((read, write)) => Ok(Self { read: parse_size(read)?, write: parse_size(write)? }),
        }
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.read == self.write {
            write!(f, "{}", Bytes(self.read))
        } else {
            write!(f, "{}, {}", Bytes(self.read), Bytes(self.write))
        }
    }
}

/// fio's `iodepth`: requests under way at once, for both directions or one each for a reading and a
/// writing job (`64,32`); 1 to 65,536 each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IoDepth {
    /// Requests of either direction.
    Shared(u32),
    /// Reads and writes, each with a depth of its own. Not an option of fio.
    Apart {
        /// Depth of the host that reads.
        reads: u32,
        /// Depth of the host that writes.
        writes: u32,
    },
}

impl IoDepth {
    /// Requests of both directions.
    #[must_use]
    pub const fn total(self) -> u32 {
        match self {
            Self::Shared(depth) => depth,
            Self::Apart { reads, writes } => reads.saturating_add(writes),
        }
    }

    /// The smallest and the largest depth of a host.
    pub(super) fn extremes(self) -> [u32; 2] {
        match self {
            Self::Shared(depth) => [depth; 2],
            Self::Apart { reads, writes } => [reads.min(writes), reads.max(writes)],
        }
    }
}

impl From<u32> for IoDepth {
    fn from(depth: u32) -> Self {
        Self::Shared(depth)
    }
}

impl FromStr for IoDepth {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let depth = |number: &str| {
            number.parse::<u64>().map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)).map_err(
                |_| OptionError::NotUnderstood {
                    option: "iodepth",
                    value: text.to_owned(),
                    expected: "a whole number, or one for reads and one for writes such as 64,32",
                },
            )
        };
        match text.split_once(',') {
            None => depth(text).map(Self::Shared),
            Some((reads, writes)) => {
                Ok(Self::Apart { reads: depth(reads)?, writes: depth(writes)? })
            }
        }
    }
}

impl fmt::Display for IoDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(depth) => write!(f, "{depth}"),
            Self::Apart { reads, writes } => write!(f, "{reads},{writes}"),
        }
    }
}

/// fio's `bsrange`: any multiple of the smallest size up to the largest, with equal probability
/// (`4k-128k`), in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SizeRange {
    /// Smallest size, and the grain.
    pub smallest: u64,
    /// Largest size.
    pub largest: u64,
}

impl FromStr for SizeRange {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (smallest, largest) =
            text.split_once('-').ok_or_else(|| OptionError::NotUnderstood {
                option: "bsrange",
                value: text.to_owned(),
                expected: "two sizes such as 4k-128k",
            })?;
        Ok(Self { smallest: parse_size(smallest)?, largest: parse_size(largest)? })
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", Bytes(self.smallest), Bytes(self.largest))
    }
}

/// fio's `random_distribution`: distribution of random requests over blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RandomDistribution {
    /// Uniform.
    Random,
    /// `zipf:theta`: the block of rank k with a probability proportional to k^-theta.
    Zipf {
        /// Above 0 and at most 10.
        theta: f64,
    },
    /// `pareto:h`: a share h of the blocks gets a share 1 - h of the requests.
    Pareto {
        /// Between 0 and 1, both excluded; 0.2 gives the 80/20 rule.
        h: f64,
    },
}

impl fmt::Display for RandomDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Zipf { theta } => write!(f, "zipf:{theta}"),
            Self::Pareto { h } => write!(f, "pareto:{h}"),
        }
    }
}

impl FromStr for RandomDistribution {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let parsed = match text.split_once(':') {
            None if text == "random" => Some(Self::Random),
            Some(("zipf", theta)) => theta.parse().ok().map(|theta| Self::Zipf { theta }),
            Some(("pareto", h)) => h.parse().ok().map(|h| Self::Pareto { h }),
            _ => None,
        };
        parsed.ok_or_else(|| OptionError::NotUnderstood {
            option: "random_distribution",
            value: text.to_owned(),
            expected: "one of random, zipf:<theta>, pareto:<h>",
        })
    }
}

/// fio's `rate_process`: distribution of the arrivals of `rate_iops`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RateProcess {
    /// `linear`: at equal intervals.
    Linear,
    /// `poisson`: independently of each other.
    Poisson,
}

impl FromStr for RateProcess {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text {
            "linear" => Ok(Self::Linear),
            "poisson" => Ok(Self::Poisson),
            _ => Err(OptionError::NotUnderstood {
                option: "rate_process",
                value: text.to_owned(),
                expected: "one of linear, poisson",
            }),
        }
    }
}

impl fmt::Display for RateProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linear => "linear",
            Self::Poisson => "poisson",
        })
    }
}
