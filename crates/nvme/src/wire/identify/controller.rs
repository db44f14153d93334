//! CNS 01h: the identity of a controller (offsets as in libnvme's `struct nvme_id_ctrl`).

use super::IDENTIFY_BYTES;
use crate::wire::ioda::IodaCapability;
use crate::wire::registers::Version;
use crate::wire::structure::{Value, fields, structure};
use crate::wire::submission::SUBMISSION_BYTES;
use crate::wire::text::{Ascii, Nqn};

/// Bits of CTRATT ([`ControllerSupport::attributes`]).
pub mod ctratt {
    /// Host identifiers of 128 bits.
    pub const HOST_ID_128: u32 = 1 << 0;
    /// NVM Sets.
    pub const NVM_SETS: u32 = 1 << 2;
    /// Read recovery levels.
    pub const READ_RECOVERY_LEVELS: u32 = 1 << 3;
    /// Endurance groups, which NVM Sets need.
    pub const ENDURANCE_GROUPS: u32 = 1 << 4;
    /// Predictable latency mode.
    pub const PREDICTABLE_LATENCY: u32 = 1 << 5;
    /// Commands keep a connection alive.
    pub const TRAFFIC_KEEPS_ALIVE: u32 = 1 << 6;
}

/// Bits of ONCS ([`ControllerSupport::io_commands`]).
pub mod oncs {
    /// Compare.
    pub const COMPARE: u16 = 1 << 0;
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u16 = 1 << 2;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u16 = 1 << 3;
    /// Save and Select of features.
    pub const SAVE_SELECT: u16 = 1 << 4;
    /// Reservations.
    pub const RESERVATIONS: u16 = 1 << 5;
    /// Feature 0Eh, the timestamp.
    pub const TIMESTAMP: u16 = 1 << 6;
}

/// Bits of LPA ([`ControllerSupport::log_pages`]).
pub mod lpa {
    /// Log page 05h.
    pub const COMMAND_EFFECTS: u8 = 1 << 1;
    /// Offsets into log pages, and lengths of more than 16 KiB.
    pub const EXTENDED: u8 = 1 << 2;
}

/// Bits of SGLS ([`ControllerSupport::sgls`]).
pub mod sgls {
    /// SGLs without demands on alignment.
    pub const SUPPORTED: u32 = 1 << 0;
    /// The address of a data block can be an offset into the capsule.
    pub const OFFSET: u32 = 1 << 20;
}

/// CNTRLTYPE: kind of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ControllerKind {
    /// 0: not reported; the field is new in 1.4.
    #[default]
    NotReported,
    /// 1.
    Io,
    /// 2.
    Discovery,
    /// 3.
    Administrative,
    /// Any other.
    Other(u8),
}

impl ControllerKind {
    const fn decode(kind: u8) -> Self {
        match kind {
            0 => Self::NotReported,
            1 => Self::Io,
            2 => Self::Discovery,
            3 => Self::Administrative,
            other => Self::Other(other),
        }
    }

    const fn encode(self) -> u8 {
        match self {
            Self::NotReported => 0,
            Self::Io => 1,
            Self::Discovery => 2,
            Self::Administrative => 3,
            Self::Other(other) => other,
        }
    }
}

impl Value for ControllerKind {
    const BYTES: usize = 1;

    fn read(bytes: &[u8]) -> Self {
        Self::decode(bytes[0])
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = self.encode();
    }
}

/// Identity of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerIdentity {
    /// VID: vendor.
    pub vendor: u16,
    /// SSVID: vendor of the subsystem.
    pub subsystem_vendor: u16,
    /// SN: serial number.
    pub serial: Ascii<20>,
    /// MN: model number.
    pub model: Ascii<40>,
    /// FR: firmware revision.
    pub firmware: Ascii<8>,
    /// IEEE: OUI of the vendor.
    pub oui: [u8; 3],
    /// CNTLID: has to be the ID that Connect returned; Linux refuses the controller otherwise.
    pub id: u16,
    /// VER.
    pub version: Version,
    /// CNTRLTYPE.
    pub kind: ControllerKind,
    /// SUBNQN; zeroes for `None`.
    pub subsystem: Option<Nqn>,
}

fields! { ControllerIdentity, IDENTIFY_BYTES;
    vendor: "VID" @ 0,
    subsystem_vendor: "SSVID" @ 2,
    serial: "SN" @ 4,
    model: "MN" @ 24,
    firmware: "FR" @ 64,
    oui: "IEEE" @ 73,
    id: "CNTLID" @ 78,
    version: "VER" @ 80,
    kind: "CNTRLTYPE" @ 111,
    subsystem: "SUBNQN" @ 768,
}

/// Limits of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerLimits {
    /// MDTS: most data of a command, `2^n` memory pages; 0 for no limit.
    pub transfer: u8,
    /// CRDT1 to CRDT3: delays that the status of a completion can name, in units of 100 ms.
    pub retry_delays_100ms: [u16; 3],
    /// ACL: Aborts in flight, 0's based.
    pub aborts: u8,
    /// AERL: Asynchronous Event Requests in flight, 0's based.
    pub async_events: u8,
    /// ELPE: entries of the error log, 0's based.
    pub error_log_entries: u8,
    /// KAS: granularity of the keep alive timeout in units of 100 ms. Linux refuses 0 over a
    /// fabric.
    pub keep_alive_100ms: u16,
    /// NSETIDMAX: highest identifier of an NVM Set.
    pub nvm_set: u16,
    /// ENDGIDMAX: highest identifier of an endurance group.
    pub endurance_group: u16,
    /// MAXCMD: most commands in flight of a queue.
    pub commands: u16,
    /// NN: highest identifier of a namespace.
    pub namespaces: u32,
    /// AWUN: blocks that are written atomically, 0's based.
    pub atomic_write: u16,
    /// AWUPF: blocks that are written atomically even in a loss of power, 0's based.
    pub atomic_write_power_fail: u16,
}

