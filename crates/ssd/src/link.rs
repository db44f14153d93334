//! The link to the host: commands in, completions out, and the bandwidth of the interface.
//!
//! Knows: commands in flight, and the times at which their data crosses PCIe. Does not know: flash.

use crate::config::Config;
use alloc::collections::VecDeque;
use nvme::{Cause, Command, CommandId, Completion, Delays, Status};
use units::{Duration, Instant, Slab};

/// A completion, and the time at which it was due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    /// Time at which the drive had it ready; a driver on a real clock may collect it later.
    pub at: Instant,
    /// The answer.
    pub completion: Completion,
}

/// Wait of a command for a slot of the drive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    pub(crate) time: Duration,
    /// A collection held up a command that had a slot (TTFLASH §6.1, "queue-blocked").
    pub(crate) held_up: bool,
}

/// A command with pages that are not done.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    id: CommandId,
    first_logical: u32,
    blocks: u32,
    remaining: u32,
    met_collection: bool,
    /// A page of the command queued behind work that a collection had held up.
    held_up: bool,
    /// A collection holds the command up: a page of it met a collection, or queued behind work that
    /// one had held up.
    stuck: bool,
    arrived: Instant,
    /// Time that the command waited for a slot of the drive.
    waited: Duration,
    /// Time to move its data over PCIe before page operations began, and to and from DRAM.
    transfer: Duration,
}

impl InFlight {
    /// A command that has just arrived.
    fn new(now: Instant, command: &Command) -> Self {
        Self {
            id: command.id,
            first_logical: command.lba.0 as u32,
            blocks: command.blocks,
            remaining: command.blocks,
            met_collection: false,
            held_up: false,
            stuck: false,
            arrived: now,
            waited: Duration::ZERO,
            transfer: Duration::ZERO,
        }
    }

    /// Successful completion of the command after these delays.
    #[inline]
    fn succeeded(&self, mut delays: Delays) -> Completion {
        delays.add(Cause::HeldBack, self.waited);
        Completion {
            id: self.id,
            status: Status::Success,
            busy_remaining: Duration::ZERO,
            met_collection: self.met_collection,
            held_up: self.held_up,
            delays,
        }
    }
}

/// Times on the link.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Bytes per second and direction; `None` for no limit.
    rate: Option<u64>,
    /// Time for one block to cross PCIe, kept because most commands have one block and a division
    /// of 128 bits is slow.
    one_block: Option<Duration>,
    /// Time that each command adds on the link.
    command: Duration,
    /// Time that each write adds after that.
    write_command: Duration,
    /// Time added to each read of flash.
    read_overhead: Duration,
    /// Whether any time of the drive has ever changed.
    has_changed: bool,
}

impl Times {
    fn new(config: &Config) -> Self {
        Self {
            rate: config.timing.pcie_bytes_per_second,
            one_block: None,
            command: config.timing.command,
            write_command: config.timing.write_command,
            read_overhead: config.timing.read_overhead,
            has_changed: false,
        }
    }
}

/// The link of one drive to its host.
#[derive(Clone, Debug)]
pub(crate) struct HostLink {
    times: Times,
    page_bytes: u32,
    commands: Slab<InFlight>,
    /// Number of commands that a collection holds up.
    stuck: u32,
    /// Writes whose data is crossing PCIe.
    arriving: VecDeque<(Instant, u32)>,
    arriving_until: Instant,
    /// Wait for a slot of the command that is being accepted.
    waited: Waited,
    /// Fast failures on their way, in order.
    failing: VecDeque<Completed>,
    /// Reads whose data is crossing PCIe, in order.
    leaving: VecDeque<Completed>,
    leaving_until: Instant,
    completed: VecDeque<Completed>,
    /// Earliest time at which a crossing ends.
    next: Instant,
}

