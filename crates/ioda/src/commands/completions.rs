//! `ioda completions`.

use crate::exit::Code;
use crate::output;
use clap::{Args, Command};
use clap_complete::Shell;
use study::Failure;

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

/// Prints the completions of `command`, the whole command line.
pub(crate) fn run(args: &CompletionsArgs, mut command: Command) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ioda", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Ok)
}
