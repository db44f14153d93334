//! Log page C0h: the traffic of the last deterministic windows.

use super::{get_classes, is_known, put_classes, put_head};
use crate::WindowTraffic;
use crate::wire::field::{get_u32, get_u64, put_u32, put_u64};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Bytes of the page: the most data of one command of an admin queue.
pub const TRAFFIC_LOG_BYTES: usize = 4096;

/// Bytes of the head, and of each window behind it.
const ENTRY_BYTES: usize = 64;

/// Most windows of the page. A host that reads the page at least once in this many windows misses
/// none.
pub const TRAFFIC_MAX: usize = TRAFFIC_LOG_BYTES / ENTRY_BYTES - 1;

// Offsets in the head.
const GENERATION: usize = 8;
const WINDOWS: usize = 12;
const LENGTH: usize = 16;
const ANSWERED_WINDOW: usize = 24;
const ANSWERED_AFTER: usize = 32;

// Offsets in a window.
const NUMBER: usize = 0;
const ENDED: usize = 8;
const READS: usize = 16;
const WRITES: usize = 40;

/// The counts that were set last, from the array's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// Window that they are based on.
    pub window: u64,
    /// Time from the end of that window to the counts; a lower bound if the window is no longer in
    /// the page.
    pub after: Duration,
}

/// The page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrafficLog {
    /// Differs for every life of the policy, which numbers its windows anew.
    pub generation: u32,
    /// Length of a deterministic window that is not ended early.
    pub length: Duration,
    /// The counts that were set last; `None` before the first.
    pub answered: Option<Answered>,
    /// The last windows, the oldest first, without a gap; at most [`TRAFFIC_MAX`].
    pub windows: Vec<WindowTraffic>,
}

impl TrafficLog {
    /// Reads the page. `None` if it has another word or version, more windows than fit, or gaps in
    /// their numbers.
    #[must_use]
    pub fn decode(page: &[u8; TRAFFIC_LOG_BYTES]) -> Option<Self> {
        let (entries, _) = page.as_chunks::<ENTRY_BYTES>();
        let (head, entries) = entries.split_first()?;
        let count = usize::try_from(get_u32(head, WINDOWS)).ok()?;
        let windows: Vec<_> = entries.get(..count)?.iter().map(decode_window).collect();
        let follows =
            |pair: &[WindowTraffic]| pair[0].window.checked_add(1) == Some(pair[1].window);
        if !is_known(head) || !windows.windows(2).all(follows) {
            return None;
        }
        let window = get_u64(head, ANSWERED_WINDOW);
        let after = Duration::from_nanos(get_u64(head, ANSWERED_AFTER));
        Some(Self {
            generation: get_u32(head, GENERATION),
            length: Duration::from_nanos(get_u64(head, LENGTH)),
            answered: (window > 0).then_some(Answered { window, after }),
            windows,
        })
    }

    /// Writes the page, with the last [`TRAFFIC_MAX`] windows.
    #[must_use]
    pub fn encode(&self) -> [u8; TRAFFIC_LOG_BYTES] {
        let mut page = [0; TRAFFIC_LOG_BYTES];
        let windows = &self.windows[self.windows.len().saturating_sub(TRAFFIC_MAX)..];
        put_head(&mut page);
        put_u32(&mut page, GENERATION, self.generation);
        put_u32(&mut page, WINDOWS, windows.len() as u32);
        put_u64(&mut page, LENGTH, self.length.as_nanos());
        if let Some(Answered { window, after }) = self.answered {
            put_u64(&mut page, ANSWERED_WINDOW, window);
            put_u64(&mut page, ANSWERED_AFTER, after.as_nanos());
        }
        let (entries, _) = page.as_chunks_mut::<ENTRY_BYTES>();
        for (entry, window) in entries.iter_mut().skip(1).zip(windows) {
            encode_window(entry, window);
        }
        page
    }
}

fn decode_window(entry: &[u8; ENTRY_BYTES]) -> WindowTraffic {
    WindowTraffic {
        window: get_u64(entry, NUMBER),
        ended: Instant::from_nanos(get_u64(entry, ENDED)),
        reads: get_classes(entry, READS),
        writes: get_u64(entry, WRITES),
    }
}

fn encode_window(entry: &mut [u8; ENTRY_BYTES], window: &WindowTraffic) {
    put_u64(entry, NUMBER, window.window);
    put_u64(entry, ENDED, window.ended.as_nanos());
    put_classes(entry, READS, &window.reads);
    put_u64(entry, WRITES, window.writes);
}