impl HostLink {
    pub(crate) fn new(config: &Config) -> Self {
        let mut link = Self {
            times: Times::new(config),
            page_bytes: config.geometry.page_bytes,
            commands: Slab::new(),
            stuck: 0,
            arriving: VecDeque::new(),
            arriving_until: Instant::ZERO,
            waited: Waited::default(),
            failing: VecDeque::new(),
            leaving: VecDeque::new(),
            leaving_until: Instant::ZERO,
            completed: VecDeque::new(),
            next: Instant::NEVER,
        };
        link.times.one_block = link.crossing_by_division(1);
        link
    }

    /// Sets the times from `config`.
    pub(crate) fn set_times(&mut self, config: &Config) {
        self.times = Times { has_changed: true, ..Times::new(config) };
        self.times.one_block = self.crossing_by_division(1);
    }

    /// Earliest time at which a crossing ends.
    #[inline]
    pub(crate) fn next_due(&self) -> Instant {
        self.next
    }

    fn find_next(&mut self) {
        let completion = |queue: &VecDeque<Completed>| {
            queue.front().map_or(Instant::NEVER, |completed| completed.at)
        };
        let arriving = self.arriving.front().map_or(Instant::NEVER, |&(at, _)| at);
        self.next = completion(&self.failing).min(completion(&self.leaving)).min(arriving);
    }

    /// Ends the earliest crossing. Returns the write whose data has arrived; `None` for a
    /// completion.
    pub(crate) fn end_crossing(&mut self, due: Instant) -> Option<u32> {
        let is_due = |queue: &VecDeque<Completed>| queue.front().is_some_and(|c| c.at == due);
        let mut arrived = None;
        let crossed = if is_due(&self.failing) {
            self.failing.pop_front()
        } else if is_due(&self.leaving) {
            self.leaving.pop_front()
        } else {
            arrived = self.arriving.pop_front().map(|(_, command)| command);
            None
        };
        if let Some(completed) = crossed {
            self.completed.push_back(completed);
        }
        self.find_next();
        arrived
    }

    /// Time for `blocks` to cross PCIe; `None` if the bandwidth is not limited.
    #[inline]
    fn crossing(&self, blocks: u32) -> Option<Duration> {
        if blocks == 1 { self.times.one_block } else { self.crossing_by_division(blocks) }
    }

