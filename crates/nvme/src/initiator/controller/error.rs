//! Reasons why a controller cannot be used, or can no longer be used.

use crate::wire::{ConnectRefusal, StatusField};
use core::fmt;

/// Reason why a drive cannot be used. Each is one clear sentence, usable after the name of the
/// drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ControllerError {
    /// A connection was closed, or could not be opened.
    Closed,
    /// No answer came in time.
    Timeout,
    /// Connect was refused.
    Refused(ConnectRefusal),
    /// A command of the set-up failed.
    Failed {
        /// The command.
        what: &'static str,
        /// Its status.
        status: StatusField,
    },
    /// The controller demands authentication, which is not supported.
    Authentication,
    /// The controller did not become ready in the time that it announced, or reported a failure.
    NotReady,
    /// The controller reported two different identifiers.
    Identity,
    /// The controller is a discovery controller.
    Discovery,
    /// The controller does not have the namespace, or has none at all.
    NoNamespace,
    /// The namespace cannot be used.
    Namespace(&'static str),
}

impl ControllerError {
    /// Whether another try may help: the drive has not refused this host for good.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Closed | Self::Timeout | Self::NotReady => true,
            Self::Refused(refusal) => matches!(refusal, ConnectRefusal::Busy),
            Self::Failed { status, .. } => !status.is_for_good(),
            Self::Authentication
            | Self::Identity
            | Self::Discovery
            | Self::NoNamespace
            | Self::Namespace(_) => false,
        }
    }
}

impl fmt::Display for ControllerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(f, "the connection was closed"),
            Self::Timeout => write!(f, "no answer came in time"),
            Self::Refused(ConnectRefusal::InvalidHost) => {
                write!(f, "this host is not allowed to use it")
            }
            Self::Refused(refusal) if *refusal == ConnectRefusal::NO_SUBSYSTEM => {
                write!(f, "there is no subsystem of this name")
            }
            Self::Refused(ConnectRefusal::Busy) => write!(f, "it has no controller left"),
            Self::Refused(ConnectRefusal::Format) => {
                write!(f, "it does not know this format of Connect")
            }
            Self::Refused(ConnectRefusal::InvalidParameter { offset, in_data }) => {
                let place = if *in_data { "data" } else { "entry" };
                write!(f, "it refuses byte {offset} of the {place} of Connect")
            }
            Self::Failed { what, status } => write!(f, "{what} failed with status {status:?}"),
            Self::Authentication => write!(f, "it wants authentication, which is not supported"),
            Self::NotReady => write!(f, "it did not become ready"),
            Self::Identity => {
                write!(f, "its controller has another identifier than it was connected with")
            }
            Self::Discovery => write!(f, "it is a discovery controller, not a drive"),
            Self::NoNamespace => write!(f, "it has no such namespace"),
            Self::Namespace(why) => write!(f, "its namespace cannot be used: {why}"),
        }
    }
}
