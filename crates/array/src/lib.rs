//! The host side of an array of drives, as a pure state machine.
//!
//! Knows: layouts (RAID-0, 1, 4, 5, 6, 10), stripe reads and writes, reconstruction of pages on
//! busy drives, the policies, and the coordination of collections. Does not know: flash pages,
//! block erases, clocks, threads, sockets, or the data.
//!
//! # Contract
//!
//! * [`Array::handle_request`], [`Array::handle_completion`] and [`Array::handle_deadline`] take
//!   the time and an input; none of them blocks, and time never goes back.
//! * [`Array::poll_action`] returns the next action; call it until it returns `None`, and carry the
//!   actions out in that order. [`Action`] is a closed list.
//! * [`Array::next_deadline`] returns the time for [`Array::handle_deadline`] if nothing else
//!   happens.
//! * Same inputs, same outputs: bit for bit, on every machine.
//! * The array decides *what* to combine or copy; the driver does it. With data actions on, every
//!   parity and every reconstructed page is an explicit [`DataAction`]; with them off (fast
//!   simulation) there is no data action, and everything else is the same.
//!
//! # What a write may assume
//!
//! Writes that share pages of a stripe run one after the other. A write reads what its parity
//! needs, computes, waits until no reconstruction still reads the old stripe, and then writes data
//! and parity. Until it is done its new data is in memory, and a reconstruction on the same rows
//! uses that instead of waiting for the drives. A read that overlaps a write in flight may return
//! the old or the new data, as with any drive.
#![no_std]

extern crate alloc;

mod action;
mod array;
mod availability;
mod backlog;
mod cache_config;
mod cached_pages;
mod commands;
mod config;
mod contract;
mod coordinate;
mod counters;
mod drive_queues;
mod event;
mod event_text;
mod fence;
mod fetch;
pub mod gf;
mod happening;
mod jobs;
mod last_writers;
mod layout;
mod learnt;
mod members;
mod operation;
mod outbox;
mod parity;
mod permits;
pub mod policy;
mod read_repairs;
mod relocation;
mod request;
mod requests;
mod stripe_queues;
mod stripe_set;
mod stripe_writer;
mod switch;
mod timers;
mod trust;
mod write_cache;

pub use action::{Action, DataAction, Ended, OpId, Outcome, Slot, Term};
pub use array::Array;
pub use availability::{CannotReplace, DriveState};
pub use cache_config::{WriteCacheConfig, WriteCacheCounters};
pub use config::{Config, JOB_DEPTH, job_depth};
pub use contract::{Contract, Measure, ReadTimes};
pub use coordinate::{
    AdaptiveConfig, Coordination, Coordinator, SynchronizedConfig, TokenConfig, WindowChange,
    WindowConfig,
};
pub use counters::Counters;
pub use drive_queues::{Queue, Queues};
pub use event::{Event, OperationKind, Origin, Why};
pub use happening::{FailReason, Happening, JobKind, PageRepair};
pub use jobs::JobProgress;
pub use layout::{Layout, LayoutError, Level, Role, Segment};
pub use learnt::{Estimate, Memory, OperationClass, Stall, StallTrigger, Stalls};
pub use members::{MemberSet, Members};
pub use parity::MemberSum;
pub use read_repairs::RepairCounters;
pub use request::{Request, RequestId, RequestKind};
pub use switch::CannotSwitch;

/// The code of the guide is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../writing-a-policy.md")]
struct WritingAPolicy;

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
