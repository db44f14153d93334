//! Numbers of the storage I/O of the machine.

use super::output::IoId;

/// The next number.
#[derive(Debug, Default)]
pub(super) struct IoIds(u64);

impl IoIds {
    /// Number that is taken next: all numbers taken so far are below it.
    pub(super) const fn next(&self) -> IoId {
        IoId(self.0)
    }

    /// Takes a number.
    pub(super) const fn take(&mut self) -> IoId {
        let id = self.next();
        self.0 += 1;
        id
    }
}
