//! Failures: behaviour that an array must not show.

use std::fmt;

/// A violation of the array's guarantees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A read returned impossible data.
    WrongData {
        /// The first sector that is wrong.
        sector: u64,
        /// Number of the write that was found; `None` if it is no write of this sector.
        found: Option<u32>,
        /// Numbers of the writes that may be found; 0 stands for zeros.
        allowed: Vec<u32>,
    },
    /// A request failed although enough drives were there.
    RequestFailed {
        /// First sector.
        sector: u64,
    },
    /// The array did not start although enough drives were there.
    NotStarted(String),
    /// The array refused requests although enough drives were there.
    Stopped(String),
    /// A request was not answered, or a drive did not return, after the faults had ended.
    NoRest(String),
    /// Parity did not fit data at the end.
    Parity {
        /// Number of stripes.
        mismatches: u64,
    },
    /// The array ended cleanly, and the next start did not know it.
    NotClean,
    /// More members of a stripe were in their busy windows at once than it can miss.
    TooManyBusy {
        /// The drives, as bits.
        drives: u64,
    },
    /// Members of a row on the disks do not fit each other, and no repair is pending.
    Torn {
        /// The stripe.
        stripe: u64,
        /// Row of the stripe.
        row: u32,
    },
    /// The checksum of a page on disk does not fit, and no write was under way there.
    Sum {
        /// The drive.
        drive: u8,
        /// The page of the drive.
        page: u64,
    },
}

impl Failure {
    /// Returns true if this is a failure of the same kind.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        core::mem::discriminant(self) == core::mem::discriminant(other)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongData { sector, found: Some(found), allowed } => {
                write!(f, "sector {sector} holds write {found}, and may hold {allowed:?}")
            }
            Self::WrongData { sector, found: None, allowed } => write!(
                f,
                "sector {sector} holds what was never written there, and may hold {allowed:?}"
            ),
            Self::RequestFailed { sector } => {
                write!(f, "a request for sector {sector} failed although enough drives were there")
            }
            Self::NotStarted(why) => write!(f, "the array did not start: {why}"),
            Self::Stopped(why) => write!(f, "the array has stopped: {why}"),
            Self::NoRest(why) => write!(f, "the array does not come to rest: {why}"),
            Self::Parity { mismatches } => {
                write!(f, "{mismatches} parities do not fit their data at the end")
            }
            Self::TooManyBusy { drives } => {
                let names: Vec<String> = (0..64)
                    .filter(|drive| drives >> drive & 1 == 1)
                    .map(|drive| drive.to_string())
                    .collect();
                write!(
                    f,
                    "drives {} of one stripe are in their busy windows at once, more than it can miss",
                    names.join(" and ")
                )
            }
            Self::NotClean => f.write_str("a clean shutdown was not found clean"),
            Self::Torn { stripe, row } => write!(
                f,
                "row {row} of stripe {stripe} does not fit together on the disks, and is not to be resynced"
            ),
            Self::Sum { drive, page } => write!(
                f,
                "the checksum of page {page} of drive {drive} does not fit on the disk, and is not in doubt"
            ),
        }
    }
}

pub(super) type Done<T = ()> = Result<T, Failure>;
