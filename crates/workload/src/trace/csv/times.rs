//! Possible units of a column of times whose name gives no unit.
//!
//! A unit is certain only if all others are impossible. Otherwise the result of each possible unit
//! is reported, and the user decides.

use super::moments::date_of;
use crate::trace::TimeUnit;

/// Seconds since 1970 on a plausible clock: from 2000 until 2040.
const CLOCK_S: std::ops::Range<f64> = 946_684_800.0..2_208_988_800.0;
/// Seconds between 1601, where file times begin, and 1970.
const FILE_TIME_S: f64 = 11_644_473_600.0;
/// Request rate above that of any recorded trace.
const MOST_PER_SECOND: f64 = 1e7;
/// Request rate below that of any recorded trace.
const LEAST_PER_SECOND: f64 = 1.0 / 3_600.0;
/// Number of requests from which their rate is meaningful.
const ENOUGH: usize = 20;
/// Least rate of a clock that shows the date. At lower rates, the values may count a finer unit and
/// look like dates by chance.
const BUSY_PER_SECOND: f64 = 0.5;
/// A rate that a count of a finer unit would have to stay below.
const FAST_PER_SECOND: f64 = 2e6;

/// Unit of a column by its values.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::trace) enum Verdict {
    /// This unit only, with the reason.
    Sure(TimeUnit, String),
    /// Any of these units.
    Open(Readings),
}

/// Results of several units.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::trace) struct Readings {
    /// Possible units, each with the requests per second in that unit.
    pub(in crate::trace) units: Vec<(TimeUnit, Option<f64>)>,
}

impl Readings {
    /// `in s 2 requests/s, in ms 2000 requests/s`.
    pub(in crate::trace) fn text(&self) -> String {
        let one = |(unit, rate): &(TimeUnit, Option<f64>)| match rate {
            None => format!("in {unit} one request"),
            Some(rate) if rate.is_infinite() => format!("in {unit} all requests at once"),
            Some(rate) => format!("in {unit} {} requests/s", number(*rate)),
        };
        self.units.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// A number with three digits, or with all digits before the point.
fn number(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{value:.1e}"),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.5}"),
    }
}

/// Properties of a column of numbers.
struct Numbers {
    first: f64,
    count: usize,
    /// Mean step from one number to the next; `None` for a single number.
    step: Option<f64>,
    /// Digits behind the decimal point, if all numbers have the same number of them; else `None`.
    decimals: Option<usize>,
    /// Whether any number has a fraction other than zero.
    has_fraction: bool,
}

fn numbers(values: &[&str]) -> Option<Numbers> {
    let mut all = Vec::with_capacity(values.len());
    let mut decimals = Vec::with_capacity(values.len());
    let mut has_fraction = false;
    for text in values {
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: Option<f64> = if plain { text.parse().ok() } else { None };
        let Some(number) = number else { continue };
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        has_fraction |= fraction.bytes().any(|b| b != b'0');
        all.push(number);
        decimals.push(fraction.len());
    }
    let first = *all.first()?;
    let span =
        all.iter().fold(f64::MIN, |a, b| a.max(*b)) - all.iter().fold(f64::MAX, |a, b| a.min(*b));
    let step = (all.len() > 1).then(|| span / (all.len() - 1) as f64);
    let decimals = decimals.iter().all(|d| Some(d) == decimals.first()).then(|| decimals[0]);
    Some(Numbers { first, count: all.len(), step, decimals, has_fraction })
}

impl Numbers {
    /// Requests per second in `unit`; infinite if no time passes, `None` for a single request.
    fn rate(&self, unit: TimeUnit) -> Option<f64> {
        self.step.map(|step| 1e9 / (step * unit.nanos() as f64))
    }

    /// The unit in which the first value is a plausible date, and that date in seconds since 1970;
    /// `None` without such a unit.
    fn date(&self) -> Option<(TimeUnit, f64)> {
        use TimeUnit::{HundredNanoseconds, Microseconds, Milliseconds, Nanoseconds, Seconds};
        [Seconds, Milliseconds, Microseconds, Nanoseconds, HundredNanoseconds]
            .into_iter()
            .map(|unit| {
                let since = if unit == HundredNanoseconds { FILE_TIME_S } else { 0.0 };
                (unit, self.first * unit.nanos() as f64 / 1e9 - since)
            })
            .find(|(_, seconds)| CLOCK_S.contains(seconds))
    }

