//! Commands on their way through the drive: failing fast, or becoming page operations that end.

use crate::config::Timing;
use crate::device::Ssd;
use crate::dies::{self, Task};
use crate::event::Event;
use crate::flash::BusyWith;
use crate::media::Media;
use crate::placement::Location;
use nvme::{Command, PlFlag, WindowScope};
use units::{Duration, Instant, Lba, Observe};

/// `time` rounded up to a multiple of `step`; unchanged if `step` is zero.
fn in_steps(time: Duration, step: Duration) -> Duration {
    match step.as_nanos() {
        0 => time,
        step => Duration::from_nanos(time.as_nanos().div_ceil(step).saturating_mul(step)),
    }
}

impl<O: Observe> Ssd<O> {
    /// Whether a collection holds the die that `lba` lies on.
    #[must_use]
    pub fn is_collecting_at(&self, lba: Lba) -> bool {
        let die = self.die_of(lba.0 as u32);
        self.flash.dies().is_collecting(die)
    }

    /// Work that a read of `lba` would wait for if it arrived now; `None` if the drive is not busy
    /// there.
    #[must_use]
    pub fn busy_with(&self, now: Instant, lba: Lba) -> Option<BusyWith> {
        if self.has_nothing_to_tell() || self.is_buffered(lba) {
            return None;
        }
        let logical = lba.0 as u32;
        let busy_with = self.flash.busy_with(now, self.die_of(logical));
        busy_with.filter(|_| !self.placement.would_reconstruct(now, logical, &self.flash))
    }

    /// Returns true if no read can find the drive busy: no collection or buffer flush runs or
    /// waits, no collection has left work behind, and direct programs of the host do not count as
    /// busy.
    #[inline]
    #[must_use]
    pub fn has_nothing_to_tell(&self) -> bool {
        self.flash.is_quiet() && self.placement.flushes_nothing() && !self.tells_of_host_programs()
    }

    /// Returns true if programs of the host that bypass the buffer count as busy.
    #[inline]
    fn tells_of_host_programs(&self) -> bool {
        self.flash.rights().scope() == WindowScope::AllWork && self.placement.is_direct()
    }

    /// Die that a read of a logical page goes to.
    #[inline]
    fn die_of(&self, logical: u32) -> u32 {
        match self.flash.ftl().lookup(logical) {
            Some(page) => self.flash.shape().die_of(page),
            None => self.placement.die_of_unwritten(&self.flash, logical),
        }
    }

    /// Die that a read of a page at `location` waits for; `None` if the page is buffered or
    /// reconstructed.
    #[inline]
    fn die_at(&self, logical: u32, location: Location) -> Option<u32> {
        match location {
            Location::Flash(page) => Some(self.flash.shape().die_of(page)),
            Location::Unwritten => Some(self.placement.die_of_unwritten(&self.flash, logical)),
            Location::Buffered | Location::Reconstructed => None,
        }
    }

    #[inline]
    pub(crate) fn accept_read(&mut self, now: Instant, command: &Command) {
        if self.placement.is_direct() {
            self.accept_direct_read(now, command);
        } else {
            self.accept_buffered_read(now, command);
        }
    }

    /// Accepts a read on a drive where every page is on flash.
    #[inline]
    fn accept_direct_read(&mut self, now: Instant, command: &Command) {
        let first = command.lba.0 as u32;
        let met = !self.has_nothing_to_tell()
            && (first..first + command.blocks)
                .any(|logical| self.flash.meets_collection(now, self.die_of(logical)));
        if met {
            for logical in first..first + command.blocks {
                let die = self.die_of(logical);
                self.flash.look_at(die);
            }
        }
        if met && let Some(busy_remaining) = self.refusal(now, command, |_| true) {
            self.fail_fast(now, command, busy_remaining);
            return;
        }
        let slot = self.insert(now, command, met, command.blocks);
        for block in 0..command.blocks {
            let logical = first + block;
            let die = self.die_of(logical);
            self.read_from(now, die, slot, Task::Read { command: slot, block, logical });
        }
    }

