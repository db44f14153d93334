//! Words for operations, as users and tools write them, and the commands of SCSI.

use super::formats::blkparse::{self, Rwbs, rwbs};
use super::{SkipReason, fields};
use crate::Op;
use crate::error::LineProblem;

/// Meaning of a word for an operation in any known spelling: `R`, `read`, `Write(10)`, `TRIM`, the
/// flags of blktrace, or the code of a SCSI command as `0x2a`.
pub(super) fn word(text: &str) -> Option<Rwbs> {
    word_and_flag(text).map(|(said, _)| said)
}

/// Meaning by [`word`], and an unknown flag in the word.
pub(super) fn word_and_flag(text: &str) -> Option<(Rwbs, Option<char>)> {
    // Nearly all requests have one of these words.
    match text.as_bytes() {
        [b'R' | b'r'] | [b'R' | b'r', b'e', b'a', b'd'] | b"READ" => {
            return Some((Rwbs::Data(Op::Read), None));
        }
        [b'W' | b'w'] | [b'W' | b'w', b'r', b'i', b't', b'e'] | b"WRITE" => {
            return Some((Rwbs::Data(Op::Write), None));
        }
        [b'0', b'x' | b'X', ..] => {
            // Codes of other commands may be those of NVMe, where 1 is a write and 2 a read.
            let command = u16::from_str_radix(&text[2..], 16).ok().and_then(scsi_command);
            return command.map(|said| (said, None));
        }
        _ => {}
    }
    match named(text) {
        Some(said) => Some((said, None)),
        None => flags(text).map(|said| (said, blkparse::unknown_flag(text))),
    }
}

/// Meaning of flags of blktrace. A `D` means discard only at the front, and no letter occurs twice,
/// because other words have such letters elsewhere. One unknown flag of a later kernel is accepted.
fn flags(text: &str) -> Option<Rwbs> {
    if !text.is_ascii() || text.get(1..)?.contains('D') {
        return None;
    }
    let operation = text.strip_prefix('F').unwrap_or(text);
    let behind = match operation.as_bytes() {
        [b'Z', b'A' | b'C' | b'F' | b'O' | b'R', rest @ ..] => rest,
        [b'E' | b'Z', ..] => return None,
        [_, rest @ ..] => rest,
        [] => &[],
    };
    let twice = (0..behind.len()).any(|at| behind[at + 1..].contains(&behind[at]));
    let unknown = behind.iter().filter(|b| !b"FASMBEUX".contains(b)).count();
    if twice || unknown > 1 || behind.iter().any(|b| b"RWN".contains(b)) {
        return None;
    }
    rwbs(text).filter(|found| *found != Rwbs::Skip(SkipReason::UnknownOperation))
}

/// Whether [`word`] reads it as a write that demands stable storage, by the flags of blktrace.
pub(super) fn is_durable(text: &str) -> bool {
    blkparse::is_durable(text) && named(text).is_none() && flags(text).is_some()
}

/// The meaning of `R`, `W`, `Read` or `Write` in a format that has no other words for these. Known
/// words for other operations are skipped.
pub(super) fn letter(text: &str) -> Result<Rwbs, LineProblem> {
    fields::letter_op(text).map(Rwbs::Data).or_else(|problem| match word(text) {
        Some(skip @ Rwbs::Skip(_)) => Ok(skip),
        _ => Err(problem),
    })
}

