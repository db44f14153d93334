//! Names of the files in a tar archive. The files are listed and not read, because one archive has
//! many traces.

use super::fill;
use std::io::{BufRead, Read};

/// Most members that are listed.
pub(super) const MOST_LISTED: usize = 40;
/// Most bytes of the archive that are searched: an archive of traces has gigabytes.
const MOST_BYTES: u64 = 256 << 20;
const BLOCK: usize = 512;
/// Longest name of a member.
const LONGEST_NAME: u64 = 64 << 10;

/// Whether `first` is the head of a member, which has a checksum of itself.
pub(super) fn is_archive(first: &[u8]) -> bool {
    let Some(head) = first.get(..BLOCK) else { return false };
    let sum = |from: usize, to: usize| head[from..to].iter().map(|b| u64::from(*b)).sum::<u64>();
    // The checksum's own bytes count as blanks.
    let expected = sum(0, 148) + 8 * u64::from(b' ') + sum(156, BLOCK);
    head[0] != 0 && octal(&head[148..156]) == Some(expected)
}

/// Names of the files in an archive, and whether these are all: damage or a limit may end the
/// search.
pub(super) fn members(input: &mut (dyn BufRead + Send)) -> (Vec<String>, bool) {
    let mut names = Vec::new();
    let (mut long_name, mut left, mut is_all) = (None, MOST_BYTES, false);
    let mut head = [0; BLOCK];
    while names.len() < MOST_LISTED {
        if !matches!(fill(input, &mut head), Ok(BLOCK)) || !is_archive(&head) {
            // Blocks of zeros mark the end.
            is_all = head.iter().all(|byte| *byte == 0);
            break;
        }
        let Some(size) = octal(&head[124..136]) else { break };
        let padded = size.div_ceil(BLOCK as u64) * BLOCK as u64;
        match head[156] {
            // GNU and POSIX put a long name before its member.
            b'L' | b'x' if size <= LONGEST_NAME => {
                let mut data = vec![0; padded as usize];
                if !matches!(fill(input, &mut data), Ok(found) if found == data.len()) {
                    break;
                }
                data.truncate(size as usize);
                long_name = if head[156] == b'L' { Some(text(&data)) } else { pax_path(&data) };
                continue;
            }
            b'0' | 0 | b'7' => names.push(long_name.take().unwrap_or_else(|| name(&head))),
            _ => long_name = None,
        }
        if padded > left {
            break;
        }
        left -= padded;
        let mut data = input.take(padded);
        if std::io::copy(&mut data, &mut std::io::sink()).is_err() || data.limit() > 0 {
            break;
        }
    }
    (names, is_all)
}

/// A number in octal digits, or in the binary notation for large ones.
fn octal(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|first| first & 0x80 != 0) {
        return field[1..].iter().try_fold(0_u64, |number, byte| {
            number.checked_mul(256).map(|number| number + u64::from(*byte))
        });
    }
    let digits: Vec<u8> = field.iter().copied().filter(|b| !matches!(b, b' ' | 0)).collect();
    let text = std::str::from_utf8(&digits).ok()?;
    if text.is_empty() {
        Some(0)
    } else {
        u64::from_str_radix(text, 8).ok().filter(|n| *n < 1 << 60)
    }
}

/// Name in a head; in POSIX heads the folder is a separate field.
fn name(head: &[u8; BLOCK]) -> String {
    let name = text(&head[..100]);
    let folder = if &head[257..262] == b"ustar" { text(&head[345..500]) } else { String::new() };
    if folder.is_empty() || &head[257..264] == b"ustar  " {
        name
    } else {
        format!("{folder}/{name}")
    }
}

/// Bytes up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Path in records such as `30 path=a/long/name`.
fn pax_path(data: &[u8]) -> Option<String> {
    let records = String::from_utf8_lossy(data);
    let path = |record: &str| Some(record.split_once(" path=")?.1.to_owned());
    records.lines().find_map(path)
}
