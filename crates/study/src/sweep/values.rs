//! The values of `--vary KEY=VALUES`: a list, a range in equal steps, or one in equal factors.

use super::number::{Decimal, Quantity, Units};
use report::sweep::{Scale, Value};

/// Most values of one parameter: as many as a page can show side by side.
const MOST_VALUES: usize = 64;
/// Positions are equal in their steps, or in their factors, if these differ by less than this.
const EQUAL: f64 = 1e-6;

/// The texts that `text` stands for, in its order; or what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            Some((first, rest)) => values.extend(range(part, first, rest)?),
            None if part.is_empty() => return Err("a value is missing between commas".to_owned()),
            None => values.push(part.to_owned()),
        }
        if values.len() > MOST_VALUES {
            return Err(too_many(text));
        }
    }
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            return Err(format!("{value} is there twice"));
        }
    }
    Ok(values)
}

fn too_many(text: &str) -> String {
    format!("{text} has more than {MOST_VALUES} values, the most of one parameter")
}

/// How a range goes on.
#[derive(Clone, Copy)]
enum Increment {
    Add(Decimal),
    Multiply(Decimal),
}

/// The values of `FIRST..LAST:STEP` or `FIRST..LAST:xFACTOR`.
fn range(part: &str, first: &str, rest: &str) -> Result<Vec<String>, String> {
    let wrong = |why: &str| {
        Err(format!(
            "{part} {why}; write FIRST..LAST:STEP such as 10%..40%:10%, or FIRST..LAST:xFACTOR \
             such as 1m..64m:x4"
        ))
    };
    let Some((last, step)) = rest.split_once(':') else { return wrong("has no step") };
    let (Some(first), Some(last)) = (Quantity::parse(first), Quantity::parse(last)) else {
        return wrong("does not go from one number to another");
    };
    let factor = step.trim().strip_prefix('x').map(Decimal::parse);
    let step = match factor {
        Some(_) => Some(first.clone()),
        None => Quantity::parse(step),
    };
    let Some(step) = step else { return wrong("has a step that is no number") };
    let all = [&first, &last, &step];
    let Some(units) = Units::of(all.map(|quantity| quantity.unit.as_str()).into_iter()) else {
        return wrong("mixes units");
    };
    let in_first = |quantity| units.convert(quantity, &first.unit);
    let (Some(end), Some(by)) = (in_first(&last), in_first(&step)) else {
        return wrong("needs more than nine decimals");
    };
    let step = match factor {
        None if by.is_zero() => return wrong("has a step of 0"),
        None => Increment::Add(by),
        Some(Some(factor)) if factor.exceeds_one() && !first.number.is_zero() => {
            Increment::Multiply(factor)
        }
        Some(_) => return wrong("never gets on by its factor"),
    };
    if first.number > end {
        return wrong("goes down");
    }
    let mut values = Vec::new();
    let mut next = Some(first.number);
    while let Some(number) = next.filter(|&number| number <= end) {
        if values.len() == MOST_VALUES {
            return Err(too_many(part));
        }
        let value = Quantity { number, unit: first.unit.clone() };
        values.push(units.shortest(value, &[&last.unit]).to_string());
        next = match step {
            Increment::Add(by) => number.plus(by),
            // Small numbers may be rounded down to what they were.
            Increment::Multiply(factor) => number.times(factor).filter(|&larger| larger > number),
        };
    }
    Ok(values)
}

/// The values with their places on an axis: their numbers if all are some of one kind, else 0, 1, 2
/// ….
pub(super) fn placed(texts: &[String]) -> (Vec<Value>, Scale) {
    let value = |(text, position): (&String, f64)| Value { text: text.clone(), position };
    let quantities: Option<Vec<Quantity>> =
        texts.iter().map(|text| Quantity::parse(text)).collect();
    let positions = quantities.as_deref().and_then(positions);
    match positions {
        Some(positions) => {
            let scale = scale(&positions);
            (texts.iter().zip(positions).map(value).collect(), scale)
        }
        None => {
            let places = (0..texts.len()).map(|place| place as f64);
            (texts.iter().zip(places).map(value).collect(), Scale::Names)
        }
    }
}

fn positions(quantities: &[Quantity]) -> Option<Vec<f64>> {
    let units = Units::of(quantities.iter().map(|quantity| quantity.unit.as_str()))?;
    let positions: Vec<f64> = quantities.iter().map(|quantity| units.position(quantity)).collect();
    positions.is_sorted_by(|a, b| a < b).then_some(positions)
}

