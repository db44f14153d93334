//! Reservations: the four commands of an I/O queue, the keys that they carry, and the report.
//!
//! NVM Express 1.4, sections 6.10 to 6.13 (commands) and 8.8 (behaviour). Offsets agree with Linux
//! (`struct nvme_reservation_status_ext`) and with nvme-cli.

mod keys;
mod kind;
mod status;

pub use keys::{
    ACQUIRE_KEYS_BYTES, AcquireKeys, REGISTER_KEYS_BYTES, RELEASE_KEY_BYTES, RegisterKeys,
    ReleaseKey,
};
pub use kind::{ReservationType, rescap};
pub use status::{
    RegistrantEntry, ReservationHeader, STATUS_HEADER_BYTES, StatusFormat, put_reservations,
    read_reservations,
};

use super::field::Bits;
use super::submission::{CommonFields, SubmissionEntry};

pub(super) const REGISTER: u8 = 0x0d;
pub(super) const REPORT: u8 = 0x0e;
pub(super) const ACQUIRE: u8 = 0x11;
pub(super) const RELEASE: u8 = 0x15;

// CDW10.
const ACTION: Bits = Bits::new(2, 0);
const IEKEY: Bits = Bits::bit(3);
const RTYPE: Bits = Bits::new(15, 8);
const CPTPL: Bits = Bits::new(31, 30);
// CDW11 of Reservation Report.
const EDS: Bits = Bits::bit(0);

/// RREGA: action of Reservation Register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterAction {
    /// 0: the host becomes a registrant.
    Register,
    /// 1: the host is no longer a registrant.
    Unregister,
    /// 2: the host gets another key.
    Replace,
    /// 3 to 7.
    Reserved(u8),
}

/// CPTPL: change of Persist Through Power Loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersistChange {
    /// 0: no change.
    Keep,
    /// 1.
    Reserved,
    /// 2: a loss of power ends reservation and registrations.
    Clear,
    /// 3: reservation and registrations outlive a loss of power.
    Set,
}

/// RACQA: action of Reservation Acquire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcquireAction {
    /// 0: the host gets the reservation if no other host has it.
    Acquire,
    /// 1: registrants with the key PRKEY are unregistered; if one of them holds the reservation,
    /// the host gets it.
    Preempt,
    /// 2: the same, and the commands of those hosts end first.
    PreemptAndAbort,
    /// 3 to 7.
    Reserved(u8),
}

/// RRELA: action of Reservation Release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseAction {
    /// 0: the host gives its reservation up.
    Release,
    /// 1: reservation and all registrations end.
    Clear,
    /// 2 to 7.
    Reserved(u8),
}

/// A reservation command, without its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationCommand {
    /// 0Dh, with [`RegisterKeys`].
    Register {
        /// RREGA.
        action: RegisterAction,
        /// IEKEY: the present key of the host is not checked.
        ignore_key: bool,
        /// CPTPL.
        persist: PersistChange,
    },
    /// 0Eh: the registrants, and the holder of the reservation.
    Report {
        /// NUMD: dwords to return, 0's based.
        dwords: u32,
        /// EDS: entries with host identifiers of 128 bits.
        extended: bool,
    },
    /// 11h, with [`AcquireKeys`].
    Acquire {
        /// RACQA.
        action: AcquireAction,
        /// IEKEY, which has to be 0.
        ignore_key: bool,
        /// RTYPE: a [`ReservationType`]; other values are refused.
        kind: u8,
    },
    /// 15h, with a [`ReleaseKey`].
    Release {
        /// RRELA.
        action: ReleaseAction,
        /// IEKEY, which has to be 0.
        ignore_key: bool,
        /// RTYPE: type of the reservation.
        kind: u8,
    },
}

