//! NVMe/TCP on real sockets: what drivers of [`nvme::target`] have in common.
//!
//! Knows: how connections are accepted, read, written and closed, which buffer belongs to which
//! command, how much memory all hosts together may make a target hold. Does not know: what a drive
//! or an array does with a command.
//!
//! A [`Target`] has the connections, a subsystem and the discovery subsystem. It is owned by the
//! thread that owns the drive or the array, beside the same [`Waiter`](crate::clock::Waiter).
//! Commands come out of [`Target::poll_event`]; their outcomes go to [`Target::complete`], in any
//! order.

mod admission;
mod command_buffer;
mod command_memory;
mod connection;
mod counters;
mod entrance;
mod fence;
mod limits;
mod listener;
mod names;
mod output;
mod powers;
mod subsystems;
mod table;
mod target;

pub use admission::{CONNECTIONS_MAX, CONTROLLERS_MAX};
pub use command_buffer::CommandBuffer;
pub use connection::CommandName;
pub(crate) use counters::{Counters, plain_report};
pub use limits::{
    BLOCK_SHIFT, CAPSULE_BYTES, COMMAND_MEMORY_BYTES_MIN, IO_QUEUES_MAX, QUEUE_ENTRIES_MAX,
    TRANSFER_SHIFT,
};
pub use listener::{ListenError, Listener};
pub use names::{SubsystemNames, listing};
pub use target::{Target, TargetEvent, TargetSetup};