    /// Accepts a read on a drive where pages may be in a buffer, or be reconstructed.
    fn accept_buffered_read(&mut self, now: Instant, command: &Command) {
        let first = command.lba.0 as u32;
        let mut pages = core::mem::take(&mut self.scratch);
        pages.clear();
        let logical = first..first + command.blocks;
        pages.extend(logical.map(|logical| self.placement.locate(logical, &self.flash)));
        let mut met = false;
        if !self.has_nothing_to_tell() {
            met = self.any_meets_collection(now, first, &pages);
            if met && self.placement.mark_reconstructed(now, first, &mut pages, &self.flash) {
                met = self.any_meets_collection(now, first, &pages);
            }
        }
        let is_needed = |block: u32| {
            !matches!(pages[block as usize], Location::Buffered | Location::Reconstructed)
        };
        if met && let Some(busy_remaining) = self.refusal(now, command, is_needed) {
            self.fail_fast(now, command, busy_remaining);
        } else {
            self.read_pages(now, command, met, &pages);
        }
        self.scratch = pages;
    }

    fn read_pages(&mut self, now: Instant, command: &Command, met: bool, pages: &[Location]) {
        let buffered = pages.iter().filter(|&&page| page == Location::Buffered).count() as u32;
        let remaining = command.blocks - buffered;
        let slot = self.insert(now, command, met, remaining);
        let Self { link, placement, flash, .. } = self;
        let reconstructions = placement.begin_reconstructions(now, slot, pages, flash, link);
        for (block, &page) in (0..command.blocks).zip(pages) {
            let logical = command.lba.0 as u32 + block;
            if page == Location::Buffered {
                let Self { link, placement, flash, .. } = self;
                placement.read_buffered(now, slot, block, flash, link);
            } else if let Some(die) = self.die_at(logical, page) {
                let task = self.placement.read_of(slot, block, logical, &reconstructions);
                self.read_from(now, die, slot, task);
            }
        }
    }

    #[inline]
    fn insert(&mut self, now: Instant, command: &Command, met: bool, remaining: u32) -> u32 {
        let slot = self.link.insert(now, command, met, remaining);
        self.flash.journal_mut().name_command(slot, command.id);
        slot
    }

    #[inline]
    fn read_from(&mut self, now: Instant, die: u32, slot: u32, task: Task) {
        if self.flash.enqueue(now, die, task) {
            self.link.hold_up(slot);
        }
    }

    /// Whether one of the `pages` from logical page `first` on would wait for a collection.
    fn any_meets_collection(&self, now: Instant, first: u32, pages: &[Location]) -> bool {
        pages.iter().zip(first..).any(|(&page, logical)| {
            self.die_at(logical, page).is_some_and(|die| self.flash.meets_collection(now, die))
        })
    }

    /// Busy remaining time of a read that has met work that changes flash and fails fast; `None` if
    /// the read waits. `is_needed` says whether a block of the command has to come from flash.
    fn refusal(
        &self,
        now: Instant,
        command: &Command,
        is_needed: impl Fn(u32) -> bool,
    ) -> Option<Duration> {
        let mut fails = match command.pl {
            PlFlag::Off | PlFlag::Failed => return None,
            PlFlag::Predictable => true,
            PlFlag::Patient => false,
        };
        let mut busy_remaining = Duration::ZERO;
        for block in (0..command.blocks).filter(|&block| is_needed(block)) {
            let die = self.die_of(command.lba.0 as u32 + block);
            if self.flash.meets_collection(now, die) {
                busy_remaining = busy_remaining.max(self.flash.announced_wait(now, die));
                fails = fails || !self.flash.makes_way(now, die);
            }
        }
        fails.then_some(busy_remaining)
    }

    #[cold]
    fn fail_fast(&mut self, now: Instant, command: &Command, busy_remaining: Duration) {
        self.flash.counters_mut().fail_fasts += 1;
        let Timing { fail_fast: delay, busy_time_step, .. } = self.flash.config().timing;
        let busy_remaining = in_steps(busy_remaining, busy_time_step);
        self.link.fail_fast(now, command.id, busy_remaining, delay);
        let id = command.id;
        self.flash.journal_mut().emit(now, || Event::FailedFast { id, busy_remaining });
    }

