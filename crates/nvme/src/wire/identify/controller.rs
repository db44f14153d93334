//! CNS 01h: what the controller is (offsets as in libnvme's `struct nvme_id_ctrl`).

use super::IDENTIFY_BYTES;
use crate::wire::field::{get, get_u16, get_u32, put, put_u16, put_u32};
use crate::wire::ioda::{CAPABILITY_BYTES, IodaCapability};
use crate::wire::registers::Version;
use crate::wire::submission::SUBMISSION_BYTES;
use crate::wire::text::{Ascii, NQN_FIELD_BYTES, Nqn};

const VID: usize = 0;
const SSVID: usize = 2;
const SN: usize = 4;
const MN: usize = 24;
const FR: usize = 64;
const IEEE: usize = 73;
const CMIC: usize = 76;
const MDTS: usize = 77;
const CNTLID: usize = 78;
const VER: usize = 80;
const OAES: usize = 92;
const CTRATT: usize = 96;
const RRLS: usize = 100;
const CNTRLTYPE: usize = 111;
const CRDT: usize = 128;
const OACS: usize = 256;
const ACL: usize = 258;
const AERL: usize = 259;
const FRMW: usize = 260;
const LPA: usize = 261;
const ELPE: usize = 262;
const KAS: usize = 320;
const NSETIDMAX: usize = 338;
const ENDGIDMAX: usize = 340;
const SQES: usize = 512;
const CQES: usize = 513;
const MAXCMD: usize = 514;
const NN: usize = 516;
const ONCS: usize = 520;
const FUSES: usize = 522;
const FNA: usize = 524;
const VWC: usize = 525;
const AWUN: usize = 526;
const AWUPF: usize = 528;
const SGLS: usize = 536;
const SUBNQN: usize = 768;
const IOCCSZ: usize = 1792;
const IORCSZ: usize = 1796;
const ICDOFF: usize = 1800;
const FCATT: usize = 1802;
const MSDBD: usize = 1803;
const OFCS: usize = 1804;
/// Where the vendor's part begins.
const VENDOR: usize = 3072;

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

/// CNTRLTYPE: what kind of controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ControllerKind {
    /// 0: before 1.4 nobody said.
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

/// Which controller it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerIdentity {
    /// VID @0: vendor.
    pub vendor: u16,
    /// SSVID @2: vendor of the subsystem.
    pub subsystem_vendor: u16,
    /// SN @4: serial number.
    pub serial: Ascii<20>,
    /// MN @24: model number.
    pub model: Ascii<40>,
    /// FR @64: firmware revision.
    pub firmware: Ascii<8>,
    /// IEEE @73: OUI of the vendor.
    pub oui: [u8; 3],
    /// CNTLID @78: has to be the one that Connect returned; Linux refuses the controller otherwise.
    pub id: u16,
    /// VER @80.
    pub version: Version,
    /// CNTRLTYPE @111.
    pub kind: ControllerKind,
    /// SUBNQN @768; none is zeroes.
    pub subsystem: Option<Nqn>,
}

/// How much it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerLimits {
    /// MDTS @77: most data of a command, `2^n` memory pages; 0 is without limit.
    pub transfer: u8,
    /// CRDT1 to CRDT3 @128: delays that the status of a completion can name, in units of 100 ms.
    pub retry_delays_100ms: [u16; 3],
    /// ACL @258: Aborts in flight, 0's based.
    pub aborts: u8,
    /// AERL @259: Asynchronous Event Requests in flight, 0's based.
    pub async_events: u8,
    /// ELPE @262: entries of the error log, 0's based.
    pub error_log_entries: u8,
    /// KAS @320: granularity of the keep alive timeout in units of 100 ms. Linux refuses 0 over a
    /// fabric.
    pub keep_alive_100ms: u16,
    /// NSETIDMAX @338: highest identifier of an NVM Set.
    pub nvm_set: u16,
    /// ENDGIDMAX @340: highest identifier of an endurance group.
    pub endurance_group: u16,
    /// MAXCMD @514: most commands in flight of a queue.
    pub commands: u16,
    /// NN @516: highest identifier of a namespace.
    pub namespaces: u32,
    /// AWUN @526: blocks that are written as one, 0's based.
    pub atomic_write: u16,
    /// AWUPF @528: the same when the power fails.
    pub atomic_write_power_fail: u16,
}

