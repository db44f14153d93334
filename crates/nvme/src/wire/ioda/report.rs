//! Report of a drive on its windows.

use super::{VERSION, put_head, scope_bit, scope_of, version};
use crate::wire::field::{Bits, get, get_u16, get_u32, get_u64, put, put_u16, put_u32, put_u64};
use crate::wire::structure::Value;
use crate::{Advertised, ArrayDescription, WindowScope};
use units::{Duration, Instant};

/// Bytes of the block.
pub const REPORT_BYTES: usize = 64;

const PARITIES: usize = 6;
const WIDTH: usize = 8;
const SLOT: usize = 10;
const FLAGS: usize = 12;
const BUSY_TIME_WINDOW: usize = 16;
const CYCLE_START: usize = 24;
const GUARD: usize = 32;
const NOW: usize = 40;
const SHORTEST: usize = 48;
const LONGEST: usize = 56;

const SCOPE: Bits = Bits::bit(0);
const DUE: Bits = Bits::bit(8);
const MUST_COLLECT: Bits = Bits::bit(9);
const COLLECTING: Bits = Bits::bit(10);

/// The answer to a PLM query (IODA §4.3.2): the settings in force and the window that the drive
/// computed. A drive without a description of an array reports zero for all fields of the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowReport {
    /// arrayType and arrayWidth as they were set; at most 65535 each.
    pub array: ArrayDescription,
    /// `i`, the turn, as it was set.
    pub slot: u16,
    /// Work that is done in windows only.
    pub scope: WindowScope,
    /// TW: set by the host, or chosen by the drive for this array. The status of the log page says
    /// whether windows are in force.
    pub busy_time_window: Duration,
    /// `t`, the start of the cycle, as it was set.
    pub cycle_start: Instant,
    /// The guard as it was set.
    pub guard: Duration,
    /// Clock of the drive when it answered. With the middle between question and answer, a host
    /// knows the clock up to half of the round trip.
    pub now: Instant,
    /// Windows with which the drive can keep the contract in this array; on the wire a missing
    /// upper bound is all ones.
    pub advertised: Advertised,
    /// Activity of collections.
    pub activity: CollectionActivity,
}

/// Activity of a drive's collections; [`DriveStatus`](crate::DriveStatus) without the headroom,
/// which has its own place in the log page (DTWIN Writes Estimate).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CollectionActivity {
    /// Whether a collection is due now.
    pub due: bool,
    /// Whether some die is at the level at which it collects without a command of the host.
    pub must_collect: bool,
    /// Whether a collection runs or waits for its dies.
    pub collecting: bool,
}

/// `None` is written as zeroes. Bytes that are no block are read as `None`.
impl Value for Option<WindowReport> {
    const BYTES: usize = REPORT_BYTES;

    fn read(bytes: &[u8]) -> Self {
        WindowReport::decode(&get(bytes, 0))
    }

    fn write(&self, bytes: &mut [u8]) {
        if let Some(block) = self {
            put(bytes, 0, &block.encode());
        }
    }
}

impl WindowReport {
    /// Reads the block; `None` if the bytes are no block, or of an unknown version.
    #[must_use]
    pub fn decode(block: &[u8; REPORT_BYTES]) -> Option<Self> {
        if version(block) != Some(VERSION) {
            return None;
        }
        let duration = |at| Duration::from_nanos(get_u64(block, at));
        let flags = get_u32(block, FLAGS);
        let longest = duration(LONGEST);
        Some(Self {
            array: ArrayDescription {
                width: get_u16(block, WIDTH).into(),
                parities: get_u16(block, PARITIES).into(),
            },
            slot: get_u16(block, SLOT),
            scope: scope_of(SCOPE.is_set32(flags)),
            busy_time_window: duration(BUSY_TIME_WINDOW),
            cycle_start: Instant::from_nanos(get_u64(block, CYCLE_START)),
            guard: duration(GUARD),
            now: Instant::from_nanos(get_u64(block, NOW)),
            advertised: Advertised {
                shortest: duration(SHORTEST),
                longest: (longest != Duration::MAX).then_some(longest),
            },
            activity: CollectionActivity {
                due: DUE.is_set32(flags),
                must_collect: MUST_COLLECT.is_set32(flags),
                collecting: COLLECTING.is_set32(flags),
            },
        })
    }

    /// Writes the block.
    #[must_use]
    pub fn encode(&self) -> [u8; REPORT_BYTES] {
        let mut block = [0; REPORT_BYTES];
        put_head(&mut block);
        put_u16(&mut block, PARITIES, saturating(self.array.parities));
        put_u16(&mut block, WIDTH, saturating(self.array.width));
        put_u16(&mut block, SLOT, self.slot);
        let flags = SCOPE.put32(scope_bit(self.scope).into())
            | DUE.flag32(self.activity.due)
            | MUST_COLLECT.flag32(self.activity.must_collect)
            | COLLECTING.flag32(self.activity.collecting);
        put_u32(&mut block, FLAGS, flags);
        put_u64(&mut block, BUSY_TIME_WINDOW, self.busy_time_window.as_nanos());
        put_u64(&mut block, CYCLE_START, self.cycle_start.as_nanos());
        put_u64(&mut block, GUARD, self.guard.as_nanos());
        put_u64(&mut block, NOW, self.now.as_nanos());
        put_u64(&mut block, SHORTEST, self.advertised.shortest.as_nanos());
        let longest = self.advertised.longest.unwrap_or(Duration::MAX);
        put_u64(&mut block, LONGEST, longest.as_nanos());
        block
    }
}

/// Converts a number that was set in two bytes, so it fits. A larger one would become the highest
/// value, not a small one.
fn saturating(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