    fn crossing_by_division(&self, blocks: u32) -> Option<Duration> {
        let bytes = u64::from(blocks) * u64::from(self.page_bytes);
        let rate = u128::from(self.times.rate?);
        let data = Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / rate) as u64);
        Some(data + self.times.command)
    }

    /// Accepts a command and gives it a slot. It waits for `remaining` of its pages;
    /// `met_collection` says whether one of them waits for a collection.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        now: Instant,
        command: &Command,
        met_collection: bool,
        remaining: u32,
    ) -> u32 {
        let Waited { time, held_up } = self.waited;
        let stuck = met_collection;
        self.stuck += u32::from(stuck);
        let command = InFlight::new(now, command);
        self.commands.insert(InFlight {
            met_collection,
            remaining,
            waited: time,
            held_up,
            stuck,
            ..command
        })
    }

    /// The host's identifier of the command in a slot.
    #[inline]
    pub(crate) fn id_of(&self, slot: u32) -> CommandId {
        self.commands.get(slot).id
    }

    /// Logical page of a block of a command.
    #[inline]
    pub(crate) fn page_of(&self, slot: u32, block: u32) -> u32 {
        self.commands.get(slot).first_logical + block
    }

    /// Blocks of a command.
    #[inline]
    pub(crate) fn blocks_of(&self, slot: u32) -> u32 {
        self.commands.get(slot).blocks
    }

    /// Pages that a command waits for.
    #[inline]
    pub(crate) fn remaining_of(&self, slot: u32) -> u32 {
        self.commands.get(slot).remaining
    }

    /// Records that a page of a write went to a die that collects.
    #[inline]
    pub(crate) fn meet_collection(&mut self, slot: u32) {
        self.commands.get_mut(slot).met_collection = true;
    }

    /// Counts a page of a write that is in DRAM. Returns whether it was the last of its command.
    pub(crate) fn end_page_in_dram(&mut self, slot: u32) -> bool {
        let command = self.commands.get_mut(slot);
        command.remaining -= 1;
        command.remaining == 0
    }

    /// Adds `length` to the time for which the data of a command moves to or from DRAM.
    pub(crate) fn add_transfer(&mut self, slot: u32, length: Duration) {
        self.commands.get_mut(slot).transfer += length;
    }

    /// Records that a page of a command queued behind work that a collection had held up.
    #[inline]
    pub(crate) fn hold_up(&mut self, command: u32) {
        let command = self.commands.get_mut(command);
        self.stuck += u32::from(!command.stuck);
        (command.held_up, command.stuck) = (true, true);
    }

    /// Whether a collection holds up a command that is in the drive.
    pub(crate) fn is_any_stuck(&self) -> bool {
        self.stuck > 0
    }

    #[inline]
    fn release(&mut self, command: u32) {
        self.stuck -= u32::from(self.commands.get(command).stuck);
        self.commands.release(command);
    }

    /// Sets the wait for a slot of the command that is accepted next.
    #[inline]
    pub(crate) fn take_after(&mut self, waited: Waited) {
        self.waited = waited;
    }

    /// Accepts a write. Returns whether its data is there already.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant, command: u32) -> bool {
        let crossing = match self.crossing(self.blocks_of(command)) {
            None if self.times.write_command.is_zero() => return true,
            crossing => crossing.unwrap_or_default() + self.times.write_command,
        };
        self.arriving_until = self.arriving_until.max(now) + crossing;
        self.arriving.push_back((self.arriving_until, command));
        self.next = self.next.min(self.arriving_until);
        false
    }

    /// Records that the data of a write is there, so that page operations begin.
    #[inline]
    pub(crate) fn begin_write(&mut self, now: Instant, command: u32) {
        let command = self.commands.get_mut(command);
        command.transfer += now.since(command.arrived);
    }

    /// Ends one page of a read. With the last page the data goes to the host; only then is `delays`
    /// called, for the causes of the wait for that page.
    #[inline]
    pub(crate) fn end_read_page(
        &mut self,
        now: Instant,
        command: u32,
        delays: impl FnOnce() -> Delays,
    ) {
        let in_flight = self.commands.get_mut(command);
        in_flight.remaining -= 1;
        if in_flight.remaining == 0 {
            let done = *in_flight;
            self.release(command);
            let delays = match self.times.has_changed {
                true => fitted(&delays(), now.since(done.arrived)),
                false => delays(),
            };
            self.send_data(now, &done, delays, self.times.read_overhead);
        }
    }

    /// Ends one page of a write that is stored. With the last page the write completes.
    #[inline]
    pub(crate) fn end_write_page(&mut self, now: Instant, command: u32) {
        let in_flight = self.commands.get_mut(command);
        in_flight.remaining -= 1;
        if in_flight.remaining == 0 {
            self.end_write(now, command);
        }
    }

    /// Ends a command that DRAM answers.
    pub(crate) fn end_answer(&mut self, now: Instant, command: u32, is_read: bool) {
        if is_read {
            let done = *self.commands.get(command);
            self.release(command);
            self.send_data(now, &done, transfer(done.transfer), Duration::ZERO);
        } else {
            self.end_write(now, command);
        }
    }

    #[inline]
    fn end_write(&mut self, now: Instant, command: u32) {
        let done = self.commands.get(command);
        let completion = done.succeeded(transfer(done.transfer));
        self.release(command);
        self.completed.push_back(Completed { at: now, completion });
    }

    #[inline]
    fn send_data(&mut self, now: Instant, done: &InFlight, delays: Delays, overhead: Duration) {
        let mut completion = done.succeeded(delays);
        let crossing = match self.crossing(done.blocks) {
            None if overhead.is_zero() => {
                self.completed.push_back(Completed { at: now, completion });
                return;
            }
            crossing => crossing.unwrap_or_default(),
        };
        self.leaving_until = self.leaving_until.max(now) + crossing;
        let at = self.leaving_until + overhead;
        completion.delays.add(Cause::Transfer, at.since(now));
        let done = Completed { at, completion };
        if self.leaving.back().is_some_and(|last| last.at > at) {
            // Data out of the write buffer does not wait for the firmware's time for writes.
            let place = self.leaving.partition_point(|earlier| earlier.at <= at);
            self.leaving.insert(place, done);
        } else {
            self.leaving.push_back(done);
        }
        self.next = self.next.min(at);
    }

    /// Fails a read fast: after `delay` the host learns that the flash is busy for `busy`.
    pub(crate) fn fail_fast(
        &mut self,
        now: Instant,
        id: CommandId,
        busy: Duration,
        delay: Duration,
    ) {
        // The delay is constant, except right after the drive was slower.
        let at = self.failing.back().map_or(now + delay, |last| last.at.max(now + delay));
        let mut delays = Delays::ZERO;
        delays.add(Cause::FailFast, at.since(now));
        delays.add(Cause::HeldBack, self.waited.time);
        let completion = Completion {
            id,
            status: Status::FailedFast,
            busy_remaining: busy,
            met_collection: true,
            held_up: false,
            delays,
        };
        self.failing.push_back(Completed { at, completion });
        self.next = self.next.min(at);
    }

    /// Completes a command at the time of its arrival.
    pub(crate) fn complete_at_once(&mut self, now: Instant, command: &Command) {
        let command = InFlight { waited: self.waited.time, ..InFlight::new(now, command) };
        let completion = command.succeeded(Delays::ZERO);
        self.completed.push_back(Completed { at: now, completion });
    }

    /// The next completion.
    #[inline]
    pub(crate) fn poll_completion(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    /// Completions that the host has not taken, oldest first.
    pub(crate) fn completed(&self) -> &VecDeque<Completed> {
        &self.completed
    }

    /// Commands that have arrived and not completed.
    pub(crate) fn in_flight(&self) -> usize {
        self.commands.len() + self.failing.len() + self.leaving.len()
    }

    /// Writes whose data is on its way.
    pub(crate) fn arriving(&self) -> impl Iterator<Item = u32> + '_ {
        self.arriving.iter().map(|&(_, command)| command)
    }

    /// Commands with pages that are not done.
    pub(crate) fn commands(&self) -> usize {
        self.commands.len()
    }

    /// Checks that crossings are in order.
    pub(crate) fn check_invariants(&self) {
        for queue in [&self.failing, &self.leaving] {
            assert!(queue.iter().is_sorted_by_key(|completed| completed.at));
        }
        assert!(self.arriving.iter().is_sorted_by_key(|&(at, _)| at));
        let mut next = Self { next: Instant::NEVER, ..self.clone() };
        next.find_next();
        assert_eq!(next.next, self.next, "when the link is due");
    }
}

/// Delays of a read that sum to `latency`. A step of the read may have begun when such steps took
/// another time.
fn fitted(delays: &Delays, latency: Duration) -> Delays {
    let mut fitted = Delays::ZERO;
    let steps = [Cause::NandRead, Cause::Transfer];
    for cause in Cause::ALL.into_iter().filter(|cause| !steps.contains(cause)) {
        fitted.add(cause, delays.get(cause));
    }
    let own = latency.saturating_sub(fitted.total());
    let sensing = delays.get(Cause::NandRead).min(own);
    fitted.add(Cause::NandRead, sensing);
    fitted.add(Cause::Transfer, own.saturating_sub(sensing));
    fitted
}

/// Delays of a wait for the data to be moved, and for nothing else.
fn transfer(length: Duration) -> Delays {
    let mut delays = Delays::ZERO;
    delays.add(Cause::Transfer, length);
    delays
}