/// What it can; bits as in the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerSupport {
    /// CMIC @76: several controllers; bit 3 is ANA.
    pub multipath: u8,
    /// OAES @92: [`notice`](crate::wire::notice)s that it can give.
    pub async_events: u32,
    /// CTRATT @96: [`ctratt`].
    pub attributes: u32,
    /// RRLS @100: read recovery levels.
    pub read_recovery_levels: u16,
    /// OACS @256: optional admin commands.
    pub admin_commands: u16,
    /// FRMW @260: firmware updates.
    pub firmware_updates: u8,
    /// LPA @261: [`lpa`].
    pub log_pages: u8,
    /// SQES @512: 66h, for entries of 64 bytes.
    pub submission_entry: u8,
    /// CQES @513: 44h, for entries of 16 bytes.
    pub completion_entry: u8,
    /// ONCS @520: [`oncs`].
    pub io_commands: u16,
    /// FUSES @522: fused commands.
    pub fused: u16,
    /// FNA @524: Format NVM.
    pub format: u8,
    /// VWC @525: bit 0, there is a volatile write cache, so that flushes matter.
    pub write_cache: u8,
    /// SGLS @536: [`sgls`].
    pub sgls: u32,
}

/// What matters over a fabric only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FabricsLimits {
    /// IOCCSZ @1792: size of a command capsule of an I/O queue in units of 16 bytes; 4 is no data
    /// in it.
    pub command_capsule_16b: u32,
    /// IORCSZ @1796: size of a response capsule in units of 16 bytes; 1.
    pub response_capsule_16b: u32,
    /// ICDOFF @1800: where data in a capsule begin, in units of 16 bytes behind the entry; 0 with
    /// TCP.
    pub data_offset_16b: u16,
    /// FCATT @1802: bit 0, the controller is static.
    pub attributes: u8,
    /// MSDBD @1803: most SGL descriptors of a command; 1.
    pub descriptors: u8,
    /// OFCS @1804: optional fabrics commands; bit 0 is Disconnect.
    pub commands: u16,
}

impl ControllerLimits {
    /// Most data of a command in bytes, where the smallest memory page is `2^(12 + page_min)` bytes
    /// ([`Capabilities::page_min`](crate::wire::Capabilities::page_min)); none if there is no
    /// limit, or none below 2^64.
    #[must_use]
    pub const fn transfer_bytes(&self, page_min: u8) -> Option<u64> {
        if self.transfer == 0 {
            return None;
        }
        1_u64.checked_shl(12 + page_min as u32 + self.transfer as u32)
    }
}

impl FabricsLimits {
    /// Most data in a command capsule of an I/O queue. Of the admin queue it is always
    /// [`ADMIN_CAPSULE_DATA_BYTES`](crate::wire::pdu::ADMIN_CAPSULE_DATA_BYTES).
    #[must_use]
    pub const fn capsule_data_bytes(&self) -> u32 {
        self.command_capsule_16b.saturating_mul(16).saturating_sub(SUBMISSION_BYTES as u32)
    }
}

/// What Identify returns about the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IdentifyController {
    /// Which it is.
    pub identity: ControllerIdentity,
    /// How much it takes.
    pub limits: ControllerLimits,
    /// What it can.
    pub support: ControllerSupport,
    /// What matters over a fabric only.
    pub fabrics: FabricsLimits,
    /// Vendor's part @3072: that it knows IODA.
    pub ioda: Option<IodaCapability>,
}

impl IdentifyController {
    /// Reads what Identify returned.
    #[must_use]
    pub fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        Self {
            identity: ControllerIdentity::decode(data),
            limits: ControllerLimits::decode(data),
            support: ControllerSupport::decode(data),
            fabrics: FabricsLimits::decode(data),
            ioda: IodaCapability::decode(&get::<CAPABILITY_BYTES>(data, VENDOR)),
        }
    }

    /// What Identify returns.
    #[must_use]
    pub fn encode(&self) -> [u8; IDENTIFY_BYTES] {
        let mut data = [0; IDENTIFY_BYTES];
        self.identity.encode(&mut data);
        self.limits.encode(&mut data);
        self.support.encode(&mut data);
        self.fabrics.encode(&mut data);
        if let Some(ioda) = &self.ioda {
            put(&mut data, VENDOR, &ioda.encode());
        }
        data
    }
}

