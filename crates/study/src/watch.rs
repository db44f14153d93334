//! How a study is watched while it is made.

use sim::{Plan, Progress};

/// Remarks and progress, for whoever waits: a terminal, a notebook, a test.
pub trait Watch: Sync {
    /// Says something that a reader may miss; nothing if remarks are not wanted.
    fn remark(&self, text: &str);

    /// Says something that concerns the results, such as doubtful input.
    fn warn(&self, text: &str);

    /// Takes a sentence, on a thread of its own, when a pipe is silent for long.
    fn waiting(&self) -> fn(&str);

    /// Does `work`, which makes the runs of `plans`, each of `requests` requests if that is known,
    /// and shows how far `progress` is. Nothing is shown unless that is implemented.
    fn during(
        &self,
        title: &str,
        plans: &[Plan],
        requests: Option<u64>,
        progress: &Progress,
        work: &mut (dyn FnMut() + Send),
    ) {
        let _ = (title, plans, requests, progress);
        work();
    }

    /// Shows how many of `total` runs are done. Several may be under way at once.
    fn count(&self, title: &'static str, total: usize) -> Box<dyn Count>;
}

/// Number of runs that are done, on display until it is dropped.
pub trait Count: Sync {
    /// One more run begins.
    fn begin(&self, name: &str);

    /// One more run is over.
    fn end(&self);
}

/// Nothing is shown and nothing said.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl Count for Silent {
    fn begin(&self, _: &str) {}

    fn end(&self) {}
}

impl Watch for Silent {
    fn remark(&self, _: &str) {}

    fn warn(&self, _: &str) {}

    fn waiting(&self) -> fn(&str) {
        |_| {}
    }

    fn count(&self, _: &'static str, _: usize) -> Box<dyn Count> {
        Box::new(Self)
    }
}

/// What another watch is told, without the progress of single runs: several side by side would
/// write over each other.
pub(crate) struct Told<'a>(pub(crate) &'a dyn Watch);

impl Watch for Told<'_> {
    fn remark(&self, text: &str) {
        self.0.remark(text);
    }

    fn warn(&self, text: &str) {
        self.0.warn(text);
    }

    fn waiting(&self) -> fn(&str) {
        self.0.waiting()
    }

    fn count(&self, title: &'static str, total: usize) -> Box<dyn Count> {
        self.0.count(title, total)
    }
}
