//! Search for content on a drive that is to be formatted.
//!
//! Known formats are named ([`signatures`](super::signatures)). Unknown content counts too: any
//! byte but zero in the first and the last MiB ([`ENDS_BYTES`]), and in some blocks of the future
//! data ([`SAMPLES`]). A new array assumes that its drives hold zeros: its parity and its first
//! checksums fit zeros.

use super::disk::Disk;
use super::owner::{Found, OWNER_AT};
use super::signatures::{RULES, Rule};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use units::Rng;

/// Bytes at the start and at the end of a drive that must be zeros. Partitions begin at 1 MiB, so
/// the bytes before belong to the drive as a whole: tables, labels, boot code, and the first
/// structures of every format without a table. Formats with a copy at the end keep it within a MiB
/// too (the furthest are bcachefs with one MiB and ZFS with 768 KiB at most). Reading these bytes
/// takes milliseconds; reading all of a drive would take hours.
const ENDS_BYTES: u64 = 1 << 20;
/// Number of sampled blocks of a drive's data. If one block in a hundred is not zero, as after
/// `wipefs`, the samples miss all of them once in 30,000 times. Reading the samples takes less than
/// a second.
const SAMPLES: u64 = 1_024;
/// Bytes of a read.
const BLOCK_BYTES: u64 = super::block::BLOCK_BYTES as u64;

/// A known format that was found on a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// Name of the format.
    pub what: &'static str,
    /// Start of the recognised bytes, from the start of the drive.
    pub at_bytes: u64,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at_bytes)
    }
}

/// Searches all of a drive for known formats.
///
/// # Errors
///
/// If a read fails.
pub fn recognise<D: Disk>(disk: &mut D) -> Result<Option<Foreign>, D::Error> {
    first(disk, |_| true)
}

/// Searches for known formats in the part of a head that holds no data of clients. On a drive of an
/// array, clients may have written anything behind that part.
///
/// # Errors
///
/// If a read fails.
pub fn recognise_in_head<D: Disk>(disk: &mut D) -> Result<Option<Foreign>, D::Error> {
    first(disk, |at_bytes| at_bytes < ENDS_BYTES)
}

/// Returns the offset of the first byte that is not zero in the first and the last MiB.
pub(super) fn first_data<D: Disk>(disk: &mut D) -> Result<Option<u64>, D::Error> {
    let size_bytes = disk.size_bytes()?;
    for span in ends(size_bytes) {
        let Span { from_bytes, mut bytes } = Span::read(disk, span)?;
        forget_owner(from_bytes, &mut bytes);
        if let Some(at) = first_not_zero(&bytes) {
            return Ok(Some(from_bytes + at as u64));
        }
    }
    Ok(None)
}

/// Returns the offset of a byte that is not zero in sampled blocks of `data`: one block at a random
/// place in each of equal parts.
pub(super) fn sampled_data<D: Disk>(
    disk: &mut D,
    data: core::ops::Range<u64>,
) -> Result<Option<u64>, D::Error> {
    let blocks = (data.end - data.start) / BLOCK_BYTES;
    let parts = SAMPLES.min(blocks);
    let mut rng = Rng::stream(0, "blank");
    for part in 0..parts {
        let (from, to) = (blocks * part / parts, blocks * (part + 1) / parts);
        let at = data.start + (from + rng.below(to - from)) * BLOCK_BYTES;
        let Span { from_bytes, bytes } = Span::read(disk, at..at + BLOCK_BYTES)?;
        if let Some(at) = first_not_zero(&bytes) {
            return Ok(Some(from_bytes + at as u64));
        }
    }
    Ok(None)
}

/// Clears the block of the owner: a server claims a drive on the network before it formats it.
fn forget_owner(from_bytes: u64, bytes: &mut [u8]) {
    let at = OWNER_AT.checked_sub(from_bytes).and_then(|at| usize::try_from(at).ok());
    let block = at.and_then(|at| bytes.get_mut(at..at + BLOCK_BYTES as usize));
    if let Some(block) = block
        && matches!(Found::decode(block), Found::Owner(_))
    {
        block.fill(0);
    }
}

/// Returns the index of the first byte that is not zero. Whole blocks are compared first, which is
/// much faster, and most drives are blank.
fn first_not_zero(bytes: &[u8]) -> Option<usize> {
    let mut blocks = bytes.chunks(BLOCK_BYTES as usize);
    let block = blocks.position(|block| block.iter().fold(0, |all, &byte| all | byte) != 0)?;
    let from = block * BLOCK_BYTES as usize;
    bytes[from..].iter().position(|&byte| byte != 0).map(|at| from + at)
}

