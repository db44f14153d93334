//! Reasons why a connection is over.

use crate::wire::pdu::{FatalStatus, Fault};
use core::fmt;

/// Reason why a connection is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The host closed the connection.
    Closed,
    /// The controller broke the protocol; it gets a termination request.
    Broken(Fault),
    /// The controller ended the connection with this reason.
    Terminated(Fault),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, fault) = match self {
            Self::Closed => return write!(f, "the connection was closed"),
            Self::Broken(fault) => ("the drive broke the protocol", fault),
            Self::Terminated(fault) => ("the drive ended the connection", fault),
        };
        let at = fault.information;
        match fault.status {
            FatalStatus::InvalidHeaderField => {
                write!(f, "{who}: the field at byte {at} of a header is wrong")
            }
            FatalStatus::Sequence => write!(f, "{who}: a PDU came that may not come then"),
            FatalStatus::HeaderDigest => write!(f, "{who}: the digest of a header is wrong"),
            FatalStatus::DataOutOfRange => write!(f, "{who}: data were not where they belong"),
            FatalStatus::LimitExceeded => write!(f, "{who}: more came than was agreed"),
            FatalStatus::UnsupportedParameter => {
                write!(f, "{who}: the parameter at byte {at} of a header is not supported")
            }
            FatalStatus::Other(status) => write!(f, "{who}: status {status}"),
        }
    }
}
