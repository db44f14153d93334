//! A part of the runs, for one of many machines.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// More parts than this are a mistake.
const MOST_SHARDS: u32 = 10_000;

/// The K-th of N parts. Parts follow each other in the order of the runs, so that runs that share
/// prepared drives stay together, and no part has more than one run more than another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Which part, counted from 1.
    number: u32,
    /// How many parts there are.
    of: u32,
}

impl Shard {
    /// How many parts there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether it is all runs.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// The runs of this shard, of `runs` in all.
    pub fn range(self, runs: usize) -> Range<usize> {
        // Of 128 bits: the product of two numbers that each fit.
        let begin = |part: u32| (runs as u128 * u128::from(part) / u128::from(self.of)) as usize;
        begin(self.number - 1)..begin(self.number)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>().ok().filter(|_| is_number)
        };
        let parts = text.split_once('/').and_then(|(k, n)| Some((number(k)?, number(n)?)));
        let Some((number, of)) = parts else {
            return Err("a shard is K/N in whole numbers, such as 3/64".to_owned());
        };
        if !(1..=MOST_SHARDS).contains(&of) {
            return Err(format!("there can be 1 to {MOST_SHARDS} shards, not {of}"));
        }
        if !(1..=of).contains(&number) {
            return Err(format!(
                "of {of} shards the first is 1 and the last {of}; {number} is none"
            ));
        }
        Ok(Self { number, of })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_every_run_once_and_even() {
        for of in [1, 2, 3, 7, 64, 10_000] {
            for runs in [0, 1, 2, 63, 64, 65, 483, 10_000, 1_000_000] {
                let mut next = 0;
                for number in 1..=of {
                    let range = Shard { number, of }.range(runs);
                    assert_eq!(range.start, next, "{number}/{of} of {runs}");
                    let even = runs / of as usize;
                    assert!((even..=even + 1).contains(&range.len()), "{number}/{of} of {runs}");
                    next = range.end;
                }
                assert_eq!(next, runs, "{of} shards of {runs}");
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused_with_the_limit() {
        for text in ["1/1", "3/64", "10000/10000"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        let form = "a shard is K/N in whole numbers, such as 3/64";
        for (text, why) in [
            ("0/4", "of 4 shards the first is 1 and the last 4; 0 is none"),
            ("5/4", "of 4 shards the first is 1 and the last 4; 5 is none"),
            ("1/0", "there can be 1 to 10000 shards, not 0"),
            ("1/10001", "there can be 1 to 10000 shards, not 10001"),
            ("a/b", form),
            ("3", form),
            ("", form),
            ("/", form),
            ("+1/4", form),
            ("1/4/4", form),
            ("1/99999999999", form),
        ] {
            assert_eq!(text.parse::<Shard>().unwrap_err(), why, "{text}");
        }
    }
}
