//! Bits of the properties that are used.

use super::field::Bits;
use super::structure::Value;

const CAP_MQES: Bits = Bits::new(15, 0);
const CAP_CQR: Bits = Bits::bit(16);
const CAP_AMS: Bits = Bits::new(18, 17);
const CAP_TO: Bits = Bits::new(31, 24);
const CAP_DSTRD: Bits = Bits::new(35, 32);
const CAP_NSSRS: Bits = Bits::bit(36);
const CAP_CSS: Bits = Bits::new(44, 37);
const CAP_MPSMIN: Bits = Bits::new(51, 48);
const CAP_MPSMAX: Bits = Bits::new(55, 52);

/// CSS of [`Capabilities`]: the NVM command set. With bit 6 (other command sets) Linux sets CC.CSS
/// to 110b.
pub const CSS_NVM: u8 = 1;

/// CAP: capabilities of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// MQES, bits 15:0: most entries of a queue, 0's based.
    pub queue_entries_max: u16,
    /// CQR, bit 16: queues have to be contiguous. Required over a fabric.
    pub contiguous_queues: bool,
    /// AMS, bits 18:17: arbitration other than round robin.
    pub arbitration: u8,
    /// TO, bits 31:24: longest time to enable the controller, in units of 500 ms.
    pub timeout_500ms: u8,
    /// DSTRD, bits 35:32: 0 over a fabric.
    pub doorbell_stride: u8,
    /// NSSRS, bit 36: the subsystem can be reset.
    pub subsystem_reset: bool,
    /// CSS, bits 44:37: command sets ([`CSS_NVM`]).
    pub command_sets: u8,
    /// MPSMIN, bits 51:48: smallest memory page, `2^(12 + n)` bytes. The unit of MDTS.
    pub page_min: u8,
    /// MPSMAX, bits 55:52: largest memory page.
    pub page_max: u8,
}

impl Capabilities {
    /// Decodes the property.
    #[must_use]
    pub const fn decode(value: u64) -> Self {
        Self {
            queue_entries_max: CAP_MQES.get(value) as u16,
            contiguous_queues: CAP_CQR.is_set(value),
            arbitration: CAP_AMS.get(value) as u8,
            timeout_500ms: CAP_TO.get(value) as u8,
            doorbell_stride: CAP_DSTRD.get(value) as u8,
            subsystem_reset: CAP_NSSRS.is_set(value),
            command_sets: CAP_CSS.get(value) as u8,
            page_min: CAP_MPSMIN.get(value) as u8,
            page_max: CAP_MPSMAX.get(value) as u8,
        }
    }

    /// Encodes the property.
    #[must_use]
    pub const fn encode(&self) -> u64 {
        CAP_MQES.put(self.queue_entries_max as u64)
            | CAP_CQR.put(self.contiguous_queues as u64)
            | CAP_AMS.put(self.arbitration as u64)
            | CAP_TO.put(self.timeout_500ms as u64)
            | CAP_DSTRD.put(self.doorbell_stride as u64)
            | CAP_NSSRS.put(self.subsystem_reset as u64)
            | CAP_CSS.put(self.command_sets as u64)
            | CAP_MPSMIN.put(self.page_min as u64)
            | CAP_MPSMAX.put(self.page_max as u64)
    }
}

const VS_MAJOR: Bits = Bits::new(31, 16);
const VS_MINOR: Bits = Bits::new(15, 8);
const VS_TERTIARY: Bits = Bits::new(7, 0);

/// VS, and VER of Identify Controller: a version of the specification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Version {
    /// Bits 31:16.
    pub major: u16,
    /// Bits 15:8.
    pub minor: u8,
    /// Bits 7:0.
    pub tertiary: u8,
}

impl Value for Version {
    const BYTES: usize = 4;

    fn read(bytes: &[u8]) -> Self {
        Self::decode(u32::read(bytes))
    }

    fn write(&self, bytes: &mut [u8]) {
        self.encode().write(bytes);
    }
}

impl Version {
    /// 1.4, the first with predictable latency mode.
    pub const V1_4: Self = Self { major: 1, minor: 4, tertiary: 0 };

    /// Decodes the property.
    #[must_use]
    pub const fn decode(value: u32) -> Self {
        Self {
            major: VS_MAJOR.get32(value) as u16,
            minor: VS_MINOR.get32(value) as u8,
            tertiary: VS_TERTIARY.get32(value) as u8,
        }
    }

    /// Encodes the property.
    #[must_use]
    pub const fn encode(&self) -> u32 {
        VS_MAJOR.put32(self.major as u32)
            | VS_MINOR.put32(self.minor as u32)
            | VS_TERTIARY.put32(self.tertiary as u32)
    }
}

