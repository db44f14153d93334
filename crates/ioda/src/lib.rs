//! The command `ioda`: arguments in, tables and files out.
//!
//! Knows: flags, configuration files, progress bars, exit codes, assertions, experiments. Does not
//! know: how a drive, an array or a simulation works; those rooms are called, never copied.
//!
//! Results go to stdout, progress and remarks to stderr. The exit codes are in `exit`.

mod address;
mod arguments;
mod assertion;
mod attaching;
mod cli;
mod commands;
mod convert;
mod describe;
mod driving;
pub mod embed;
mod evidence;
mod exit;
mod faults;
mod fio_jobs;
mod firmware;
mod flags;
mod host_name;
mod kept_runs;
mod load;
mod loading;
mod log;
mod memory;
mod metric;
mod names;
mod output;
mod pace;
mod planned;
mod progress;
mod quantity;
mod rate;
mod ratios;
mod reference;
mod reproduce;
mod requests_out;
mod schemas;
mod serving;
mod settings;
mod setup;
mod simulate;
mod survey;
mod sweep;
mod table;
mod talk;
mod typed;
mod words;

pub use exit::Code;

use clap::Parser;
use std::ffi::OsString;

/// Does what `arguments` say, the first of which is the name of the program. Prints results to
/// stdout, and everything else, also what went wrong, to stderr.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> Code {
    let cli = match cli::Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return exit::arguments(&error),
    };
    if let Err(failure) = log::start(&cli.log, cli.quiet) {
        return exit::report(&failure);
    }
    match commands::run(&cli) {
        Ok(code) => code,
        Err(failure) => exit::report(&failure),
    }
}
