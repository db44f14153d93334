//! Property Get and Property Set: access to the registers of a controller without memory-mapped
//! registers.

use super::field::Bits;
use super::submission::SubmissionEntry;

// CDW10.
const ATTRIB: Bits = Bits::new(2, 0);

const CAP: u32 = 0x00;
const VS: u32 = 0x08;
const CC: u32 = 0x14;
const CSTS: u32 = 0x1c;
const NSSR: u32 = 0x20;
const CRTO: u32 = 0x68;

/// A property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// 00h, eight bytes: [`Capabilities`](super::Capabilities).
    Capabilities,
    /// 08h: [`Version`](super::Version).
    Version,
    /// 14h: [`Configuration`](super::Configuration).
    Configuration,
    /// 1Ch: [`ControllerStatus`](super::ControllerStatus).
    Status,
    /// 20h: reset of the subsystem.
    SubsystemReset,
    /// 68h: ready timeouts.
    ReadyTimeouts,
    /// Any other offset: the answer is [`InvalidField`](super::StatusCode::InvalidField).
    Other(u32),
}

impl Property {
    const fn decode(offset: u32) -> Self {
        match offset {
            CAP => Self::Capabilities,
            VS => Self::Version,
            CC => Self::Configuration,
            CSTS => Self::Status,
            NSSR => Self::SubsystemReset,
            CRTO => Self::ReadyTimeouts,
            other => Self::Other(other),
        }
    }

    /// OFST: its offset.
    #[must_use]
    pub const fn offset(self) -> u32 {
        match self {
            Self::Capabilities => CAP,
            Self::Version => VS,
            Self::Configuration => CC,
            Self::Status => CSTS,
            Self::SubsystemReset => NSSR,
            Self::ReadyTimeouts => CRTO,
            Self::Other(offset) => offset,
        }
    }

    /// Size of the property, as in ATTRIB.
    #[must_use]
    pub const fn size(self) -> PropertySize {
        match self {
            Self::Capabilities => PropertySize::Eight,
            _ => PropertySize::Four,
        }
    }
}

/// ATTRIB: bytes of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertySize {
    /// 0.
    Four,
    /// 1.
    Eight,
    /// 2 to 7, which are reserved.
    Reserved(u8),
}

impl PropertySize {
    const fn decode(cdw10: u32) -> Self {
        match ATTRIB.get32(cdw10) {
            0 => Self::Four,
            1 => Self::Eight,
            other => Self::Reserved(other as u8),
        }
    }

    const fn cdw10(self) -> u32 {
        ATTRIB.put32(match self {
            Self::Four => 0,
            Self::Eight => 1,
            Self::Reserved(other) => other as u32,
        })
    }
}

/// The Property Get command (Linux `struct nvmf_property_get_command`). The value is DW0 and DW1 of
/// the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PropertyGet {
    /// OFST at byte 44.
    pub property: Property,
    /// ATTRIB at byte 40.
    pub size: PropertySize,
}

impl PropertyGet {
    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        let property = Property::decode(entry.cdw(11));
        Self { property, size: PropertySize::decode(entry.cdw(10)) }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.set_cdw(10, self.size.cdw10());
        entry.set_cdw(11, self.property.offset());
        entry
    }
}

/// The Property Set command (Linux `struct nvmf_property_set_command`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PropertySet {
    /// OFST at byte 44.
    pub property: Property,
    /// ATTRIB at byte 40.
    pub size: PropertySize,
    /// VALUE at byte 48.
    pub value: u64,
}

impl PropertySet {
    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        Self {
            property: Property::decode(entry.cdw(11)),
            size: PropertySize::decode(entry.cdw(10)),
            value: entry.cdw(12) as u64 | (entry.cdw(13) as u64) << 32,
        }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.set_cdw(10, self.size.cdw10());
        entry.set_cdw(11, self.property.offset());
        entry.set_cdw(12, self.value as u32);
        entry.set_cdw(13, (self.value >> 32) as u32);
        entry
    }
}
