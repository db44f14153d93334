//! Files that cannot be read here: the kind of each, and a command that converts it.

use super::tar;
use crate::error::TraceError;
use crate::trace::Compression;
use std::borrow::Cow;
use std::io::BufRead;

/// Command that reads a trace from a pipe.
const READER: &str = "ioda trace inspect -";

/// Programs that print the contents of a container, by its first bytes.
const PACKED: [(&[u8], &str, &str); 10] = [
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so"),
    (b"Rar!\x1a\x07", "a rar archive", "unrar p -inul"),
    (b"\x04\x22\x4d\x18", "lz4 data", "lz4 -dc"),
    (b"\x02\x21\x4c\x18", "lz4 data", "lz4 -dc"),
    (b"\x1f\x9d", "compress data", "uncompress -c"),
    (b"\x1f\xa0", "compress data", "uncompress -c"),
    (b"LZIP\x01", "lzip data", "lzip -dc"),
    (b"\x89LZO\0\r\n\x1a\n", "lzop data", "lzop -dc"),
    (b"\x5d\0\0", "lzma data", "xz --format=lzma -dc"),
    (b"\xff\x06\0\0sNaPpY", "snappy data", "snzip -dc"),
];

/// Tables that pandas reads, by their first bytes. All of them have zero bytes further on.
const TABLES: [(&[u8], &str, &str); 8] = [
    (b"PAR1", "a Parquet file", "parquet"),
    (b"PARE", "an encrypted Parquet file", "parquet"),
    (b"FEA1", "a Feather file", "feather"),
    (b"ARROW1\0", "a Feather or Arrow file", "feather"),
    (b"ORC", "an ORC file", "orc"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "hdf"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook", "excel"),
    (b"\x80\x04\x95", "a pickle of Python", "pickle"),
];

/// Other binary files, whose requests their own programs have to write as text.
const BINARIES: [(&[u8], &str); 12] = [
    (b"\xff\xff\xff\xff", "a stream of Arrow"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"Obj\x01", "an Avro file"),
    (b"PERFILE2", "a recording of perf"),
    (b"\x17\x08\x44tracing", "a recording of trace-cmd"),
    (b"\xd4\xc3\xb2\xa1", "a capture of network packets"),
    (b"\xa1\xb2\xc3\xd4", "a capture of network packets"),
    (b"\x0a\x0d\x0d\x0a", "a capture of network packets"),
    (b"\xc1\x1f\xfc\xc1", "a trace in the Common Trace Format"),
    (b"\x7fELF", "a program"),
    (b"%PDF-", "a PDF document"),
];

/// Refuses a file that begins with `first`, unless it can be text or records that are read here.
/// `input` still has these bytes.
pub(in crate::trace) fn refuse_foreign(
    first: &[u8],
    input: &mut (dyn BufRead + Send),
    name: &str,
    compression: Compression,
) -> Result<(), TraceError> {
    let refused = |container: String, advice: String| {
        Err(TraceError::Container { name: name.to_owned(), container, advice })
    };
    let typed = typed(name);
    if let Some(inner) = packed_again(first) {
        return match compression {
            // A stream cannot be read from its end.
            Compression::Plain => refused(
                "a zip archive in a pipe".to_owned(),
                format!(
                    "the list of its members is at its end, so give the file itself, or print a member: \
                     unzip -p FILE MEMBER | {READER}"
                ),
            ),
            _ => refused(
                format!("{compression} data with {inner} data in them"),
                format!("unpack them once: {} | {READER}", unpacking(compression, &typed)),
            ),
        };
    }
    let starts = |magic: &[u8]| first.starts_with(magic);
    if let Some((_, what, command)) = PACKED.iter().find(|(magic, ..)| starts(magic)) {
        let source = source(compression, &typed);
        return refused(
            (*what).to_owned(),
            match source {
                Source::File(file) => format!("print what is in it: {command} {file} | {READER}"),
                Source::Pipe(pipe) => format!("print what is in it: {pipe} | {command} | {READER}"),
            },
        );
    }
    if let Some(encoding) = wide_text(first) {
        return refused(
            format!("{encoding} text"),
            match source(compression, &typed) {
                Source::File(file) => {
                    format!("convert it: iconv -f {encoding} -t UTF-8 {file} | {READER}")
                }
                Source::Pipe(pipe) => {
                    format!("convert it: {pipe} | iconv -f {encoding} -t UTF-8 | {READER}")
                }
            },
        );
    }
    if tar::is_archive(first) {
        let (members, is_all) = tar::members(input);
        let (Some(example), listed) = (members.first(), listed(&members, is_all)) else {
            return refused(
                "a tar archive without files".to_owned(),
                "name another file".to_owned(),
            );
        };
        let inside = match compression {
            Compression::Plain => String::new(),
            packed => format!(" in {packed}"),
        };
        return refused(
            format!("a tar archive{inside} with {listed}"),
            format!(
                "unpack it, or print a member: tar -xOf {typed} {} | {READER}",
                quoted(example)
            ),
        );
    }
    // A text trace may begin with such letters, but has no zero bytes.
    if !first.contains(&0) {
        return Ok(());
    }
    if let Some((_, what, reader)) = TABLES.iter().find(|(magic, ..)| starts(magic)) {
        return refused((*what).to_owned(), as_csv(reader, name));
    }
    if let Some((_, what)) = BINARIES.iter().find(|(magic, _)| starts(magic)) {
        return refused(
            (*what).to_owned(),
            "write time, operation, offset and size of its requests as CSV with a header"
                .to_owned(),
        );
    }
    if is_oracle_general(first) {
        return refused(
            "an oracleGeneral trace of libCacheSim (records of 24 bytes: time in s, object, size, next access)"
                .to_owned(),
            "it has objects of a cache instead of addresses, and does not say which requests write; take the block \
             trace that it was made from"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether `first` can be records of time (4 bytes), object (8), size (4) and next access (8).
fn is_oracle_general(first: &[u8]) -> bool {
    let number = |record: &[u8], at: usize, length: usize| {
        record[at..at + length].iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte))
    };
    let mut last = 0;
    let mut records = 0;
    for (index, record) in (0_u64..).zip(first.chunks_exact(24)) {
        let (time, size, next) =
            (number(record, 0, 4), number(record, 12, 4), number(record, 16, 8));
        // The next access is later than this one, or never.
        let is_next = next > index && next < 1 << 40 || next == u64::MAX || next == i64::MAX as u64;
        if time < last || !(1..=1 << 30).contains(&size) || !is_next {
            return false;
        }
        (last, records) = (time, records + 1);
    }
    records >= 3
}

/// Name of a second compression, or of a zip archive that is not a plain file; `None` for other
/// bytes.
fn packed_again(first: &[u8]) -> Option<&'static str> {
    match super::compression_of(first) {
        Compression::Plain => first.starts_with(b"PK\x03\x04").then_some("zip"),
        other => Some(other.name()),
    }
}

/// Encoding of text in units of two or four bytes, detected by its byte order mark, or by zero
/// bytes beside letters.
fn wide_text(first: &[u8]) -> Option<&'static str> {
    match first {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Some("UTF-16"),
        _ => {}
    }
    let pairs = first.len().min(64) / 2;
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let mut units = first.chunks_exact(2).take(pairs);
    let little = |unit: &[u8]| is_text(unit[0]) && unit[1] == 0;
    let big = |unit: &[u8]| unit[0] == 0 && is_text(unit[1]);
    match pairs {
        0..=7 => None,
        _ if units.clone().all(little) => Some("UTF-16LE"),
        _ if units.all(big) => Some("UTF-16BE"),
        _ => None,
    }
}

