//! Get Features and Set Features: the commands, and the data of features with data.

mod timestamp;
mod window;

pub use timestamp::{TIMESTAMP_BYTES, Timestamp, TimestampOrigin};
pub use window::{WINDOW_CONFIG_BYTES, WindowConfig};

use super::field::Bits;
use super::log::WindowState;
use super::submission::SubmissionEntry;

// CDW10.
const FID: Bits = Bits::new(7, 0);
const SEL: Bits = Bits::new(10, 8);
const SV: Bits = Bits::bit(31);
// CDW11 of feature 07h, and DW0 of the answer.
const NSQ: Bits = Bits::new(15, 0);
const NCQ: Bits = Bits::new(31, 16);
// CDW11 of features 13h and 14h.
const NVMSETID: Bits = Bits::new(15, 0);
// CDW11 of feature 83h, and DW0 of the answer.
const PTPL: Bits = Bits::bit(0);
// CDW12 of feature 13h.
const PLE: Bits = Bits::bit(0);

const NUMBER_OF_QUEUES: u8 = 0x07;
const ASYNC_EVENTS: u8 = 0x0b;
const TIMESTAMP: u8 = 0x0e;
const KEEP_ALIVE: u8 = 0x0f;
const WINDOW_CONFIG: u8 = 0x13;
const WINDOW: u8 = 0x14;
const HOST_ID: u8 = 0x81;
const RESERVATION_MASK: u8 = 0x82;
const RESERVATION_PERSISTENCE: u8 = 0x83;
const WINDOW_COUNTS: u8 = 0xc0;

/// FID: identifier of a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureId {
    /// 07h: [`QueueCounts`].
    NumberOfQueues,
    /// 0Bh: the [`notice`](super::notice)s that are wanted.
    AsyncEvents,
    /// 0Eh: [`Timestamp`].
    Timestamp,
    /// 0Fh: the keep alive timeout.
    KeepAlive,
    /// 13h: predictable latency mode, [`WindowConfig`].
    WindowConfig,
    /// 14h: the window of an NVM Set.
    Window,
    /// 81h: the identifier of the host, which comes with Connect and cannot be set over a fabric.
    HostId,
    /// 82h: the notices of reservations that are not wanted
    /// ([`reservation_mask`](super::reservation_mask)).
    ReservationMask,
    /// 83h: whether reservations outlive a loss of power.
    ReservationPersistence,
    /// C0h: [`CountsData`](super::plm_light::CountsData).
    WindowCounts,
    /// Any other: the answer is [`InvalidField`](super::StatusCode::InvalidField).
    Other(u8),
}

impl FeatureId {
    const fn decode(fid: u8) -> Self {
        match fid {
            NUMBER_OF_QUEUES => Self::NumberOfQueues,
            ASYNC_EVENTS => Self::AsyncEvents,
            TIMESTAMP => Self::Timestamp,
            KEEP_ALIVE => Self::KeepAlive,
            WINDOW_CONFIG => Self::WindowConfig,
            WINDOW => Self::Window,
            HOST_ID => Self::HostId,
            RESERVATION_MASK => Self::ReservationMask,
            RESERVATION_PERSISTENCE => Self::ReservationPersistence,
            WINDOW_COUNTS => Self::WindowCounts,
            other => Self::Other(other),
        }
    }

    const fn encode(self) -> u8 {
        match self {
            Self::NumberOfQueues => NUMBER_OF_QUEUES,
            Self::AsyncEvents => ASYNC_EVENTS,
            Self::Timestamp => TIMESTAMP,
            Self::KeepAlive => KEEP_ALIVE,
            Self::WindowConfig => WINDOW_CONFIG,
            Self::Window => WINDOW,
            Self::HostId => HOST_ID,
            Self::ReservationMask => RESERVATION_MASK,
            Self::ReservationPersistence => RESERVATION_PERSISTENCE,
            Self::WindowCounts => WINDOW_COUNTS,
            Self::Other(other) => other,
        }
    }
}

/// SEL: the value of a feature that is requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureValue {
    /// 0.
    Current,
    /// 1.
    Default,
    /// 2.
    Saved,
    /// 3: not a value, but the capabilities of the feature.
    Capabilities,
    /// 4 to 7.
    Reserved(u8),
}

impl FeatureValue {
    const fn decode(cdw10: u32) -> Self {
        match SEL.get32(cdw10) {
            0 => Self::Current,
            1 => Self::Default,
            2 => Self::Saved,
            3 => Self::Capabilities,
            other => Self::Reserved(other as u8),
        }
    }

    const fn cdw10(self) -> u32 {
        SEL.put32(match self {
            Self::Current => 0,
            Self::Default => 1,
            Self::Saved => 2,
            Self::Capabilities => 3,
            Self::Reserved(other) => other as u32,
        })
    }
}

/// The Get Features command. The value is DW0 of the answer, or its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetFeatures {
    /// FID.
    pub feature: FeatureId,
    /// SEL.
    pub value: FeatureValue,
    /// CDW11: for features 13h and 14h the NVM Set ([`Self::nvm_set`]).
    pub cdw11: u32,
}

impl GetFeatures {
    /// Command for the current value of a feature; `nvm_set` is 0 for features that do not belong
    /// to an NVM Set.
    #[must_use]
    pub const fn current(feature: FeatureId, nvm_set: u16) -> Self {
        let cdw11 = NVMSETID.put32(nvm_set as u32);
        Self { feature, value: FeatureValue::Current, cdw11 }
    }

