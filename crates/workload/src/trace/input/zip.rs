//! The only file in a zip archive. An archive with several files is refused with their names.

use super::foreign::{listed, quoted, typed};
use crate::error::TraceError;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};

/// Longest end of an archive: its record and a comment.
const LONGEST_END: u64 = 22 + 0xffff;
/// Longest list of members of an archive with a trace.
const LONGEST_LIST: u64 = 16 << 20;

/// One file in an archive.
struct Member {
    name: String,
    method: u16,
    is_encrypted: bool,
    crc: u32,
    packed_bytes: u64,
    bytes: u64,
    /// Offset of its head in the file.
    at: u64,
}

/// Opens the only file in the archive `file`. Returns its name and its bytes.
pub(in crate::trace) fn open_only_member(
    mut file: impl Read + Seek + Send + 'static,
    name: &str,
) -> Result<(String, Box<dyn BufRead + Send>), TraceError> {
    let damaged = |source: io::Error| TraceError::Damaged {
        name: name.to_owned(),
        compression: "zip",
        line: 0,
        reason: source.to_string(),
    };
    let mut members = list(&mut file).map_err(damaged)?;
    let refused = |container: String, advice: String| {
        Err(TraceError::Container { name: name.to_owned(), container, advice })
    };
    if members.iter().any(|member| member.name == "xl/workbook.xml") {
        return refused("an Excel workbook".to_owned(), "save its sheet as CSV".to_owned());
    }
    members.retain(|member| !is_litter(&member.name));
    let print = |member: &str| {
        format!("unzip -p {} {} | ioda trace inspect -", typed(name), quoted(member))
    };
    let (Some(member), true) = (members.pop(), members.is_empty()) else {
        let names: Vec<String> = list(&mut file)
            .map_err(damaged)?
            .into_iter()
            .map(|member| member.name)
            .filter(|name| !is_litter(name))
            .collect();
        let Some(example) = names.first() else {
            return refused(
                "a zip archive without files".to_owned(),
                "name another file".to_owned(),
            );
        };
        return refused(
            format!("a zip archive with {}", listed(&names, true)),
            format!("unpack it, or print a member: {}", print(example)),
        );
    };
    if member.is_encrypted {
        return refused(
            "an encrypted zip archive".to_owned(),
            format!("decrypt it: {}", print(&member.name)),
        );
    }
    let data = data_of(file, &member).map_err(damaged)?;
    let data = BufReader::with_capacity(1 << 16, data);
    let unpacked: Box<dyn Read + Send> = match member.method {
        0 => Box::new(data),
        8 => Box::new(flate2::bufread::DeflateDecoder::new(data)),
        method => {
            return refused(
                format!("a zip archive that is packed with method {method}"),
                format!("print its member: {}", print(&member.name)),
            );
        }
    };
    let checked = Checked {
        input: unpacked,
        sum: flate2::Crc::new(),
        crc: member.crc,
        bytes: member.bytes,
        found: 0,
    };
    Ok((member.name, Box::new(BufReader::with_capacity(1 << 16, checked))))
}

/// Whether a member is a folder, or a file that desktops add.
fn is_litter(name: &str) -> bool {
    name.ends_with('/')
        || name.starts_with("__MACOSX/")
        || matches!(name.rsplit('/').next(), Some(".DS_Store" | "Thumbs.db" | "desktop.ini"))
}

