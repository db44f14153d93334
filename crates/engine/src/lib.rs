//! One array with its drives: everything between a request and the edge of the operating system, as
//! a pure state machine.
//!
//! Knows: which drive is due, which completion goes where, the memory of stripe operations, and what
//! must be on stable storage before what. Does not know: sockets, files, threads, the time of day.
#![no_std]

extern crate alloc;
