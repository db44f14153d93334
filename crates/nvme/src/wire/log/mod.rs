//! Get Log Page: the command, and the pages.

mod aggregate;
mod discovery;
mod effects;
mod error;
mod excerpt;
mod firmware;
mod health;
mod reservation;
mod window;

pub use aggregate::{AGGREGATE_HEAD_BYTES, AggregateEntry, aggregate_sets, put_aggregate};
pub use discovery::{
    AddressFamily, DISCOVERY_BYTES, DiscoveryHeader, DiscoveryRecord, SubsystemKind, Transport,
    put_discovery,
};
pub use effects::{COMMAND_EFFECTS_BYTES, CommandEffects, effect};
pub use error::{ERROR_ENTRY_BYTES, ErrorEntry};
pub use excerpt::Excerpt;
pub use firmware::{FIRMWARE_SLOTS, FIRMWARE_SLOTS_BYTES, FirmwareSlots};
pub use health::{HEALTH_BYTES, HealthCounters, HealthLog, ThermalCounters};
pub use reservation::{RESERVATION_LOG_BYTES, ReservationLog, ReservationNotice, reservation_mask};
pub use window::{
    Estimates, WINDOW_LOG_BYTES, WindowLog, WindowState, WindowTypicals, window_event,
};

use super::field::Bits;
use super::submission::SubmissionEntry;

// CDW10.
const LID: Bits = Bits::new(7, 0);
const LSP: Bits = Bits::new(14, 8);
const RAE: Bits = Bits::bit(15);
const NUMDL: Bits = Bits::new(31, 16);
// CDW11.
const NUMDU: Bits = Bits::new(15, 0);
const LSI: Bits = Bits::new(31, 16);
// CDW14.
const CSI: Bits = Bits::new(31, 24);

/// LID: identifier of a log page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogPage {
    /// 01h: [`ErrorEntry`]s, the newest first.
    Errors,
    /// 02h: [`HealthLog`].
    Health,
    /// 03h: [`FirmwareSlots`].
    Firmware,
    /// 05h: [`CommandEffects`].
    CommandEffects,
    /// 0Ah: [`WindowLog`] of the NVM Set [`GetLogPage::specific`].
    Window,
    /// 0Bh: the NVM Sets with an event ([`put_aggregate`]).
    WindowAggregate,
    /// 70h: [`DiscoveryRecord`]s.
    Discovery,
    /// 80h: [`ReservationLog`].
    Reservation,
    /// C0h: [`TrafficLog`](super::plm_light::TrafficLog).
    Traffic,
    /// Any other: the answer is [`InvalidLogPage`](super::StatusCode::InvalidLogPage).
    Other(u8),
}

impl LogPage {
    const fn decode(lid: u8) -> Self {
        match lid {
            0x01 => Self::Errors,
            0x02 => Self::Health,
            0x03 => Self::Firmware,
            0x05 => Self::CommandEffects,
            0x0a => Self::Window,
            0x0b => Self::WindowAggregate,
            0x70 => Self::Discovery,
            0x80 => Self::Reservation,
            0xc0 => Self::Traffic,
            other => Self::Other(other),
        }
    }

    const fn encode(self) -> u8 {
        match self {
            Self::Errors => 0x01,
            Self::Health => 0x02,
            Self::Firmware => 0x03,
            Self::CommandEffects => 0x05,
            Self::Window => 0x0a,
            Self::WindowAggregate => 0x0b,
            Self::Discovery => 0x70,
            Self::Reservation => 0x80,
            Self::Traffic => 0xc0,
            Self::Other(other) => other,
        }
    }
}

/// The Get Log Page command (Linux `struct nvme_get_log_page_command`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetLogPage {
    /// LID.
    pub page: LogPage,
    /// LSP: 7 bits whose meaning depends on the page.
    pub parameter: u8,
    /// RAE: reading does not acknowledge the event that announced the page.
    pub retain_event: bool,
    /// NUMDU and NUMDL: dwords to return, 0's based.
    pub dwords: u32,
    /// LSI: for page 0Ah the NVM Set.
    pub specific: u16,
    /// LPOU and LPOL: first byte of the page to return.
    pub offset_bytes: u64,
    /// CSI: the command set, for page 05h.
    pub command_set: u8,
}

impl GetLogPage {
    /// Command for the first `bytes` of a page, a multiple of four and at least four.
    #[must_use]
    pub const fn new(page: LogPage, bytes: u32) -> Self {
        let dwords = (bytes / 4).saturating_sub(1);
        let (offset_bytes, command_set) = (0, 0);
        let (parameter, retain_event, specific) = (0, false, 0);
        Self { page, parameter, retain_event, dwords, specific, offset_bytes, command_set }
    }

    /// Bytes that are requested. A drive also sends no more than the room in the SGL of the
    /// command.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        (self.dwords as u64 + 1) * 4
    }

    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        let (cdw10, cdw11) = (entry.cdw(10), entry.cdw(11));
        Self {
            page: LogPage::decode(LID.get32(cdw10) as u8),
            parameter: LSP.get32(cdw10) as u8,
            retain_event: RAE.is_set32(cdw10),
            dwords: NUMDL.get32(cdw10) | NUMDU.get32(cdw11) << 16,
            specific: LSI.get32(cdw11) as u16,
            offset_bytes: entry.cdw(12) as u64 | (entry.cdw(13) as u64) << 32,
            command_set: CSI.get32(entry.cdw(14)) as u8,
        }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let page = LID.put32(self.page.encode() as u32) | LSP.put32(self.parameter as u32);
        let cdw10 = page | RAE.flag32(self.retain_event) | NUMDL.put32(self.dwords);
        entry.set_cdw(10, cdw10);
        entry.set_cdw(11, NUMDU.put32(self.dwords >> 16) | LSI.put32(self.specific as u32));
        entry.set_cdw(12, self.offset_bytes as u32);
        entry.set_cdw(13, (self.offset_bytes >> 32) as u32);
        entry.set_cdw(14, CSI.put32(self.command_set as u32));
        entry
    }
}
