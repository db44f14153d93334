//! Requests that commands make, by destination.

use super::controller::Namespace;
use super::io::IoRequest;
use super::reservation::Persistence;
use super::transport::CommandData;
use crate::wire::ioda::IodaCapability;
use crate::wire::plm_light::COUNTS_BYTES;
use crate::wire::{
    AUTH_MESSAGE_BYTES_MAX, AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, AdminCommand,
    Authentication, CONNECT_BYTES, Connect, FABRICS, FabricsCommand, Feature, IoCommand,
    ReservationCommand, StatusCode, StatusField, SubmissionEntry, TIMESTAMP_BYTES,
    WINDOW_CONFIG_BYTES,
};

/// Request of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Request for a queue, with [`CONNECT_BYTES`] of data:
    /// [`Subsystem::connect`](super::Subsystem::connect).
    Connect(Connect),
    /// A step of authentication:
    /// [`Subsystem::handle_authentication`](super::Subsystem::handle_authentication).
    Authenticate(AuthenticationStep),
    /// An admin command: [`Subsystem::handle_admin`](super::Subsystem::handle_admin).
    Admin(AdminCommand),
    /// An operation of the drive.
    Io(IoRequest),
    /// A reservation command:
    /// [`Subsystem::handle_reservation`](super::Subsystem::handle_reservation).
    Reservation(ReservationCommand),
}

/// Direction of a message of authentication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthenticationStep {
    /// The host sends a message of at most [`AUTH_MESSAGE_BYTES_MAX`].
    Send,
    /// The host has room for a message.
    Receive,
}

/// State of the queue that a command came over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing<'a> {
    /// No queue yet: Connect has to come.
    Fresh,
    /// A queue whose host has to authenticate first.
    Unauthenticated,
    /// The admin queue.
    Admin,
    /// An I/O queue of a controller that is enabled.
    Io {
        namespace: &'a Namespace,
        /// IODA capability of the drive; `None` unless the host has sent the magic word.
        ioda: Option<IodaCapability>,
        reservations: Persistence,
    },
    /// An I/O queue of a controller that is not enabled.
    Disabled,
}

impl Request {
    /// Decodes a command. All data that it needs from the host must be there.
    ///
    /// # Errors
    ///
    /// If the command is refused regardless of its data, with the status of the answer.
    pub(super) fn decode(
        queue: Standing<'_>,
        can_authenticate: bool,
        entry: &SubmissionEntry,
        data: CommandData,
    ) -> Result<Self, StatusField> {
        let sequence = Err(StatusCode::CommandSequence.for_good());
        let is_fabrics = entry.opcode == FABRICS;
        match (queue, is_fabrics.then(|| FabricsCommand::decode(entry))) {
            (Standing::Fresh, Some(FabricsCommand::Connect(connect))) => {
                need(data, CONNECT_BYTES)?;
                Ok(Self::Connect(connect))
            }
            (Standing::Fresh, _) | (_, Some(FabricsCommand::Connect(_))) => sequence,
            (_, Some(FabricsCommand::AuthenticationSend(message))) if can_authenticate => {
                check(&message, data.to_controller_bytes())?;
                Ok(Self::Authenticate(AuthenticationStep::Send))
            }
            (_, Some(FabricsCommand::AuthenticationReceive(message))) if can_authenticate => {
                check(&message, data.to_host_bytes())?;
                Ok(Self::Authenticate(AuthenticationStep::Receive))
            }
            (Standing::Unauthenticated, _) => Err(StatusCode::AuthenticationRequired.for_good()),
            (Standing::Admin, _) => {
                let command = AdminCommand::decode(entry);
                // The data of an unknown command are not requested.
                if let AdminCommand::Unsupported { .. }
                | AdminCommand::Fabrics(FabricsCommand::Unsupported { .. }) = command
                {
                    return Err(StatusCode::InvalidOpcode.for_good());
                }
                need(data, data_bytes(&command))?;
                Ok(Self::Admin(command))
            }
            // Properties are for the admin queue only.
            (_, Some(_)) => Err(StatusCode::InvalidOpcode.for_good()),
            (Standing::Disabled, None) => sequence,
            (Standing::Io { namespace, ioda, reservations }, None) => {
                match IoCommand::decode(entry) {
                    IoCommand::Reservation(command) if reservations != Persistence::Absent => {
                        check_reservation(namespace, &command, entry, data)?;
                        Ok(Self::Reservation(command))
                    }
                    _ => Ok(Self::Io(IoRequest::decode(namespace, ioda, entry, data)?)),
                }
            }
        }
    }
}

/// Checks that a message belongs to NVMe's own protocol, and has the length of its data.
fn check(message: &Authentication, bytes: u32) -> Result<(), StatusField> {
    let Authentication { protocol, specific_0, specific_1, .. } = *message;
    let own = (AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, AUTHENTICATION_SPECIFIC);
    if (protocol, specific_0, specific_1) != own {
        return Err(StatusCode::InvalidField.for_good());
    }
    match message.bytes == bytes && bytes as usize <= AUTH_MESSAGE_BYTES_MAX {
        true => Ok(()),
        false => Err(StatusCode::SglLengthInvalid.for_good()),
    }
}

/// Bytes of data that an admin command has to bring.
const fn data_bytes(command: &AdminCommand) -> usize {
    match command {
        AdminCommand::SetFeatures(set) => match set.feature {
            Feature::WindowConfig { .. } => WINDOW_CONFIG_BYTES,
            Feature::Timestamp => TIMESTAMP_BYTES,
            Feature::WindowCounts => COUNTS_BYTES,
            _ => 0,
        },
        _ => 0,
    }
}

/// Checks that a reservation command is for the namespace, and that its data are there or have
/// room.
fn check_reservation(
    namespace: &Namespace,
    command: &ReservationCommand,
    entry: &SubmissionEntry,
    data: CommandData,
) -> Result<(), StatusField> {
    if entry.is_fused() {
        return Err(StatusCode::InvalidField.for_good());
    }
    if !namespace.is_named(entry.common.nsid, false) {
        return Err(StatusCode::InvalidNamespace.for_good());
    }
    match command {
        ReservationCommand::Report { dwords, .. } => {
            let bytes = (u64::from(*dwords) + 1) * 4;
            match u64::from(data.to_host_bytes()) >= bytes {
                true => Ok(()),
                false => Err(StatusCode::SglLengthInvalid.for_good()),
            }
        }
        _ => need(data, command.data_bytes()),
    }
}

/// Checks that a command brings at least `bytes` bytes of data; more do no harm.
fn need(data: CommandData, bytes: usize) -> Result<(), StatusField> {
    let has = data.to_controller_bytes() as usize;
    if has >= bytes { Ok(()) } else { Err(StatusCode::SglLengthInvalid.for_good()) }
}