    /// Possible units by the digits behind the decimal point, coarse ones first. With seven to nine
    /// digits the unit is seconds, because no clock measures picoseconds; with four to six it may
    /// be milliseconds.
    fn units_by_digits(&self) -> &'static [TimeUnit] {
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        match (self.has_fraction, self.decimals) {
            (false, _) => &[Seconds, Milliseconds, Microseconds, Nanoseconds],
            (true, Some(7..=9)) if self.count > 1 => &[Seconds],
            (true, Some(4..=6)) => &[Seconds, Milliseconds],
            (true, _) => &[Seconds, Milliseconds, Microseconds],
        }
    }
}

/// Whether `values` can only be dates.
pub(in crate::trace) fn are_dates(values: &[&str]) -> bool {
    let dated = |numbers: Numbers| numbers.date().is_some();
    matches!(unit_of(values), Verdict::Sure(..)) && numbers(values).is_some_and(dated)
}

/// Reason why `values` cannot be in `unit`: later than any plausible clock, or slower or faster
/// than any trace. `None` if they can.
pub(in crate::trace) fn contradicts(values: &[&str], unit: TimeUnit) -> Option<String> {
    let numbers = numbers(values)?;
    let since = if unit == TimeUnit::HundredNanoseconds { FILE_TIME_S } else { 0.0 };
    let first_s = numbers.first * unit.nanos() as f64 / 1e9 - since;
    if first_s > CLOCK_S.end {
        return Some(format!("the first, {}, is then later than the year 2040", values[0]));
    }
    let resolution = match unit {
        TimeUnit::Milliseconds => 6,
        TimeUnit::Microseconds => 3,
        _ => 9,
    };
    // A name is stronger evidence than digits that a program may have padded.
    let is_finer = |text: &&str| {
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        fraction.bytes().skip(resolution).any(|b| b != b'0')
    };
    if let Some(digits @ 7..=9) = numbers.decimals
        && values.iter().filter(|text| is_finer(text)).count() >= ENOUGH
    {
        return Some(format!(
            "all have {digits} digits behind the point, which only clocks of seconds have"
        ));
    }
    let rate = numbers.rate(unit).filter(|rate| rate.is_finite() && numbers.count >= ENOUGH)?;
    let possible = (LEAST_PER_SECOND..=MOST_PER_SECOND).contains(&rate);
    (!possible).then(|| format!("that is {} requests/s", number(rate)))
}

/// Requests per second if `values` are in `unit`; `None` for a single one.
pub(in crate::trace) fn rate(values: &[&str], unit: TimeUnit) -> Option<f64> {
    numbers(values)?.rate(unit)
}

/// `in ms 2000 requests/s`, if `values` are in that unit.
pub(in crate::trace) fn reading(values: &[&str], unit: TimeUnit) -> String {
    Readings { units: vec![(unit, rate(values, unit))] }.text()
}

