//! Values as people type them, the same on the command line and in configuration files.

use crate::values::names::Unknown;
use crate::values::rate::DriveLoad;
use array::{Level, policy::PolicyKind};
use live::durable::Journalled;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use units::{DriveId, Duration, Ratio};
use workload::OptionError;

/// A value together with the text that it was read from. It is written back as that text.
#[derive(Clone, PartialEq, Debug)]
pub struct Text<T> {
    /// The value.
    pub value: T,
    text: String,
}

impl<T: FromStr> FromStr for Text<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Self { value: text.parse()?, text: text.to_owned() })
    }
}

impl<T> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Text<T> {
    /// From a string, or from a number as if it stood in quotes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyScalar<T>(PhantomData<T>);
        impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for AnyScalar<T> {
            type Value = Text<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<T>, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Text<T>, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Text<T>, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Text<T>, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(AnyScalar(PhantomData))
    }
}

/// The error about a text that is no value of `option`.
pub fn not_understood(option: &'static str, value: &str, expected: &'static str) -> OptionError {
    OptionError::NotUnderstood { option, value: value.to_owned(), expected }
}

/// A size in bytes, such as `4k` or `1.5g`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        workload::parse_size(text).map(Self)
    }
}

/// A length of time, such as `72us` or `10s`; a number alone is refused, but for 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        workload::parse_duration(text).map(Self)
    }
}

/// How long a synthetic workload lasts. As in fio, whose option this is, a number alone is in
/// seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Runtime(pub Duration);

impl FromStr for Runtime {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        workload::parse_runtime(text).map(Self)
    }
}

/// When an array writes what it is about to change into its journal first: `degraded` or `always`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JournalUse(pub Journalled);

impl FromStr for JournalUse {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Journalled::Degraded, Journalled::Always];
        let found = all.into_iter().find(|journalled| journalled.name() == text);
        found.map(Self).ok_or_else(|| format!("{text:?} is neither `degraded` nor `always`"))
    }
}

/// A drive of another model: its place in the array and the name of a preset or a file, such as
/// `1:wd-960`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherDrive {
    /// The place.
    pub place: DriveId,
    /// The name.
    pub name: String,
}

impl FromStr for OtherDrive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, name) =
            text.split_once(':').ok_or("write the place and the drive as in 1:wd-960")?;
        Ok(Self { place: drive_number(place)?, name: name.to_owned() })
    }
}

/// The drive with this place in the array.
pub(crate) fn drive_number(text: &str) -> Result<DriveId, String> {
    text.parse().map(DriveId).map_err(|_| format!("{text} is no number of a drive"))
}

/// `on` or `off`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnOff(pub bool);

impl FromStr for OnOff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self(true)),
            "off" => Ok(Self(false)),
            _ => Err(format!("{text:?} is neither `on` nor `off`")),
        }
    }
}

/// A factor above zero, such as `8`, `0.5` or `8x`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Factor(pub f64);

impl FromStr for Factor {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        workload::parse_factor(text).map(Self)
    }
}

/// A share in per cent, such as `25%`. A number alone is refused, but for 0: 0.25 might be a
/// quarter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Percent(pub Ratio);

impl FromStr for Percent {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (number, has_sign) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (text.trim(), false),
        };
        match number.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 && !has_sign => {
                Err(without_sign(text, percent))
            }
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(Self(Ratio::from_f64(percent / 100.0)))
            }
            _ => Err(not_understood("share", text, "a share from 0% to 100%, such as 25%")),
        }
    }
}

/// The error about a share that may be in per cent or a fraction.
fn without_sign(text: &str, number: f64) -> OptionError {
    let spellings = if number <= 1.0 {
        format!("{}% or {number}%", exact_percent(Ratio::from_f64(number)).trim_end_matches('%'))
    } else {
        format!("{number}%")
    };
    OptionError::NoUnit { quantity: "share", value: text.to_owned(), spellings }
}

/// What `parse` makes of a text, unless that is `none`.
fn none_or<T>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, OptionError>,
) -> Result<Option<T>, OptionError> {
    if text == "none" { Ok(None) } else { parse(text).map(Some) }
}

/// A limit in bytes per second, or `none`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bandwidth(pub Option<u64>);

impl FromStr for Bandwidth {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        none_or(text, workload::parse_size).map(Self)
    }
}

/// Size of a write buffer in bytes, or `none`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BufferSize(pub Option<u64>);

impl FromStr for BufferSize {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        none_or(text, workload::parse_size).map(Self)
    }
}

/// Idle time before a die scrubs, or `none`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScrubAfter(pub Option<Duration>);

impl FromStr for ScrubAfter {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        none_or(text, workload::parse_duration).map(Self)
    }
}

