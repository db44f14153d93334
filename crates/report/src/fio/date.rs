//! A moment as fio prints it.

use std::time::{Duration, SystemTime};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Time since 1970. Earlier moments are that of 1970.
pub(super) fn since_1970(moment: SystemTime) -> Duration {
    moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Day, date and time in UTC, in the form of `asctime` of C.
pub(super) fn text(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut rest) = (1970, days);
    while rest >= days_of_year(year) {
        rest -= days_of_year(year);
        year += 1;
    }
    let mut month = 0;
    while rest >= days_of_month(year, month) {
        rest -= days_of_month(year, month);
        month += 1;
    }
    format!(
        "{} {} {:2} {:02}:{:02}:{:02} {year}",
        DAYS[(days % 7) as usize],
        MONTHS[month],
        rest + 1,
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

/// Days of a month, counted from 0.
fn days_of_month(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `date -u -d @SECONDS '+%a %b %e %T %Y'`.
    #[test]
    fn moments_are_printed_as_the_calendar_has_them() {
        for (seconds, expected) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_399, "Mon Feb 28 23:59:59 2000"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_704_067_199, "Sun Dec 31 23:59:59 2023"),
            (1_795_690_731, "Thu Nov 26 10:58:51 2026"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
        ] {
            assert_eq!(text(Duration::from_secs(seconds)), expected);
        }
    }
}