    #[inline]
    pub(crate) fn accept_write(&mut self, now: Instant, command: &Command) {
        let slot = self.insert(now, command, false, command.blocks);
        if self.link.receive(now, slot) {
            self.placement.begin_write(now, slot, &mut self.flash, &mut self.link);
        }
    }

    /// Forgets `blocks` logical pages from `first` on. No write of them may be in flight: it would
    /// bring them back. A drive with a write buffer, or RAIN, keeps the pages, as it may: versions
    /// of them may be on their way to flash or part of a parity.
    pub fn forget(&mut self, first: Lba, blocks: u32) {
        if !self.placement.is_direct() {
            return;
        }
        for logical in first.0 as u32..first.0 as u32 + blocks {
            self.flash.forget(logical);
        }
    }

    /// An operation from the queue of a die is done.
    #[inline]
    pub(crate) fn end_task(&mut self, now: Instant, die: u32, task: Task) {
        match task {
            Task::Read { command, block, logical } => {
                self.end_read(now, die, (command, block, logical), None);
            }
            Task::SharedRead { command, block, logical, reconstruction } => {
                self.end_read(now, die, (command, block, logical), Some(reconstruction));
            }
            Task::Program { command, block, logical, flash } => {
                self.end_program(now, die, (command, block, logical), flash);
            }
            task => {
                let Self { link, placement, flash, .. } = self;
                placement.end_task(now, die, task, flash, link);
                self.dispatch(now, die);
                if matches!(
                    task,
                    Task::Flush { .. } | Task::FlushUnit { .. } | Task::StripeProgram { .. }
                ) {
                    self.placement.flush(now, &mut self.flash);
                }
            }
        }
    }

    #[inline]
    fn end_read(
        &mut self,
        now: Instant,
        die: u32,
        (command, block, logical): (u32, u32, u32),
        reconstruction: Option<u32>,
    ) {
        let Self { link, placement, flash, .. } = self;
        flash.counters_mut().host_reads_pages += 1;
        let id = link.id_of(command);
        if let Some(reconstruction) = reconstruction {
            let delays = flash.dies().delays_of_read(die);
            placement.add_to_reconstruction(now, (reconstruction, logical), delays, flash, link);
        }
        link.end_read_page(now, command, || flash.dies().delays_of_read(die));
        flash.list_sensed(logical, |page| Media::Sensed { command: id, block, page });
        self.dispatch(now, die);
    }

    #[inline]
    fn end_program(
        &mut self,
        now: Instant,
        die: u32,
        (command, block, logical): (u32, u32, u32),
        page: u32,
    ) {
        let Self { link, flash, .. } = self;
        flash.commit_write(logical, page);
        flash.counters_mut().host_programs_pages += 1;
        let id = link.id_of(command);
        flash.journal_mut().media(|| Media::Programmed { command: id, block, page });
        link.end_write_page(now, command);
        self.dispatch(now, die);
        // An overwrite may have made the first page invalid that a collection can reclaim.
        if self.flash.collects_nothing() {
            self.placement.relieve(now, &mut self.flash, &mut self.link);
        }
    }

    /// Checks that every page that commands wait for is on its way somewhere.
    pub(crate) fn check_commands(&self) {
        let mut waiting = alloc::collections::BTreeMap::new();
        let mut add = |command: u32, pages: u32| *waiting.entry(command).or_insert(0) += pages;
        for (_, task) in dies::tasks(self.flash.dies()) {
            match task {
                Task::Read { command, .. }
                | Task::SharedRead { command, .. }
                | Task::Program { command, .. } => add(command, 1),
                _ => {}
            }
        }
        self.link.arriving().for_each(|command| add(command, self.link.blocks_of(command)));
        self.placement.pages_of_commands(&self.flash, add);
        assert_eq!(waiting.len(), self.link.commands(), "commands that nothing will end");
        for (command, pages) in waiting {
            assert_eq!(pages, self.link.remaining_of(command), "pages of command {command}");
        }
    }
}
