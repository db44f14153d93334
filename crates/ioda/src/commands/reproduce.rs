//! `ioda reproduce`.

use super::Talk;
use crate::exit::Failure;
use clap::Args;
use std::process::ExitCode;

pub(crate) const EXAMPLES: &str = "";

/// Options of `ioda reproduce`.
#[derive(Args, Debug)]
pub(crate) struct ReproduceArgs {}

pub(crate) fn run(_args: &ReproduceArgs, _talk: Talk) -> Result<ExitCode, Failure> {
    Err(Failure::usage("not there yet"))
}
