//! How much a command says.

use crate::progress::Show;

/// How much is said besides results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    /// Whether and how progress is shown.
    pub(crate) progress: Show,
    /// No remarks.
    pub(crate) quiet: bool,
}
