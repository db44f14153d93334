//! What a drive is told and tells.

use crate::target::reservation::HostId;
use crate::target::transport::{Answer, Slot};
use crate::wire::ioda::CollectionActivity;
use crate::wire::{Estimates, HealthLog, WindowConfig, WindowState, WindowTypicals};
use crate::{Advertised, WindowCounts};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// What a drive says about itself when it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveReport {
    /// Its clock (`docs/ioda-on-the-wire.md`, "Which clock").
    pub clock: Instant,
    /// In which window it is.
    pub state: WindowState,
    /// What a window typically holds.
    pub typicals: WindowTypicals,
    /// What is left of this one.
    pub estimates: Estimates,
    /// The windows with which it keeps the contract in the array that it was told about.
    pub advertised: Advertised,
    /// TW: that of the host, or what the drive chose for this array; zero before it was told about
    /// one.
    pub busy_time_window: Duration,
    /// Whether and how it collects.
    pub activity: CollectionActivity,
    /// Log page 02h.
    pub health: HealthLog,
}

/// What of windows a drive is to do from now on, in the place of all that it was told before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowOrder {
    /// Which events are wanted at which thresholds, and the array, if a host said so.
    pub config: WindowConfig,
    /// Whether windows are in force. Without an array the host opens and closes them by hand
    /// ([`Action::SelectWindow`]).
    pub enabled: bool,
}

/// What a subsystem wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Answer a command of the admin queue of this controller that was held.
    Answer {
        /// The controller.
        controller: u16,
        /// The command.
        slot: Slot,
        /// The answer.
        answer: Answer,
    },
    /// Close the I/O queues of this controller: it was reset, or its host is gone.
    CloseIoQueues {
        /// The controller.
        controller: u16,
    },
    /// Close all queues of this controller, which is no more: nothing was heard of its host for too
    /// long.
    CloseController {
        /// The controller.
        controller: u16,
    },
    /// Put what was written on stable storage, then call
    /// [`Subsystem::handle_shut_down`](super::Subsystem::handle_shut_down).
    ShutDown {
        /// The controller.
        controller: u16,
        /// Power is about to fail.
        abrupt: bool,
    },
    /// Windows as the host wants them.
    SetWindows(WindowOrder),
    /// Go into this window, deterministic or not.
    SelectWindow(WindowState),
    /// Take these counts for the windows to come.
    SetCounts(WindowCounts),
    /// Put the state of the reservations
    /// ([`Subsystem::reservations`](super::Subsystem::reservations)) on stable storage.
    KeepReservations,
}

/// What became of an admin command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminAnswer {
    /// It is answered.
    Now(Answer),
    /// It waits for an event; [`Action::Answer`] will tell.
    Held,
    /// It is answered so when [`Action::KeepReservations`] is over.
    WhenKept(Answer),
}

/// What became of a reservation command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReservationAnswer {
    /// The answer, as soon as the rest is so.
    pub answer: Answer,
    /// Hosts whose commands in progress have to end first.
    pub ends_first: Vec<HostId>,
    /// [`Action::KeepReservations`] has to be over first.
    pub keep: bool,
}
