//! The subcommands, one file each.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod ctl;
pub(crate) mod drive;
pub(crate) mod explain;
pub(crate) mod fit;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod plmlc;
pub(crate) mod presets;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod survey;
pub(crate) mod sweep;
pub(crate) mod torture;
pub(crate) mod trace;

use crate::cli::{Cli, Command};
use crate::exit::Code;
use crate::progress::Show;
use crate::talk::Talk;
use clap::CommandFactory;
use study::Failure;

/// Does what the command line says.
pub(crate) fn run(cli: &Cli) -> Result<Code, Failure> {
    let talk = Talk { progress: Show::new(cli.quiet, cli.progress), quiet: cli.quiet };
    match &cli.command {
        Command::Compare(args) => compare::compare(args, talk),
        Command::Run(args) => compare::run(args, talk),
        Command::Explain(args) => explain::run(args, talk),
        Command::Trace(command) => trace::run(command, talk),
        Command::Plan(args) => plan::run(args, talk),
        Command::Presets(args) => presets::run(args),
        Command::Fit(args) => fit::run(args, talk),
        Command::Bench(args) => bench::run(args, talk),
        Command::Reproduce(args) => reproduce::run(args, talk),
        Command::Survey(args) => survey::run(args, talk),
        Command::Sweep(args) => sweep::run(args, talk),
        Command::Torture(args) => torture::run(args, talk),
        Command::Serve(args) => serve::run(args, talk),
        Command::Drive(args) => drive::run(args, talk),
        Command::Plmlc(args) => plmlc::run(args, talk),
        Command::Load(args) => load::run(args, talk),
        Command::Ctl(args) => ctl::run(args),
        Command::Man(args) => man::run(args, Cli::command(), talk),
        Command::Schema(args) => schema::run(args, Cli::command(), talk),
        Command::Completions(args) => completions::run(args, Cli::command()),
    }
}
