//! Sizes and durations in fio's notation.

use crate::error::OptionError;
use units::Duration;

/// Reads a size such as `4096`, `4k`, `1m`, `128KiB`, `1.5g`. All suffixes count in powers of
/// 1024, as fio does by default; the result is in bytes and below 2^60.
pub fn parse_size(text: &str) -> Result<u64, OptionError> {
    let wrong = || OptionError::NotUnderstood {
        option: "size",
        value: text.to_owned(),
        expected: "a number of bytes with an optional suffix k, m, g or t, such as 4k, 1m, 128KiB",
    };
    let (number, suffix) = number_and_suffix(text);
    let factor: u64 = match suffix.as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => {
            let bytes = decimal(number).ok_or_else(wrong)? * factor as f64;
            (bytes < 2f64.powi(60)).then_some(bytes as u64)
        }
    };
    bytes.filter(|bytes| *bytes < 1 << 60).ok_or_else(|| OptionError::OutOfRange {
        option: "size",
        value: text.to_owned(),
        limit: "below 2^60 bytes".to_owned(),
    })
}

/// Reads a duration such as `10s`, `100ms`, `72us`, `500ns`, `2m`, `1h`. A number alone is refused
/// unless it is 0, because settings in microseconds and in minutes stand side by side.
pub fn parse_duration(text: &str) -> Result<Duration, OptionError> {
    match number_and_suffix(text) {
        (number, suffix)
            if suffix.is_empty() && decimal(number).is_some_and(|number| number > 0.0) =>
        {
            Err(OptionError::NoUnit {
                quantity: "duration",
                value: text.to_owned(),
                spellings: format!("{number}us, {number}ms, {number}s or another of ns, m and h"),
            })
        }
        _ => parse_runtime(text),
    }
}

/// Reads a duration as fio reads its `runtime`: a number alone is in seconds.
pub fn parse_runtime(text: &str) -> Result<Duration, OptionError> {
    let wrong = || OptionError::NotUnderstood {
        option: "duration",
        value: text.to_owned(),
        expected: "a number with a unit ns, us, ms, s, m or h, such as 72us, 100ms, 10s",
    };
    let (number, suffix) = number_and_suffix(text);
    let factor: u64 = match suffix.as_str() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(wrong()),
    };
    let nanos = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => {
            let nanos = decimal(number).ok_or_else(wrong)? * factor as f64;
            (nanos < u64::MAX as f64).then_some((nanos + 0.5) as u64)
        }
    };
    nanos.map(Duration::from_nanos).ok_or_else(|| OptionError::OutOfRange {
        option: "duration",
        value: text.to_owned(),
        limit: "below 584 years".to_owned(),
    })
}

/// The leading digits and points, and the rest in lower case.
fn number_and_suffix(text: &str) -> (&str, String) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim().to_lowercase())
}

/// A decimal number with at most one point.
fn decimal(text: &str) -> Option<f64> {
    let has_digit = text.bytes().any(|b| b.is_ascii_digit());
    if has_digit { text.parse::<f64>().ok().filter(|number| number.is_finite()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_type_them() {
        let cases = [
            ("4096", 4_096),
            ("4k", 4_096),
            ("1M", 1 << 20),
            ("128KiB", 131_072),
            ("1g", 1 << 30),
            ("1.5g", 3 << 29),
            (" 2 TiB ", 2 << 40),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "4q", "-4k", "1.2.3k", ".", "4kk", "9e3"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(
            parse_size("99999999t").unwrap_err().to_string(),
            "size is 99999999t, but must be below 2^60 bytes"
        );
    }

    #[test]
    fn durations_as_people_type_them() {
        let cases = [
            ("10s", 10_000_000_000),
            ("100ms", 100_000_000),
            ("72us", 72_000),
            ("500ns", 500),
            ("0", 0),
            ("1.5ms", 1_500_000),
            ("2m", 120_000_000_000),
        ];
        for (text, nanos) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        assert_eq!(
            parse_duration("10").unwrap_err().to_string(),
            "duration \"10\" has no unit; write 10us, 10ms, 10s or another of ns, m and h"
        );
        assert_eq!(parse_runtime("30"), parse_duration("30s"));
        assert_eq!(
            parse_duration("10 parsecs").unwrap_err().to_string(),
            "duration \"10 parsecs\" is not a number with a unit ns, us, ms, s, m or h, such as \
             72us, 100ms, 10s"
        );
    }
}
