//! Reports of a drive, and orders to it.

use crate::target::reservation::HostId;
use crate::target::transport::{Answer, Slot};
use crate::wire::ioda::CollectionActivity;
use crate::wire::{Estimates, HealthLog, WindowConfig, WindowState, WindowTypicals};
use crate::{Advertised, WindowCounts};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Report of a drive on its state, when it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveReport {
    /// Clock of the drive (`docs/ioda-on-the-wire.md`, "Which clock").
    pub clock: Instant,
    /// Window that the drive is in.
    pub state: WindowState,
    /// Typical values of a window.
    pub typicals: WindowTypicals,
    /// Estimates of the rest of the current window.
    pub estimates: Estimates,
    /// Windows with which the drive keeps the contract in the array that was described to it.
    pub advertised: Advertised,
    /// TW: set by the host, or chosen by the drive for this array; zero before an array was
    /// described.
    pub busy_time_window: Duration,
    /// Activity of collections.
    pub activity: CollectionActivity,
    /// Log page 02h.
    pub health: HealthLog,
}

/// Windows that a drive has to keep from now on. Replaces all earlier orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowOrder {
    /// Wanted events and their thresholds, and the array, if a host described one.
    pub config: WindowConfig,
    /// Whether windows are in force. Without an array the host opens and closes them by hand
    /// ([`Action::SelectWindow`]).
    pub enabled: bool,
}

/// Action that a subsystem requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Answer an admin command of this controller that was held.
    Answer {
        /// The controller.
        controller: u16,
        /// The command.
        slot: Slot,
        /// The answer.
        answer: Answer,
    },
    /// Close the I/O queues of this controller: it was reset, or its host has disconnected.
    CloseIoQueues {
        /// The controller.
        controller: u16,
    },
    /// Close all queues of this controller, which has ended: its host was silent for too long.
    CloseController {
        /// The controller.
        controller: u16,
    },
    /// Put all written data on stable storage, then call
    /// [`Subsystem::handle_shut_down`](super::Subsystem::handle_shut_down).
    ShutDown {
        /// The controller.
        controller: u16,
        /// Power is about to fail.
        abrupt: bool,
    },
    /// Set the windows that the host wants.
    SetWindows(WindowOrder),
    /// Enter this window, deterministic or not.
    SelectWindow(WindowState),
    /// Use these counts for the windows to come.
    SetCounts(WindowCounts),
    /// Put the state of the reservations
    /// ([`Subsystem::reservations`](super::Subsystem::reservations)) on stable storage.
    KeepReservations,
}

/// Result of an admin command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminAnswer {
    /// Answer the command now.
    Now(Answer),
    /// The command waits for an event; [`Action::Answer`] will answer it.
    Held,
    /// Answer the command when [`Action::KeepReservations`] is over.
    WhenKept(Answer),
}

/// Result of a reservation command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReservationAnswer {
    /// The answer, to be sent when the conditions below are met.
    pub answer: Answer,
    /// Hosts whose commands in progress have to end first.
    pub ends_first: Vec<HostId>,
    /// [`Action::KeepReservations`] has to be over first.
    pub keep: bool,
}
