//! One array with its drives: everything between a request and the edge of the operating system, as
//! a pure state machine.
//!
//! Knows: which drive is due, which completion goes where, the memory of stripe operations, and
//! what must be on stable storage before what. Does not know: sockets, files, threads, the time of
//! day.
//!
//! # Contract
//!
//! * [`Engine::handle_deadline`], [`Engine::handle_request`] and [`Engine::handle_completion`] take
//!   an input. None of them blocks, and time never goes back.
//! * [`Engine::poll_output`] gives the next output; call it with the time of the last input until
//!   it returns `None`. [`Output`] is a closed list.
//! * [`Engine::next_deadline`] is when the engine wants [`Engine::handle_deadline`] if nothing else
//!   happens.
//! * Same inputs, same outputs: bit for bit, on every machine.
//!
//! The type of the [`DataPlane`] chooses what becomes of the data.
//!
//! # Features
//!
//! * `model` (on by default): emulated drives ([`Drive::Emulated`]), and `Tags`, which check each
//!   page of a simulated array. Without it the crate needs no drive model. Drives are then storage
//!   of the driver ([`Drive::Plain`]), or answer by themselves ([`Drive::Remote`]).
//! * `planted`: bugs for a tester to find ([`planted`]). Not for arrays that serve.
#![no_std]

extern crate alloc;

mod bytes;
mod cached_pages;
pub mod checksums;
mod drive;
pub mod durability;
mod engine;
mod event;
mod fair_queue;
mod liars;
mod memory;
mod model;
mod plane;
pub mod planted;
mod read_errors;
mod stripe_memory;
#[cfg(feature = "model")]
mod tags;
mod token;
pub mod volume;

pub use bytes::{
    ByteRequest, ByteRequestKind, Bytes, EndedSlice, Notice, Progress, StorageWork, Work,
};
pub use cached_pages::CachedPages;
pub use drive::Drive;
pub use engine::{ClockOffset, Engine, Output};
pub use event::Event;
pub use fair_queue::{FairQueue, Origin};
pub use memory::{Heap, Memory};
pub use model::Ssd;
pub use plane::{DataPlane, NoData, Target};
pub use stripe_memory::StripeMemory;
#[cfg(feature = "model")]
pub use tags::{Tag, TaggedRequest, Tags, ZERO, written_tag};
pub use token::Token;
pub use volume::Volume;

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
