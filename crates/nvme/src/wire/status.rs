//! Status of a command: the status field of a completion.

use super::field::Bits;
use super::structure::Value;
use crate::{Opcode, Status};

/// A status with a name here: the status code type above the status code, `SCT << 8 | SC` (Linux
/// `NVME_SC_*`). Drives may answer with others; [`StatusField`] keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum StatusCode {
    // Generic command status (SCT 0h).
    /// Successful completion.
    Success = 0x000,
    /// Invalid command opcode.
    InvalidOpcode = 0x001,
    /// Invalid field in command.
    InvalidField = 0x002,
    /// Command ID conflict.
    CommandIdConflict = 0x003,
    /// Data transfer error.
    DataTransferError = 0x004,
    /// Aborted due to power loss notification.
    PowerLoss = 0x005,
    /// Internal error.
    Internal = 0x006,
    /// Command abort requested.
    AbortRequested = 0x007,
    /// Aborted due to submission queue deletion.
    QueueDeleted = 0x008,
    /// Aborted due to failed fused command.
    FusedFailed = 0x009,
    /// Aborted due to missing fused command.
    FusedMissing = 0x00a,
    /// Invalid namespace or format.
    InvalidNamespace = 0x00b,
    /// Command sequence error.
    CommandSequence = 0x00c,
    /// Invalid SGL segment descriptor.
    SglLastInvalid = 0x00d,
    /// Invalid number of SGL descriptors.
    SglCountInvalid = 0x00e,
    /// Data SGL length invalid: also if the answer is longer than the room in the SGL of the
    /// command.
    SglLengthInvalid = 0x00f,
    /// SGL descriptor type invalid.
    SglTypeInvalid = 0x011,
    /// Operation denied.
    OperationDenied = 0x015,
    /// SGL offset invalid.
    SglOffsetInvalid = 0x016,
    /// Host identifier inconsistent format.
    HostIdInconsistent = 0x018,
    /// Keep alive timeout expired.
    KeepAliveExpired = 0x019,
    /// Keep alive timeout invalid.
    KeepAliveInvalid = 0x01a,
    /// Namespace is write protected.
    WriteProtected = 0x020,
    /// Command interrupted: to be retried after the retry delay.
    Interrupted = 0x021,
    /// Transient transport error: data with a wrong digest.
    TransientTransport = 0x022,
    /// Invalid I/O command set.
    InvalidCommandSet = 0x02c,
    /// LBA out of range: first block and number together go past the end, or overflow.
    LbaOutOfRange = 0x080,
    /// Capacity exceeded.
    CapacityExceeded = 0x081,
    /// Namespace not ready.
    NamespaceNotReady = 0x082,
    /// Reservation conflict: another host has reserved the namespace.
    ReservationConflict = 0x083,
    // Command specific status (SCT 1h). From 80h on, the meaning of a code depends on the command:
    // these are the codes of Connect.
    /// Invalid queue identifier.
    InvalidQueueId = 0x101,
    /// Invalid queue size.
    InvalidQueueSize = 0x102,
    /// Abort command limit exceeded.
    AbortLimitExceeded = 0x103,
    /// Asynchronous event request limit exceeded.
    AsyncEventLimitExceeded = 0x105,
    /// Invalid log page.
    InvalidLogPage = 0x109,
    /// Feature identifier not saveable.
    FeatureNotSaveable = 0x10d,
    /// Feature not changeable.
    FeatureNotChangeable = 0x10e,
    /// Feature not namespace specific.
    FeatureNotPerNamespace = 0x10f,
    /// Connect incompatible format.
    ConnectFormat = 0x180,
    /// Connect controller busy.
    ConnectBusy = 0x181,
    /// Connect invalid parameters.
    ConnectInvalidParameters = 0x182,
    /// Connect restart discovery.
    ConnectRestartDiscovery = 0x183,
    /// Connect invalid host: the host is not allowed to use the subsystem.
    ConnectInvalidHost = 0x184,
    /// Authentication required, before any other command of the queue.
    AuthenticationRequired = 0x191,
    // Media and data integrity errors (SCT 2h).
    /// Write fault.
    WriteFault = 0x280,
    /// Unrecovered read error.
    UnrecoveredRead = 0x281,
    /// Compare failure.
    CompareFailure = 0x285,
    /// Access denied.
    AccessDenied = 0x286,
    // Vendor specific (SCT 7h).
    /// Failed fast, because the command would have waited for a collection. IODA's own status,
    /// because no code of the specification fits (`docs/ioda-on-the-wire.md`).
    FailedFast = 0x7c1,
}

