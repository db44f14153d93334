//! Settings of a host for a controller.

use crate::wire::Nqn;
use units::Duration;

/// Settings of a host for a controller.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Name of the host.
    pub host: Nqn,
    /// Identifier of the host, a UUID.
    pub host_id: [u8; 16],
    /// Name of the subsystem that is the drive.
    pub subsystem: Nqn,
    /// The namespace; `None` for the first.
    pub namespace: Option<u32>,
    /// I/O queues, each with a connection of its own; at least one. The controller may grant fewer.
    pub io_queues: u16,
    /// Entries of each I/O queue, at least two. The controller may allow fewer.
    pub entries: u16,
    /// KATO: longest silence of either side; zero for no limit.
    pub keep_alive: Duration,
    /// Longest time of a command of the set-up, and of opening a connection.
    pub timeout: Duration,
}

/// A queue to connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePlan {
    /// QID: 0 is the admin queue.
    pub queue: u16,
    /// Commands in flight: one less than the entries, because a full ring must not look empty.
    pub commands: u16,
    /// Data in a capsule.
    pub capsule_bytes: u32,
    /// Most data of a command.
    pub transfer_max_bytes: u32,
}
