//! RTYPE: the six types of reservation.

/// Bits of RESCAP, byte 31 of Identify Namespace.
pub mod rescap {
    /// Reservations may persist through a loss of power.
    pub const PERSIST: u8 = 1 << 0;
    /// All six types.
    pub const ALL_TYPES: u8 = 0b0111_1110;
    /// Exclusive Access - Registrants Only.
    pub const EXCLUSIVE_ACCESS_REGISTRANTS: u8 = 1 << 4;
    /// IEKEY has the meaning of revision 1.3.
    pub const IGNORE_KEY_1_3: u8 = 1 << 7;
}

/// RTYPE: which hosts may read and write besides the holder (NVM Express 1.4, 8.8, Figure
/// "Reservation Types").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReservationType {
    /// 1: the holder writes, every host reads.
    WriteExclusive,
    /// 2: the holder reads and writes, no other host does.
    ExclusiveAccess,
    /// 3: registrants write, every host reads.
    WriteExclusiveRegistrants,
    /// 4: registrants read and write, no other host does.
    ExclusiveAccessRegistrants,
    /// 5: as 3, and every registrant is a holder.
    WriteExclusiveAll,
    /// 6: as 4, and every registrant is a holder.
    ExclusiveAccessAll,
}

impl ReservationType {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::WriteExclusive,
        Self::ExclusiveAccess,
        Self::WriteExclusiveRegistrants,
        Self::ExclusiveAccessRegistrants,
        Self::WriteExclusiveAll,
        Self::ExclusiveAccessAll,
    ];

    /// The type with a number; `None` for a reserved one.
    #[must_use]
    pub const fn decode(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::WriteExclusive,
            2 => Self::ExclusiveAccess,
            3 => Self::WriteExclusiveRegistrants,
            4 => Self::ExclusiveAccessRegistrants,
            5 => Self::WriteExclusiveAll,
            6 => Self::ExclusiveAccessAll,
            _ => return None,
        })
    }

    /// Its number.
    #[must_use]
    pub const fn encode(self) -> u8 {
        match self {
            Self::WriteExclusive => 1,
            Self::ExclusiveAccess => 2,
            Self::WriteExclusiveRegistrants => 3,
            Self::ExclusiveAccessRegistrants => 4,
            Self::WriteExclusiveAll => 5,
            Self::ExclusiveAccessAll => 6,
        }
    }

    /// Whether every registrant is a holder.
    #[must_use]
    pub const fn is_held_by_all(self) -> bool {
        matches!(self, Self::WriteExclusiveAll | Self::ExclusiveAccessAll)
    }

    /// Whether registrants have the access of the holder.
    #[must_use]
    pub const fn admits_registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }

    /// Whether the reservation excludes other hosts from reads too, not only from writes.
    #[must_use]
    pub const fn guards_reads(self) -> bool {
        matches!(
            self,
            Self::ExclusiveAccess | Self::ExclusiveAccessRegistrants | Self::ExclusiveAccessAll
        )
    }
}
