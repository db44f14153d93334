//! NVMe/TCP: the PDUs of a connection.
//!
//! A PDU is a header, optionally followed by its digest, padding, data, and the digest of the data.
//! [`PduReader`] decodes PDUs as bytes come, [`Framing`] encodes them; both use [`Header`]s.
//! Neither copies data, allocates, or interprets commands: a connection checks the order of
//! capsules and data.

mod common;
mod data;
mod fault;
mod frame;
mod framing;
mod header;
mod init;
mod outgoing;
mod reader;
mod term;

pub use common::{COMMON_BYTES, CommonHeader, PduKind, Side, pdu_flag};
pub use data::{DataHeader, ReadyToTransfer};
pub use fault::{FatalStatus, Fault};
pub use frame::Limits;
pub use framing::{DIGEST_BYTES, Digests, Framing, PREFIX_BYTES_MAX};
pub use header::{CommandCapsule, Header};
pub use init::{INIT_BYTES, InitRequest, InitResponse, MAXH2CDATA_MIN};
pub use outgoing::{DataPiece, OutputPdu};
pub use reader::{PduReader, Progress};
pub use term::{OffendingHeader, TERM_BYTES_MAX, Termination};

/// In-capsule data that a controller accepts with every admin and fabrics command, whatever IOCCSZ
/// says.
pub const ADMIN_CAPSULE_DATA_BYTES: u32 = 8192;