fn wrong(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The number of `length` bytes at `at`, little endian.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let part = bytes.get(at..at + length)?;
    Some(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn read_at(file: &mut (impl Read + Seek), at: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// All members, by the list at the end of the archive.
fn list(file: &mut (impl Read + Seek)) -> io::Result<Vec<Member>> {
    let no_list = || wrong("the list of members at its end is missing");
    let length = file.seek(SeekFrom::End(0))?;
    let tail_bytes = length.min(LONGEST_END);
    let tail = read_at(file, length - tail_bytes, tail_bytes)?;
    let end = (0..tail.len().saturating_sub(21))
        .rev()
        .find(|at| {
            tail[*at..].starts_with(b"PK\x05\x06")
                && number(&tail, at + 20, 2) == Some((tail.len() - at - 22) as u64)
        })
        .ok_or_else(no_list)?;
    let end_at = length - tail_bytes + end as u64;
    let field = |at, length| number(&tail, end + at, length).ok_or_else(no_list);
    let (mut bytes, mut at, mut list_ends) = (field(12, 4)?, field(16, 4)?, end_at);
    if field(10, 2)? == 0xffff || bytes == 0xffff_ffff || at == 0xffff_ffff {
        let locator = read_at(file, end_at.checked_sub(20).ok_or_else(no_list)?, 20)?;
        list_ends = number(&locator, 8, 8)
            .filter(|_| locator.starts_with(b"PK\x06\x07"))
            .ok_or_else(no_list)?;
        let large = read_at(file, list_ends, 56)?;
        bytes = number(&large, 40, 8)
            .filter(|_| large.starts_with(b"PK\x06\x06"))
            .ok_or_else(no_list)?;
        at = number(&large, 48, 8).ok_or_else(no_list)?;
    }
    if bytes > LONGEST_LIST {
        return Err(wrong("the list of its members is longer than 16 MiB"));
    }
    // Bytes before the archive, such as a program that unpacks it, are not part of offsets.
    let starts = list_ends.checked_sub(bytes).ok_or_else(no_list)?;
    let in_front = starts.checked_sub(at).ok_or_else(no_list)?;
    let records = read_at(file, starts, bytes)?;
    let (mut members, mut at) = (Vec::new(), 0);
    while at < records.len() {
        let (member, length) = member(&records[at..], in_front).ok_or_else(no_list)?;
        members.push(member);
        at += length;
    }
    Ok(members)
}

/// Member whose record is at the start of `bytes`, and the length of the record.
fn member(bytes: &[u8], in_front: u64) -> Option<(Member, usize)> {
    if !bytes.starts_with(b"PK\x01\x02") {
        return None;
    }
    let field = |at, length| number(bytes, at, length);
    let (name, extra, comment) =
        (field(28, 2)? as usize, field(30, 2)? as usize, field(32, 2)? as usize);
    let mut large = [field(24, 4)?, field(20, 4)?, field(42, 4)?];
    let mut rest = bytes.get(46 + name..46 + name + extra)?;
    while let (Some(kind), Some(length)) = (number(rest, 0, 2), number(rest, 2, 2)) {
        let data = rest.get(4..4 + length as usize)?;
        if kind == 1 {
            // This field has only those numbers that do not fit into their usual places.
            let mut at = 0;
            for value in large.iter_mut().filter(|value| **value == 0xffff_ffff) {
                *value = number(data, at, 8)?;
                at += 8;
            }
        }
        rest = &rest[4 + length as usize..];
    }
    let [bytes_of_it, packed_bytes, at] = large;
    let member = Member {
        name: String::from_utf8_lossy(bytes.get(46..46 + name)?).into_owned(),
        method: field(10, 2)? as u16,
        is_encrypted: field(8, 2)? & 1 == 1,
        crc: field(16, 4)? as u32,
        packed_bytes,
        bytes: bytes_of_it,
        at: at.checked_add(in_front)?,
    };
    Some((member, 46 + name + extra + comment))
}

/// The packed bytes of a member.
fn data_of<F: Read + Seek>(mut file: F, member: &Member) -> io::Result<Take<F>> {
    let head = read_at(&mut file, member.at, 30)?;
    let (Some(name), Some(extra), true) =
        (number(&head, 26, 2), number(&head, 28, 2), head.starts_with(b"PK\x03\x04"))
    else {
        return Err(wrong("the head of its member is not where the list says"));
    };
    file.seek(SeekFrom::Start(member.at + 30 + name + extra))?;
    Ok(file.take(member.packed_bytes))
}

/// Compares the length and the checksum of a member when it ends.
struct Checked {
    input: Box<dyn Read + Send>,
    sum: flate2::Crc,
    crc: u32,
    bytes: u64,
    found: u64,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.sum.update(&buffer[..count]);
        self.found += count as u64;
        let is_over = count == 0 && !buffer.is_empty();
        if self.found > self.bytes || is_over && self.found < self.bytes {
            return Err(wrong("its length is not the one in the list of members"));
        }
        if is_over && self.sum.sum() != self.crc {
            return Err(wrong("its checksum does not fit"));
        }
        Ok(count)
    }
}
