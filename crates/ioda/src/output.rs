//! Where text goes: results to stdout, remarks to stderr, documents to files.

use crate::commands::Talk;
use crate::exit::Failure;
use report::schema::Document;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints results. A closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::internal(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a remark on stderr; if stderr is closed, it is lost.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a document to a file, or to stdout if the path is `-`.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        return print(&format!("{text}\n"));
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::internal(format!("cannot write {}: {error}", path.display())))
}

/// Documents of one command, of which those in files are told at the end.
#[derive(Default)]
pub(crate) struct Documents(Vec<String>);

impl Documents {
    /// Writes one more.
    pub(crate) fn write(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        let is_replaced = path.exists();
        write(path, text)?;
        if !is_stdout(path) {
            let name = path.display();
            self.0.push(match is_replaced {
                true => format!("{name} (replaced)"),
                false => name.to_string(),
            });
        }
        Ok(())
    }

    /// Says which files were written.
    pub(crate) fn tell(&self, talk: Talk) {
        if !talk.quiet && !self.0.is_empty() {
            remark(&format!("wrote {}", self.0.join(", ")));
        }
    }
}

/// Whether a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Prints `text`, or `document` as JSON where `--json` asks for it: instead of the text, or in a file beside it.
pub(crate) fn show<T: Document>(
    json: Option<&Path>,
    document: impl FnOnce() -> T,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match json {
        None => print(&text()),
        Some(path) if is_stdout(path) => print(&self::json(&document())),
        Some(path) => {
            write(path, &self::json(&document()))?;
            print(&text())
        }
    }
}

/// A document as indented JSON with a line end.
pub(crate) fn json<T: Document>(document: &T) -> String {
    report::schema::to_string(document) + "\n"
}
