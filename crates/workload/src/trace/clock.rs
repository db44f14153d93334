//! Origin of the times of a trace: only times with the same origin can be compared.

use super::TimeUnit;
use std::fmt;

/// Nanoseconds between 1601, where file times begin, and 1970.
const FILE_TIME_NANOS: u64 = 11_644_473_600_000_000_000;
/// Nanoseconds since 1970 of clocks that show the date: from 2000 until 2040.
const DATES: std::ops::Range<u64> = 946_684_800_000_000_000..2_208_988_800_000_000_000;

/// Origin of the times of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceClock {
    /// 1970 or 1601: the times are dates.
    Date,
    /// Midnight of an unknown day.
    Midnight,
    /// An unknown moment, such as the start of the tracer or of the machine.
    Start,
}

impl fmt::Display for TraceClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Date => "its times are dates",
            Self::Midnight => "its times are times of day",
            Self::Start => "its times count from a moment that it does not name",
        })
    }
}

/// Notation of the times of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    Number,
    Date,
    TimeOfDay,
}

/// Clock of a trace whose first time is `nanos` in its own count, and the nanoseconds from its
/// origin to 1970.
pub(super) fn clock_of(written: Written, unit: TimeUnit, nanos: u64) -> (TraceClock, u64) {
    match written {
        Written::Date => (TraceClock::Date, 0),
        Written::TimeOfDay => (TraceClock::Midnight, 0),
        Written::Number if DATES.contains(&nanos) => (TraceClock::Date, 0),
        Written::Number
            if unit == TimeUnit::HundredNanoseconds
                && nanos
                    .checked_sub(FILE_TIME_NANOS)
                    .is_some_and(|since| DATES.contains(&since)) =>
        {
            (TraceClock::Date, FILE_TIME_NANOS)
        }
        Written::Number => (TraceClock::Start, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_told_from_a_count() {
        let number = |unit, nanos| clock_of(Written::Number, unit, nanos);
        let unix = 1_700_000_000_000_000_000;
        assert_eq!(number(TimeUnit::Seconds, unix), (TraceClock::Date, 0));
        assert_eq!(
            number(TimeUnit::HundredNanoseconds, unix + FILE_TIME_NANOS),
            (TraceClock::Date, FILE_TIME_NANOS)
        );
        assert_eq!(number(TimeUnit::Microseconds, 5_000), (TraceClock::Start, 0));
        assert_eq!(clock_of(Written::TimeOfDay, TimeUnit::Seconds, 5), (TraceClock::Midnight, 0));
        assert_eq!(clock_of(Written::Date, TimeUnit::Seconds, 5), (TraceClock::Date, 0));
    }
}
