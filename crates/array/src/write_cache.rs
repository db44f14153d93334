//! The write cache: a fast memory of the host (NVRAM) in which writes wait for their drive.
//!
//! It is below the stripe operations: every command passes through it at the one place where
//! commands are sent, after parity was computed. Data and parity alike wait for their drive, so a
//! stripe is as consistent as without a cache. Two rules keep reads and drives consistent:
//!
//! * A read takes the pages that are cached when it is sent, whatever is drained until it is
//!   answered. Its other pages are on the drive, or are being written; a read beside a write may
//!   return old or new data.
//! * A drive has at most one write of a page in flight. Writes of the host take turns on a stripe
//!   anyway; only a drain and the write that follows it could meet.

use crate::cache_config::{WriteCacheConfig, WriteCacheCounters};
use crate::cached_pages::CachedPages;
use crate::commands::CommandRecord;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nvme::{CommandId, Opcode};
use units::{DriveId, Duration, Instant, Lba};

/// Result of passing a command through the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// It goes to its drive.
    ToDrive,
    /// The cache holds all pages that it reads, and answers it.
    Read,
    /// The cache has taken its pages, and answers it.
    Taken,
    /// It waits for room or for a drain.
    Waits,
}

/// A command that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingCommand {
    pub(crate) id: CommandId,
    pub(crate) drive: DriveId,
    lba: Lba,
    blocks: u32,
}

/// Pages of a drain command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drain {
    pub(crate) lba: Lba,
    pub(crate) blocks: u32,
}

/// The state of the cache.
#[derive(Clone, Debug)]
pub(crate) struct WriteCache {
    config: WriteCacheConfig,
    pages: CachedPages,
    /// Reads that the cache answers, with the time. All take equally long, so they stay in order.
    reads: VecDeque<(Instant, CommandId)>,
    /// Writes that the cache answers, with the time.
    writes: VecDeque<(Instant, CommandId)>,
    /// Writes that wait for room, in order of arrival.
    waiting: VecDeque<WaitingCommand>,
    /// Large writes that wait until an older version of their pages is drained.
    behind_drains: Vec<WaitingCommand>,
    /// Time at which to ask again whether a drive may be drained.
    drain_again: Instant,
}

impl WriteCache {
    pub(crate) fn new(config: WriteCacheConfig, width: u32, page_bytes: u64) -> Self {
        Self {
            config,
            pages: CachedPages::new(config, width, page_bytes),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            waiting: VecDeque::new(),
            behind_drains: Vec::new(),
            drain_again: Instant::NEVER,
        }
    }

    pub(crate) fn counters(&self) -> &WriteCacheCounters {
        self.pages.counters()
    }

    /// Number of pages held for all drives.
    pub(crate) fn held_pages(&self) -> u64 {
        self.pages.held_pages()
    }

    /// Whether the cache holds no page, and no command waits for it or for its answer.
    pub(crate) fn is_idle(&self) -> bool {
        self.pages.is_idle()
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.waiting.is_empty()
            && self.behind_drains.is_empty()
    }

    /// Time of its next answer, or of the next question whether a drive may be drained.
    pub(crate) fn next_deadline(&self) -> Instant {
        let due = |queue: &VecDeque<(Instant, CommandId)>| {
            queue.front().map_or(Instant::NEVER, |&(due, _)| due)
        };
        due(&self.reads).min(due(&self.writes)).min(self.drain_again)
    }

