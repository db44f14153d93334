//! The device model: one flash drive as a pure state machine.
//!
//! Knows: geometry, NAND timing, dies and channels as queues, the flash translation layer (FTL),
//! garbage collection, the write buffer, parity within the drive, and the predictable and busy
//! windows of IODA. Does not know: that arrays exist beyond their width, what a policy is, clocks,
//! threads, files, sockets, or the data.
//!
//! # Contract
//!
//! * [`Ssd::handle_command`]`(now, …)` takes an input and [`Ssd::handle_deadline`]`(now)` lets time
//!   pass; neither blocks, and `now` never goes back.
//! * [`Ssd::poll_completion`] gives the next output; call it until it returns `None`.
//! * [`Ssd::next_deadline`] is the time at which to call [`Ssd::handle_deadline`] if nothing else
//!   happens. A late call has the same effects in the same order, and each completion says when it
//!   was due.
//! * Same inputs and same seed, same outputs: bit for bit, on every machine.
//! * The drive decides *where* data goes; the driver moves it. With [`Ssd::record_media`] on, each
//!   page that is sensed, programmed, copied or erased is listed in order, so that a driver can
//!   carry real bytes or verification tags on the flash addresses themselves.
//!
//! # How an operation runs
//!
//! A page operation waits in the queue of its die and is booked when the die takes it up, never
//! earlier, so a queue can be reordered until then. It holds its die from sensing to the end of the
//! transfer (or from the transfer to the end of programming), because the page register is busy for
//! that long. Planes add blocks to a die; they do not work independently of each other, unless
//! [`CellConfig`] says so: then blocks reach over planes, many pages are programmed at a time, and
//! each plane may read on its own.
#![no_std]

extern crate alloc;

mod admission;
mod aged;
mod cells;
mod codec;
mod commands;
mod config;
mod contract;
mod counters;
mod device;
mod dies;
mod event;
mod event_text;
mod flash;
mod ftl;
mod link;
mod media;
mod outlook;
mod placement;
mod plane_groups;
mod precondition;
mod prepare;
pub mod presets;
mod rain;
mod retry;
mod slc_config;
mod slow;
mod state;
mod sustained;
mod table2;
mod violation;

pub use cells::{CellConfig, PAGE_TYPES_MAX, PageTime};
pub use codec::StateError;
pub use config::{
    Allocation, Arbitration, Blocking, CollectionConfig, CollectionTrigger, CollectionUnit, Config,
    ConfigError, ContractConfig, FlushRule, Geometry, PreemptionScope, PulseConfig, QueueConfig,
    RangeConfig, RangePlacement, SchedulingConfig, ScrubConfig, Suspendable, SuspensionConfig,
    Timing, TurnConfig, WriteBufferConfig,
};
pub use contract::WRITING_DAY_SECONDS;
pub use counters::Counters;
pub use device::Ssd;
pub use event::{Event, Origin, PageOperation};
pub use flash::{BusyWith, CollectionSpan};
pub use link::Completed;
pub use media::Media;
pub use outlook::{Advice, Outlook, Promise, QuietOutlook, Reason, Verdict};
pub use precondition::Preconditioned;
pub use rain::{RainConfig, Rotation};
pub use retry::RetryConfig;
pub use slc_config::{SlcCacheConfig, SlcOverflow};
pub use slow::SLOWEST;
pub use table2::{MODELS, Printed};
pub use violation::{Violation, ViolationCause};

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
