//! Log page 0Ah: the windows of an NVM Set (libnvme `struct nvme_nvmset_predictable_lat_log`).

use crate::DriveStatus;
use crate::wire::field::Bits;
use crate::wire::ioda::{CollectionActivity, WindowReport};
use crate::wire::structure::{Value, fields, structure};

/// Bytes of the page.
pub const WINDOW_LOG_BYTES: usize = 512;

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

/// Window of an NVM Set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WindowState {
    /// 0: predictable latency mode is off.
    #[default]
    Off,
    /// 1: DTWIN, the deterministic window; IODA's predictable window.
    Deterministic,
    /// 2: NDWIN, the non-deterministic window; IODA's busy window.
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

    /// The three bits in the page and in feature 14h.
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

impl Value for WindowState {
    const BYTES: usize = 1;

    fn read(bytes: &[u8]) -> Self {
        Self::decode(bytes[0].into())
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = self.encode() as u8;
    }
}

/// Typical values of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowTypicals {
    /// DTWIN Reads Typical @32, of 4 KiB.
    pub reads: u64,
    /// DTWIN Writes Typical @40, of the optimal write size of the set.
    pub writes: u64,
    /// DTWIN Time Maximum @48, in milliseconds.
    pub time_max_ms: u64,
    /// NDWIN Time Minimum High @56, in milliseconds: time for which the set has to stay out of its
    /// deterministic window after it has used all of one.
    pub busy_time_high_ms: u64,
    /// NDWIN Time Minimum Low @64, in milliseconds.
    pub busy_time_low_ms: u64,
}

fields! { WindowTypicals, WINDOW_LOG_BYTES;
    reads: "reads-typical" @ 32,
    writes: "writes-typical" @ 40,
    time_max_ms: "time-max" @ 48,
    busy_time_high_ms: "busy-high" @ 56,
    busy_time_low_ms: "busy-low" @ 64,
}

/// Estimates of the rest of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimates {
    /// DTWIN Reads Estimate.
    pub reads: u64,
    /// DTWIN Writes Estimate: writes before the drive must collect.
    pub writes: u64,
    /// DTWIN Time Estimate @144, in milliseconds.
    pub time_ms: u64,
}

fields! { Estimates, WINDOW_LOG_BYTES;
    reads: "reads-left" @ 128,
    writes: "writes-left" @ 136,
    time_ms: "time-left" @ 144,
}

/// The windows of an NVM Set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowLog {
    /// Status.
    pub state: WindowState,
    /// Event Type: [`window_event`]s since the page was read last.
    pub events: u16,
    /// Typical values of a window.
    pub typicals: WindowTypicals,
    /// Estimates of the rest of this window.
    pub estimates: Estimates,
    /// The block of IODA, in reserved bytes; `None` for a host that has not requested it.
    pub ioda: Option<WindowReport>,
}

structure! { WindowLog, WINDOW_LOG_BYTES;
    state: "status" @ 0,
    events: "events" @ 2,
    typicals: "" @ 0,
    estimates: "" @ 0,
    ioda: "" @ 152,
}

impl WindowLog {
    /// Room of the drive; `None` without IODA. The optimal write of its set has to be a page.
    #[must_use]
    pub fn drive_status(&self) -> Option<DriveStatus> {
        let CollectionActivity { due, must_collect, collecting } = self.ioda?.activity;
        let headroom_pages = self.estimates.writes;
        Some(DriveStatus { headroom_pages, due, must_collect, collecting })
    }
}
