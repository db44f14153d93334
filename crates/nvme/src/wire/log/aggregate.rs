//! Log page 0Bh: the NVM Sets with an event of their windows.

use super::Excerpt;
use crate::wire::field::get_u64;

/// Bytes before the first entry: the number of entries.
pub const AGGREGATE_HEAD_BYTES: usize = 8;

const ENTRY_BYTES: usize = 2;

/// An entry: the identifier of an NVM Set.
pub type AggregateEntry = u16;

/// Writes the requested part of the page. `sets` rise.
pub fn put_aggregate(sets: impl IntoIterator<Item = AggregateEntry>, page: &mut Excerpt<'_>) {
    let mut count = 0;
    for set in sets {
        let at = AGGREGATE_HEAD_BYTES as u64 + ENTRY_BYTES as u64 * count;
        page.put(at, &set.to_le_bytes());
        count += 1;
    }
    page.put(0, &count.to_le_bytes());
}

/// NVM Sets in a page that was read from its start, as far as it was read; `None` if not even the
/// number of entries was.
#[must_use]
pub fn aggregate_sets(page: &[u8]) -> Option<impl Iterator<Item = AggregateEntry>> {
    let (head, entries) = page.split_first_chunk::<AGGREGATE_HEAD_BYTES>()?;
    let count = usize::try_from(get_u64(head, 0)).unwrap_or(usize::MAX);
    let entries = entries.as_chunks::<ENTRY_BYTES>().0;
    Some(entries.iter().take(count).map(|entry| u16::from_le_bytes(*entry)))
}
