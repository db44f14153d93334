//! A word to whoever waits for a pipe into which no program writes.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long a pipe may be silent before that is said.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says what is waited for, unless it is dropped first.
pub(super) struct Patience {
    /// Its end wakes the thread.
    _end: Sender<()>,
}

impl Patience {
    /// Has `say` say `text` when patience is over.
    pub(super) fn new(text: String, say: fn(&str)) -> Self {
        let (end, ended) = mpsc::channel();
        // Without the thread nothing is said, and nothing else is wrong.
        let _ = std::thread::Builder::new().name("patience".to_owned()).spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                say(&text);
            }
        });
        Self { _end: end }
    }
}
