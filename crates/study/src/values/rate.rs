//! Rates as people type them: factors, requests per second, and loads on each drive.

use crate::metric::three_digits;
use crate::values::quantity::{Text, not_understood};
use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};
use std::fmt;
use std::str::FromStr;
use units::{Duration, MIB};
use workload::OptionError;

/// What is written to each drive, parity included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DriveLoad {
    /// Drive writes per day of 8 hours.
    WritesPerDay(f64),
    /// Bytes per second.
    Bytes(f64),
    /// `B_burst` of the drive: the most that it takes.
    Burst,
}

impl DriveLoad {
    /// Bytes per second on a drive of this kind.
    pub fn bytes_per_second(self, drive: &ssd::Config) -> f64 {
        match self {
            Self::WritesPerDay(writes) => drive.bytes_per_second(writes),
            Self::Bytes(bytes) => bytes,
            Self::Burst => drive.contract.burst_bytes_per_second,
        }
    }

    /// None if this is no load at all, but perhaps a number.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_lowercase();
        if lower == "burst" {
            return Some(Self::Burst);
        }
        let number = |unit: &str| -> Option<f64> {
            let number = lower.strip_suffix(unit)?.trim_end().parse().ok()?;
            (number > 0.0 && number < f64::INFINITY).then_some(number)
        };
        None.or_else(|| number("dwpd").map(Self::WritesPerDay))
            .or_else(|| number("mib/s").map(|mebibytes| Self::Bytes(mebibytes * MIB as f64)))
            .or_else(|| number("mb/s").map(|megabytes| Self::Bytes(megabytes * 1e6)))
    }
}

impl fmt::Display for DriveLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WritesPerDay(writes) => write!(f, "{writes} drive writes per day"),
            Self::Bytes(bytes) => write!(f, "{}", bandwidth(*bytes)),
            Self::Burst => f.write_str("the burst of the drives"),
        }
    }
}

/// `bytes_per_second` for people.
pub fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} MB/s", three_digits(bytes_per_second / 1e6))
}

/// How many times faster requests come, or what they are to come to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rerate {
    /// As fast as the windows can sustain, but not faster than the original.
    Auto,
    /// This many times faster.
    By(f64),
    /// As fast as writes this much to each drive, faster or slower than the original.
    To(DriveLoad),
}

impl FromStr for Rerate {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(load) = DriveLoad::parse(text) {
            return Ok(Self::To(load));
        }
        workload::parse_factor(text).map(Self::By).map_err(|_| {
            not_understood(
                "rate",
                text,
                "`auto`, a number above 0 such as 8, 0.5 or 8x, or a load on each drive such as \
                 20dwpd, 30MB/s or `burst`",
            )
        })
    }
}

/// The rate of an open loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RequestRate {
    /// Requests per second.
    PerSecond(f64),
    /// As many as write this much to each drive.
    To(DriveLoad),
}

impl FromStr for RequestRate {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        if let Some(load) = DriveLoad::parse(text) {
            return Ok(Self::To(load));
        }
        text.trim().parse().map(Self::PerSecond).map_err(|_| {
            not_understood(
                "rate_iops",
                text,
                "a number of requests per second, or a load on each drive such as 20dwpd, \
                 30MB/s or `burst`",
            )
        })
    }
}

/// A phase of load: a rate and how long it lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PhaseRate {
    /// Its rate.
    pub rate: RequestRate,
    /// How long it lasts.
    pub length: Duration,
}

impl FromStr for PhaseRate {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || {
            not_understood(
                "phase",
                text,
                "a rate and a length such as 20dwpd:60s, burst:10s or 5000:1m",
            )
        };
        let (rate, length) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self {
            rate: rate.parse().map_err(|_| wrong())?,
            length: workload::parse_duration(length).map_err(|error| error.of_part(wrong))?,
        })
    }
}

/// Reads phases from a list of texts, or from one text with commas as on the command line.
pub fn phases<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Text<PhaseRate>>, D::Error> {
    struct Phases;
    impl<'de> Visitor<'de> for Phases {
        type Value = Vec<Text<PhaseRate>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("phases such as \"20dwpd:60s,80dwpd:60s\", or a list of them")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            text.split(',').map(|phase| phase.trim().parse().map_err(E::custom)).collect()
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut phases = Vec::new();
            while let Some(phase) = list.next_element()? {
                phases.push(phase);
            }
            Ok(phases)
        }
    }
    deserializer.deserialize_any(Phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[test]
    fn loads_factors_and_numbers_are_told_apart() {
        let per_day = DriveLoad::WritesPerDay(20.0);
        for text in ["20dwpd", "20 DWPD", " 20.0dwpd"] {
            assert_eq!(text.parse(), Ok(Rerate::To(per_day)), "{text}");
            assert_eq!(text.parse(), Ok(RequestRate::To(per_day)), "{text}");
        }
        assert_eq!("30MB/s".parse(), Ok(Rerate::To(DriveLoad::Bytes(30e6))));
        assert_eq!("1MiB/s".parse(), Ok(Rerate::To(DriveLoad::Bytes(1048576.0))));
        assert_eq!("burst".parse(), Ok(RequestRate::To(DriveLoad::Burst)));
        assert_eq!("auto".parse(), Ok(Rerate::Auto));
        assert_eq!("8x".parse(), Ok(Rerate::By(8.0)));
        assert_eq!("500".parse(), Ok(RequestRate::PerSecond(500.0)));
        for text in ["0dwpd", "-1dwpd", "dwpd", "infdwpd", "nandwpd", "20dwp", "MB/s"] {
            assert!(text.parse::<Rerate>().is_err(), "{text}");
            assert!(text.parse::<RequestRate>().is_err(), "{text}");
        }
    }

    #[test]
    fn loads_are_bytes_of_the_drive() {
        let drive = ssd::presets::preset("femu-artifact").unwrap();
        let per_second = drive.logical_bytes() as f64 / 28_800.0;
        assert_eq!(DriveLoad::WritesPerDay(2.0).bytes_per_second(&drive), 2.0 * per_second);
        assert_eq!(DriveLoad::Bytes(5.0).bytes_per_second(&drive), 5.0);
        let burst = drive.contract.burst_bytes_per_second;
        assert_eq!(DriveLoad::Burst.bytes_per_second(&drive), burst);
    }

    #[test]
    fn phases_are_a_text_or_a_list() {
        #[derive(Deserialize)]
        struct File {
            #[serde(deserialize_with = "phases")]
            phases: Vec<Text<PhaseRate>>,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.phases);
        let text = read("phases = '20dwpd:60s, 500:1m'").unwrap();
        assert_eq!(read("phases = ['20dwpd:60s', '500:1m']").unwrap(), text);
        assert_eq!(text[1].value.rate, RequestRate::PerSecond(500.0));
        assert_eq!(text[0].value.length, text[1].value.length);
        for text in ["'20dwpd'", "'20dwpd:60s,'", "['a:1s']", "['1s:a']", "7"] {
            assert!(read(&format!("phases = {text}")).is_err(), "{text}");
        }
    }
}
