//! `ioda man`.

use crate::exit::Code;
use crate::output;
use crate::reference::manual;
use crate::talk::Talk;
use clap::{Args, Command};
use std::path::PathBuf;
use study::Failure;
use study::Watch;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda man ~/.local/share/man/man1
      then `man ioda` and `man ioda-compare` work; `make install` does this";

/// Options of `ioda man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The folder to write ioda.1, ioda-compare.1 and so on into; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Writes the pages of `command`, the whole command line.
pub(crate) fn run(args: &ManArgs, command: Command, talk: Talk) -> Result<Code, Failure> {
    let ManArgs { folder } = args;
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    let pages = manual::pages(command)?;
    for (name, text) in &pages {
        output::write(&folder.join(name), text)?;
    }
    talk.remark(&format!("wrote {} pages into {}", pages.len(), folder.display()));
    Ok(Code::Ok)
}
