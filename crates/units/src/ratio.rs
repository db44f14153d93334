//! Ratios for decisions: integers, so that every machine decides alike.

use core::fmt;

/// A share between 0 and a few thousand, in parts per million.
///
/// Watermarks, over-provisioning and probabilities are compared as integers; floating point stays
/// in the reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio {
    parts_per_million: u32,
}

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self { parts_per_million: 0 };
    /// One.
    pub const ONE: Self = Self { parts_per_million: 1_000_000 };

    /// `parts` parts per million.
    #[must_use]
    pub const fn from_parts_per_million(parts: u32) -> Self {
        Self { parts_per_million: parts }
    }

    /// `percent` per cent.
    #[must_use]
    pub const fn from_percent(percent: u32) -> Self {
        Self { parts_per_million: percent * 10_000 }
    }

    /// The nearest part per million to `value`; negative values and NaN become zero.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        // A float-to-integer cast saturates and maps NaN to zero.
        Self { parts_per_million: (value * 1e6 + 0.5) as u32 }
    }

    /// Parts per million.
    #[must_use]
    pub const fn parts_per_million(self) -> u32 {
        self.parts_per_million
    }

    /// The ratio as a number.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.parts_per_million) / 1e6
    }

    /// The share of `whole`, rounded down.
    #[must_use]
    pub const fn of(self, whole: u64) -> u64 {
        ((whole as u128 * self.parts_per_million as u128) / 1_000_000) as u64
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.parts_per_million()) / 1e4)
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn shares_are_shown_as_they_were_given() {
        let shown = [954_000, 1, 290_000, 1_000_000]
            .map(|parts| Ratio::from_parts_per_million(parts).to_string());
        assert_eq!(shown, ["95.4%", "0.0001%", "29%", "100%"]);
    }

    #[test]
    fn shares_round_down() {
        assert_eq!(Ratio::from_percent(10).of(256), 25);
        assert_eq!(Ratio::from_percent(5).of(256), 12);
        assert_eq!(Ratio::from_f64(0.75).of(4), 3);
    }
}