/// Unit of `values`, as far as the values determine it.
pub(in crate::trace) fn unit_of(values: &[&str]) -> Verdict {
    let Some(numbers) = numbers(values) else {
        return Verdict::Open(Readings { units: Vec::new() });
    };
    let by_digits = numbers.units_by_digits();
    if let Some((unit, seconds)) = numbers.date()
        && (by_digits.contains(&unit) || unit == TimeUnit::HundredNanoseconds)
    {
        let finer = by_digits.iter().filter(|other| other.nanos() < unit.nanos());
        let finer_fits =
            finer.filter_map(|other| numbers.rate(*other)).any(|rate| rate < FAST_PER_SECOND);
        let fits = numbers
            .rate(unit)
            .is_none_or(|rate| rate >= BUSY_PER_SECOND || rate >= LEAST_PER_SECOND && !finer_fits);
        if fits {
            let since =
                if unit == TimeUnit::HundredNanoseconds { " as a Windows file time" } else { "" };
            let date = date_of(seconds as u64);
            return Verdict::Sure(
                unit,
                format!("its first value, {}, is {date} in {unit}{since}", values[0]),
            );
        }
    }
    if let [TimeUnit::Seconds] = by_digits {
        let digits = numbers.decimals.unwrap_or(0);
        return Verdict::Sure(
            TimeUnit::Seconds,
            format!("all have {digits} digits behind the point, which only clocks of seconds have"),
        );
    }
    let possible = |unit: &TimeUnit| match numbers.rate(*unit) {
        Some(rate) if numbers.count >= ENOUGH => {
            (LEAST_PER_SECOND..=MOST_PER_SECOND).contains(&rate)
        }
        _ => true,
    };
    let mut units: Vec<TimeUnit> = by_digits.iter().copied().filter(possible).collect();
    if let [unit] = units[..] {
        let rate = numbers.rate(unit).map_or_else(String::new, number);
        return Verdict::Sure(
            unit,
            format!(
                "that is {rate} requests/s, and any other unit would mean less than one an hour or \
                 more than ten million a second"
            ),
        );
    }
    if units.is_empty() {
        units = by_digits.to_vec();
    }
    let with_rate = |unit: TimeUnit| (unit, numbers.rate(unit));
    Verdict::Open(Readings { units: units.into_iter().map(with_rate).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(start: f64, step: f64, decimals: usize) -> Vec<String> {
        (0..40).map(|i| format!("{:.decimals$}", start + f64::from(i) * step)).collect()
    }

    fn sure(values: &[String]) -> Option<TimeUnit> {
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        match unit_of(&texts) {
            Verdict::Sure(unit, _) => Some(unit),
            Verdict::Open(_) => None,
        }
    }

    #[test]
    fn dates_give_the_unit() {
        assert_eq!(sure(&steps(1_700_000_000.0, 0.0, 0)), Some(TimeUnit::Seconds));
        assert_eq!(sure(&steps(1_700_000_000.5, 0.001, 6)), Some(TimeUnit::Seconds));
        assert_eq!(sure(&steps(1.7e12, 2.0, 0)), Some(TimeUnit::Milliseconds));
        assert_eq!(sure(&steps(1.7e15, 700.0, 0)), Some(TimeUnit::Microseconds));
        assert_eq!(sure(&steps(1.7e18, 70_000.0, 0)), Some(TimeUnit::Nanoseconds));
        let file_times: Vec<String> =
            (0..40).map(|i| (128_166_372_003_061_629_u64 + i * 9_000).to_string()).collect();
        assert_eq!(sure(&file_times), Some(TimeUnit::HundredNanoseconds));
    }

    #[test]
    fn a_counter_that_is_a_date_by_chance_is_none() {
        // MQSim: nanoseconds since the start, which as seconds would be dates from 1999 to 2005.
        assert_eq!(sure(&steps(1_000_513_000.0, 80_000.0, 0)), None);
        // One request every ten seconds, or a hundred thousand per second.
        assert_eq!(sure(&steps(1.7e12, 10_000.0, 0)), None);
    }

    #[test]
    fn other_numbers_are_sure_only_if_nothing_else_is_possible() {
        assert_eq!(sure(&steps(0.0, 0.000_1, 9)), Some(TimeUnit::Seconds));
        assert_eq!(sure(&steps(0.0, 0.000_05, 6)), Some(TimeUnit::Seconds));
        for (step, decimals) in [(250.0, 0), (1.0, 0), (0.5, 1), (0.5, 6), (90_000.0, 0)] {
            assert_eq!(sure(&steps(0.0, step, decimals)), None, "{step}");
        }
        assert_eq!(sure(&steps(0.0, 5e9, 0)), Some(TimeUnit::Nanoseconds));
    }

    #[test]
    fn readings_have_their_rates() {
        let values = steps(0.0, 250.0, 0);
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        let Verdict::Open(readings) = unit_of(&texts) else { panic!("nothing tells the unit") };
        assert_eq!(
            readings.text(),
            "in s 0.00400 requests/s, in ms 4.0 requests/s, in us 4000 requests/s, in ns 4000000 \
             requests/s"
        );
    }
}
