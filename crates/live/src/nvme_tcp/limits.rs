//! How much the target takes, and for how long it waits.

use units::Duration;

/// Blocks have 4 KiB, the least that storage takes.
pub const BLOCK_SHIFT: u8 = 12;
/// MDTS as a power of two of 4 KiB: 128 KiB.
pub const TRANSFER_SHIFT: u8 = 5;
pub(super) const TRANSFER_BYTES_MAX: u32 = 4096 << TRANSFER_SHIFT;
/// Data in a capsule of an I/O queue: what Linux sends with the command.
pub const CAPSULE_BYTES: u32 = 8192;
/// Entries of a queue: what Linux asks for.
pub const QUEUE_ENTRIES_MAX: u16 = 128;
/// I/O queues of a controller. One thread serves all, so many gain nothing, and hosts ask for one
/// per processor.
pub const IO_QUEUES_MAX: u16 = 64;

/// Most bytes that are received by one call.
pub(super) const RECEIVE_BYTES: usize = 64 << 10;
/// Least memory for commands: shares for some sixty connections.
pub const COMMAND_MEMORY_BYTES_MIN: u64 = 16 << 20;
/// For how long a host of the discovery subsystem may say nothing. Hosts that stay there say more
/// often that they are alive.
pub(super) const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(60);