    /// The NVM Set of features 13h and 14h.
    #[must_use]
    pub const fn nvm_set(&self) -> u16 {
        NVMSETID.get32(self.cdw11) as u16
    }

    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        Self {
            feature: FeatureId::decode(FID.get32(entry.cdw(10)) as u8),
            value: FeatureValue::decode(entry.cdw(10)),
            cdw11: entry.cdw(11),
        }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let feature = FID.put32(self.feature.encode() as u32);
        entry.set_cdw(10, feature | self.value.cdw10());
        entry.set_cdw(11, self.cdw11);
        entry
    }
}

/// Numbers of I/O queues, 0's based: requested by the host in CDW11, granted in DW0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueCounts {
    /// Bits 15:0: submission queues.
    pub submission: u16,
    /// Bits 31:16: completion queues.
    pub completion: u16,
}

impl QueueCounts {
    /// Decodes the dword.
    #[must_use]
    pub const fn decode(dword: u32) -> Self {
        Self { submission: NSQ.get32(dword) as u16, completion: NCQ.get32(dword) as u16 }
    }

    /// Encodes the dword.
    #[must_use]
    pub const fn encode(&self) -> u32 {
        NSQ.put32(self.submission as u32) | NCQ.put32(self.completion as u32)
    }
}

/// A feature and the value that it is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// 07h.
    NumberOfQueues(QueueCounts),
    /// 0Bh: the [`notice`](super::notice)s that are wanted, and health warnings in bits 7:0.
    AsyncEvents(u32),
    /// 0Eh; the [`Timestamp`] is the data.
    Timestamp,
    /// 0Fh: longest silence of the host.
    KeepAlive {
        /// The timeout; 0 for no limit.
        milliseconds: u32,
    },
    /// 13h; the [`WindowConfig`] is the data.
    WindowConfig {
        /// NVMSETID.
        nvm_set: u16,
        /// Whether predictable latency mode is on.
        enable: bool,
    },
    /// 14h: the window that an NVM Set has to enter. Refused unless it is deterministic or
    /// non-deterministic.
    Window {
        /// NVMSETID.
        nvm_set: u16,
        /// The window.
        window: WindowState,
    },
    /// 82h of the namespace that the command names: bits of
    /// [`reservation_mask`](super::reservation_mask).
    ReservationMask(u32),
    /// 83h of the namespace that the command names.
    ReservationPersistence {
        /// PTPL: reservation and registrations outlive a loss of power.
        persists: bool,
    },
    /// C0h; the [`CountsData`](super::plm_light::CountsData) are the data.
    WindowCounts,
    /// Any other.
    Other {
        /// FID; never one of the above after decoding.
        feature: u8,
        /// CDW11.
        cdw11: u32,
    },
}

/// The Set Features command. NSID may be 0 or `FFFFFFFFh`: nvme-cli sends either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetFeatures {
    /// SV: the value has to outlive a loss of power.
    pub save: bool,
    /// The feature and its value.
    pub feature: Feature,
}

impl SetFeatures {
    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        let cdw11 = entry.cdw(11);
        let nvm_set = NVMSETID.get32(cdw11) as u16;
        let feature = match FID.get32(entry.cdw(10)) as u8 {
            NUMBER_OF_QUEUES => Feature::NumberOfQueues(QueueCounts::decode(cdw11)),
            ASYNC_EVENTS => Feature::AsyncEvents(cdw11),
            TIMESTAMP => Feature::Timestamp,
            KEEP_ALIVE => Feature::KeepAlive { milliseconds: cdw11 },
            WINDOW_CONFIG => Feature::WindowConfig { nvm_set, enable: PLE.is_set32(entry.cdw(12)) },
            WINDOW => Feature::Window { nvm_set, window: WindowState::decode(entry.cdw(12)) },
            RESERVATION_MASK => Feature::ReservationMask(cdw11),
            RESERVATION_PERSISTENCE => {
                Feature::ReservationPersistence { persists: PTPL.is_set32(cdw11) }
            }
            WINDOW_COUNTS => Feature::WindowCounts,
            feature => Feature::Other { feature, cdw11 },
        };
        Self { save: SV.is_set32(entry.cdw(10)), feature }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let (feature, cdw11, cdw12) = match self.feature {
            Feature::NumberOfQueues(counts) => (NUMBER_OF_QUEUES, counts.encode(), 0),
            Feature::AsyncEvents(notices) => (ASYNC_EVENTS, notices, 0),
            Feature::Timestamp => (TIMESTAMP, 0, 0),
            Feature::KeepAlive { milliseconds } => (KEEP_ALIVE, milliseconds, 0),
            Feature::WindowConfig { nvm_set, enable } => {
                (WINDOW_CONFIG, NVMSETID.put32(nvm_set as u32), PLE.flag32(enable))
            }
            Feature::Window { nvm_set, window } => {
                (WINDOW, NVMSETID.put32(nvm_set as u32), window.encode())
            }
            Feature::ReservationMask(mask) => (RESERVATION_MASK, mask, 0),
            Feature::ReservationPersistence { persists } => {
                (RESERVATION_PERSISTENCE, PTPL.flag32(persists), 0)
            }
            Feature::WindowCounts => (WINDOW_COUNTS, 0, 0),
            Feature::Other { feature, cdw11 } => (feature, cdw11, 0),
        };
        entry.set_cdw(10, FID.put32(feature as u32) | SV.flag32(self.save));
        entry.set_cdw(11, cdw11);
        entry.set_cdw(12, cdw12);
        entry
    }
}
