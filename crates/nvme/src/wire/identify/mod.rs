//! Identify: the command, and its 4096 bytes of data.

mod controller;
mod descriptors;
mod lists;
mod namespace;
mod sets;

pub use controller::{
    ControllerIdentity, ControllerKind, ControllerLimits, ControllerSupport, FabricsLimits,
    IdentifyController, ctratt, lpa, oncs, sgls,
};
pub use descriptors::NamespaceIds;
pub use lists::{NAMESPACES_MAX, NamespaceList};
pub use namespace::{IdentifyNamespace, LBA_FORMATS, LbaFormat, NamespaceOptimum, NamespaceOwner};
pub use sets::{NVM_SETS_MAX, NvmSet, NvmSetList};

use super::field::Bits;
use super::submission::SubmissionEntry;

/// Bytes of all data structures of Identify.
pub const IDENTIFY_BYTES: usize = 4096;

// CDW10.
const CNS: Bits = Bits::new(7, 0);
const CNTID: Bits = Bits::new(31, 16);
// CDW11.
const CNSSID: Bits = Bits::new(15, 0);
const CSI: Bits = Bits::new(31, 24);

/// CNS: the data structure that is requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cns {
    /// 00h: [`IdentifyNamespace`].
    Namespace,
    /// 01h: [`IdentifyController`].
    Controller,
    /// 02h: [`NamespaceList`], of identifiers above the command's.
    ActiveNamespaces,
    /// 03h: [`NamespaceIds`].
    NamespaceIds,
    /// 04h: [`NvmSetList`], from [`Identify::specific`] on.
    NvmSets,
    /// 06h: properties of the controller for the command set [`Identify::command_set`], beyond CNS
    /// 01h; zeroes without such properties. Linux reads limits such as that of Write Zeroes there,
    /// and does without.
    CommandSetController,
    /// Any other: the answer is [`InvalidField`](super::StatusCode::InvalidField).
    Other(u8),
}

impl Cns {
    const fn decode(cns: u8) -> Self {
        match cns {
            0x00 => Self::Namespace,
            0x01 => Self::Controller,
            0x02 => Self::ActiveNamespaces,
            0x03 => Self::NamespaceIds,
            0x04 => Self::NvmSets,
            0x06 => Self::CommandSetController,
            other => Self::Other(other),
        }
    }

    const fn encode(self) -> u8 {
        match self {
            Self::Namespace => 0x00,
            Self::Controller => 0x01,
            Self::ActiveNamespaces => 0x02,
            Self::NamespaceIds => 0x03,
            Self::NvmSets => 0x04,
            Self::CommandSetController => 0x06,
            Self::Other(other) => other,
        }
    }
}

/// The Identify command (Linux `struct nvme_identify`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identify {
    /// CNS.
    pub what: Cns,
    /// CNTID: a controller, for values of CNS that need one.
    pub controller: u16,
    /// CDW11 bits 15:0: for CNS 04h the first NVM Set to list.
    pub specific: u16,
    /// CSI: the command set, for CNS 05h and above. 0 is NVM.
    pub command_set: u8,
}

impl Identify {
    /// A command with all other fields zero.
    #[must_use]
    pub const fn new(what: Cns) -> Self {
        Self { what, controller: 0, specific: 0, command_set: 0 }
    }

    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        Self {
            what: Cns::decode(CNS.get32(entry.cdw(10)) as u8),
            controller: CNTID.get32(entry.cdw(10)) as u16,
            specific: CNSSID.get32(entry.cdw(11)) as u16,
            command_set: CSI.get32(entry.cdw(11)) as u8,
        }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let what = CNS.put32(self.what.encode() as u32);
        entry.set_cdw(10, what | CNTID.put32(self.controller as u32));
        let specific = CNSSID.put32(self.specific as u32);
        entry.set_cdw(11, specific | CSI.put32(self.command_set as u32));
        entry
    }
}
