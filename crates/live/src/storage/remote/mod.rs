//! Drives on the network, over NVMe/TCP, and arrays that this host coordinates.
//!
//! Knows: how the bytes of a drive are reached with `nvme::initiator` over sockets, without
//! waiting; how long a drive may take. Does not know: arrays, and what becomes of a drive that has
//! failed.
//!
//! The head of the drive and its data lie on the namespace as on a block device
//! ([`DATA_OFFSET_BYTES`](super::DATA_OFFSET_BYTES)). A write into the head is a write with FUA, a
//! sync a Flush unless the drive has no volatile write cache, a discard is Write Zeroes, or a write
//! of zeros where the drive does not know that.

mod address;
mod claim;
mod claims;
mod coordinator;
mod drive;
mod jobs;
mod link;
mod options;
mod session;
mod sockets;
mod windows;

pub use address::{AddressError, NVME_TCP_PORT, RemoteAddress};
pub(crate) use claim::Finding;
pub use claims::{Claimant, Claims};
pub use coordinator::CoordinatedArray;
pub use drive::{RemoteDrive, RemoteError};
pub(super) use jobs::Ended;
pub use options::RemoteOptions;
pub(super) use sockets::Sockets;
pub use windows::{ArrayPlace, DriveWindows};
