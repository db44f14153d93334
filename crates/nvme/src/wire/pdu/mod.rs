//! NVMe/TCP: what travels over a connection.
//!
//! A PDU is a header, perhaps its digest, perhaps padding, perhaps data, perhaps their digest.
//! [`PduReader`] takes PDUs apart as bytes come, [`Framing`] puts them together; both know
//! [`Header`]s. Neither copies data, allocates, or knows what a command is for: in which order
//! capsules and data have to come is the business of a connection.

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

/// In-capsule data that a controller takes with every admin and fabrics command, whatever IOCCSZ
/// says.
pub const ADMIN_CAPSULE_DATA_BYTES: u32 = 8192;
