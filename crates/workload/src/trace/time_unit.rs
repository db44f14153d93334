//! The unit of the times in a trace.

use crate::error::OptionError;
use std::fmt;
use std::str::FromStr;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert_eq!("100ns".parse::<TimeUnit>().unwrap(), TimeUnit::HundredNanoseconds);
        assert_eq!(
            "min".parse::<TimeUnit>().unwrap_err().to_string(),
            "time unit \"min\" is not one of s, ms, us, 100ns, ns"
        );
    }
}
