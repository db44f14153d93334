//! What is said of a set-up and its results: in words, as a document, as jobs of fio?

mod array;
pub mod convert;
mod evidence;
pub mod fio_jobs;
pub mod ratios;

pub use array::{array, asked, drive, durable, gaps, layouts, part, violation_cause, wrapped};