impl ControllerIdentity {
    fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        Self {
            vendor: get_u16(data, VID),
            subsystem_vendor: get_u16(data, SSVID),
            serial: Ascii::decode(&get(data, SN)),
            model: Ascii::decode(&get(data, MN)),
            firmware: Ascii::decode(&get(data, FR)),
            oui: get(data, IEEE),
            id: get_u16(data, CNTLID),
            version: Version::decode(get_u32(data, VER)),
            kind: ControllerKind::decode(data[CNTRLTYPE]),
            subsystem: Nqn::decode(&get::<NQN_FIELD_BYTES>(data, SUBNQN)),
        }
    }

    fn encode(&self, data: &mut [u8; IDENTIFY_BYTES]) {
        put_u16(data, VID, self.vendor);
        put_u16(data, SSVID, self.subsystem_vendor);
        put(data, SN, &self.serial.encode());
        put(data, MN, &self.model.encode());
        put(data, FR, &self.firmware.encode());
        put(data, IEEE, &self.oui);
        put_u16(data, CNTLID, self.id);
        put_u32(data, VER, self.version.encode());
        data[CNTRLTYPE] = self.kind.encode();
        if let Some(subsystem) = &self.subsystem {
            put(data, SUBNQN, &subsystem.encode());
        }
    }
}

impl ControllerLimits {
    fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        Self {
            transfer: data[MDTS],
            retry_delays_100ms: core::array::from_fn(|number| get_u16(data, CRDT + 2 * number)),
            aborts: data[ACL],
            async_events: data[AERL],
            error_log_entries: data[ELPE],
            keep_alive_100ms: get_u16(data, KAS),
            nvm_set: get_u16(data, NSETIDMAX),
            endurance_group: get_u16(data, ENDGIDMAX),
            commands: get_u16(data, MAXCMD),
            namespaces: get_u32(data, NN),
            atomic_write: get_u16(data, AWUN),
            atomic_write_power_fail: get_u16(data, AWUPF),
        }
    }

    fn encode(&self, data: &mut [u8; IDENTIFY_BYTES]) {
        data[MDTS] = self.transfer;
        for (number, &delay) in self.retry_delays_100ms.iter().enumerate() {
            put_u16(data, CRDT + 2 * number, delay);
        }
        data[ACL] = self.aborts;
        data[AERL] = self.async_events;
        data[ELPE] = self.error_log_entries;
        put_u16(data, KAS, self.keep_alive_100ms);
        put_u16(data, NSETIDMAX, self.nvm_set);
        put_u16(data, ENDGIDMAX, self.endurance_group);
        put_u16(data, MAXCMD, self.commands);
        put_u32(data, NN, self.namespaces);
        put_u16(data, AWUN, self.atomic_write);
        put_u16(data, AWUPF, self.atomic_write_power_fail);
    }
}

impl ControllerSupport {
    fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        Self {
            multipath: data[CMIC],
            async_events: get_u32(data, OAES),
            attributes: get_u32(data, CTRATT),
            read_recovery_levels: get_u16(data, RRLS),
            admin_commands: get_u16(data, OACS),
            firmware_updates: data[FRMW],
            log_pages: data[LPA],
            submission_entry: data[SQES],
            completion_entry: data[CQES],
            io_commands: get_u16(data, ONCS),
            fused: get_u16(data, FUSES),
            format: data[FNA],
            write_cache: data[VWC],
            sgls: get_u32(data, SGLS),
        }
    }

    fn encode(&self, data: &mut [u8; IDENTIFY_BYTES]) {
        data[CMIC] = self.multipath;
        put_u32(data, OAES, self.async_events);
        put_u32(data, CTRATT, self.attributes);
        put_u16(data, RRLS, self.read_recovery_levels);
        put_u16(data, OACS, self.admin_commands);
        data[FRMW] = self.firmware_updates;
        data[LPA] = self.log_pages;
        data[SQES] = self.submission_entry;
        data[CQES] = self.completion_entry;
        put_u16(data, ONCS, self.io_commands);
        put_u16(data, FUSES, self.fused);
        data[FNA] = self.format;
        data[VWC] = self.write_cache;
        put_u32(data, SGLS, self.sgls);
    }
}

impl FabricsLimits {
    fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        Self {
            command_capsule_16b: get_u32(data, IOCCSZ),
            response_capsule_16b: get_u32(data, IORCSZ),
            data_offset_16b: get_u16(data, ICDOFF),
            attributes: data[FCATT],
            descriptors: data[MSDBD],
            commands: get_u16(data, OFCS),
        }
    }

    fn encode(&self, data: &mut [u8; IDENTIFY_BYTES]) {
        put_u32(data, IOCCSZ, self.command_capsule_16b);
        put_u32(data, IORCSZ, self.response_capsule_16b);
        put_u16(data, ICDOFF, self.data_offset_16b);
        data[FCATT] = self.attributes;
        data[MSDBD] = self.descriptors;
        put_u16(data, OFCS, self.commands);
    }
}
