//! Message for a user who waits for a pipe into which no program writes.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time of silence of a pipe before the message.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reports that a pipe is silent, unless it is dropped first.
pub(super) struct Patience {
    /// Dropping it wakes the thread.
    _end: Sender<()>,
}

impl Patience {
    /// Calls `say` with `text` when patience is over.
    pub(super) fn new(text: String, say: fn(&str)) -> Self {
        let (end, ended) = mpsc::channel();
        // Without the thread there is no message, and no other effect.
        let _ = std::thread::Builder::new().name("patience".to_owned()).spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                say(&text);
            }
        });
        Self { _end: end }
    }
}
