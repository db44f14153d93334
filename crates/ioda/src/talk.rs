//! Output of a command besides its results.

use crate::progress::Show;

/// Output besides results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    /// Whether and how progress is shown.
    pub(crate) progress: Show,
    /// No remarks.
    pub(crate) quiet: bool,
}
