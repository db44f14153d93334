//! Faults of a PDU, as a termination request reports them.

/// FES: reason why a connection ends (Linux `enum nvme_tcp_fatal_error_status`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FatalStatus {
    /// 1: a field of a header is wrong; its offset is reported.
    InvalidHeaderField,
    /// 2: a PDU that may not come now.
    Sequence,
    /// 3: the digest of a header is wrong; the received digest is reported.
    HeaderDigest,
    /// 4: data outside of the requested range.
    DataOutOfRange,
    /// 5: more data, or more R2Ts, than agreed.
    LimitExceeded,
    /// 6: a parameter that is not supported; its offset is reported.
    UnsupportedParameter,
    /// Any other; never one of the above after decoding.
    Other(u16),
}

impl FatalStatus {
    /// The status with this number.
    #[must_use]
    pub const fn decode(bits: u16) -> Self {
        match bits {
            1 => Self::InvalidHeaderField,
            2 => Self::Sequence,
            3 => Self::HeaderDigest,
            4 => Self::DataOutOfRange,
            5 => Self::LimitExceeded,
            6 => Self::UnsupportedParameter,
            other => Self::Other(other),
        }
    }

    /// Its number.
    #[must_use]
    pub const fn encode(self) -> u16 {
        match self {
            Self::InvalidHeaderField => 1,
            Self::Sequence => 2,
            Self::HeaderDigest => 3,
            Self::DataOutOfRange => 4,
            Self::LimitExceeded => 5,
            Self::UnsupportedParameter => 6,
            Self::Other(other) => other,
        }
    }
}

/// A fault that ends a connection.
///
/// The status of each fault and its additional information were compared with FreeBSD's and SPDK's
/// sources, not with the specification text. Where these differ, FreeBSD was followed: it reports
/// the wrong digest, SPDK nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// FES.
    pub status: FatalStatus,
    /// FEI: offset of the wrong field in the header, or the wrong digest; else 0.
    pub information: u32,
}

impl Fault {
    /// The field at this offset of the header is wrong.
    #[must_use]
    pub const fn field(at: usize) -> Self {
        Self { status: FatalStatus::InvalidHeaderField, information: at as u32 }
    }

    /// The parameter at this offset of the header is not supported.
    #[must_use]
    pub const fn unsupported(at: usize) -> Self {
        Self { status: FatalStatus::UnsupportedParameter, information: at as u32 }
    }

    /// A fault without additional information.
    #[must_use]
    pub const fn of(status: FatalStatus) -> Self {
        Self { status, information: 0 }
    }
}
