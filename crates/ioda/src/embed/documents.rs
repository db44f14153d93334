//! Documents that need no run of a workload.

use super::error::Error;
use super::words::Words;
use crate::cli;
use crate::commands::plan as command;
use array::policy::PolicyKind;

/// The document of `ioda plan` as JSON.
///
/// # Errors
///
/// If an option is not known or its value cannot be used.
pub fn plan(words: &Words) -> Result<String, Error> {
    match words.parsed()?.command {
        cli::Command::Plan(args) => Ok(command::json(&args)?),
        _ => Err(Error::usage("these are no options of `ioda plan`")),
    }
}

/// The policies of the registry, in the order of tables.
#[must_use]
pub fn policies() -> &'static [PolicyKind] {
    PolicyKind::ALL
}
