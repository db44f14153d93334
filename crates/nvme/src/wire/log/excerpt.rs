//! The part of a log page that a host requests.

/// A buffer that holds a part of a page. Bytes that are written at an offset of the page are stored
/// if the offset is within the part. So a page of any length can be read from any byte on, and is
/// never in memory as a whole.
#[derive(Debug)]
pub struct Excerpt<'a> {
    offset_bytes: u64,
    into: &'a mut [u8],
}

impl<'a> Excerpt<'a> {
    /// The part of a page from `offset_bytes` on that fits into `into`, which is zeroed.
    #[must_use]
    pub fn new(offset_bytes: u64, into: &'a mut [u8]) -> Self {
        into.fill(0);
        Self { offset_bytes, into }
    }

    /// Writes bytes at an offset of the page.
    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        // Number of these bytes before the part, and number of bytes of the part before these.
        let skipped = self.offset_bytes.saturating_sub(at);
        let ahead = at.saturating_sub(self.offset_bytes);
        let (Ok(skipped), Ok(ahead)) = (usize::try_from(skipped), usize::try_from(ahead)) else {
            return;
        };
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let room = self.into.get_mut(ahead..).unwrap_or_default();
        for (room, byte) in room.iter_mut().zip(bytes) {
            *room = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_page_is_that_of_the_whole() {
        let pieces: [(u64, &[u8]); 4] = [(0, &[1, 2, 3]), (3, &[]), (5, &[4, 5]), (7, &[6, 7, 8])];
        let mut whole = [0; 12];
        let mut page = Excerpt::new(0, &mut whole);
        for (at, bytes) in pieces {
            page.put(at, bytes);
        }
        assert_eq!(whole, [1, 2, 3, 0, 0, 4, 5, 6, 7, 8, 0, 0]);
        for start in 0..12 {
            for end in start..12 {
                let mut part = [9; 12];
                let mut page = Excerpt::new(start as u64, &mut part[start..end]);
                for (at, bytes) in pieces {
                    page.put(at, bytes);
                }
                assert_eq!(part[start..end], whole[start..end], "{start}..{end}");
            }
        }
        let mut part = [9; 4];
        Excerpt::new(u64::MAX - 1, &mut part).put(0, &[1; 8]);
        assert_eq!(part, [0; 4], "far behind the end");
    }
}
