//! The target against hosts: stock, random and hostile ones.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod authentication;
pub(crate) mod bench;
mod controllers;
mod coordinated;
mod dialogue;
mod entries;
mod host;
mod hostile;
mod ioda;
mod model;
mod reservations;
mod transfers;
