//! Names and versions of what a running array says as JSON.

use serde::Serialize;

/// Name and version of an [`Answer`](super::Answer). The version grows with every change that a
/// reader of an earlier one would misunderstand.
pub const ANSWER_SCHEMA: &str = "ioda.answer/1";
/// Name and version of a [`Status`](super::Status) by itself, as `/status.json` has it.
pub const STATUS_SCHEMA: &str = "ioda.status/1";

/// A document with the name and version of its format in front.
#[derive(Debug, Serialize)]
pub struct Marked<'a, T> {
    /// Name and version.
    pub schema: &'static str,
    /// The document.
    #[serde(flatten)]
    pub document: &'a T,
}
