//! A sweep: one or two parameters of the configuration over a range, under several policies and
//! seeds.
//!
//! [`Parameter`] is what `--vary` says, [`Matrix`] the runs that follow from it, `jobs` makes
//! and keeps them, and `document` makes the document of the report from both.

mod document;
mod key;
mod matrix;
mod number;
mod parameter;
mod record;
mod values;

pub use document::{Wanted, document};
pub use matrix::{Built, Matrix, Question};
pub use parameter::Parameter;
pub use record::{Record, Subject};
