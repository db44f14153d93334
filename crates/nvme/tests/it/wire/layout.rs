//! Tables of fields, and the properties of a structure that follow from them: which bits survive,
//! which are reserved, and what an example looks like. A table of the code is used if there is one;
//! the bytes of examples, in snapshots, confirm its offsets.

use nvme::wire::Field;
use std::fmt::{Debug, Write};
use units::Rng;

/// Number of drawn values per structure.
const ROUNDS: u64 = 2_000;

/// Kind of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    /// Every value is valid.
    Number,
    /// Some bits are reserved; these are not.
    Bits(u128),
    /// The field always has this value here.
    Fixed(u128),
    /// Text, with more than one spelling.
    Text,
}

#[derive(Debug)]
struct Row {
    at: usize,
    bytes: usize,
    name: String,
    kind: Kind,
}

/// Fields of a structure of `bytes` bytes. Bytes outside of all fields are reserved.
#[derive(Debug)]
pub(crate) struct Layout {
    bytes: usize,
    fields: Vec<Row>,
}

fn number(text: &str) -> u128 {
    u128::from_str_radix(text, 16).expect("a number in base 16")
}

impl Layout {
    /// Reads a table. Each line has offset, size and name. It may end with `text`, with the bits
    /// that are not reserved as `&hex`, or with the value as `=hex`. An offset may be the end of
    /// the line before, written `+`.
    pub(crate) fn new(bytes: usize, table: &str) -> Self {
        let mut fields: Vec<Row> = Vec::new();
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<_> = line.split_whitespace().collect();
            let end = fields.last().map_or(0, |field| field.at + field.bytes);
            let at = if words[0] == "+" { end } else { words[0].parse().expect("an offset") };
            assert!(at >= end, "{line} overlaps with the field before");
            let kind = match words.get(3) {
                None => Kind::Number,
                Some(&"text") => Kind::Text,
                Some(word) => match word.split_at(1) {
                    ("&", bits) => Kind::Bits(number(bits)),
                    ("=", value) => Kind::Fixed(number(value)),
                    _ => panic!("{line}: what is {word}?"),
                },
            };
            let size = words[1].parse().expect("a size");
            assert!(at + size <= bytes, "{line} is past the end");
            fields.push(Row { at, bytes: size, name: words[2].into(), kind });
        }
        Self { bytes, fields }
    }

    /// Fields of a table in the code, in the order of their offsets.
    pub(crate) fn of(bytes: usize, fields: &[Field]) -> Self {
        let mut layout = Self { bytes, fields: Vec::new() };
        layout.add(0, "", fields);
        layout.sorted()
    }

    /// Adds fields, with offsets from `start` and names behind `outer`.
    fn add(&mut self, start: usize, outer: &str, fields: &[Field]) {
        for &Field { name, at, bytes, is_text, parts } in fields {
            let name = match (outer, name) {
                ("", name) | (name, "") => name.to_owned(),
                (outer, name) => format!("{outer}.{name}"),
            };
            let kind = if is_text { Kind::Text } else { Kind::Number };
            match parts {
                // Belongs to several structures: it has a table of its own.
                [] if name.is_empty() => {}
                [] => self.fields.push(Row { at: start + at, bytes, name, kind }),
                parts => self.add(start + at, &name, parts),
            }
        }
    }

    fn sorted(mut self) -> Self {
        self.fields.sort_by_key(|field| field.at);
        let overlap = self.fields.windows(2).find(|two| two[0].at + two[0].bytes > two[1].at);
        assert!(overlap.is_none(), "{overlap:?} overlap");
        self
    }

    /// Adds the fields of a table.
    pub(crate) fn and(mut self, table: &str) -> Self {
        self.fields.extend(Self::new(self.bytes, table).fields);
        self.sorted()
    }

    /// Adds a list of structures, whose fields are numbered.
    pub(crate) fn and_list(mut self, places: impl Iterator<Item = usize>, of: &[Field]) -> Self {
        for (number, place) in places.enumerate() {
            let known = self.fields.len();
            self.add(place, "", of);
            for field in &mut self.fields[known..] {
                field.name += &format!("[{number}]");
            }
        }
        self.sorted()
    }

    /// Shows a field as several of one size.
    pub(crate) fn split(mut self, name: &str, into: &[&str]) -> Self {
        let index = self.index(name);
        let Row { at, bytes, .. } = self.fields.remove(index);
        let bytes = bytes / into.len();
        let row = |(number, name): (usize, &&str)| Row {
            at: at + bytes * number,
            bytes,
            name: (*name).to_owned(),
            kind: Kind::Number,
        };
        self.fields.extend(into.iter().enumerate().map(row));
        self.sorted()
    }

    /// Sets the bits of a field that are not reserved.
    pub(crate) fn bits(self, name: &str, bits: u128) -> Self {
        self.with_kind(name, Kind::Bits(bits))
    }

    /// Sets the constant value of a field.
    pub(crate) fn fixed(self, name: &str, value: u128) -> Self {
        self.with_kind(name, Kind::Fixed(value))
    }

    fn with_kind(mut self, name: &str, kind: Kind) -> Self {
        let index = self.index(name);
        self.fields[index].kind = kind;
        self
    }

    fn index(&self, name: &str) -> usize {
        let found = self.fields.iter().position(|field| field.name == name);
        found.unwrap_or_else(|| panic!("there is no field {name}"))
    }

    /// A layout with a table of fields behind the common ones.
    pub(crate) fn with(bytes: usize, common: &str, table: &str) -> Self {
        Self::new(bytes, &[common, table].join("\n"))
    }

    /// Bits that may be set, and those of them that are written as they were read.
    fn masks(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut used, mut kept) = (vec![0; self.bytes], vec![0; self.bytes]);
        for field in &self.fields {
            let range = field.at..field.at + field.bytes;
            match field.kind {
                Kind::Number | Kind::Fixed(_) => {
                    used[range.clone()].fill(0xff);
                    kept[range].fill(0xff);
                }
                Kind::Text => used[range].fill(0xff),
                Kind::Bits(bits) => {
                    let bits = &bits.to_le_bytes()[..field.bytes];
                    used[range.clone()].copy_from_slice(bits);
                    kept[range].copy_from_slice(bits);
                }
            }
        }
        (used, kept)
    }

    fn fix(&self, bytes: &mut [u8]) {
        for field in &self.fields {
            if let Kind::Fixed(value) = field.kind {
                let value = &value.to_le_bytes()[..field.bytes];
                bytes[field.at..][..field.bytes].copy_from_slice(value);
            }
        }
    }

    /// Fields of some bytes, one a line, without those that are zero.
    pub(crate) fn dump(&self, bytes: &[u8]) -> String {
        let mut text = String::new();
        for field in &self.fields {
            let value = &bytes[field.at..][..field.bytes];
            if value.iter().all(|&byte| byte == 0) {
                continue;
            }
            write!(text, "{:>4} {:>3}  {:<12} ", field.at, field.bytes, field.name).unwrap();
            match field.kind {
                Kind::Text => write!(text, "{:?}", String::from_utf8_lossy(value)).unwrap(),
                _ => {
                    for byte in value {
                        write!(text, " {byte:02x}").unwrap();
                    }
                }
            }
            text.push('\n');
        }
        let (used, _) = self.masks();
        let stray = bytes.iter().zip(used).filter(|(byte, used)| *byte & !used != 0).count();
        assert_eq!(stray, 0, "bytes outside of all fields are not zero");
        text
    }

    /// Draws the bytes of a structure: arbitrary ones, or an example with a few bytes changed.
    fn draw<const N: usize>(&self, rng: &mut Rng, examples: &[[u8; N]]) -> [u8; N] {
        let mut bytes = match rng.below(4) {
            0 => [0; N],
            1 => std::array::from_fn(|_| rng.next_u64() as u8),
            _ => examples[rng.below(examples.len() as u64) as usize],
        };
        for _ in 0..rng.below(8) {
            let field = &self.fields[rng.below(self.fields.len() as u64) as usize];
            let at = field.at + rng.below(field.bytes as u64) as usize;
            bytes[at] = [0, 1, 0xff, rng.next_u64() as u8][rng.below(4) as usize];
        }
        self.fix(&mut bytes);
        bytes
    }

    /// Checks a structure with drawn bytes and with examples.
    ///
    /// Bytes that were read are written unchanged, with reserved bits as zero, and read as the same
    /// again. So every bit of the table survives, and no other.
    pub(crate) fn check<T: PartialEq + Debug, const N: usize>(
        &self,
        decode: impl Fn(&[u8; N]) -> Option<T>,
        encode: impl Fn(&T) -> [u8; N],
        examples: &[T],
    ) {
        assert_eq!(self.bytes, N);
        let (used, kept) = self.masks();
        let encoded: Vec<_> = examples.iter().map(&encode).collect();
        for (example, bytes) in examples.iter().zip(&encoded) {
            assert_eq!(decode(bytes).as_ref(), Some(example), "{bytes:02x?}");
        }
        let mut read = 0;
        let mut seen = vec![0; N];
        for seed in testing::seeds(0..ROUNDS) {
            let mut rng = Rng::new(seed);
            let bytes = self.draw(&mut rng, &encoded);
            let Some(value) = decode(&bytes) else { continue };
            read += 1;
            let written = encode(&value);
            assert_eq!(decode(&written), Some(value), "{bytes:02x?}");
            for at in 0..N {
                let name = || self.fields.iter().rfind(|field| field.at <= at).map(|f| &f.name);
                assert_eq!(written[at] & !used[at], 0, "byte {at} ({:?}) is reserved", name());
                let changed = (written[at] ^ bytes[at]) & kept[at];
                assert_eq!(changed, 0, "byte {at} ({:?}) was not kept", name());
                seen[at] |= written[at];
            }
        }
        if testing::is_repeat() {
            return;
        }
        // A field that was always zero was not tested.
        assert!(read * 4 >= ROUNDS, "{read} of {ROUNDS} could be read");
        let unseen = self.fields.iter().find(|field| {
            let is_zero = matches!(field.kind, Kind::Fixed(0));
            !is_zero && seen[field.at..][..field.bytes].iter().all(|&byte| byte == 0)
        });
        assert!(unseen.is_none(), "{unseen:?} was never set");
    }
}

#[test]
fn a_field_that_is_forgotten_or_misplaced_is_found() {
    let forgets = |table: &str| {
        let layout = Layout::new(4, table);
        std::panic::catch_unwind(move || {
            let keep = |bytes: &[u8; 4]| Some([bytes[0], bytes[1] & 0x0f]);
            layout.check(keep, |value| [value[0], value[1], 0, 0], &[[1, 2]]);
        })
        .is_err()
    };
    assert!(!forgets("0 1 A\n1 1 B &0f"));
    assert!(forgets("0 1 A\n1 1 B"), "four bits are lost");
    assert!(forgets("0 1 A\n1 1 B &07"), "a reserved bit is written");
    assert!(forgets("0 1 A\n2 1 B"), "it is elsewhere");
    assert!(forgets("0 1 A"), "it is not in the table");
}