impl RegisterAction {
    const fn decode(cdw10: u32) -> Self {
        match ACTION.get32(cdw10) as u8 {
            0 => Self::Register,
            1 => Self::Unregister,
            2 => Self::Replace,
            other => Self::Reserved(other),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Register => 0,
            Self::Unregister => 1,
            Self::Replace => 2,
            Self::Reserved(other) => other,
        }
    }
}

impl PersistChange {
    const fn decode(cdw10: u32) -> Self {
        match CPTPL.get32(cdw10) {
            0 => Self::Keep,
            1 => Self::Reserved,
            2 => Self::Clear,
            _ => Self::Set,
        }
    }

    const fn number(self) -> u32 {
        match self {
            Self::Keep => 0,
            Self::Reserved => 1,
            Self::Clear => 2,
            Self::Set => 3,
        }
    }
}

impl AcquireAction {
    const fn decode(cdw10: u32) -> Self {
        match ACTION.get32(cdw10) as u8 {
            0 => Self::Acquire,
            1 => Self::Preempt,
            2 => Self::PreemptAndAbort,
            other => Self::Reserved(other),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Acquire => 0,
            Self::Preempt => 1,
            Self::PreemptAndAbort => 2,
            Self::Reserved(other) => other,
        }
    }
}

impl ReleaseAction {
    const fn decode(cdw10: u32) -> Self {
        match ACTION.get32(cdw10) as u8 {
            0 => Self::Release,
            1 => Self::Clear,
            other => Self::Reserved(other),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Release => 0,
            Self::Clear => 1,
            Self::Reserved(other) => other,
        }
    }
}

impl ReservationCommand {
    /// Bytes of data that the command brings.
    #[must_use]
    pub const fn data_bytes(&self) -> usize {
        match self {
            Self::Register { .. } => REGISTER_KEYS_BYTES,
            Self::Report { .. } => 0,
            Self::Acquire { .. } => ACQUIRE_KEYS_BYTES,
            Self::Release { .. } => RELEASE_KEY_BYTES,
        }
    }

    /// Decodes an entry with one of the four opcodes; `None` for any other.
    pub(super) const fn decode(entry: &SubmissionEntry) -> Option<Self> {
        let cdw10 = entry.cdw(10);
        let (ignore_key, kind) = (IEKEY.is_set32(cdw10), RTYPE.get32(cdw10) as u8);
        Some(match entry.opcode {
            REGISTER => {
                let (action, persist) =
                    (RegisterAction::decode(cdw10), PersistChange::decode(cdw10));
                Self::Register { action, ignore_key, persist }
            }
            REPORT => Self::Report { dwords: cdw10, extended: EDS.is_set32(entry.cdw(11)) },
            ACQUIRE => Self::Acquire { action: AcquireAction::decode(cdw10), ignore_key, kind },
            RELEASE => Self::Release { action: ReleaseAction::decode(cdw10), ignore_key, kind },
            _ => return None,
        })
    }

    pub(super) const fn encode(&self, common: CommonFields) -> SubmissionEntry {
        let (opcode, cdw10, cdw11) = match *self {
            Self::Register { action, ignore_key, persist } => {
                (REGISTER, head(action.number(), ignore_key) | CPTPL.put32(persist.number()), 0)
            }
            Self::Report { dwords, extended } => (REPORT, dwords, EDS.flag32(extended)),
            Self::Acquire { action, ignore_key, kind } => {
                (ACQUIRE, head(action.number(), ignore_key) | RTYPE.put32(kind as u32), 0)
            }
            Self::Release { action, ignore_key, kind } => {
                (RELEASE, head(action.number(), ignore_key) | RTYPE.put32(kind as u32), 0)
            }
        };
        let mut entry = SubmissionEntry::new(opcode, common);
        entry.set_cdw(10, cdw10);
        entry.set_cdw(11, cdw11);
        entry
    }
}

/// First bits of CDW10, in all commands but the report.
const fn head(action: u8, ignore_key: bool) -> u32 {
    ACTION.put32(action as u32) | IEKEY.flag32(ignore_key)
}
