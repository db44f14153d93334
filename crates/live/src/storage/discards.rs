//! Discards of a file. To punch a hole locks the file, and readers wait. So a drive has one discard
//! under way, and those that wait behind it and touch become one.

use super::job::Job;
use std::collections::VecDeque;

/// Most bytes that become one discard: how long readers wait for a hole grows with its length.
const MOST_BYTES: u64 = 8 << 20;

/// Discards of the drives at one position.
#[derive(Debug, Default)]
pub(super) struct Discards {
    is_under_way: bool,
    /// Discards that the one under way does as well.
    joined: Vec<Job>,
    waiting: VecDeque<Job>,
}

impl Discards {
    /// Takes a discard. Returns it if it is to begin now.
    pub(super) fn add(&mut self, job: Job) -> Option<Job> {
        if self.is_under_way {
            self.waiting.push_back(job);
            return None;
        }
        self.is_under_way = true;
        Some(job)
    }

    /// The discard under way is over. Returns the others that it has done.
    pub(super) fn end(&mut self) -> Vec<Job> {
        self.is_under_way = false;
        std::mem::take(&mut self.joined)
    }

    /// The next discard that is to begin: the first that waits, with those behind it that it
    /// touches.
    pub(super) fn next(&mut self) -> Option<Job> {
        let mut first = self.waiting.pop_front()?;
        self.is_under_way = true;
        while let Some(next) = self.waiting.front().filter(|next| touches(&first, next)) {
            first.length_bytes += next.length_bytes;
            self.joined.extend(self.waiting.pop_front());
        }
        Some(first)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len() + self.joined.len()
    }
}

/// Whether `next` begins where `first` ends, and both are short enough for one.
fn touches(first: &Job, next: &Job) -> bool {
    first.serial == next.serial
        && first.next_offset() + first.length_bytes == next.next_offset()
        && first.length_bytes + next.length_bytes <= MOST_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::job::JobKind;
    use std::fs::File;
    use std::sync::Arc;
    use units::DriveId;

    fn job(tag: u64, serial: u64, offset_bytes: u64, length_bytes: u64) -> Job {
        Job {
            tag,
            drive: DriveId(0),
            serial,
            file: Arc::new(File::open("/dev/null").unwrap()),
            kind: JobKind::Settle,
            offset_bytes,
            length_bytes,
            done_bytes: 0,
            buffer: None,
        }
    }

    /// What begins next: its tag, where, and how many bytes.
    fn next(discards: &mut Discards) -> Option<(u64, u64, u64)> {
        discards.next().map(|job| (job.tag, job.offset_bytes, job.length_bytes))
    }

    fn ended(discards: &mut Discards) -> Vec<u64> {
        discards.end().iter().map(|job| job.tag).collect()
    }

    #[test]
    fn one_is_under_way_and_those_that_touch_become_one() {
        let mut discards = Discards::default();
        assert!(discards.add(job(1, 7, 0, 100)).is_some());
        // The one under way does not grow.
        for (tag, serial, offset, length) in [
            (2, 7, 100, 100),
            (3, 7, 200, 50),
            (4, 7, 300, 10),
            (5, 8, 310, 10),
            (6, 8, 320, MOST_BYTES - 10),
            (7, 8, 320 + MOST_BYTES - 10, 1),
        ] {
            assert!(discards.add(job(tag, serial, offset, length)).is_none());
        }
        assert!(ended(&mut discards).is_empty() && discards.waiting() == 6);
        assert_eq!(next(&mut discards), Some((2, 100, 150)));
        assert_eq!((ended(&mut discards), discards.waiting()), (vec![3], 4));
        assert_eq!(next(&mut discards), Some((4, 300, 10)), "a hole and another drive are between");
        assert!(ended(&mut discards).is_empty());
        assert_eq!(next(&mut discards), Some((5, 310, MOST_BYTES)));
        assert_eq!(ended(&mut discards), [6]);
        assert_eq!(next(&mut discards), Some((7, 310 + MOST_BYTES, 1)));
        assert!(ended(&mut discards).is_empty() && next(&mut discards).is_none());
        assert!(discards.add(job(8, 8, 0, 1)).is_some());
    }
}
