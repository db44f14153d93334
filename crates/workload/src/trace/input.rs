//! From bytes on disk to bytes of text.

use super::Compression;
use crate::error::TraceError;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Decompresses `input`, told by its first bytes.
pub(super) fn decompress<'a>(
    mut input: impl BufRead + Send + 'a,
    name: &str,
) -> Result<(Compression, Box<dyn BufRead + Send + 'a>), TraceError> {
    let read_error = |source| TraceError::Read { name: name.to_owned(), source };
    let mut magic = [0; 6];
    let mut held = 0;
    while held < magic.len() {
        match input.read(&mut magic[held..]) {
            Ok(0) => break,
            Ok(count) => held += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(error)),
        }
    }
    let first = &magic[..held];
    if let Some(container) = foreign_container(first) {
        return Err(TraceError::Container { name: name.to_owned(), container });
    }
    let whole = Cursor::new(first.to_vec()).chain(input);
    Ok(match first {
        [0x1f, 0x8b, ..] => {
            (Compression::Gzip, buffered(flate2::bufread::MultiGzDecoder::new(whole)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(whole).map_err(read_error)?;
            (Compression::Zstd, buffered(decoder))
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            (Compression::Bzip2, buffered(bzip2::bufread::MultiBzDecoder::new(whole)))
        }
        _ => (Compression::Plain, Box::new(whole)),
    })
}

/// What reading of a file fails with behind `line`, which is the last one that was read whole.
pub(super) fn read_error(
    name: &str,
    compression: Compression,
    line: u64,
    source: io::Error,
) -> TraceError {
    match compression {
        Compression::Plain => TraceError::Read { name: name.to_owned(), source },
        compressed => TraceError::Damaged {
            name: name.to_owned(),
            compression: compressed.name(),
            line,
            reason: source.to_string(),
        },
    }
}

fn buffered<'a>(input: impl Read + Send + 'a) -> Box<dyn BufRead + Send + 'a> {
    Box::new(BufReader::with_capacity(1 << 16, input))
}

/// The name of a container that people have but that is not read here.
fn foreign_container(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [0xfd, b'7', b'z', b'X', b'Z', 0x00] => Some("xz"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c] => Some("7z"),
        [b'P', b'K', 0x03, 0x04, ..] => Some("zip"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'P', b'A', b'R', b'1', ..] => Some("Parquet"),
        [b'R', b'a', b'r', b'!', ..] => Some("rar"),
        _ => None,
    }
}