/// Source of the bytes for a command.
enum Source<'a> {
    /// A file with this name, as typed.
    File(&'a str),
    /// The output of this command.
    Pipe(String),
}

fn source(compression: Compression, typed: &str) -> Source<'_> {
    match compression {
        Compression::Plain => Source::File(typed),
        packed => Source::Pipe(unpacking(packed, typed)),
    }
}

/// Command that prints the contents of a compressed file.
fn unpacking(compression: Compression, typed: &str) -> String {
    match compression {
        Compression::Plain => format!("cat {typed}"),
        Compression::Gzip => format!("gzip -dc {typed}"),
        Compression::Zstd => format!("zstd -dc {typed}"),
        Compression::Bzip2 => format!("bzip2 -dc {typed}"),
        Compression::Xz => format!("xz -dc {typed}"),
        Compression::Zip => format!("unzip -p {typed}"),
    }
}

/// Command that writes a table as CSV.
fn as_csv(reader: &str, name: &str) -> String {
    let plain =
        name.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'\'' | b'"' | b'\\' | b'$'));
    let file = if plain { name } else { "FILE" };
    format!(
        "write it as CSV, such as with pandas: python3 -c \"import pandas; \
         pandas.read_{reader}('{file}').to_csv('{file}.csv', index=False)\""
    )
}

/// Members of an archive in a sentence; `is_all` is false if there may be others.
pub(super) fn listed(members: &[String], is_all: bool) -> String {
    const MOST: usize = 12;
    let mut shown: Vec<String> =
        members.iter().take(MOST).map(|name| crate::error::excerpt(name)).collect();
    if members.len() > MOST {
        shown.push("…".to_owned());
    }
    let (least, count) = (if is_all { "" } else { "at least " }, members.len());
    let plural = if count == 1 { "" } else { "s" };
    format!("{least}{count} member{plural} ({})", shown.join(", "))
}

/// Name of the path `-` in messages.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// Name of the file as typed; a placeholder for a pipe, which has no name.
pub(in crate::trace) fn typed(name: &str) -> Cow<'_, str> {
    if name == STANDARD_INPUT { Cow::Borrowed("FILE") } else { quoted(name) }
}

/// `text` quoted as one word for a shell.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+:@%=,".contains(&b);
    if !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_a_shell() {
        let cases = [
            ("a/b-1.csv", "a/b-1.csv"),
            ("two words.csv", "'two words.csv'"),
            ("it's", r"'it'\''s'"),
            ("-x", "'-x'"),
            ("", "''"),
        ];
        for (name, expected) in cases {
            assert_eq!(quoted(name), expected);
        }
        assert_eq!(typed("standard input"), "FILE");
    }

    #[test]
    fn text_of_wide_letters_is_told_without_a_mark() {
        let wide = |text: &str, big: bool| -> Vec<u8> {
            let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            text.encode_utf16().flat_map(bytes).collect()
        };
        let header = "timestamp,op,offset,size\n";
        assert_eq!(wide_text(&wide(header, false)), Some("UTF-16LE"));
        assert_eq!(wide_text(&wide(header, true)), Some("UTF-16BE"));
        assert_eq!(wide_text(header.as_bytes()), None);
        assert_eq!(wide_text(&[7, 0, 8, 0, 9, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]), None);
    }
}
