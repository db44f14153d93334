//! Sizes and rates as data sheets print them: GB are 10^9 bytes.

use crate::values::quantity::not_understood;
use std::str::FromStr;
use workload::OptionError;

/// Bytes below which numbers are exact, far above any drive.
const MOST_BYTES: f64 = (1_u64 << 53) as f64;

/// A size in bytes, such as `960GB`. Suffixes are powers of 1000, those with an `i` of 1024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecimalSize(pub u64);

/// A rate in bytes per second, such as `6500MB/s`. Suffixes are those of [`DecimalSize`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecimalRate(pub u64);

impl FromStr for DecimalSize {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        bytes(text).map(Self).ok_or_else(|| {
            not_understood("capacity", text, "a size such as 960GB, 3.84TB or 894GiB")
        })
    }
}

impl FromStr for DecimalRate {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let lower = text.trim().to_lowercase();
        let size = lower.strip_suffix("/s").unwrap_or(&lower);
        bytes(size).map(Self).ok_or_else(|| {
            not_understood("rate", text, "bytes per second such as 6500MB/s or 6.5GB/s")
        })
    }
}

/// Whole bytes; nothing for another text.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let factor = match text[end..].trim().to_lowercase().as_str() {
        "" | "b" => 1_u64,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    let bytes = (text[..end].parse::<f64>().ok()? * factor as f64).round();
    (bytes < MOST_BYTES).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_data_sheets() {
        let cases = [
            ("960GB", 960_000_000_000),
            ("960g", 960_000_000_000),
            ("0.96TB", 960_000_000_000),
            (" 3.84 tb ", 3_840_000_000_000),
            ("894GiB", 894 << 30),
            ("7.68t", 7_680_000_000_000),
            ("512", 512),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(DecimalSize(bytes)), "{text}");
        }
        for text in ["", "GB", "960GB/s", "-1GB", "1.2.3GB", "960 Gbit", "9e9", "99999t"] {
            let refused = text.parse::<DecimalSize>().unwrap_err().to_string();
            assert!(refused.starts_with(&format!("capacity {text:?} is not a size")), "{refused}");
        }
    }

    #[test]
    fn rates_may_say_per_second() {
        for text in ["6500MB/s", "6.5GB/s", "6500m", "6.5 gb/S"] {
            assert_eq!(text.parse(), Ok(DecimalRate(6_500_000_000)), "{text}");
        }
        let refused = "fast".parse::<DecimalRate>().unwrap_err().to_string();
        assert!(refused.starts_with("rate \"fast\" is not bytes per second"), "{refused}");
    }
}
