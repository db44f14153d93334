//! Lines of text with their numbers, none longer than a limit.

use super::Compression;
use crate::error::{LineProblem, TraceError};
use std::io::{self, BufRead};

/// The longest line that is taken for text.
const LONGEST: usize = 64 << 10;

/// Reads one line at a time into a buffer that is used again.
pub(super) struct Lines<'a> {
    input: Box<dyn BufRead + Send + 'a>,
    name: String,
    compression: Compression,
    number: u64,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        input: Box<dyn BufRead + Send + 'a>,
        name: &str,
        compression: Compression,
    ) -> Self {
        Self { input, name: name.to_owned(), compression, number: 0, buffer: Vec::new() }
    }

    /// The next line without its end, whether LF or CRLF, and without a byte order mark; none at
    /// the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<&str>, TraceError> {
        self.buffer.clear();
        if !self.fill()? {
            return Ok(None);
        }
        self.number += 1;
        let mut line = self.buffer.as_slice();
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(TraceError::Line {
                name: self.name.clone(),
                line: self.number,
                problem: LineProblem::NotText,
            }),
        }
    }

    /// Moves bytes up to and including a line feed into the buffer; false at the end of the file.
    fn fill(&mut self) -> Result<bool, TraceError> {
        loop {
            let available = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.read_error(error)),
            };
            if available.is_empty() {
                return Ok(!self.buffer.is_empty());
            }
            let end = available.iter().position(|&b| b == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            if self.buffer.len() + taken > LONGEST {
                return Err(TraceError::Line {
                    name: self.name.clone(),
                    line: self.number + 1,
                    problem: LineProblem::LongLine,
                });
            }
            self.buffer.extend_from_slice(&available[..taken]);
            self.input.consume(taken);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn read_error(&self, source: io::Error) -> TraceError {
        match self.compression {
            Compression::Plain => TraceError::Read { name: self.name.clone(), source },
            compressed => TraceError::Damaged {
                name: self.name.clone(),
                compression: compressed.name(),
                line: self.number,
                reason: source.to_string(),
            },
        }
    }
}