    /// Closes or opens the cache. A closed cache takes nothing in, and drains what it holds.
    pub(crate) fn set_closed(&mut self, closed: bool) {
        self.pages.set_closed(closed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.pages.is_closed()
    }

    /// Cached blocks among `blocks` from `lba` on, as offsets from `lba`.
    pub(crate) fn rows(&self, drive: DriveId, lba: Lba, blocks: u32) -> Vec<u32> {
        self.pages.rows(drive, lba, blocks)
    }

    /// Whether all these blocks are cached, so that a read of them needs no drive.
    pub(crate) fn holds(&self, drive: DriveId, lba: Lba, blocks: u32) -> bool {
        self.pages.rows(drive, lba, blocks).len() as u32 == blocks
    }

    /// Passes a command through the cache before its drive gets it. `requested_bytes` is the size
    /// of the write request that it serves; `None` without one. `replaces`: whether it changes its
    /// pages for the host; the deallocation of a block that a relocated chunk has left does not.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        id: CommandId,
        command: &CommandRecord,
        requested_bytes: Option<u64>,
        replaces: bool,
    ) -> Pass {
        let CommandRecord { drive, opcode, lba, blocks, .. } = *command;
        let waiting = WaitingCommand { id, drive, lba, blocks };
        match opcode {
            Opcode::Read => {
                if !self.holds(drive, lba, blocks) {
                    return Pass::ToDrive;
                }
                self.pages.note_read(blocks);
                self.reads.push_back((now + self.config.read_latency, id));
                Pass::Read
            }
            Opcode::Deallocate if !replaces => Pass::ToDrive,
            // A deallocation replaces cached pages, as does a write that is too large for the
            // cache.
            Opcode::Write | Opcode::Deallocate
                if opcode == Opcode::Deallocate || !self.pages.takes(blocks, requested_bytes) =>
            {
                self.pages.supersede(drive, lba, blocks);
                if !self.pages.is_draining(drive, lba, blocks) {
                    return Pass::ToDrive;
                }
                self.behind_drains.push(waiting);
                Pass::Waits
            }
            Opcode::Write | Opcode::Deallocate => {
                if self.waiting.is_empty() && self.pages.has_room(drive, lba, blocks) {
                    self.take(now, &waiting);
                    return Pass::Taken;
                }
                self.pages.note_wait();
                self.waiting.push_back(waiting);
                Pass::Waits
            }
        }
    }

    fn take(&mut self, now: Instant, write: &WaitingCommand) {
        self.pages.put(write.drive, write.lba, write.blocks);
        self.writes.push_back((now + self.config.write_latency, write.id));
    }

    /// Takes in the first write that waits, if there is room for it.
    pub(crate) fn take_waiting(&mut self, now: Instant) -> Option<CommandId> {
        let write = *self.waiting.front()?;
        if !self.pages.has_room(write.drive, write.lba, write.blocks) {
            return None;
        }
        self.waiting.pop_front();
        self.take(now, &write);
        Some(write.id)
    }

    /// Next command answered by `now`: the time of its answer, its id and its latency.
    pub(crate) fn pop_answer(&mut self, now: Instant) -> Option<(Instant, CommandId, Duration)> {
        let queues = [
            (&mut self.writes, self.config.write_latency),
            (&mut self.reads, self.config.read_latency),
        ];
        for (queue, latency) in queues {
            if queue.front().is_some_and(|&(due, _)| due <= now) {
                let (due, id) = queue.pop_front()?;
                return Some((due, id, latency));
            }
        }
        None
    }

    /// Clears the time of the next question, because all drives are asked now.
    pub(crate) fn begin_draining(&mut self) {
        self.drain_again = Instant::NEVER;
    }

    /// Notes that a drive may be drained at `from`.
    pub(crate) fn drain_from(&mut self, from: Instant) {
        self.drain_again = self.drain_again.min(from);
    }

    /// Whether another drain to `drive` may begin.
    pub(crate) fn may_drain(&self, drive: DriveId) -> bool {
        self.pages.may_drain(drive)
    }

    /// Whether a rebuild of `drive` fills the cache faster than it is drained.
    pub(crate) fn is_behind(&self, drive: DriveId) -> bool {
        self.pages.is_behind(drive)
    }

    /// Begins a drain to `drive`. Returns its pages.
    pub(crate) fn begin_drain(&mut self, drive: DriveId) -> Option<Drain> {
        let (lba, blocks) = self.pages.begin_drain(drive)?;
        Some(Drain { lba, blocks })
    }

