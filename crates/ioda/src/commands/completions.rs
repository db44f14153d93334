//! `ioda completions`.

use crate::cli::Cli;
use crate::exit::{Code, Failure};
use crate::output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda completions bash > ~/.local/share/bash-completion/completions/ioda
  ioda completions zsh > ~/.zfunc/_ioda";

/// Options of `ioda completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completions.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ioda", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Ok)
}
