//! The data of feature C0h: counts for the windows to come.

use super::{get_classes, is_known, put_classes, put_head};
use crate::WindowCounts;
use crate::wire::field::{get_u32, get_u64, put_u32, put_u64};

/// Bytes of the data.
pub const COUNTS_BYTES: usize = 64;

const GENERATION: usize = 8;
const WINDOW: usize = 16;
const READS: usize = 24;
const WRITES: usize = 48;

/// Counts, and the life of the policy that they belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsData {
    /// [`TrafficLog::generation`](super::TrafficLog::generation) of the page that they are based
    /// on.
    pub generation: u32,
    /// The counts.
    pub counts: WindowCounts,
}

impl CountsData {
    /// Reads the data; `None` if they begin with another word or version.
    #[must_use]
    pub fn decode(data: &[u8; COUNTS_BYTES]) -> Option<Self> {
        let counts = WindowCounts {
            window: get_u64(data, WINDOW),
            reads: get_classes(data, READS),
            writes: get_u64(data, WRITES),
        };
        is_known(data).then(|| Self { generation: get_u32(data, GENERATION), counts })
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; COUNTS_BYTES] {
        let mut data = [0; COUNTS_BYTES];
        put_head(&mut data);
        put_u32(&mut data, GENERATION, self.generation);
        put_u64(&mut data, WINDOW, self.counts.window);
        put_classes(&mut data, READS, &self.counts.reads);
        put_u64(&mut data, WRITES, self.counts.writes);
        data
    }
}
