//! Where text goes: results to stdout, remarks to stderr, documents to files.

use crate::talk::Talk;
use report::schema::Document;
use std::borrow::Cow;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use study::Failure;
use study::files::{NewFile, cannot_write, is_stdout};

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
    let _ = writeln!(std::io::stderr().lock(), "{}", escaped(text));
}

/// Text for a terminal: messages quote what people and files say, and control characters in that
/// would be obeyed. Ends of lines and tabs stay.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let is_obeyed = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let letter = |letter: char| match is_obeyed(letter) {
        true => letter.escape_default().collect(),
        false => String::from(letter),
    };
    Cow::Owned(text.chars().map(letter).collect())
}

/// Writes a document to a file, or to stdout if the path is `-`.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        return print(&format!("{text}\n"));
    }
    study::files::write(path, text)
}

/// Writes a document piece by piece, to a file or to stdout if the path is `-`. A file has its name
/// only when all of it is written, so that no part passes for the whole.
pub(crate) fn stream(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if is_stdout(path) {
        let mut out = BufWriter::new(io::stdout().lock());
        return match write(&mut out).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush())
        {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::internal(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        };
    }
    let written = NewFile::create(path).and_then(|mut file| {
        write(&mut file)?;
        file.finish()
    });
    written.map_err(|error| cannot_write(path, error))
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

/// Prints `text`, or `document` as JSON where `--json` asks for it: instead of the text, or in a
/// file beside it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_was_not_finished_does_not_look_like_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("document.json");
        stream(&path, |out| out.write_all(b"whole")).unwrap();
        let failed = stream(&path, |out| {
            out.write_all(b"part")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.unwrap_err().to_string().contains("document.json: the disk is full"));
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        stream(&link, |out| out.write_all(b"more")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"more");
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }
}
