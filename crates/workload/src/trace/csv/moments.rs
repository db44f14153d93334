//! Times as a date and a clock: `2023-01-15T12:34:56.789+01:00`.

use crate::trace::TimeUnit;

/// Notation of the times of a CSV.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    /// A number in some unit.
    Number,
    /// A date and a time of day, with or without a zone.
    Date { zoned: bool },
    /// A time of day without a date.
    Day,
}

/// A moment in seconds since 1970, or since midnight, with a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment<'a> {
    seconds: u64,
    /// Digits behind the decimal point.
    fraction: &'a str,
    pub(super) clock: Clock,
}

impl Moment<'_> {
    /// Nanoseconds if `unit` is seconds, and proportionally for other units; rounded down. `None`
    /// if the number does not fit.
    pub(super) fn nanos(&self, unit: TimeUnit) -> Option<u64> {
        let mut nanos = self.seconds.checked_mul(unit.nanos())?;
        let mut place = unit.nanos();
        for digit in self.fraction.bytes() {
            place /= 10;
            nanos = nanos.checked_add(u64::from(digit - b'0') * place)?;
        }
        Some(nanos)
    }
}

/// Reads a date with a time of day, or a time of day; `None` if `text` is neither.
pub(super) fn moment(text: &str) -> Option<Moment<'_>> {
    let bytes = text.as_bytes();
    if bytes.get(2) == Some(&b':') {
        let (seconds, fraction, rest) = time_of_day(text)?;
        return rest.is_empty().then_some(Moment { seconds, fraction, clock: Clock::Day });
    }
    let mark = *bytes.get(4)?;
    if !matches!(mark, b'-' | b'/') || *bytes.get(7)? != mark {
        return None;
    }
    let (year, month, day) =
        (digits(text.get(..4)?)?, digits(text.get(5..7)?)?, digits(text.get(8..10)?)?);
    let day_number = days_since_1970(year, month, day)?;
    let rest = text.get(10..)?.strip_prefix(['T', 't', ' ', '_'])?;
    let (in_day, fraction, rest) = time_of_day(rest.trim_start_matches(' '))?;
    let (east, zoned) = zone(rest.trim_start_matches(' '))?;
    let seconds = i64::try_from(day_number * 86_400 + in_day).ok()? - east;
    let seconds = u64::try_from(seconds).ok()?;
    Some(Moment { seconds, fraction, clock: Clock::Date { zoned } })
}

/// Parses `HH:MM:SS.fff`: the seconds, the fraction, and the text behind it.
fn time_of_day(text: &str) -> Option<(u64, &str, &str)> {
    let bytes = text.as_bytes();
    if *bytes.get(2)? != b':' || *bytes.get(5)? != b':' {
        return None;
    }
    let (hour, minute, second) =
        (digits(text.get(..2)?)?, digits(text.get(3..5)?)?, digits(text.get(6..8)?)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = hour * 3_600 + minute * 60 + second;
    let rest = text.get(8..)?;
    match rest.strip_prefix(['.', ',']) {
        None => Some((seconds, "", rest)),
        Some(behind) => {
            let length = behind.bytes().take_while(u8::is_ascii_digit).count();
            (length > 0).then(|| (seconds, &behind[..length], &behind[length..]))
        }
    }
}

/// Offset of a zone east of Greenwich in seconds, and whether there is a zone.
fn zone(text: &str) -> Option<(i64, bool)> {
    if text.is_empty() {
        return Some((0, false));
    }
    if ["z", "utc", "gmt"].iter().any(|name| text.eq_ignore_ascii_case(name)) {
        return Some((0, true));
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => (rest.get(..2)?, rest.get(2..)?),
        5 if rest.as_bytes()[2] == b':' => (rest.get(..2)?, rest.get(3..)?),
        _ => return None,
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some((sign * (hours * 3_600 + minutes * 60) as i64, true))
}

fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Day of the Gregorian calendar, counted from 1970-01-01; `None` for earlier or invalid days.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *months.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if year < 1970 || !(1..=length).contains(&day) {
        return None;
    }
    // Leap years that end before `year` begins.
    let leaps = |year: u64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let before: u64 = months.iter().take(month as usize - 1).sum();
    Some((year - 1970) * 365 + leaps(year) - leaps(1970) + before + day - 1)
}

/// Date of `seconds` since 1970, in ISO notation.
pub(super) fn date_of(seconds: u64) -> String {
    let day = seconds / 86_400;
    // The search starts at or below the year of the day; a low first guess costs one more step.
    let mut year = 1970 + day / 366;
    while days_since_1970(year + 1, 1, 1).is_some_and(|first| first <= day) {
        year += 1;
    }
    let mut month = 12;
    while days_since_1970(year, month, 1).is_some_and(|first| first > day) {
        month -= 1;
    }
    let first = days_since_1970(year, month, 1).unwrap_or(day);
    format!("{year:04}-{month:02}-{:02}", day - first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_from_1970() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29 12:00:00", 951_825_600_000_000_000),
            ("2023-01-15T12:34:56.789Z", 1_673_786_096_789_000_000),
            ("2023-01-15T12:34:56.789+01:00", 1_673_782_496_789_000_000),
            ("2023-01-15 12:34:56,5 -0530", 1_673_805_896_500_000_000),
            ("2023/01/15 12:34:56 UTC", 1_673_786_096_000_000_000),
            ("00:00:01.25", 1_250_000_000),
            ("23:59:59", 86_399_000_000_000),
        ];
        for (text, nanos) in cases {
            let found = moment(text).and_then(|moment| moment.nanos(TimeUnit::Seconds));
            assert_eq!(found, Some(nanos), "{text}");
        }
        for text in [
            "",
            "2023",
            "2023-02-29T00:00:00",
            "2023-13-01 00:00:00",
            "2023-01-15",
            "24:00:00",
            "15/01/2023 12:00:00",
            "2023-01-15T12:34:56.",
            "2023-01-15T12:34:56+25:00",
            "2023-01-15T12:34",
            "1969-12-31T23:59:59Z",
            "12:34",
            "2023-01/15 00:00:00",
            "äöüß:",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_has_its_date() {
        for (seconds, date) in [
            (0, "1970-01-01"),
            (951_825_600, "2000-02-29"),
            (1_672_531_199, "2022-12-31"),
            (1_672_531_200, "2023-01-01"),
            (4_102_444_800, "2100-01-01"),
        ] {
            assert_eq!(date_of(seconds), date);
        }
    }
}