fn named(text: &str) -> Option<Rwbs> {
    let mut letters = [0; 24];
    let mut count = 0;
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            *letters.get_mut(count)? = byte.to_ascii_lowercase();
            count += 1;
        } else if !matches!(byte, b'(' | b')' | b'_' | b'-' | b' ') {
            return None;
        }
    }
    let word = std::str::from_utf8(&letters[..count]).ok()?;
    let word = ["scsi", "nvmecmd", "reqop"]
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .unwrap_or(word);
    Some(match word {
        "read" | "reads" | "rd" | "read6" | "read10" | "read12" | "read16" | "read32" | "pread"
        | "pread64" => Rwbs::Data(Op::Read),
        "write" | "writes" | "wr" | "write6" | "write10" | "write12" | "write16" | "write32"
        | "pwrite" | "pwrite64" | "writeandverify10" | "writeandverify12" | "writeandverify16"
        | "writeatomic16" => Rwbs::Data(Op::Write),
        "zoneappend" => Rwbs::Data(Op::Write),
        "zonereset" | "zoneresetall" | "zoneopen" | "zoneclose" | "zonefinish" | "zonereport" => {
            Rwbs::Skip(SkipReason::Zone)
        }
        "trim" | "discard" | "unmap" | "deallocate" | "dsm" | "securediscard" | "secureerase" => {
            Rwbs::Skip(SkipReason::Discard)
        }
        "flush" | "sync" | "fsync" | "fdatasync" | "datasync" | "barrier" | "synchronizecache"
        | "synchronizecache10" | "synchronizecache16" | "synccache" => {
            Rwbs::Skip(SkipReason::Flush)
        }
        "writezeroes" | "writezeros" | "zeroout" | "writesame" | "writesame10" | "writesame16"
        | "writesame32" => Rwbs::Skip(SkipReason::WriteZeroes),
        "testunitready" | "inquiry" | "requestsense" | "readcapacity" | "readcapacity10"
        | "readcapacity16" | "modesense6" | "modesense10" | "reportluns" => {
            Rwbs::Skip(SkipReason::NoData)
        }
        _ => return None,
    })
}

/// Operation of a SCSI command, by the operation codes of SBC-4; `None` for all others.
pub(super) fn scsi_command(code: u16) -> Option<Rwbs> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Rwbs::Data(Op::Read)),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e | 0x9c => Some(Rwbs::Data(Op::Write)),
        0x42 => Some(Rwbs::Skip(SkipReason::Discard)),
        0x35 | 0x91 => Some(Rwbs::Skip(SkipReason::Flush)),
        0x41 | 0x93 => Some(Rwbs::Skip(SkipReason::WriteZeroes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_every_spelling() {
        for text in
            ["R", "r", "READ", "Read10", "READ(10)", "read_16", "RA", "RM", "0x28", "RS", "RSG"]
        {
            assert_eq!(word(text), Some(Rwbs::Data(Op::Read)), "{text}");
        }
        for text in [
            "W",
            "Write",
            "WRITE_10",
            "WS",
            "WSM",
            "FWFS",
            "WSU",
            "ZA",
            "ZAS",
            "0x8A",
            "REQ_OP_WRITE",
        ] {
            assert_eq!(word(text), Some(Rwbs::Data(Op::Write)), "{text}");
        }
        for text in ["TRIM", "Discard", "UNMAP", "D", "DS", "0x42", "trim"] {
            assert_eq!(word(text), Some(Rwbs::Skip(SkipReason::Discard)), "{text}");
        }
        for text in ["FLUSH", "F", "FN", "Synchronize Cache(10)", "0x35", "fsync"] {
            assert_eq!(word(text), Some(Rwbs::Skip(SkipReason::Flush)), "{text}");
        }
        for text in ["ZR", "ZRA", "ZO", "ZF", "zone_reset"] {
            assert_eq!(word(text), Some(Rwbs::Skip(SkipReason::Zone)), "{text}");
        }
        assert_eq!(word("WriteZeroes"), Some(Rwbs::Skip(SkipReason::WriteZeroes)));
        for (text, flag) in
            [("R", None), ("read", None), ("FWFS", None), ("RSG", Some('G')), ("ZAQ", Some('Q'))]
        {
            assert_eq!(word_and_flag(text).map(|(_, flag)| flag), Some(flag), "{text}");
        }
        for text in ["WF", "FWFS", "FWS", "WFSM", "ZAF", "WB"] {
            assert!(is_durable(text), "{text}");
        }
        for text in ["W", "WS", "WSM", "RF", "FF", "F", "D", "WriteF", "write", "WriteBack", "0x2a"]
        {
            assert!(!is_durable(text), "{text}");
        }
        for text in [
            "", "0", "1", "X", "RWD", "0x01", "0x02", "reader", "Ready", "R,", "ö", "RESET", "ROW",
            "RANDOM", "Q",
        ] {
            assert_eq!(word(text), None, "{text}");
        }
    }
}
