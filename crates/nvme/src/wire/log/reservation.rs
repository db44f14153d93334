//! Log page 80h: notices about reservations that concern a host (NVM Express 1.4, section
//! 5.14.1.16.1).

use crate::wire::structure::structure;

/// Bytes of the page.
pub const RESERVATION_LOG_BYTES: usize = 64;

/// Bits of feature 82h: notices that are *not* wanted.
pub mod reservation_mask {
    /// REGPRE: registration preempted.
    pub const REGISTRATION_PREEMPTED: u32 = 1 << 1;
    /// RESREL: reservation released.
    pub const RELEASED: u32 = 1 << 2;
    /// RESPRE: reservation preempted.
    pub const PREEMPTED: u32 = 1 << 3;
    /// All of them.
    pub const ALL: u32 = REGISTRATION_PREEMPTED | RELEASED | PREEMPTED;
}

/// A notice about reservations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReservationNotice {
    /// 1: the registration of the host was preempted.
    RegistrationPreempted,
    /// 2: the reservation was released.
    Released,
    /// 3: the reservation was preempted.
    Preempted,
}

impl ReservationNotice {
    /// Its number in the page, which is the number of its bit in feature 82h.
    #[must_use]
    pub const fn encode(self) -> u8 {
        match self {
            Self::RegistrationPreempted => 1,
            Self::Released => 2,
            Self::Preempted => 3,
        }
    }

    /// Its bit in feature 82h.
    #[must_use]
    pub const fn mask(self) -> u32 {
        1 << self.encode()
    }
}

/// The page: the oldest notice that the host has not read from its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReservationLog {
    /// LPC: count of notices, never 0 if the page has one.
    pub count: u64,
    /// LPT: number of the notice; 0 for none.
    pub kind: u8,
    /// NALP: further notices, at most 255.
    pub available: u8,
    /// NSID.
    pub nsid: u32,
}

structure! { ReservationLog, RESERVATION_LOG_BYTES;
    count: "LPC" @ 0,
    kind: "LPT" @ 8,
    available: "NALP" @ 9,
    nsid: "NSID" @ 12,
}
