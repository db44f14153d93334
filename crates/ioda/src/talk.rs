//! Output of a command besides its results.

use crate::output;
use crate::progress::{self, Show, Tally};
use sim::{Plan, Progress};
use study::{Count, Watch};

/// Output besides results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    /// Whether and how progress is shown.
    pub(crate) progress: Show,
    /// No remarks.
    pub(crate) quiet: bool,
}

/// Says what cannot wait, and nothing else.
pub(crate) const QUIET: Talk = Talk { progress: Show::Nothing, quiet: true };

impl Watch for Talk {
    fn remark(&self, text: &str) {
        if !self.quiet {
            output::remark(text);
        }
    }

    fn warn(&self, text: &str) {
        output::remark(text);
    }

    fn waiting(&self) -> fn(&str) {
        output::remark
    }

    fn during(
        &self,
        title: &str,
        plans: &[Plan],
        requests: Option<u64>,
        progress: &Progress,
        work: &mut (dyn FnMut() + Send),
    ) {
        progress::during(self.progress, title, plans, requests, progress, work);
    }

    fn count(&self, title: &'static str, total: usize) -> Box<dyn Count> {
        Box::new(Tally::new(self.progress, title, total))
    }
}
