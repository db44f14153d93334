//! Numbers with a unit, counted exactly: the values of a range.

use std::fmt;

/// Digits after the point that are counted.
const DECIMALS: usize = 9;
/// One, in the smallest parts that are counted.
const ONE: i128 = 1_000_000_000;
/// Numbers beyond this are refused: more than any size or time, and products of two still fit.
const MOST: i128 = (1 << 62) * ONE;

/// Units that can be converted into each other, with what each is in the smallest.
const FAMILIES: [&[(&str, i128)]; 2] = [
    &[("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)],
    &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
];

/// A number that is not negative and has at most nine decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Decimal(i128);

impl Decimal {
    /// None if `text` is something else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > DECIMALS || text.len() > 30 {
            return None;
        }
        if whole.is_empty() && part.is_empty() {
            return None;
        }
        let number: i128 = format!("0{whole}{part:0<DECIMALS$}").parse().ok()?;
        (number <= MOST).then_some(Self(number))
    }

    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(super) fn as_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    /// This and `step`; none if it is too large.
    pub(super) fn plus(self, step: Self) -> Option<Self> {
        Some(Self(self.0 + step.0)).filter(|sum| sum.0 <= MOST)
    }

    /// The product with `factor`, to nine decimals; `None` if it is too large.
    pub(super) fn times(self, factor: Self) -> Option<Self> {
        let (whole, part) = (factor.0 / ONE, factor.0 % ONE);
        let product = self.0.checked_mul(whole)? + self.0.checked_mul(part)? / ONE;
        (product <= MOST).then_some(Self(product))
    }

    /// Whether it is more than one.
    pub(super) fn exceeds_one(self) -> bool {
        self.0 > ONE
    }

    /// As many `to` as this are `from`; none if that has more decimals than are counted.
    fn converted(self, from: i128, to: i128) -> Option<Self> {
        let scaled = self.0.checked_mul(from)?;
        (scaled % to == 0 && scaled / to <= MOST).then_some(Self(scaled / to))
    }

    fn is_whole(self) -> bool {
        self.0 % ONE == 0
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:0DECIMALS$}", self.0 % ONE);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / ONE),
            part => write!(f, "{}.{part}", self.0 / ONE),
        }
    }
}

/// A number and its unit, as in `50ms`, `25%` or `4`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Quantity {
    pub(super) number: Decimal,
    /// As it was typed; empty without one.
    pub(super) unit: String,
}

impl Quantity {
    /// None if `text` is something else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number = Decimal::parse(&text[..end])?;
        Some(Self { number, unit: text[end..].trim().to_owned() })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.unit)
    }
}

/// Units that stand side by side: one unit for all, or several of one family.
pub(super) struct Units {
    family: Option<&'static [(&'static str, i128)]>,
}

impl Units {
    /// None if they cannot be converted into each other.
    pub(super) fn of<'a>(units: impl Iterator<Item = &'a str> + Clone) -> Option<Self> {
        let has = |family: &[(&str, i128)]| units.clone().all(|unit| size(family, unit).is_some());
        let mut others = units.clone();
        let first = others.next()?;
        if others.all(|unit| unit == first) {
            return Some(Self { family: None });
        }
        FAMILIES.into_iter().find(|family| has(family)).map(|family| Self { family: Some(family) })
    }

    /// `quantity` in `unit`, exactly.
    pub(super) fn convert(&self, quantity: &Quantity, unit: &str) -> Option<Decimal> {
        let Some(family) = self.family else { return Some(quantity.number) };
        quantity.number.converted(size(family, &quantity.unit)?, size(family, unit)?)
    }

    /// `quantity` in the first of `units` in which it is a whole number, else as it is.
    pub(super) fn shortest(&self, quantity: Quantity, units: &[&str]) -> Quantity {
        let whole = units.iter().find_map(|unit| {
            let number = self.convert(&quantity, unit).filter(|number| number.is_whole())?;
            Some(Quantity { number, unit: (*unit).to_owned() })
        });
        whole.unwrap_or(quantity)
    }

    /// A number by which quantities can be compared and drawn.
    pub(super) fn position(&self, quantity: &Quantity) -> f64 {
        let size = self.family.and_then(|family| size(family, &quantity.unit)).unwrap_or(1);
        quantity.number.as_f64() * size as f64
    }
}

fn size(family: &[(&str, i128)], unit: &str) -> Option<i128> {
    let unit = unit.to_lowercase();
    family.iter().find(|(name, _)| *name == unit).map(|&(_, size)| size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_read_back() {
        for text in ["0", "4", "0.01", "12.5", "0.000000001", "4611686018427387904"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Decimal::parse(".5"), Decimal::parse("0.50"));
        for text in ["", ".", "-1", "1e3", "1.2.3", "0.0000000001", "4611686018427387905"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        let mut sum = Decimal(0);
        for _ in 0..10 {
            sum = sum.plus(Decimal::parse("0.1").unwrap()).unwrap();
        }
        assert_eq!(sum, Decimal(ONE));
        assert_eq!(sum.times(Decimal::parse("1.5").unwrap()).unwrap().to_string(), "1.5");
        assert_eq!(Decimal(MOST).times(Decimal(2 * ONE)), None);
    }

    #[test]
    fn units_of_one_family_are_converted() {
        let units = |list: &[&str]| Units::of(list.iter().copied());
        let quantity = |text| Quantity::parse(text).unwrap();
        let times = units(&["ms", "s"]).unwrap();
        assert_eq!(times.convert(&quantity("1.5s"), "ms").unwrap().to_string(), "1500");
        assert_eq!(times.shortest(quantity("2000ms"), &["s"]).to_string(), "2s");
        assert_eq!(times.shortest(quantity("2500ms"), &["s"]).to_string(), "2500ms");
        // Alone an m may be minutes or mebibytes; beside seconds it is minutes.
        assert_eq!(units(&["m", "m"]).unwrap().position(&quantity("2m")), 2.0);
        assert_eq!(units(&["s", "m"]).unwrap().position(&quantity("2m")), 120e9);
        assert_eq!(units(&["k", "m"]).unwrap().position(&quantity("2m")), 2_097_152.0);
        assert!(units(&["k", "s"]).is_none() && units(&["", "m"]).is_none());
        assert!(units(&["%", "%"]).is_some());
    }
}