/// Logarithmic where the factors from value to value are more alike than the steps.
fn scale(ascending: &[f64]) -> Scale {
    let unlike = |gaps: Vec<f64>| {
        let (least, most) = gaps
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(least, most), &gap| (least.min(gap), most.max(gap)));
        if gaps.is_empty() { 1.0 } else { most / least }
    };
    let pairs = || ascending.windows(2);
    let steps = unlike(pairs().map(|pair| pair[1] - pair[0]).collect());
    let is_positive = ascending.first().is_some_and(|&first| first > 0.0);
    let factors = match is_positive {
        true => unlike(pairs().map(|pair| (pair[1] / pair[0]).ln()).collect()),
        false => f64::INFINITY,
    };
    if factors < steps - EQUAL { Scale::Logarithmic } else { Scale::Linear }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    fn texts(text: &str) -> Vec<String> {
        parse(text).unwrap()
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(texts("0.01, 0.02,0.05"), ["0.01", "0.02", "0.05"]);
        assert_eq!(texts("4..16:4"), ["4", "8", "12", "16"]);
        assert_eq!(texts("4..15:4"), ["4", "8", "12"]);
        assert_eq!(texts("10%..40%:10%"), ["10%", "20%", "30%", "40%"]);
        assert_eq!(texts("1m..64m:x4"), ["1m", "4m", "16m", "64m"]);
        assert_eq!(texts("512k..4m:x2"), ["512k", "1m", "2m", "4m"]);
        assert_eq!(texts("500ms..1s:250ms"), ["500ms", "750ms", "1s"]);
        assert_eq!(texts("0.1..0.5:0.1"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(texts("none,1m..2m:1m,burst"), ["none", "1m", "2m", "burst"]);
        assert_eq!(texts("7..7:1"), ["7"]);
    }

    #[test]
    fn what_is_no_range_is_refused_with_a_sentence() {
        for (text, why) in [
            ("4..16", "4..16 has no step; write FIRST..LAST:STEP"),
            ("4..16:0", "has a step of 0"),
            ("16..4:4", "goes down"),
            ("a..b:1", "does not go from one number to another"),
            ("1..8:x1", "never gets on by its factor"),
            ("1..8:x", "never gets on by its factor"),
            ("0..8:x2", "never gets on by its factor"),
            ("1m..8:x2", "mixes units"),
            ("1m..8s:1k", "mixes units"),
            ("10%..40%:10", "mixes units"),
            ("1..100:1", "has more than 64 values"),
            ("1,,2", "a value is missing"),
            ("", "a value is missing"),
            ("1,2,1", "1 is there twice"),
            ("1..9:y", "has a step that is no number"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn any_range_is_the_list_that_it_stands_for() {
        const UNITS: [&str; 6] = ["", "%", "k", "ms", "dwpd", "x"];
        for seed in testing::seeds(0..2000) {
            let mut rng = Rng::stream(seed, "range");
            let mut below = |limit: u64| rng.below(limit);
            let unit = UNITS[below(UNITS.len() as u64) as usize];
            let decimals = below(4) as u32;
            let scale = 10_u64.pow(decimals);
            let text = |number: u64| {
                let number = Decimal::parse(&format!(
                    "{}.{:0width$}",
                    number / scale,
                    number % scale,
                    width = decimals as usize
                ));
                format!("{}{unit}", number.unwrap())
            };
            let (first, count) = (1 + below(5000), 1 + below(20));
            let geometric = below(2) == 1;
            let step = if geometric { 2 + below(3) } else { 1 + below(3000) };
            let mut numbers = vec![first];
            while (numbers.len() as u64) < count {
                let last = numbers[numbers.len() - 1];
                numbers.push(if geometric { last * step } else { last + step });
            }
            let last = numbers[numbers.len() - 1];
            // The end need not be hit, but the next value must lie beyond it.
            let beyond = if geometric { last * step } else { last + step };
            let end = last + below(beyond - last);
            let step = if geometric { format!("x{step}") } else { text(step) };
            let range = format!("{}..{}:{step}", text(first), text(end));
            let expected: Vec<String> = numbers.into_iter().map(text).collect();
            assert_eq!(texts(&range), expected, "{range}");
            assert_eq!(texts(&expected.join(",")), expected, "a list is what it says");
            let (values, _) = placed(&expected);
            assert!(values.is_sorted_by(|a, b| a.position < b.position), "{range}");
        }
    }

    #[test]
    fn an_axis_is_logarithmic_where_factors_are_alike() {
        let scale = |text: &str| placed(&texts(text)).1;
        for text in ["1m..64m:x4", "0.01,0.02,0.05,0.1", "512k..4m:x2", "1,10,100"] {
            assert_eq!(scale(text), Scale::Logarithmic, "{text}");
        }
        for text in ["4..16:4", "10%..40%:10%", "1,2", "0,1,10", "7", "50ms,100ms,150ms"] {
            assert_eq!(scale(text), Scale::Linear, "{text}");
        }
        for text in ["none,1m", "burst,norm", "3,2,1", "1m,1%"] {
            assert_eq!(scale(text), Scale::Names, "{text}");
        }
    }
}
