//! Numbers and operations in a line.

use super::TimeUnit;
use crate::Op;
use crate::error::{LineProblem, excerpt};

/// Most digits that always fit into 64 bits.
const MOST_DIGITS: usize = 19;

/// A whole number. `column` names it in the message.
pub(super) fn integer(column: &'static str, text: &str) -> Result<u64, LineProblem> {
    if let Some((number, [])) = leading_number(text.as_bytes()) {
        return Ok(number);
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(not_a_number(column, text, "a whole number"));
    }
    text.parse().map_err(|_| too_large(column, text, "64 bits hold"))
}

/// Number at the start of `bytes`, and the bytes behind it; `None` without a digit, or with more
/// than [`MOST_DIGITS`] digits.
#[inline]
fn leading_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut digits = 0;
    while let Some(digit) =
        bytes.get(digits).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10)
    {
        if digits == MOST_DIGITS {
            return None;
        }
        number = number * 10 + u64::from(digit);
        digits += 1;
    }
    (digits > 0).then(|| (number, &bytes[digits..]))
}

/// A whole number that may be written with an empty fraction, as spreadsheets do: `4096.0`.
pub(super) fn integer_or_float(column: &'static str, text: &str) -> Result<u64, LineProblem> {
    if let Some((number, [])) = leading_number(text.as_bytes()) {
        return Ok(number);
    }
    match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|b| b == b'0') => integer(column, whole),
        _ => integer(column, text),
    }
}

/// A time in nanoseconds, exact to the nanosecond and rounded down; `text` counts in `unit` and
/// may have a decimal fraction or an exponent.
pub(super) fn time(text: &str, unit: TimeUnit) -> Result<u64, LineProblem> {
    if let Some(nanos) = plain_time(text.as_bytes(), unit.nanos()) {
        return Ok(nanos);
    }
    let expected = "a time of zero or more";
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return time_with_exponent(text, unit)
            .ok_or_else(|| not_a_number("time", text, expected))?
            .ok_or_else(|| too_large("time", text, "584 years"));
    }
    let too_late = || too_large("time", text, "584 years");
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_late())? };
    let mut nanos = whole.checked_mul(unit.nanos()).ok_or_else(too_late)?;
    let mut place = unit.nanos();
    for digit in fraction.bytes() {
        place /= 10;
        if place == 0 {
            break;
        }
        nanos = nanos.checked_add(u64::from(digit - b'0') * place).ok_or_else(too_late)?;
    }
    Ok(nanos)
}

/// A time in the usual notation: digits, and optionally a point and more digits. `None` for any
/// other notation, or if the time is too large.
#[inline]
fn plain_time(bytes: &[u8], unit_nanos: u64) -> Option<u64> {
    let (whole, rest) = leading_number(bytes)?;
    let mut nanos = whole.checked_mul(unit_nanos)?;
    if let Some((point, fraction)) = rest.split_first() {
        let mut place = unit_nanos;
        if *point != b'.' {
            return None;
        }
        for byte in fraction {
            if !byte.is_ascii_digit() {
                return None;
            }
            // Zero for digits finer than a nanosecond.
            place /= 10;
            nanos = nanos.checked_add(u64::from(byte - b'0') * place)?;
        }
    }
    Some(nanos)
}

/// A time such as `1.5e-05`, as some tools print. The outer option is `None` if `text` is no
/// number, the inner one if it is too large.
fn time_with_exponent(text: &str, unit: TimeUnit) -> Option<Option<u64>> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.contains(['e', 'E']) {
        return None;
    }
    let nanos = text.parse::<f64>().ok()? * unit.nanos() as f64;
    Some((nanos < u64::MAX as f64).then_some(nanos as u64))
}

/// Reads `R`, `W`, `Read` or `Write` in upper or lower case.
pub(super) fn letter_op(text: &str) -> Result<Op, LineProblem> {
    if text.eq_ignore_ascii_case("r") || text.eq_ignore_ascii_case("read") {
        Ok(Op::Read)
    } else if text.eq_ignore_ascii_case("w") || text.eq_ignore_ascii_case("write") {
        Ok(Op::Write)
    } else {
        Err(operation(text, "R, W, Read, Write"))
    }
}

/// Splits into exactly `N` columns at `separator`, trimmed.
pub(super) fn split<'a, const N: usize>(
    line: &'a str,
    separator: char,
    format: &'static str,
    needed: &'static str,
) -> Result<[&'a str; N], LineProblem> {
    let mut columns = [""; N];
    let mut found = 0;
    for part in line.split(separator) {
        if found < N {
            columns[found] = part.trim();
        }
        found += 1;
    }
    if found != N {
        return Err(columns_problem(line, found, format, needed));
    }
    Ok(columns)
}

pub(super) fn columns_problem(
    line: &str,
    found: usize,
    format: &'static str,
    needed: &'static str,
) -> LineProblem {
    LineProblem::Columns { format, found, needed, text: excerpt(line) }
}

pub(super) fn operation(text: &str, expected: &'static str) -> LineProblem {
    LineProblem::Operation { text: excerpt(text), expected }
}

pub(super) fn not_a_number(
    column: &'static str,
    text: &str,
    expected: &'static str,
) -> LineProblem {
    LineProblem::NotANumber { column, text: excerpt(text), expected }
}

pub(super) fn too_large(column: &'static str, text: &str, limit: &'static str) -> LineProblem {
    LineProblem::TooLarge { column, text: excerpt(text), limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let cases = [
            ("1456095145.133076000", TimeUnit::Seconds, 1_456_095_145_133_076_000),
            ("0.026214", TimeUnit::Seconds, 26_214_000),
            ("143068.077", TimeUnit::Milliseconds, 143_068_077_000),
            ("128166385295514663", TimeUnit::HundredNanoseconds, 12_816_638_529_551_466_300),
            ("3.999", TimeUnit::Nanoseconds, 3),
            (".5", TimeUnit::Microseconds, 500),
            ("5.", TimeUnit::Microseconds, 5_000),
            ("1.0000009", TimeUnit::Microseconds, 1_000),
            ("18446744073709551615", TimeUnit::Nanoseconds, u64::MAX),
            ("00000000000000000000000000000000042", TimeUnit::Nanoseconds, 42),
            ("1.5e-05", TimeUnit::Seconds, 15_000),
        ];
        for (text, unit, nanos) in cases {
            assert_eq!(time(text, unit), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_said() {
        let message = |problem: LineProblem| problem.to_string();
        assert_eq!(
            message(time("-1", TimeUnit::Seconds).unwrap_err()),
            "the time \"-1\" is not a time of zero or more; correct it or the format"
        );
        for text in ["", ".", "1.2.3", "nan", "inf", "1e999x", "e5", "0x10", "1 2"] {
            assert!(time(text, TimeUnit::Seconds).is_err(), "{text}");
        }
        assert_eq!(
            message(time("99999999999999", TimeUnit::Seconds).unwrap_err()),
            "the time \"99999999999999\" is larger than 584 years; check the unit and the column \
             order"
        );
        assert!(time("1e300", TimeUnit::Seconds).is_err());
        assert_eq!(
            message(integer("size", "12a").unwrap_err()),
            "the size \"12a\" is not a whole number; correct it or the format"
        );
        assert_eq!(integer("size", "18446744073709551615"), Ok(u64::MAX));
        assert!(integer("size", "18446744073709551616").is_err());
        assert_eq!(integer_or_float("size", "4096"), Ok(4096));
        assert_eq!(integer_or_float("size", "4096.00"), Ok(4096));
        assert!(integer_or_float("size", "4096.5").is_err());
    }
}
