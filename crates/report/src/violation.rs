//! Why collections broke the window contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a collection broke the window contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Writes of the host had no room: free space was down to the hard watermark.
    #[default]
    NoRoom,
    /// Free space was nearly down to it, under a policy that keeps all work in windows.
    ShortOfSpace,
    /// It began in the window and ended after it.
    Overran,
}

impl Cause {
    /// The cause in words, after "because".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoRoom => "writes of the host had no room",
            Self::ShortOfSpace => "free space was nearly down to the hard watermark",
            Self::Overran => "it began in the window and ended after it",
        }
    }
}

/// A collection that broke the window contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// Seconds from the start of the run.
    pub seconds: f64,
    /// Why.
    pub cause: Cause,
    /// Share of the blocks that were free then, from 0 to 1.
    pub free_share: f64,
}
