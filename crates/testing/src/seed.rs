//! Seeds of random tests. A seed that is dropped while its test panics prints the line that repeats
//! it.

use std::fmt::Write as _;
use std::ops::Range;

/// Chooses the one seed to run.
const SEED: &str = "IODA_SEED";
/// Chooses how many seeds to run.
const SEEDS: &str = "IODA_SEEDS";

/// The number in an environment variable, or `usual` where it is not set.
///
/// # Panics
///
/// If the variable holds something else.
pub fn setting(name: &str, usual: u64) -> u64 {
    number(name).unwrap_or(usual)
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text}, which is not a number")))
}

/// Whether a single seed is repeated. What only many seeds together have to show is not asked of
/// it.
pub fn is_repeat() -> bool {
    number(SEED).is_some()
}

/// The seeds that a test runs with: `usual`, unless the environment says otherwise.
pub fn seeds(usual: Range<u64>) -> Seeds {
    let left = match number(SEED) {
        Some(seed) => seed..seed + 1,
        None => usual.start..usual.start + setting(SEEDS, usual.end - usual.start),
    };
    Seeds { left, current: None, note: String::new() }
}

/// The one seed that a test runs with: `usual`, unless the environment says otherwise.
pub fn seed(usual: u64) -> Seed {
    Seed::new(setting(SEED, usual))
}

/// Seeds in turn. Keep it alive while the test runs, as a `for` loop does.
#[derive(Debug)]
pub struct Seeds {
    left: Range<u64>,
    current: Option<Seed>,
    note: String,
}

impl Seeds {
    /// Adds to the printed line what else is known, such as the RAID level.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let seed = self.left.next()?;
        self.current = Some(Seed { seed, settings: String::new(), note: self.note.clone() });
        Some(seed)
    }
}

/// A seed in use. Keep it alive while the test runs.
#[derive(Debug)]
pub struct Seed {
    seed: u64,
    settings: String,
    note: String,
}

impl Seed {
    /// A seed that the test has chosen itself.
    pub const fn new(seed: u64) -> Self {
        Self { seed, settings: String::new(), note: String::new() }
    }

    /// The number.
    pub const fn get(&self) -> u64 {
        self.seed
    }

    /// Adds a setting of the environment without which the seed does something else.
    #[must_use]
    pub fn with(mut self, name: &str, value: u64) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.settings, " {name}={value}");
        self
    }

    /// The line that repeats the test that runs on this thread.
    fn line(&self) -> String {
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        let thread = std::thread::current();
        // The test harness names each thread after the test that it runs.
        let test = thread.name().unwrap_or_default();
        let Self { seed, settings, note } = self;
        let comment = if note.is_empty() { String::new() } else { format!("  # {note}") };
        format!(
            "repeat with: {SEED}={seed}{settings} cargo test -p {package} -- --exact {test}{comment}"
        )
    }
}

impl Drop for Seed {
    #[allow(clippy::print_stderr, reason = "a failed test says how to repeat it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.line());
        }
    }
}

/// The configuration of a property test: so many cases, drawn with a seed that a failure prints.
/// Without `IODA_SEED` each run draws new ones.
#[cfg(feature = "proptest")]
#[allow(clippy::print_stdout, reason = "the harness shows it where the test fails")]
pub fn cases(count: u32) -> proptest::test_runner::Config {
    use std::hash::{BuildHasher, RandomState};
    let seed = seed(number(SEED).unwrap_or_else(|| RandomState::new().hash_one(count)));
    println!("{}", seed.line());
    proptest::test_runner::Config {
        cases: count,
        // The line above repeats a failure; files of old failures would only gather in the sources.
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(seed.get()),
        ..proptest::test_runner::Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_seed_the_package_and_the_test() {
        let line = seed(17).with("IODA_KILLS", 4).line();
        let expected = "repeat with: IODA_SEED=17 IODA_KILLS=4 cargo test -p ioda-testing -- --exact \
                        seed::tests::the_line_names_the_seed_the_package_and_the_test";
        assert!(is_repeat() || line == expected, "{line}");
    }

    #[test]
    fn seeds_come_in_turn() {
        let usual = std::env::var_os(SEED).or_else(|| std::env::var_os(SEEDS)).is_none();
        assert!(!usual || seeds(3..6).eq([3, 4, 5]));
        assert!(!usual || !is_repeat());
    }
}
