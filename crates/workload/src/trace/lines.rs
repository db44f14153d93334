//! Lines of text with their numbers, none longer than a limit.

use super::{Compression, stray};
use crate::error::{LineProblem, TraceError};
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Longest line of text.
const LONGEST: usize = 64 << 10;

/// Size of the buffer; the longest line fits twice.
const BUFFER: usize = 2 * LONGEST;

/// Reads lines of text through its own buffer, so that a line is not copied again.
pub(super) struct Lines<'a> {
    input: Box<dyn BufRead + Send + 'a>,
    name: String,
    compression: Compression,
    number: u64,
    buffer: Vec<u8>,
    /// The last line that was not UTF-8, as text.
    stray: String,
    /// Part of the buffer that was read from the input and not returned yet.
    unread: Range<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        input: Box<dyn BufRead + Send + 'a>,
        name: &str,
        compression: Compression,
    ) -> Self {
        let (name, buffer) = (name.to_owned(), vec![0; BUFFER]);
        Self { input, name, compression, number: 0, buffer, stray: String::new(), unread: 0..0 }
    }

    /// The next line without its end, LF or CRLF, and without a byte order mark; `None` at the end
    /// of the file. Bytes that are not UTF-8 become letters of their own ([`stray`]).
    pub(super) fn next(&mut self) -> Result<Option<&str>, TraceError> {
        let Some(place) = self.find()? else { return Ok(None) };
        self.number += 1;
        let mut line = &self.buffer[place];
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(text) = std::str::from_utf8(line) {
            return Ok(Some(text));
        }
        stray::decoded(line, &mut self.stray);
        Ok(Some(&self.stray))
    }

    /// Place of the next line in the buffer, with its line feed; `None` at the end of the file.
    fn find(&mut self) -> Result<Option<Range<usize>>, TraceError> {
        let mut searched = 0;
        loop {
            let Range { start, end } = self.unread;
            let found = memchr::memchr(b'\n', &self.buffer[start + searched..end]);
            let length = found.map_or(end - start, |at| searched + at + 1);
            if length > LONGEST {
                return Err(TraceError::Line {
                    name: self.name.clone(),
                    line: self.number + 1,
                    problem: LineProblem::LongLine,
                });
            }
            let is_over = found.is_none() && !self.read_more()?;
            if is_over && length == 0 {
                return Ok(None);
            }
            if is_over || found.is_some() {
                let start = self.unread.start;
                self.unread.start += length;
                return Ok(Some(start..start + length));
            }
            searched = length;
        }
    }

    /// Reads more of the input behind the unread bytes, which move to the front. Returns false at
    /// the end of the input.
    fn read_more(&mut self) -> Result<bool, TraceError> {
        let unread = self.unread.len();
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..unread;
        loop {
            match self.input.read(&mut self.buffer[unread..]) {
                Ok(count) => {
                    self.unread.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(error)),
            }
        }
    }

    fn read_error(&self, source: io::Error) -> TraceError {
        super::input::read_error(&self.name, self.compression, self.number, source)
    }
}