impl StatusCode {
    /// All of them.
    pub const ALL: [Self; 49] = [
        Self::Success,
        Self::InvalidOpcode,
        Self::InvalidField,
        Self::CommandIdConflict,
        Self::DataTransferError,
        Self::PowerLoss,
        Self::Internal,
        Self::AbortRequested,
        Self::QueueDeleted,
        Self::FusedFailed,
        Self::FusedMissing,
        Self::InvalidNamespace,
        Self::CommandSequence,
        Self::SglLastInvalid,
        Self::SglCountInvalid,
        Self::SglLengthInvalid,
        Self::SglTypeInvalid,
        Self::OperationDenied,
        Self::SglOffsetInvalid,
        Self::HostIdInconsistent,
        Self::KeepAliveExpired,
        Self::KeepAliveInvalid,
        Self::WriteProtected,
        Self::Interrupted,
        Self::TransientTransport,
        Self::InvalidCommandSet,
        Self::LbaOutOfRange,
        Self::CapacityExceeded,
        Self::NamespaceNotReady,
        Self::ReservationConflict,
        Self::InvalidQueueId,
        Self::InvalidQueueSize,
        Self::AbortLimitExceeded,
        Self::AsyncEventLimitExceeded,
        Self::InvalidLogPage,
        Self::FeatureNotSaveable,
        Self::FeatureNotChangeable,
        Self::FeatureNotPerNamespace,
        Self::ConnectFormat,
        Self::ConnectBusy,
        Self::ConnectInvalidParameters,
        Self::ConnectRestartDiscovery,
        Self::ConnectInvalidHost,
        Self::AuthenticationRequired,
        Self::WriteFault,
        Self::UnrecoveredRead,
        Self::CompareFailure,
        Self::AccessDenied,
        Self::FailedFast,
    ];

    /// The code with this number, type above code.
    #[must_use]
    pub fn from_bits(bits: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.bits() == bits)
    }

    /// Its number, type above code.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self as u16
    }

    /// Its name in words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Success => "successful completion",
            Self::InvalidOpcode => "invalid command opcode",
            Self::InvalidField => "invalid field in command",
            Self::CommandIdConflict => "command ID conflict",
            Self::DataTransferError => "data transfer error",
            Self::PowerLoss => "aborted due to power loss notification",
            Self::Internal => "internal error",
            Self::AbortRequested => "command abort requested",
            Self::QueueDeleted => "aborted due to submission queue deletion",
            Self::FusedFailed => "aborted due to failed fused command",
            Self::FusedMissing => "aborted due to missing fused command",
            Self::InvalidNamespace => "invalid namespace or format",
            Self::CommandSequence => "command sequence error",
            Self::SglLastInvalid => "invalid SGL segment descriptor",
            Self::SglCountInvalid => "invalid number of SGL descriptors",
            Self::SglLengthInvalid => "data SGL length invalid",
            Self::SglTypeInvalid => "SGL descriptor type invalid",
            Self::OperationDenied => "operation denied",
            Self::SglOffsetInvalid => "SGL offset invalid",
            Self::HostIdInconsistent => "host identifier inconsistent format",
            Self::KeepAliveExpired => "keep alive timeout expired",
            Self::KeepAliveInvalid => "keep alive timeout invalid",
            Self::WriteProtected => "namespace is write protected",
            Self::Interrupted => "command interrupted",
            Self::TransientTransport => "transient transport error",
            Self::InvalidCommandSet => "invalid I/O command set",
            Self::LbaOutOfRange => "LBA out of range",
            Self::CapacityExceeded => "capacity exceeded",
            Self::NamespaceNotReady => "namespace not ready",
            Self::ReservationConflict => "reservation conflict",
            Self::InvalidQueueId => "invalid queue identifier",
            Self::InvalidQueueSize => "invalid queue size",
            Self::AbortLimitExceeded => "abort command limit exceeded",
            Self::AsyncEventLimitExceeded => "asynchronous event request limit exceeded",
            Self::InvalidLogPage => "invalid log page",
            Self::FeatureNotSaveable => "feature identifier not saveable",
            Self::FeatureNotChangeable => "feature not changeable",
            Self::FeatureNotPerNamespace => "feature not namespace specific",
            Self::ConnectFormat => "connect incompatible format",
            Self::ConnectBusy => "connect controller busy",
            Self::ConnectInvalidParameters => "connect invalid parameters",
            Self::ConnectRestartDiscovery => "connect restart discovery",
            Self::ConnectInvalidHost => "connect invalid host",
            Self::AuthenticationRequired => "authentication required",
            Self::WriteFault => "write fault",
            Self::UnrecoveredRead => "unrecovered read error",
            Self::CompareFailure => "compare failure",
            Self::AccessDenied => "access denied",
            Self::FailedFast => "failed fast: it would have waited for a collection",
        }
    }

    /// An error that would recur if the command is retried (DNR set).
    #[must_use]
    pub const fn for_good(self) -> StatusField {
        StatusField(self.bits() | DNR.put32(1) as u16)
    }

    /// A status without "do not retry": success, or an error that may not recur.
    #[must_use]
    pub const fn for_now(self) -> StatusField {
        StatusField(self.bits())
    }
}

