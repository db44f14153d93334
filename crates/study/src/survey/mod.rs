//! A survey: every policy under every workload, kept run by run so that it can be interrupted.
//!
//! [`Matrix`] says what is to be run, `jobs` keeps what is done, [`run`] does what is missing,
//! and `document` makes the document of the report from both.

mod document;
mod matrix;
mod record;

pub use document::document;
pub use matrix::{Matrix, Question};
pub use record::{Record, run};
