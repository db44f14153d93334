//! `ioda schema`.

use crate::exit::Code;
use crate::output;
use crate::reference;
use crate::schemas::{DOCUMENTS, FILES, Published};
use crate::talk::Talk;
use clap::{Args, Command};
use std::path::{Path, PathBuf};
use study::Failure;
use study::Watch;
use study::values::names::Unknown;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda schema
      the list of all schemas
  ioda schema compare > compare.schema.json
      what `ioda compare --json` writes
  ioda schema configuration
      what a file for --config may say, for editors that complete and check TOML
  ioda schema --markdown docs/reference
      the pages of the reference";

/// Options of `ioda schema`.
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// The schema to print, by its name in the list [default: the list]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Write the reference into this folder: configuration, experiments, documents, commands
    #[arg(long, value_name = "FOLDER", conflicts_with = "name")]
    markdown: Option<PathBuf>,
}

/// Prints the list or a schema, or writes the reference, with pages of `command`, the whole command
/// line.
pub(crate) fn run(args: &SchemaArgs, command: Command, talk: Talk) -> Result<Code, Failure> {
    match (&args.name, &args.markdown) {
        (_, Some(folder)) => write_reference(folder, command, talk)?,
        (Some(name), None) => {
            let mut all = DOCUMENTS.iter().chain(&FILES);
            let found = all.find(|published| published.name == *name).ok_or_else(|| {
                let names = DOCUMENTS.iter().chain(&FILES).map(|published| published.name);
                Failure::usage(Unknown::new("schema", name, names))
            })?;
            output::print(&format!("{:#}\n", (found.schema)()))?;
        }
        (None, None) => output::print(&list())?,
    }
    Ok(Code::Ok)
}

fn list() -> String {
    let rows = |all: &[Published]| -> String {
        all.iter().map(|one| format!("  {:<15} {}\n", one.name, one.of.replace('`', ""))).collect()
    };
    format!("written\n{}\nread\n{}", rows(&DOCUMENTS), rows(&FILES))
}

fn write_reference(folder: &Path, command: Command, talk: Talk) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    for (name, text) in reference::pages(command) {
        let path = folder.join(name);
        output::write(&path, &text)?;
        talk.remark(&format!("wrote {}", path.display()));
    }
    Ok(())
}