/// Returns the first and the last MiB of a drive, extended to whole blocks.
fn ends(size_bytes: u64) -> [core::ops::Range<u64>; 2] {
    let last = size_bytes.saturating_sub(ENDS_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
    [0..ENDS_BYTES.min(size_bytes), last..size_bytes]
}

/// Bytes that were read from a drive.
struct Span {
    from_bytes: u64,
    bytes: Vec<u8>,
}

impl Span {
    /// Reads the blocks that contain these bytes; bytes past the end of the drive read as zeros.
    fn read<D: Disk>(disk: &mut D, range: core::ops::Range<u64>) -> Result<Self, D::Error> {
        let from_bytes = range.start / BLOCK_BYTES * BLOCK_BYTES;
        let to_bytes = range.end.next_multiple_of(BLOCK_BYTES);
        let mut bytes = vec![0; (to_bytes - from_bytes) as usize];
        disk.read(from_bytes, &mut bytes)?;
        Ok(Self { from_bytes, bytes })
    }

    fn get(&self, at_bytes: u64, length_bytes: usize) -> Option<&[u8]> {
        let at = usize::try_from(at_bytes.checked_sub(self.from_bytes)?).ok()?;
        self.bytes.get(at..at.checked_add(length_bytes)?)
    }
}

fn first<D: Disk>(disk: &mut D, counts: impl Fn(u64) -> bool) -> Result<Option<Foreign>, D::Error> {
    let size_bytes = disk.size_bytes()?;
    let mut spans = Vec::new();
    for span in ends(size_bytes) {
        if span.start == 0 || counts(span.start) {
            spans.push(Span::read(disk, span)?);
        }
    }
    for Rule { name, magics, spots } in RULES {
        for spot in *spots {
            for magic in *magics {
                let at = spot.on(size_bytes, magic.len() as u64);
                let Some(at_bytes) = at.filter(|&at_bytes| counts(at_bytes)) else { continue };
                let known = spans.iter().find_map(|span| span.get(at_bytes, magic.len()));
                let found = match known {
                    Some(bytes) => bytes == *magic,
                    None => {
                        let span = at_bytes..at_bytes + magic.len() as u64;
                        let span = Span::read(disk, span)?;
                        span.get(at_bytes, magic.len()) == Some(*magic)
                    }
                };
                if found {
                    return Ok(Some(Foreign { what: name, at_bytes }));
                }
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::signatures::Spot;
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::format;
    use alloc::string::String;
    use core::convert::Infallible;
    use core::fmt::Write;
    use proptest::prelude::*;

    /// A drive of any size that holds zeros, except for bytes that were put on it.
    struct Sparse {
        size_bytes: u64,
        bytes: BTreeMap<u64, u8>,
        /// Start of each read.
        reads: Vec<u64>,
    }

    impl Sparse {
        fn new(size_bytes: u64) -> Self {
            Self { size_bytes, bytes: BTreeMap::new(), reads: Vec::new() }
        }

        fn put(&mut self, at_bytes: u64, bytes: &[u8]) {
            assert!(at_bytes + bytes.len() as u64 <= self.size_bytes);
            self.bytes.extend((at_bytes..).zip(bytes.iter().copied()));
        }
    }

    impl Disk for Sparse {
        type Error = Infallible;

        fn size_bytes(&mut self) -> Result<u64, Infallible> {
            Ok(self.size_bytes)
        }

        fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Infallible> {
            assert!(offset_bytes.is_multiple_of(BLOCK_BYTES), "whole blocks");
            assert!((into.len() as u64).is_multiple_of(BLOCK_BYTES), "whole blocks");
            let end = offset_bytes + into.len() as u64;
            assert!(end < self.size_bytes + BLOCK_BYTES, "it ends within the last block");
            self.reads.push(offset_bytes);
            into.fill(0);
            for (&at, &byte) in self.bytes.range(offset_bytes..end) {
                into[(at - offset_bytes) as usize] = byte;
            }
            Ok(())
        }

        fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Infallible> {
            unreachable!("nothing is written")
        }

        fn sync(&mut self) -> Result<(), Infallible> {
            unreachable!("nothing is written")
        }
    }

    fn found(disk: &mut Sparse) -> Option<Foreign> {
        recognise(disk).unwrap()
    }

    /// The places of each rule, on a drive whose size is a multiple of nothing but a sector.
    #[test]
    fn the_rules_are_these() {
        let size_bytes = (1 << 40) + 300 * 4096 + 1536;
        let mut said = String::new();
        for Rule { name, magics, spots } in RULES {
            for spot in *spots {
                let at = spot.on(size_bytes, 1).unwrap();
                let place = match spot {
                    Spot::Start(_) => format!("{at}"),
                    Spot::End { .. } => format!("-{}", size_bytes - at),
                };
                let magics: Vec<String> =
                    magics.iter().map(|magic| format!("\"{}\"", magic.escape_ascii())).collect();
                writeln!(said, "{name} | {place} | {}", magics.join(" or ")).unwrap();
            }
        }
        assert_eq!(said, include_str!("signatures.txt"), "now:\n{said}");
    }

    #[test]
    fn every_rule_finds_what_it_is_about() {
        let size_bytes = (1 << 40) + 300 * 4096 + 1536;
        for Rule { name, magics, spots } in RULES {
            for (magic, spot) in magics.iter().flat_map(|m| spots.iter().map(move |s| (m, s))) {
                let mut disk = Sparse::new(size_bytes);
                let at_bytes = spot.on(size_bytes, magic.len() as u64).unwrap();
                disk.put(at_bytes, magic);
                let found = found(&mut disk).unwrap();
                assert_eq!(found.at_bytes, at_bytes, "{name}");
                // bcachefs began with the magic of bcache.
                assert!(found.what == *name || found.what == "bcache device", "{name}: {found}");
            }
        }
        let mut disk = Sparse::new(1 << 30);
        disk.put(65600, b"_BHRfS_M");
        assert_eq!(format!("{}", found(&mut disk).unwrap()), "btrfs file system at byte 65600");
    }

    #[test]
    fn of_a_drive_that_was_of_an_array_only_the_head_counts() {
        let mut disk = Sparse::new(1 << 30);
        disk.put((1 << 30) - 512, b"EFI PART");
        assert!(found(&mut disk).is_some() && recognise_in_head(&mut disk).unwrap().is_none());
        disk.put(4086, b"SWAPSPACE2");
        assert_eq!(recognise_in_head(&mut disk).unwrap().unwrap().what, "swap space");
        // The journal begins at the second MiB.
        let mut disk = Sparse::new(1 << 30);
        disk.put(1 << 20, b"\x0d\xd0\x01\xc0");
        assert_eq!(found(&mut disk).unwrap().what, "VMFS volume");
        assert_eq!(recognise_in_head(&mut disk), Ok(None));
    }

    /// A start checks every drive: each end is read once for all formats.
    #[test]
    fn what_is_looked_for_at_an_end_is_read_at_once() {
        let size_bytes = 1 << 30;
        let mut disk = Sparse::new(size_bytes);
        assert_eq!(recognise_in_head(&mut disk), Ok(None));
        assert_eq!(disk.reads, [0], "what is behind the head is not read");
        disk.reads.clear();
        assert_eq!(found(&mut disk), None);
        let at_the_start = disk.reads.iter().filter(|&&at| at < ENDS_BYTES).count();
        let at_the_end = disk.reads.iter().filter(|&&at| at >= size_bytes - ENDS_BYTES).count();
        assert_eq!((at_the_start, at_the_end), (1, 1), "{:?}", disk.reads);
    }

    #[test]
    fn any_byte_at_either_end_is_seen() {
        let size_bytes: u64 = (5 << 20) + 512;
        let last = size_bytes - 1;
        for (at_bytes, seen) in [
            (0, true),
            ((1 << 20) - 1, true),
            (1 << 20, false),
            (size_bytes - (1 << 20), true),
            (last, true),
        ] {
            let mut disk = Sparse::new(size_bytes);
            disk.put(at_bytes, &[1]);
            assert_eq!(found(&mut disk), None);
            assert_eq!(first_data(&mut disk).unwrap(), seen.then_some(at_bytes));
        }
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn what_is_known_is_found_wherever_it_should_be_on_drives_of_any_size(
            number in 0..RULES.len(),
            size_bytes in prop_oneof![0u64..70_000, 0u64..3 << 20, 1u64 << 20..1 << 43],
            others in proptest::collection::vec((any::<u64>(), any::<u8>()), 0..8),
        ) {
            let Rule { name, magics, spots } = RULES[number];
            for (magic, spot) in magics.iter().flat_map(|m| spots.iter().map(move |s| (m, s))) {
                let mut disk = Sparse::new(size_bytes);
                for (at, byte) in &others {
                    if size_bytes > 0 {
                        disk.put(at % size_bytes, &[*byte]);
                    }
                }
                let at = spot.on(size_bytes, magic.len() as u64);
                if let Some(at_bytes) = at {
                    disk.put(at_bytes, magic);
                    let found = found(&mut disk);
                    prop_assert!(found.is_some(), "{} at {}", name, at_bytes);
                } else if others.is_empty() {
                    prop_assert_eq!(found(&mut disk), None);
                }
            }
        }
    }

    /// Bytes that cancel each other out are data too, and the first byte of all is reported.
    #[test]
    fn the_first_byte_that_is_not_zero_is_found_wherever_it_is() {
        for at in [0, 100, BLOCK_BYTES - 2, BLOCK_BYTES, 5 * BLOCK_BYTES + 17] {
            let mut disk = Sparse::new(8 << 20);
            disk.put(at, &[7, 7]);
            assert_eq!(first_data(&mut disk), Ok(Some(at)));
        }
    }
}
