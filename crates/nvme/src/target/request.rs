//! What a command asks of whom.

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

/// What a command asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A queue, with [`CONNECT_BYTES`] of data: [`Subsystem::connect`](super::Subsystem::connect).
    Connect(Connect),
    /// Something of authentication:
    /// [`Subsystem::handle_authentication`](super::Subsystem::handle_authentication).
    Authenticate(AuthenticationStep),
    /// Something of the controller: [`Subsystem::handle_admin`](super::Subsystem::handle_admin).
    Admin(AdminCommand),
    /// Something of the drive.
    Io(IoRequest),
    /// Something of reservations:
    /// [`Subsystem::handle_reservation`](super::Subsystem::handle_reservation).
    Reservation(ReservationCommand),
}

/// Which way a message of authentication goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthenticationStep {
    /// The host sends one, of at most [`AUTH_MESSAGE_BYTES_MAX`].
    Send,
    /// The host has room for one.
    Receive,
}

/// The queue that a command came over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standing<'a> {
    /// None yet: Connect has to come.
    Fresh,
    /// One whose host has to authenticate first.
    Unauthenticated,
    /// The admin queue.
    Admin,
    /// An I/O queue of a controller that is enabled.
    Io {
        namespace: &'a Namespace,
        /// Whether the host has said the magic word, and what of IODA the drive knows.
        ioda: Option<IodaCapability>,
        reservations: Persistence,
    },
    /// A queue of a controller that is not.
    Disabled,
}

impl Request {
    /// What a command asks. Whatever data it needs from the host are there in full length.
    ///
    /// # Errors
    ///
    /// If it is refused without looking at its data: what to answer.
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
                // Nobody asks for the data of a command that nobody knows.
                if let AdminCommand::Unsupported { .. }
                | AdminCommand::Fabrics(FabricsCommand::Unsupported { .. }) = command
                {
                    return Err(StatusCode::InvalidOpcode.for_good());
                }
                need(data, data_bytes(&command))?;
                Ok(Self::Admin(command))
            }
            // Properties are the admin queue's.
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

/// Whether a message is of NVMe's own protocol, and as long as its data are.
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

/// Data that an admin command has to bring.
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

/// Whether a reservation command is for the namespace, and its data are there or have room.
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

/// More than is needed does no harm.
fn need(data: CommandData, bytes: usize) -> Result<(), StatusField> {
    let has = data.to_controller_bytes() as usize;
    if has >= bytes { Ok(()) } else { Err(StatusCode::SglLengthInvalid.for_good()) }
}
