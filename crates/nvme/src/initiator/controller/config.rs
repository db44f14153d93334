//! What a host wants of a controller.

use crate::wire::Nqn;
use units::Duration;

/// What a host wants of a controller.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Its own name.
    pub host: Nqn,
    /// Its own identifier, a UUID.
    pub host_id: [u8; 16],
    /// The subsystem that the drive is.
    pub subsystem: Nqn,
    /// The namespace; none is the first that there is.
    pub namespace: Option<u32>,
    /// I/O queues, each a connection of its own; at least one. It may get fewer.
    pub io_queues: u16,
    /// Entries of each, at least two. The controller may have fewer.
    pub entries: u16,
    /// KATO: for how long neither may hear nothing of the other; zero is for ever.
    pub keep_alive: Duration,
    /// How long a command of the set-up may take, and a connection to be opened.
    pub timeout: Duration,
}

/// A queue to connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePlan {
    /// QID: 0 is the admin queue.
    pub queue: u16,
    /// Commands in flight: one less than its entries, as a ring that is full must not look empty.
    pub commands: u16,
    /// Data in a capsule.
    pub capsule_bytes: u32,
    /// Most data of a command.
    pub transfer_max_bytes: u32,
}
