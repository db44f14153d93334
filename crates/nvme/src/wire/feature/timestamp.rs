//! Data of feature 0Eh: the time of day, the only clock in NVMe.

use crate::wire::field::{Bits, get_u64, put_u64};

/// Bytes of the data.
pub const TIMESTAMP_BYTES: usize = 8;

const MILLISECONDS: Bits = Bits::new(47, 0);
const SYNCH: Bits = Bits::bit(48);
const ORIGIN: Bits = Bits::new(51, 49);

/// Origin of a timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampOrigin {
    /// 0: since the controller was reset.
    Reset,
    /// 1: since the host set it.
    Set,
    /// 2 to 7.
    Reserved(u8),
}

/// A time of day. Too coarse for the start of a cycle, whose clock is in the log of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamp {
    /// Bits 47:0: milliseconds since 1970, or since the reset if no host has set it.
    pub milliseconds: u64,
    /// Bit 48: the clock may have stopped at times.
    pub may_have_stopped: bool,
    /// Bits 51:49.
    pub origin: TimestampOrigin,
}

impl Timestamp {
    /// Reads the data.
    #[must_use]
    pub fn decode(data: &[u8; TIMESTAMP_BYTES]) -> Self {
        let word = get_u64(data, 0);
        Self {
            milliseconds: MILLISECONDS.get(word),
            may_have_stopped: SYNCH.is_set(word),
            origin: match ORIGIN.get(word) {
                0 => TimestampOrigin::Reset,
                1 => TimestampOrigin::Set,
                other => TimestampOrigin::Reserved(other as u8),
            },
        }
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; TIMESTAMP_BYTES] {
        let origin = match self.origin {
            TimestampOrigin::Reset => 0,
            TimestampOrigin::Set => 1,
            TimestampOrigin::Reserved(other) => other.into(),
        };
        let mut data = [0; TIMESTAMP_BYTES];
        let word = MILLISECONDS.put(self.milliseconds)
            | SYNCH.put(self.may_have_stopped.into())
            | ORIGIN.put(origin);
        put_u64(&mut data, 0, word);
        data
    }
}
