//! A survey: every policy under every workload, kept run by run so that it can be interrupted.
//!
//! [`Matrix`] says what is to be run, [`Journal`] keeps what is done in `runs.jsonl`, [`run`] does
//! what is missing, and `document` makes the document of the report from both.

mod document;
mod execute;
mod journal;
mod matrix;

pub(crate) use document::document;
pub(crate) use execute::run;
pub(crate) use journal::Journal;
pub(crate) use matrix::{Matrix, Question};
