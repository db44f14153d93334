//! Flushes: everything that was answered before is on stable storage when they are answered.

use super::Engine;
use super::bytes::Purpose;
use super::request::ClientId;
use crate::storage::Work;

/// Clients that wait for the storage of all drives.
#[derive(Debug, Default)]
pub(super) struct Flush {
    waiting: Vec<(ClientId, u64)>,
    /// Drives that have not answered.
    left: u32,
}

impl Engine {
    /// Answers `cookie` when all that was answered so far would survive the power.
    ///
    /// Clients that ask while drives are being synced wait together for the next round, because
    /// what they wrote may have come too late for this one.
    pub(super) fn flush_for(&mut self, client: ClientId, cookie: u64) {
        self.next_flush.push((client, cookie));
        self.go_on_with_flushes();
    }

    /// Begins the next round, unless one is under way or staged pages are still being written.
    pub(super) fn go_on_with_flushes(&mut self) {
        if self.flush.left > 0 || self.next_flush.is_empty() || self.stage_writes > 0 {
            return;
        }
        self.flush.waiting = std::mem::take(&mut self.next_flush);
        // One more than there are drives, so that answers which come at once do not end it.
        self.flush.left = 1;
        for drive in self.present() {
            if self.storage.memory(drive).is_none() {
                self.flush.left += 1;
                self.transfer(drive, Work::Sync, Purpose::Flush);
            }
        }
        self.end_sync();
    }

    /// A drive has answered to a flush.
    pub(super) fn end_sync(&mut self) {
        self.flush.left -= 1;
        if self.flush.left > 0 {
            return;
        }
        for (client, cookie) in std::mem::take(&mut self.flush.waiting) {
            self.tell(client, |connection| connection.reply_done(cookie));
        }
        self.go_on_with_flushes();
    }
}
