//! The initiator: the side of NVMe/TCP that uses a drive, as pure machines.
//!
//! Knows: the bytes of each command, the set-up of a controller until it is ready, and the valid
//! forms of answers. Does not know: sockets, names of hosts on a network, clocks, where data are,
//! what an array does with a drive. Time comes in as [`Instant`](units::Instant), bytes come in as
//! plain data, bytes and orders to the driver come out as closed enums.
//!
//! | machine | owns | answers |
//! |---|---|---|
//! | [`Connection`] | one TCP connection: PDUs, the commands in flight, their transfers | which bytes to send, which bytes belong to which command |
//! | [`Controller`] | the set-up of a controller, its keep alive, its events, its windows | which queues to connect, which admin commands to send, what the drive is |
//! | [`Coordinating`] | the conversation with an array under PLM-light | when to ask for traffic, and what the array says |
//! | [`Reserving`] | one goal of reservations | the commands that lead to it, and the outcome |
//! | [`DriveClock`] | the estimate of a drive's clock | the time of the drive now, and its largest error |
//!
//! A driver holds a [`Connection`] for each socket and goes through these steps:
//!
//! 1. [`Controller::poll_action`] says which queue to open: a socket with a [`Connection`] of its
//!    [`QueuePlan`].
//! 2. A command of the controller ([`ControllerAction::Submit`]) goes to [`Connection::submit`] of
//!    that queue, its data into a buffer, and its completion to [`Controller::handle_completion`].
//! 3. After [`ControllerAction::Ready`] the driver submits commands of its own to the I/O queues;
//!    [`DriveFacts`] has the properties of the drive.
//! 4. [`Connection::poll_output`] and [`Controller::poll_action`] are called until they are empty,
//!    and [`Controller::handle_deadline`] at [`Controller::next_deadline`].
//!
//! A connection has no clock: the driver limits the time of its commands, and the controller that
//! of its own. A drive that breaks the protocol ends its connection. Whatever a drive sends,
//! neither machine holds more than [`Connection::held_bytes_max`] and the buffers of the commands
//! in flight.
mod clock;
mod controller;
mod coordinating;
mod reservation;
mod transport;

pub use clock::{ClockReading, DriveClock};
pub use controller::{
    Controller, ControllerAction, ControllerConfig, ControllerError, DriveFacts, Outgoing, Purpose,
    QueuePlan, Submission, WindowAnswer,
};
pub use coordinating::{Coordinating, Heard};
pub use reservation::{
    Holder, ReservationGoal, ReservationOutcome, Reserving, can_reserve, is_server_key, server_key,
};
pub use transport::{
    CommandData, Connection, DataPiece, ENTRIES_MAX, End, Output, OutputPdu, Slot, Terms,
    TransportEvent,
};