/// The busy time window: what the drives advertise, what suits a load, or a length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TimeWindow {
    /// TW_burst of the drives in this array, or one collection if that takes longer.
    Burst,
    /// TW_norm of the drives in this array.
    Normal,
    /// The longest that keeps the contract under this load.
    For(DriveLoad),
    /// This long.
    Length(Duration),
}

impl FromStr for TimeWindow {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text {
            "burst" => return Ok(Self::Burst),
            "norm" => return Ok(Self::Normal),
            _ => {}
        }
        if let Some(load) = DriveLoad::parse(text) {
            return Ok(Self::For(load));
        }
        workload::parse_duration(text).map(Self::Length).map_err(|error| match error {
            OptionError::NotUnderstood { .. } => not_understood(
                "busy time window",
                text,
                "a duration such as 97ms, `burst`, `norm`, or the load it is for such as 20dwpd",
            ),
            error => error,
        })
    }
}

/// The RAID level as `5` or `raid5`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Raid(pub Level);

impl FromStr for Raid {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let lower = text.to_lowercase();
        let number = match lower.strip_prefix("raid") {
            Some(number) => number.strip_prefix('-').unwrap_or(number),
            // A hyphen alone is a sign.
            None => &lower,
        };
        Level::ALL
            .into_iter()
            .find(|level| level.name().strip_prefix("raid") == Some(number))
            .map(Self)
            .ok_or_else(|| not_understood("RAID level", text, "one of 0, 1, 4, 5, 6, 10"))
    }
}

/// A policy by name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PolicyName(pub PolicyKind);

impl FromStr for PolicyName {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let known = PolicyKind::ALL.iter().map(|kind| kind.name());
        PolicyKind::from_name(text).map(Self).ok_or_else(|| Unknown::new("policy", text, known))
    }
}

/// A duration in the largest unit that divides it, so that reading it back gives the same.
pub fn exact_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(length, _)| nanos > 0 && nanos.is_multiple_of(*length)) {
        Some((length, unit)) => format!("{}{unit}", nanos / length),
        None => format!("{nanos}ns"),
    }
}

/// A size in the largest unit that divides it, so that reading it back gives the same.
pub fn exact_size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    match units.into_iter().find(|(size, _)| bytes > 0 && bytes.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{}{unit}", bytes / size),
        None => bytes.to_string(),
    }
}

/// A share in per cent, so that reading it back gives the same.
pub fn exact_percent(ratio: Ratio) -> String {
    format!("{}%", f64::from(ratio.parts_per_million()) / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_texts_are_read_back() {
        for nanos in [0, 1, 1_500, 40_000, 2_400_000, 97_000_000_000] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(exact_duration(duration).parse(), Ok(Span(duration)));
        }
        for bytes in [0, 512, 4_096, 3 << 29, 1 << 40] {
            assert_eq!(exact_size(bytes).parse(), Ok(Size(bytes)));
        }
        for parts in [0, 1, 70_000, 250_000, 333_333, 1_000_000] {
            let ratio = Ratio::from_parts_per_million(parts);
            assert_eq!(exact_percent(ratio).parse(), Ok(Percent(ratio)));
        }
    }

    #[test]
    fn a_share_without_its_sign_is_refused_with_what_it_may_mean() {
        let sentence = |text: &str| text.parse::<Percent>().unwrap_err().to_string();
        assert_eq!(sentence("0.25"), "share \"0.25\" has no unit; write 25% or 0.25%");
        assert_eq!(sentence("25"), "share \"25\" has no unit; write 25%");
        assert_eq!(sentence("120%"), "share \"120%\" is not a share from 0% to 100%, such as 25%");
        assert!(sentence("NaN").contains("is not a share"), "{}", sentence("NaN"));
        assert_eq!("0".parse(), Ok(Percent(Ratio::ZERO)));
        assert_eq!(" 2.5 %".parse(), Ok(Percent(Ratio::from_parts_per_million(25_000))));
    }

    #[test]
    fn levels_and_policies_have_several_spellings() {
        for text in ["6", "raid6", "RAID-6"] {
            assert_eq!(text.parse(), Ok(Raid(Level::Raid6)));
        }
        assert_eq!("raid1".parse(), Ok(Raid(Level::Raid1)));
        assert_eq!("10".parse(), Ok(Raid(Level::Raid10)));
        for text in ["2", "-1", "-5", "--5", "raid--5", "raid-", ""] {
            let refused = text.parse::<Raid>().unwrap_err().to_string();
            let sentence = format!("RAID level {text:?} is not one of 0, 1, 4, 5, 6, 10");
            assert_eq!(refused, sentence);
        }
        assert_eq!("IODA".parse::<PolicyName>().ok(), Some(PolicyName(PolicyKind::IODA)));
    }
}
