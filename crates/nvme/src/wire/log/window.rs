//! Log page 0Ah: the windows of an NVM Set (libnvme `struct nvme_nvmset_predictable_lat_log`).

use crate::DriveStatus;
use crate::wire::field::{Bits, get, get_u16, get_u64, put, put_u16, put_u64};
use crate::wire::ioda::{CollectionActivity, REPORT_BYTES, WindowReport};

/// Bytes of the page.
pub const WINDOW_LOG_BYTES: usize = 512;

const STATUS: usize = 0;
const EVENTS: usize = 2;
const READS_TYPICAL: usize = 32;
const WRITES_TYPICAL: usize = 40;
const TIME_MAX: usize = 48;
const BUSY_TIME_HIGH: usize = 56;
const BUSY_TIME_LOW: usize = 64;
const READS_ESTIMATE: usize = 128;
const WRITES_ESTIMATE: usize = 136;
const TIME_ESTIMATE: usize = 144;
/// Reserved from here on: the block of IODA.
const IODA: usize = 152;

const STATE: Bits = Bits::new(2, 0);

/// Bits of events, in this page and in feature 13h.
pub mod window_event {
    /// Fewer reads are left than the threshold.
    pub const READS_WARNING: u16 = 1 << 0;
    /// Fewer writes are left than the threshold.
    pub const WRITES_WARNING: u16 = 1 << 1;
    /// Less time is left than the threshold.
    pub const TIME_WARNING: u16 = 1 << 2;
    /// The drive left its deterministic window because a typical or maximum value was exceeded.
    pub const LEFT_EXCEEDED: u16 = 1 << 14;
    /// The drive left its deterministic window for another reason.
    pub const LEFT_EXCURSION: u16 = 1 << 15;
    /// All of them.
    pub const ALL: u16 = 0xc007;
}

/// In which window an NVM Set is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WindowState {
    /// 0: predictable latency mode is off.
    #[default]
    Off,
    /// 1: DTWIN, the deterministic window; IODA's predictable one.
    Deterministic,
    /// 2: NDWIN, the non-deterministic window; IODA's busy one.
    NonDeterministic,
    /// 3 to 7.
    Reserved(u8),
}

impl WindowState {
    pub(crate) const fn decode(bits: u32) -> Self {
        match STATE.get32(bits) {
            0 => Self::Off,
            1 => Self::Deterministic,
            2 => Self::NonDeterministic,
            other => Self::Reserved(other as u8),
        }
    }

    /// Its three bits, as in the page and in feature 14h.
    #[must_use]
    pub const fn encode(self) -> u32 {
        STATE.put32(match self {
            Self::Off => 0,
            Self::Deterministic => 1,
            Self::NonDeterministic => 2,
            Self::Reserved(other) => other as u32,
        })
    }
}

/// What a window typically holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowTypicals {
    /// DTWIN Reads Typical @32, of 4 KiB.
    pub reads: u64,
    /// DTWIN Writes Typical @40, of the optimal write size of the set.
    pub writes: u64,
    /// DTWIN Time Maximum @48, in milliseconds.
    pub time_max_ms: u64,
    /// NDWIN Time Minimum High @56, in milliseconds: how long the set has to stay out of its
    /// deterministic window after it has used all of one.
    pub busy_time_high_ms: u64,
    /// NDWIN Time Minimum Low @64, in milliseconds.
    pub busy_time_low_ms: u64,
}

/// What is left of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimates {
    /// DTWIN Reads Estimate @128.
    pub reads: u64,
    /// DTWIN Writes Estimate @136: what can be written before the drive must collect.
    pub writes: u64,
    /// DTWIN Time Estimate @144, in milliseconds.
    pub time_ms: u64,
}

/// The windows of an NVM Set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowLog {
    /// Status @0.
    pub state: WindowState,
    /// Event Type @2: [`window_event`]s that happened since it was read.
    pub events: u16,
    /// What a window typically holds.
    pub typicals: WindowTypicals,
    /// What is left of this one.
    pub estimates: Estimates,
    /// The block of IODA @152; none for a host that has not asked for it.
    pub ioda: Option<WindowReport>,
}

impl WindowLog {
    /// How much room the drive has left, if it knows IODA. The optimal write of its set has to be a
    /// page.
    #[must_use]
    pub fn drive_status(&self) -> Option<DriveStatus> {
        let CollectionActivity { due, must_collect, collecting } = self.ioda?.activity;
        let headroom_pages = self.estimates.writes;
        Some(DriveStatus { headroom_pages, due, must_collect, collecting })
    }

    /// Reads the page.
    #[must_use]
    pub fn decode(page: &[u8; WINDOW_LOG_BYTES]) -> Self {
        Self {
            state: WindowState::decode(page[STATUS].into()),
            events: get_u16(page, EVENTS),
            typicals: WindowTypicals {
                reads: get_u64(page, READS_TYPICAL),
                writes: get_u64(page, WRITES_TYPICAL),
                time_max_ms: get_u64(page, TIME_MAX),
                busy_time_high_ms: get_u64(page, BUSY_TIME_HIGH),
                busy_time_low_ms: get_u64(page, BUSY_TIME_LOW),
            },
            estimates: Estimates {
                reads: get_u64(page, READS_ESTIMATE),
                writes: get_u64(page, WRITES_ESTIMATE),
                time_ms: get_u64(page, TIME_ESTIMATE),
            },
            ioda: WindowReport::decode(&get::<REPORT_BYTES>(page, IODA)),
        }
    }

    /// Writes the page.
    #[must_use]
    pub fn encode(&self) -> [u8; WINDOW_LOG_BYTES] {
        let mut page = [0; WINDOW_LOG_BYTES];
        page[STATUS] = self.state.encode() as u8;
        put_u16(&mut page, EVENTS, self.events);
        put_u64(&mut page, READS_TYPICAL, self.typicals.reads);
        put_u64(&mut page, WRITES_TYPICAL, self.typicals.writes);
        put_u64(&mut page, TIME_MAX, self.typicals.time_max_ms);
        put_u64(&mut page, BUSY_TIME_HIGH, self.typicals.busy_time_high_ms);
        put_u64(&mut page, BUSY_TIME_LOW, self.typicals.busy_time_low_ms);
        put_u64(&mut page, READS_ESTIMATE, self.estimates.reads);
        put_u64(&mut page, WRITES_ESTIMATE, self.estimates.writes);
        put_u64(&mut page, TIME_ESTIMATE, self.estimates.time_ms);
        if let Some(report) = &self.ioda {
            put(&mut page, IODA, &report.encode());
        }
        page
    }
}
