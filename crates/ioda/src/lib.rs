//! The command `ioda`: arguments in, tables and files out.
//!
//! Knows: flags, configuration files, progress bars, exit codes, assertions, experiments. Does not
//! know: how a drive, an array or a simulation works; those rooms are called, never copied.
//!
//! Results go to stdout, progress and remarks to stderr. The exit codes are in `exit`.
//!
//! # Which crate is for whom
//!
//! The program is made of libraries. Each has a README with an example that its tests run.
//!
//! | crate | for |
//! |---|---|
//! | [`ioda_ssd`](../ioda_ssd/index.html) | researchers of flash: one drive with its translation layer, collections and windows |
//! | [`ioda_array`](../ioda_array/index.html) | authors of policies: stripes, parity, and when to reconstruct instead of wait |
//! | [`ioda_engine`](../ioda_engine/index.html) | builders of block devices: an array on disks of their own, durable, without the model if they like |
//! | [`ioda_nvme`](../ioda_nvme/index.html) | authors of hosts and targets: codecs and machines of NVMe/TCP, and the window formula |
//! | [`ioda_workload`](../ioda_workload/index.html) | readers of traces: the formats of the field, statistics, generators |
//! | [`ioda_sim`](../ioda_sim/index.html) | experimenters: runs in virtual time, metrics, stories of slow requests, torture |
//! | [`ioda_live`](../ioda_live/index.html) | administrators' tools: storage, NBD, NVMe/TCP and control of a running array |
//! | [`ioda_report`](../ioda_report/index.html) | authors of reports: documents of results as tables, JSON and pages |
//! | [`ioda_statistics`](../ioda_statistics/index.html) | readers of results: how sure a number is, from one run or from several seeds |
//! | [`ioda_units`](../ioda_units/index.html) | all of them: time, space, ratios, seeded randomness |
//!
//! [`embed`] is for programs that want a whole comparison, as the Python package does.

mod address;
mod agreement;
mod arguments;
mod attaching;
mod cli;
mod commands;
mod coordinating;
mod driving;
pub mod embed;
mod exit;
mod flags;
mod host_name;
mod loading;
mod log;
mod output;
mod progress;
mod reference;
mod schemas;
mod serving;
mod talk;

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
