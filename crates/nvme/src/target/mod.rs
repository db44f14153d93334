//! The target: the side of NVMe/TCP with the drive, as pure machines.
//!
//! Knows: the answers to a host's bytes, and when they are sent. Does not know: sockets, clocks,
//! where data are, how a drive does its work. Time comes in as [`Instant`](units::Instant), bytes
//! and reports of the drive come in as plain data, bytes and orders to the drive come out as closed
//! enums.
//!
//! | machine | owns | answers |
//! |---|---|---|
//! | [`Connection`] | one TCP connection: PDUs, the commands in flight, their transfers | which bytes to send, which bytes belong to which command |
//! | [`Subsystem`] | the controllers that hosts got, the windows of the NVM Set, reservations | who may connect, every admin command, and who may read and write |
//! | [`Discovery`] | the controllers of the discovery subsystem | which subsystems a host sees |
//!
//! A driver holds a [`Connection`] for each socket, and beside it the [`Queue`] that its Connect
//! was given. It goes through these steps:
//!
//! 1. Bytes from the socket go to [`Connection::handle_bytes`] until it needs more. A
//!    [`TransportEvent::Command`] goes to [`Subsystem::decode`], which returns a request, or the
//!    status with which the command is refused.
//! 2. Data that come with a command go to the offset in [`TransportEvent::Data`]. For a command
//!    whose data are still at the host, the driver calls [`Connection::receive`] when it has a
//!    buffer; nothing is sent before.
//! 3. With its data there, a [`Request::Connect`] or [`Request::Admin`] goes to the [`Subsystem`]
//!    (or [`Discovery`]), as does a [`Request::Authenticate`]; a [`Request::Io`] goes to the drive
//!    if [`Subsystem::allows`] it. A [`Request::Reservation`] goes to
//!    [`Subsystem::handle_reservation`], which names the commands that have to end before it is
//!    answered. The answer goes to [`Connection::complete`].
//! 4. [`Connection::poll_output`] and [`Subsystem::poll_action`] are called until they are empty.
//!
//! A connection has no clock. A driver limits the time until a queue may be used
//! ([`Subsystem::may_use`]), and the time for a host to close after a termination request. After
//! that, [`Subsystem::next_deadline`] applies.
//!
//! **The memory that one connection can make a driver hold** is [`Connection::held_bytes_max`], and
//! the depth of its queue times the most data of a command: the driver owns the buffers and assigns
//! them one by one.
mod authentication;
mod controller;
mod discovery;
mod io;
mod request;
mod reservation;
mod transport;

pub use authentication::{
    AuthenticationAnswer, AuthenticationConfig, Cryptography, Digest, HostSecret, Power,
    RANDOM_BYTES, Secret, SharedValue,
};
pub use controller::{
    Action, AdminAnswer, AdminRequest, DriveReport, HostList, Namespace, Queue, ReservationAnswer,
    Subsystem, SubsystemConfig, WindowOrder,
};
pub use discovery::{Discovery, Listing, Reached};
pub use io::{IoOperation, IoOutcome, IoRequest};
pub use request::{AuthenticationStep, Request};
pub use reservation::{
    Access, Effect, Held, HostId, Persistence, REGISTRANTS_MAX, Registrant, ReservationState,
    Reservations,
};
pub use transport::{
    Answer, CommandData, Connection, DataPiece, Output, OutputPdu, QueueTerms, Slot, Terms,
    TransportEvent,
};
