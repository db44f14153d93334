//! Loads and shares as people type them.

use ssd::Config;
use std::fmt;
use std::str::FromStr;
use study::values::quantity::Percent;
use units::{MIB, Ratio};
use workload::OptionError;

fn refused(option: &'static str, text: &str, expected: &'static str) -> OptionError {
    OptionError::NotUnderstood { option, value: text.to_owned(), expected }
}

/// No load is as many, in any unit; more would only make long numbers.
const MOST: f64 = 1e9;

/// A number above zero.
fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| *number > 0.0 && *number <= MOST)
}

/// What is written to each drive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    text: String,
    kind: LoadKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LoadKind {
    /// `B_burst` of the drive.
    Burst,
    /// `B_norm` of the drive.
    Norm,
    /// All that its flash can take in.
    Flash,
    /// Drive writes per day.
    Daily(f64),
    /// Bytes per second.
    Rate(f64),
}

impl Load {
    /// The loads that are judged unless others are named.
    pub(crate) fn usual() -> Vec<Self> {
        [("burst", LoadKind::Burst), ("norm", LoadKind::Norm)]
            .map(|(text, kind)| Self { text: text.to_owned(), kind })
            .to_vec()
    }

    /// Bytes per second on each drive.
    pub(crate) fn bytes_per_second(&self, config: &Config) -> f64 {
        match self.kind {
            LoadKind::Burst => config.contract.burst_bytes_per_second,
            LoadKind::Norm => config.normal_bytes_per_second(),
            LoadKind::Flash => config.program_bytes_per_second(),
            LoadKind::Daily(writes) => config.bytes_per_second(writes),
            LoadKind::Rate(rate) => rate,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Load {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let lower = text.trim().to_lowercase();
        let units = [
            ("gib/s", 1024.0 * MIB as f64),
            ("mib/s", MIB as f64),
            ("kib/s", 1024.0),
            ("gb/s", 1e9),
            ("mb/s", 1e6),
            ("kb/s", 1e3),
        ];
        let daily = |text: &str| positive(text.strip_suffix("dwpd")?).map(LoadKind::Daily);
        let rate = |text: &str| {
            let (number, factor) =
                units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
            positive(number).map(|number| LoadKind::Rate(number * factor))
        };
        let kind = match lower.as_str() {
            "burst" => Some(LoadKind::Burst),
            "norm" => Some(LoadKind::Norm),
            "flash" => Some(LoadKind::Flash),
            text => daily(text).or_else(|| rate(text)),
        };
        let expected = "`burst`, `norm`, `flash`, or a number above 0 and up to 1e9 with dwpd, MB/s or \
                        MiB/s, such as 10dwpd or 30MB/s";
        kind.map(|kind| Self { text: text.trim().to_owned(), kind })
            .ok_or_else(|| refused("load", text, expected))
    }
}

/// How much of the over-provisioned space may fill in one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum UsableShare {
    /// What lies between the watermarks of the drive.
    Watermarks,
    /// This share of it.
    Of(f64),
}

impl FromStr for UsableShare {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        if text == "watermarks" {
            return Ok(Self::Watermarks);
        }
        let wrong =
            || refused("usable share", text, "`watermarks`, or a share above 0% and at most 100%");
        match text.parse::<Percent>() {
            Ok(Percent(share)) if share == Ratio::ZERO => Err(wrong()),
            Ok(Percent(share)) => Ok(Self::Of(share.as_f64())),
            Err(error) => Err(error.of_part(wrong)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_words_days_or_rates() {
        let femu = ssd::presets::preset("femu").unwrap();
        let load = |text: &str| text.parse::<Load>().map(|load| load.bytes_per_second(&femu));
        assert_eq!(load("norm"), load("40dwpd"));
        assert_eq!(load("30MB/s"), Ok(30e6));
        assert_eq!(load("1.5 GiB/s"), Ok(1536.0 * MIB as f64));
        assert_eq!(load("burst"), Ok(536.0 * MIB as f64));
        for wrong in ["0dwpd", "-1MB/s", "30", "MB/s", "infMB/s", "nandwpd", "1e300MB/s", ""] {
            assert!(load(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_above_zero_and_at_most_all() {
        assert_eq!("5%".parse(), Ok(UsableShare::Of(0.05)));
        assert_eq!("100%".parse(), Ok(UsableShare::Of(1.0)));
        for wrong in ["0", "0%", "0.5", "101%", "some", "-0.1"] {
            assert!(wrong.parse::<UsableShare>().is_err(), "{wrong}");
        }
    }
}
