//! Flags that several commands have: each means the same wherever it stands.

use clap::Args;
use std::path::{Path, PathBuf};
use study::Failure;
use study::values::quantity::Text;

/// Where a page goes if `--html` names no file.
const PAGE: &str = "ioda-report.html";
/// More seeds than this are a mistake.
const MOST_SEEDS: u32 = 100;

/// Everything as JSON.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct JsonArgs {
    /// Print everything as JSON instead of the text, or write it to FILE beside the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl JsonArgs {
    /// Where it goes; `-` is standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.json.as_deref()
    }

    /// Whether it is printed.
    pub(crate) fn is_printed(&self) -> bool {
        self.path().is_some_and(study::files::is_stdout)
    }
}

/// A page.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HtmlArgs {
    /// Write one HTML page, to ioda-report.html or to FILE; none is written without this. `-` is
    /// standard output, instead of the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = PAGE)]
    html: Option<PathBuf>,
}

impl HtmlArgs {
    /// Where it goes; `-` is standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Whether it is printed.
    pub(crate) fn is_printed(&self) -> bool {
        self.path().is_some_and(study::files::is_stdout)
    }
}

/// One seed or several in a row.
#[derive(Args, Clone, Debug)]
pub(crate) struct SeedArgs {
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, alias = "randseed", value_name = "N")]
    pub(crate) seed: Option<Text<u64>>,
    /// So many seeds, counted from --seed, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seeds: u32,
}

impl SeedArgs {
    /// The seeds; none if nothing is said, so that what is run has those of its own.
    pub(crate) fn given(&self) -> Result<Option<Vec<u64>>, Failure> {
        if self.seed.is_none() && self.seeds == 1 {
            return Ok(None);
        }
        seeds(self.seeds, self.seed.as_ref()).map(Some)
    }
}

/// So many seeds, counted from `first`, or from 1.
pub(crate) fn seeds(count: u32, first: Option<&Text<u64>>) -> Result<Vec<u64>, Failure> {
    if !(1..=MOST_SEEDS).contains(&count) {
        return Err(Failure::usage(format!("--seeds is {count}; it must be 1 to {MOST_SEEDS}")));
    }
    let first = first.map_or(1, |seed| seed.value);
    Ok((0..u64::from(count)).map(|index| first.wrapping_add(index)).collect())
}