    /// Ends a drain. Returns the pages that were removed.
    pub(crate) fn end_drain(&mut self, drive: DriveId, drain: Drain) -> Vec<Lba> {
        self.pages.end_drain(drive, drain.lba, drain.blocks)
    }

    /// Removes and returns the large writes whose drains have ended; they go to their drives now.
    pub(crate) fn take_behind_drains(&mut self) -> Vec<CommandId> {
        let mut ready = Vec::new();
        let pages = &self.pages;
        self.behind_drains.retain(|write| {
            let waits = pages.is_draining(write.drive, write.lba, write.blocks);
            if !waits {
                ready.push(write.id);
            }
            waits
        });
        ready
    }

    /// Ends a write past the cache. Returns the pages that it replaced.
    pub(crate) fn end_bypass(&mut self, drive: DriveId, lba: Lba, blocks: u32) -> Vec<Lba> {
        self.pages.end_supersede(drive, lba, blocks)
    }

    /// Removes all pages and waiting commands of a drive that has failed, and returns both. Parity
    /// covers the pages.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> (Vec<Lba>, Vec<CommandId>) {
        let mut over = Vec::new();
        let mut is_elsewhere = |write: &WaitingCommand| {
            let stays = write.drive != drive;
            if !stays {
                over.push(write.id);
            }
            stays
        };
        self.waiting.retain(&mut is_elsewhere);
        self.behind_drains.retain(&mut is_elsewhere);
        (self.pages.abandon(drive), over)
    }

    /// Panics if the pages held are not those counted.
    pub(crate) fn check_invariants(&self) {
        self.pages.check_invariants();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::OpId;
    use crate::commands::{Purpose, ReadFlag};

    const DRIVE: DriveId = DriveId(1);

    fn cache() -> WriteCache {
        let config = WriteCacheConfig {
            capacity_bytes: 4 * 4096,
            read_latency: Duration::from_micros(1),
            write_latency: Duration::from_micros(2),
            largest_write_bytes: 2 * 4096,
            drain_depth: 1,
        };
        WriteCache::new(config, 2, 4096)
    }

    fn accept(cache: &mut WriteCache, id: u32, opcode: Opcode, lba: u64, blocks: u32) -> Pass {
        accept_for(cache, DRIVE, id, opcode, (lba, blocks))
    }

    fn accept_for(
        cache: &mut WriteCache,
        drive: DriveId,
        id: u32,
        opcode: Opcode,
        (lba, blocks): (u64, u32),
    ) -> Pass {
        let purpose = Purpose::Member { op: OpId(0), member: 0, round: 0, for_others: false };
        let (lba, sent) = (Lba(lba), Instant::ZERO);
        let flag = ReadFlag::NONE;
        let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
        cache.accept(Instant::ZERO, CommandId(id), &record, None, true)
    }

    /// Checks each reason not to be idle alone.
    #[test]
    fn it_is_idle_when_nothing_is_held_or_waits() {
        let end = Instant::ZERO + Duration::from_secs(1);
        let mut cache = cache();
        assert!(cache.is_idle());
        assert_eq!(accept(&mut cache, 1, Opcode::Write, 0, 1), Pass::Taken);
        let drain = cache.begin_drain(DRIVE).unwrap();
        assert_eq!(cache.end_drain(DRIVE, drain), [Lba(0)]);
        assert!(!cache.is_idle(), "the write is not answered");
        assert!(cache.pop_answer(end).is_some());
        assert!(cache.is_idle());

        assert_eq!(accept(&mut cache, 2, Opcode::Write, 0, 1), Pass::Taken);
        assert!(cache.pop_answer(end).is_some() && !cache.is_idle(), "a page is held");
        assert_eq!(accept(&mut cache, 3, Opcode::Read, 0, 1), Pass::Read);
        let drain = cache.begin_drain(DRIVE).unwrap();
        cache.end_drain(DRIVE, drain);
        assert!(!cache.is_idle(), "the read is not answered");
        assert!(cache.pop_answer(end).is_some() && cache.is_idle());

        // A write past the cache that waits for a drain, and one that waits for room.
        assert_eq!(accept(&mut cache, 4, Opcode::Write, 0, 1), Pass::Taken);
        let drain = cache.begin_drain(DRIVE).unwrap();
        assert_eq!(accept(&mut cache, 5, Opcode::Write, 0, 4), Pass::Waits);
        assert!(cache.pop_answer(end).is_some());
        assert_eq!(cache.take_behind_drains(), []);
        cache.end_drain(DRIVE, drain);
        assert!(!cache.is_idle(), "the large one is not on its way");
        assert_eq!(cache.take_behind_drains(), [CommandId(5)]);
        assert!(cache.is_idle());

        for (id, page) in [(6, 0), (7, 2)] {
            assert_eq!(accept(&mut cache, id, Opcode::Write, page, 2), Pass::Taken);
            assert!(cache.pop_answer(end).is_some());
        }
        assert_eq!(accept_for(&mut cache, DriveId(0), 8, Opcode::Write, (0, 1)), Pass::Waits);
        assert_eq!(cache.abandon(DRIVE), ((0..4).map(Lba).collect(), Vec::new()));
        assert!(!cache.is_idle(), "one waits");
        assert_eq!(cache.take_waiting(end), Some(CommandId(8)));
        assert_eq!(cache.abandon(DriveId(0)), ([Lba(0)].into(), Vec::new()));
    }

    #[test]
    fn a_drive_that_fails_takes_what_waits_for_it_along_and_no_more() {
        let mut cache = cache();
        for (id, page) in [(1, 0), (2, 2)] {
            assert_eq!(accept(&mut cache, id, Opcode::Write, page, 2), Pass::Taken);
        }
        assert_eq!(accept(&mut cache, 3, Opcode::Write, 9, 1), Pass::Waits);
        assert_eq!(accept_for(&mut cache, DriveId(0), 4, Opcode::Write, (0, 1)), Pass::Waits);
        cache.begin_drain(DRIVE).unwrap();
        assert_eq!(accept(&mut cache, 5, Opcode::Write, 0, 4), Pass::Waits);
        let (left, over) = cache.abandon(DRIVE);
        assert_eq!((left.len(), over), (4, [3, 5].map(CommandId).to_vec()));
        assert_eq!(cache.take_waiting(Instant::ZERO), Some(CommandId(4)));
    }

    #[test]
    fn a_block_that_a_chunk_has_left_takes_nothing_of_the_cache_along() {
        let mut cache = cache();
        accept(&mut cache, 1, Opcode::Write, 0, 1);
        let purpose = Purpose::Member { op: OpId(0), member: 0, round: 0, for_others: false };
        let opcode = Opcode::Deallocate;
        let sent = Instant::ZERO;
        let (drive, lba, blocks, flag) = (DRIVE, Lba(0), 1, ReadFlag::NONE);
        let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
        assert_eq!(cache.accept(sent, CommandId(2), &record, None, false), Pass::ToDrive);
        assert!(cache.begin_drain(DRIVE).is_some(), "it is drained all the same");
        assert_eq!(
            cache.accept(sent, CommandId(3), &record, None, true),
            Pass::Waits,
            "behind that"
        );
    }

    #[test]
    fn counters_of_two_add_up_and_the_higher_peak_is_kept() {
        let one = WriteCacheCounters {
            cached_pages: 19,
            replaced_pages: 3,
            peak_bytes: 5,
            waits: 7,
            drained_pages: 11,
            read_pages: 13,
            bypassed_pages: 17,
        };
        let mut sum = WriteCacheCounters { peak_bytes: 4, ..one };
        sum.add(&one);
        let expected = WriteCacheCounters {
            cached_pages: 38,
            replaced_pages: 6,
            peak_bytes: 5,
            waits: 14,
            drained_pages: 22,
            read_pages: 26,
            bypassed_pages: 34,
        };
        assert_eq!(sum, expected);
    }
}
