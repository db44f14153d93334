//! How numbers are written for people: three significant digits and a unit.

/// A latency given in microseconds, as `88.4 µs`, `1.23 ms` or `2.00 s`.
pub(crate) fn latency(us: f64) -> String {
    // The limits lie where three digits would round up to 1000.
    if us.abs() < 999.5 {
        format!("{} µs", three_digits(us))
    } else if us.abs() < 999_500.0 {
        format!("{} ms", three_digits(us / 1e3))
    } else {
        format!("{} s", three_digits(us / 1e6))
    }
}

/// A ratio, as `1.04×` or `146×`.
pub(crate) fn ratio(value: f64) -> String {
    format!("{}×", three_digits(value))
}

/// A share given in percent. Zero is `0`, so that it cannot be taken for a small number.
pub(crate) fn percent(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() < 0.001 {
        format!("{value:.0e} %")
    } else if value.abs() < 0.1 {
        format!("{value:.3} %")
    } else {
        format!("{} %", three_digits(value))
    }
}

/// A count with its thousands separated, as `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, as `1.50 MiB`.
pub(crate) fn bytes(value: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut number = value as f64;
    let mut unit = "B";
    for larger in units {
        // The limit lies where three digits would round up to 1024.
        if number < 1023.5 {
            break;
        }
        number /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{value} B") } else { format!("{} {unit}", three_digits(number)) }
}

/// A percentile's name, as `p99.9`.
pub(crate) fn percentile(value: f64) -> String {
    format!("p{value}")
}

/// Three significant digits without an exponent.
pub(crate) fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_three_digits() {
        assert_eq!(latency(88.44), "88.4 µs");
        assert_eq!(latency(999.7), "1.00 ms");
        assert_eq!(latency(43_800.0), "43.8 ms");
        assert_eq!(latency(2e6), "2.00 s");
        assert_eq!(ratio(145.6), "146×");
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!((bytes(0), bytes(1023)), ("0 B".to_owned(), "1023 B".to_owned()));
        assert_eq!((bytes(1024), bytes(3 << 20)), ("1.00 KiB".to_owned(), "3.00 MiB".to_owned()));
        assert_eq!(percent(0.0), "0");
        assert_eq!(percent(0.0005), "5e-4 %");
        assert_eq!(percent(0.05), "0.050 %");
        assert_eq!(percentile(99.95), "p99.95");
    }
}