fields! { ControllerLimits, IDENTIFY_BYTES;
    transfer: "MDTS" @ 77,
    retry_delays_100ms: "CRDT" @ 128,
    aborts: "ACL" @ 258,
    async_events: "AERL" @ 259,
    error_log_entries: "ELPE" @ 262,
    keep_alive_100ms: "KAS" @ 320,
    nvm_set: "NSETIDMAX" @ 338,
    endurance_group: "ENDGIDMAX" @ 340,
    commands: "MAXCMD" @ 514,
    namespaces: "NN" @ 516,
    atomic_write: "AWUN" @ 526,
    atomic_write_power_fail: "AWUPF" @ 528,
}

/// Features that a controller supports; bits as in the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerSupport {
    /// CMIC: several controllers; bit 3 is ANA.
    pub multipath: u8,
    /// OAES: [`notice`](crate::wire::notice)s that are offered.
    pub async_events: u32,
    /// CTRATT: [`ctratt`].
    pub attributes: u32,
    /// RRLS: read recovery levels.
    pub read_recovery_levels: u16,
    /// OACS: optional admin commands.
    pub admin_commands: u16,
    /// FRMW: firmware updates.
    pub firmware_updates: u8,
    /// LPA: [`lpa`].
    pub log_pages: u8,
    /// SQES: 66h, for entries of 64 bytes.
    pub submission_entry: u8,
    /// CQES: 44h, for entries of 16 bytes.
    pub completion_entry: u8,
    /// ONCS: [`oncs`].
    pub io_commands: u16,
    /// FUSES: fused commands.
    pub fused: u16,
    /// FNA: Format NVM.
    pub format: u8,
    /// VWC: bit 0 for a volatile write cache, so that flushes matter.
    pub write_cache: u8,
    /// SGLS: [`sgls`].
    pub sgls: u32,
}

fields! { ControllerSupport, IDENTIFY_BYTES;
    multipath: "CMIC" @ 76,
    async_events: "OAES" @ 92,
    attributes: "CTRATT" @ 96,
    read_recovery_levels: "RRLS" @ 100,
    admin_commands: "OACS" @ 256,
    firmware_updates: "FRMW" @ 260,
    log_pages: "LPA" @ 261,
    submission_entry: "SQES" @ 512,
    completion_entry: "CQES" @ 513,
    io_commands: "ONCS" @ 520,
    fused: "FUSES" @ 522,
    format: "FNA" @ 524,
    write_cache: "VWC" @ 525,
    sgls: "SGLS" @ 536,
}

/// Properties that matter over a fabric only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FabricsLimits {
    /// IOCCSZ: size of a command capsule of an I/O queue in units of 16 bytes; 4 for no data in it.
    pub command_capsule_16b: u32,
    /// IORCSZ: size of a response capsule in units of 16 bytes; 1.
    pub response_capsule_16b: u32,
    /// ICDOFF: where data in a capsule begin, in units of 16 bytes behind the entry; 0 with
    /// TCP.
    pub data_offset_16b: u16,
    /// FCATT: bit 0, the controller is static.
    pub attributes: u8,
    /// MSDBD: most SGL descriptors of a command; 1.
    pub descriptors: u8,
    /// OFCS: optional fabrics commands; bit 0 is Disconnect.
    pub commands: u16,
}

fields! { FabricsLimits, IDENTIFY_BYTES;
    command_capsule_16b: "IOCCSZ" @ 1792,
    response_capsule_16b: "IORCSZ" @ 1796,
    data_offset_16b: "ICDOFF" @ 1800,
    attributes: "FCATT" @ 1802,
    descriptors: "MSDBD" @ 1803,
    commands: "OFCS" @ 1804,
}

impl ControllerLimits {
    /// Most data of a command in bytes, if the smallest memory page is `2^(12 + page_min)` bytes
    /// ([`Capabilities::page_min`](crate::wire::Capabilities::page_min)); `None` for no limit, or
    /// none below 2^64.
    #[must_use]
    pub const fn transfer_bytes(&self, page_min: u8) -> Option<u64> {
        if self.transfer == 0 {
            return None;
        }
        1_u64.checked_shl(12 + page_min as u32 + self.transfer as u32)
    }
}

impl FabricsLimits {
    /// Most data in a command capsule of an I/O queue. For the admin queue it is always
    /// [`ADMIN_CAPSULE_DATA_BYTES`](crate::wire::pdu::ADMIN_CAPSULE_DATA_BYTES).
    #[must_use]
    pub const fn capsule_data_bytes(&self) -> u32 {
        self.command_capsule_16b.saturating_mul(16).saturating_sub(SUBMISSION_BYTES as u32)
    }
}

/// Identify data of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IdentifyController {
    /// Its identity.
    pub identity: ControllerIdentity,
    /// Its limits.
    pub limits: ControllerLimits,
    /// Features that it supports.
    pub support: ControllerSupport,
    /// Properties that matter over a fabric only.
    pub fabrics: FabricsLimits,
    /// IODA capability, in the vendor's part.
    pub ioda: Option<IodaCapability>,
}

structure! { IdentifyController, IDENTIFY_BYTES;
    identity: "" @ 0,
    limits: "" @ 0,
    support: "" @ 0,
    fabrics: "" @ 0,
    ioda: "" @ 3072,
}