const CC_EN: Bits = Bits::bit(0);
const CC_CSS: Bits = Bits::new(6, 4);
const CC_MPS: Bits = Bits::new(10, 7);
const CC_AMS: Bits = Bits::new(13, 11);
const CC_SHN: Bits = Bits::new(15, 14);
const CC_IOSQES: Bits = Bits::new(19, 16);
const CC_IOCQES: Bits = Bits::new(23, 20);

/// SHN of [`Configuration`]: request to shut down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShutdownNotice {
    /// 00b: no request.
    #[default]
    None,
    /// 01b: orderly shutdown.
    Normal,
    /// 10b: abrupt shutdown, because power is about to fail.
    Abrupt,
    /// 11b.
    Reserved,
}

/// CC: configuration of the controller by the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Configuration {
    /// EN, bit 0: a change from 1 to 0 is a reset.
    pub enable: bool,
    /// CSS, bits 6:4: command set.
    pub command_set: u8,
    /// MPS, bits 10:7: memory page, `2^(12 + n)` bytes.
    pub page: u8,
    /// AMS, bits 13:11: arbitration.
    pub arbitration: u8,
    /// SHN, bits 15:14.
    pub shutdown: ShutdownNotice,
    /// IOSQES, bits 19:16: 6, for entries of `2^6` bytes.
    pub submission_entry: u8,
    /// IOCQES, bits 23:20: 4, for entries of `2^4` bytes.
    pub completion_entry: u8,
}

impl Configuration {
    /// Decodes the property.
    #[must_use]
    pub const fn decode(value: u32) -> Self {
        Self {
            enable: CC_EN.is_set32(value),
            command_set: CC_CSS.get32(value) as u8,
            page: CC_MPS.get32(value) as u8,
            arbitration: CC_AMS.get32(value) as u8,
            shutdown: match CC_SHN.get32(value) {
                0b00 => ShutdownNotice::None,
                0b01 => ShutdownNotice::Normal,
                0b10 => ShutdownNotice::Abrupt,
                _ => ShutdownNotice::Reserved,
            },
            submission_entry: CC_IOSQES.get32(value) as u8,
            completion_entry: CC_IOCQES.get32(value) as u8,
        }
    }

    /// Encodes the property.
    #[must_use]
    pub const fn encode(&self) -> u32 {
        CC_EN.flag32(self.enable)
            | CC_CSS.put32(self.command_set as u32)
            | CC_MPS.put32(self.page as u32)
            | CC_AMS.put32(self.arbitration as u32)
            | CC_SHN.put32(self.shutdown as u32)
            | CC_IOSQES.put32(self.submission_entry as u32)
            | CC_IOCQES.put32(self.completion_entry as u32)
    }
}

const CSTS_RDY: Bits = Bits::bit(0);
const CSTS_CFS: Bits = Bits::bit(1);
const CSTS_SHST: Bits = Bits::new(3, 2);
const CSTS_NSSRO: Bits = Bits::bit(4);

/// SHST of [`ControllerStatus`]: state of a shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShutdownState {
    /// 00b: no shutdown was requested.
    #[default]
    Normal,
    /// 01b.
    Running,
    /// 10b.
    Complete,
    /// 11b.
    Reserved,
}

/// CSTS: status of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerStatus {
    /// RDY, bit 0: the controller takes commands.
    pub ready: bool,
    /// CFS, bit 1: the controller has failed.
    pub fatal: bool,
    /// SHST, bits 3:2.
    pub shutdown: ShutdownState,
    /// NSSRO, bit 4: the subsystem was reset.
    pub subsystem_reset: bool,
}

impl ControllerStatus {
    /// Decodes the property.
    #[must_use]
    pub const fn decode(value: u32) -> Self {
        Self {
            ready: CSTS_RDY.is_set32(value),
            fatal: CSTS_CFS.is_set32(value),
            shutdown: match CSTS_SHST.get32(value) {
                0b00 => ShutdownState::Normal,
                0b01 => ShutdownState::Running,
                0b10 => ShutdownState::Complete,
                _ => ShutdownState::Reserved,
            },
            subsystem_reset: CSTS_NSSRO.is_set32(value),
        }
    }

    /// Encodes the property.
    #[must_use]
    pub const fn encode(&self) -> u32 {
        CSTS_RDY.flag32(self.ready)
            | CSTS_CFS.flag32(self.fatal)
            | CSTS_SHST.put32(self.shutdown as u32)
            | CSTS_NSSRO.flag32(self.subsystem_reset)
    }
}