// Bits of the status field, which is in bits 31:17 of the last dword of a completion.
const CODE: Bits = Bits::new(10, 0);
const CRD: Bits = Bits::new(12, 11);
const MORE: Bits = Bits::bit(13);
const DNR: Bits = Bits::bit(14);

/// The status field with all its 15 bits: SC, SCT, CRD, M, DNR from the lowest. Linux shows the
/// same number.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusField(u16);

/// In an entry, above the phase tag, which is ignored when read and written as 0.
impl Value for StatusField {
    const BYTES: usize = 2;

    fn read(bytes: &[u8]) -> Self {
        Self::from_bits(u16::read(bytes) >> 1)
    }

    fn write(&self, bytes: &mut [u8]) {
        (self.bits() << 1).write(bytes);
    }
}

impl StatusField {
    /// Success.
    pub const SUCCESS: Self = StatusCode::Success.for_now();

    /// Failed at once instead of waiting for a collection: `47C1h`.
    ///
    /// "Do not retry" is set, because Linux otherwise retries a block request at once. The status
    /// is vendor specific, because Linux takes type 0 code 0 with DNR for success and type 3 for a
    /// broken path.
    pub const FAILED_FAST: Self = StatusCode::FailedFast.for_good();

    /// The field with these bits; bits above the fifteenth are ignored.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x7fff)
    }

    /// Its bits.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Status code type and status code; `None` without a name here.
    #[must_use]
    pub fn code(self) -> Option<StatusCode> {
        StatusCode::from_bits(CODE.get32(self.0.into()) as u16)
    }

    /// Whether the command succeeded.
    #[must_use]
    pub const fn is_success(self) -> bool {
        CODE.get32(self.0 as u32) == 0
    }

    /// CRD: which of the three delays of Identify Controller a host has to wait before a retry; 0
    /// for none.
    #[must_use]
    pub const fn retry_delay(self) -> u8 {
        CRD.get32(self.0 as u32) as u8
    }

    /// The same status with a retry delay of 0 to 3.
    #[must_use]
    pub const fn after_delay(self, delay: u8) -> Self {
        let others = self.0 & !(CRD.put32(3) as u16);
        Self(others | CRD.put32(delay as u32) as u16)
    }

    /// M: the error log has details.
    #[must_use]
    pub const fn has_more(self) -> bool {
        MORE.is_set32(self.0 as u32)
    }

    /// The same status, with details in the error log.
    #[must_use]
    pub const fn with_more(self) -> Self {
        Self(self.0 | MORE.put32(1) as u16)
    }

    /// DNR: a retry would fail again.
    #[must_use]
    pub const fn is_for_good(self) -> bool {
        DNR.is_set32(self.0 as u32)
    }

    /// Status field for the status of a command.
    #[must_use]
    pub const fn of(status: Status, opcode: Opcode) -> Self {
        match (status, opcode) {
            (Status::Success, _) => Self::SUCCESS,
            (Status::FailedFast, _) => Self::FAILED_FAST,
            (Status::Unrecovered, Opcode::Read) => StatusCode::UnrecoveredRead.for_now(),
            (Status::Unrecovered, _) => StatusCode::WriteFault.for_now(),
        }
    }

    /// Status of a command with this field; every error but [`Self::FAILED_FAST`] is
    /// [`Status::Unrecovered`].
    #[must_use]
    pub fn status(self) -> Status {
        match self.code() {
            Some(StatusCode::Success) => Status::Success,
            Some(StatusCode::FailedFast) => Status::FailedFast,
            _ => Status::Unrecovered,
        }
    }
}

impl core::fmt::Debug for StatusField {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.code() {
            Some(code) => write!(f, "{:#06x} ({code:?})", self.0),
            None => write!(f, "{:#06x}", self.0),
        }
    }
}
