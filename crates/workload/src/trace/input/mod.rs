//! From a path to bytes of text or records: opening, and decompression.

mod foreign;
mod opened;
mod tar;
mod waiting;
mod zip;

pub(super) use foreign::{refuse_foreign, typed};
pub use opened::FileIdentity;
pub(super) use opened::{Content, Opened, is_pipe, open};
pub(super) use zip::open_only_member;

use super::Compression;
use crate::error::TraceError;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Most memory for the dictionary of xz data; `xz -9` needs 64 MiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Decompresses `input`; its first bytes determine the compression.
pub(super) fn decompress<'a>(
    mut input: impl BufRead + Send + 'a,
    name: &str,
) -> Result<(Compression, Box<dyn BufRead + Send + 'a>), TraceError> {
    let mut magic = [0; 6];
    let held = fill(&mut input, &mut magic)
        .map_err(|(_, source)| TraceError::Read { name: name.to_owned(), source })?;
    let first = &magic[..held];
    let whole = Cursor::new(first.to_vec()).chain(input);
    let compression = compression_of(first);
    Ok((
        compression,
        match compression {
            Compression::Gzip => buffered(flate2::bufread::MultiGzDecoder::new(whole)),
            Compression::Zstd => buffered(
                zstd::stream::read::Decoder::with_buffer(whole)
                    .map_err(|source| TraceError::Read { name: name.to_owned(), source })?,
            ),
            Compression::Bzip2 => buffered(bzip2::bufread::MultiBzDecoder::new(whole)),
            Compression::Xz => {
                buffered(lzma_rust2::XzReader::new_mem_limit(whole, true, XZ_MEMORY_KIB))
            }
            Compression::Plain | Compression::Zip => Box::new(whole),
        },
    ))
}

/// Compression of bytes that begin with `first`, apart from archives.
fn compression_of(first: &[u8]) -> Compression {
    match first {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0x00, ..] => Compression::Xz,
        _ => Compression::Plain,
    }
}

/// Error of a file that cannot be read beyond `line`.
pub(super) fn read_error(
    name: &str,
    compression: Compression,
    line: u64,
    source: io::Error,
) -> TraceError {
    let too_large = |what: &str, command: &str| TraceError::Container {
        name: name.to_owned(),
        container: format!("{compression} data with {what}"),
        advice: format!("print it: {command} {} | ioda trace inspect -", typed(name)),
    };
    match compression {
        Compression::Plain => TraceError::Read { name: name.to_owned(), source },
        Compression::Xz if source.kind() == io::ErrorKind::OutOfMemory => {
            too_large(&format!("a dictionary of more than {} MiB", XZ_MEMORY_KIB >> 10), "xz -dc")
        }
        Compression::Zstd if source.to_string().contains("too much memory") => {
            too_large("a window of more than 128 MiB", "zstd -dc --long=31")
        }
        compressed => TraceError::Damaged {
            name: name.to_owned(),
            compression: compressed.name(),
            line,
            reason: source.to_string(),
        },
    }
}

/// Reads the first `length` bytes, or all if there are fewer, and returns them with an input that
/// still has them.
pub(super) fn peek(
    mut input: Box<dyn BufRead + Send>,
    length: usize,
    name: &str,
    compression: Compression,
) -> Result<(Vec<u8>, Box<dyn BufRead + Send>), TraceError> {
    let mut prefix = vec![0; length];
    let (held, failed) = match fill(&mut input, &mut prefix) {
        Ok(held) => (held, None),
        Err((0, error)) => return Err(read_error(name, compression, 0, error)),
        // The bytes before the error are read first.
        Err((held, error)) => (held, Some(error)),
    };
    prefix.truncate(held);
    let read = Cursor::new(prefix.clone());
    let input: Box<dyn BufRead + Send> = match failed {
        None => Box::new(read.chain(input)),
        Some(error) => Box::new(read.chain(BufReader::new(Failing(Some(error))))),
    };
    Ok((prefix, input))
}

/// Reads until `bytes` is full or the input ends. An error is returned with the number of bytes
/// before it.
pub(super) fn fill(
    input: &mut (impl Read + ?Sized),
    bytes: &mut [u8],
) -> Result<usize, (usize, io::Error)> {
    let mut found = 0;
    while found < bytes.len() {
        match input.read(&mut bytes[found..]) {
            Ok(0) => break,
            Ok(count) => found += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((found, error)),
        }
    }
    Ok(found)
}

fn buffered<'a>(input: impl Read + Send + 'a) -> Box<dyn BufRead + Send + 'a> {
    Box::new(BufReader::with_capacity(1 << 16, input))
}

/// An input that ends with an error, which was met earlier.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
