//! The dies and channels of a drive: their queues, the rules of overtaking, and ledgers of their
//! time.
//!
//! Knows: page operations and their durations. Does not know: where data lies, when and what is
//! collected, commands.

mod answers;
mod channel;
mod check;
mod deferred;
mod die;
mod interruption;
mod ledger;
mod ops;
mod planes;
mod suspend;
mod times;

pub(crate) use answers::{Pushed, StepEnd, Taken};
pub(crate) use check::{check_invariants, pages_in_flight, tasks};
pub(crate) use deferred::are_possible as copies_can_be_deferred;
pub(crate) use die::{Copy, Job};
pub(crate) use ops::{Need, Task};

use crate::config::{Config, SchedulingConfig};
use crate::dies::channel::Channel;
use crate::dies::deferred::DeferredCopies;
use crate::dies::die::{Die, State, Step};
use crate::dies::interruption::{Interruption, Suspended};
use crate::dies::ledger::{Spent, Work};
use crate::dies::ops::Op;
use crate::dies::planes::PlaneReads;
use crate::dies::suspend::{Suspender, Suspension};
use crate::dies::times::Times;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{Cause, Delays};
use units::{Deadlines, Duration, Instant, Slab};

/// The dies and channels of one drive.
#[derive(Clone, Debug)]
pub(crate) struct DieArray {
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// One deadline per die: the end of its current step. Behind those, one per plane that reads on
    /// its own.
    deadlines: Deadlines,
    ops: Slab<Op>,
    /// Planes that read on their own; `None` if dies read as a whole.
    planes: Option<PlaneReads>,
    /// Deferred copies; `None` if each copy ends at its own time.
    deferred: Option<DeferredCopies>,
    /// Queued operations that a collection held up.
    held_up: u32,
    times: Times,
    scheduling: SchedulingConfig,
    suspender: Suspender,
}

impl DieArray {
    pub(crate) fn new(config: &Config) -> Self {
        let chips = config.geometry.chips_per_channel;
        let dies: Vec<Die> = (0..config.geometry.dies()).map(|die| Die::new(die / chips)).collect();
        let planes = PlaneReads::new(config);
        let readers = planes.as_ref().map_or(0, PlaneReads::len);
        Self {
            channels: vec![Channel::new(); config.geometry.channels as usize],
            deadlines: Deadlines::new(dies.len() + readers),
            dies,
            planes,
            deferred: None,
            ops: Slab::new(),
            held_up: 0,
            times: Times::new(config),
            scheduling: config.scheduling,
            suspender: Suspender::new(&config.scheduling),
        }
    }

    /// Sets the times of operations.
    pub(crate) fn set_times(&mut self, config: &Config) {
        self.wait_for_copies();
        self.times = Times::new(config);
        self.suspender.set_config(&config.scheduling);
    }

    /// Die with this number, 0 to [`DieArray::len`] − 1.
    #[inline]
    pub(crate) fn die(&self, die: u32) -> &Die {
        &self.dies[die as usize]
    }

    pub(crate) fn len(&self) -> u32 {
        self.dies.len() as u32
    }

    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    #[inline]
    pub(crate) fn channel_of(&self, die: u32) -> u32 {
        self.die(die).channel
    }

    /// The collection that holds a die, or will when its turn in the queue comes.
    #[inline]
    pub(crate) fn collection_on(&self, die: u32) -> Option<u32> {
        self.die(die).collection
    }

    /// Whether a collection holds a die, or waits for it.
    #[inline]
    pub(crate) fn is_collecting(&self, die: u32) -> bool {
        self.die(die).collection.is_some()
    }

    /// Work of a die for its collection; `None` if it has none.
    #[inline]
    pub(crate) fn job_on(&self, die: u32) -> Option<&Job> {
        self.die(die).job.as_ref()
    }

    /// Whether a die waits to be given its next operation.
    #[inline]
    pub(crate) fn is_idle(&self, die: u32) -> bool {
        self.die(die).state == State::Idle
    }

    /// Interruptions of the operation on a die.
    #[inline]
    pub(crate) fn interruption(&self, die: u32) -> &Interruption {
        &self.die(die).interruption
    }

    /// Service time of the host operations that wait for a die.
    pub(crate) fn queued_work(&self, die: u32) -> Duration {
        self.die(die).queue.work
    }

    /// Programs of a die that are queued or running: of the host, or of the flush of the write
    /// buffer.
    #[inline]
    pub(crate) fn programs_on(&self, die: u32) -> u32 {
        self.die(die).programs
    }

    /// Time that the operation in service on a die has still to move data for, each move behind all
    /// dies that wait for the channel; zero for reads of the host.
    pub(crate) fn moves_left(&self, die: u32) -> Duration {
        let target = self.die(die);
        let turns = self.channels[target.channel as usize].turns();
        self.times.transfer_in * (target.moves_left() * turns)
    }

    /// End of the step that ends first.
    #[inline]
    pub(crate) fn earliest(&self) -> Instant {
        self.deadlines.earliest()
    }

    /// Source of the earliest deadline: a die, or one of its planes; see
    /// [`DieArray::die_of_source`].
    #[inline]
    pub(crate) fn first_due(&self) -> Option<u32> {
        self.deadlines.first().map(|source| source as u32)
    }

    /// Whether operations that a collection held up are waiting.
    #[inline]
    pub(crate) fn is_held_up(&self) -> bool {
        self.held_up > 0
    }

    /// Whether a die moves a page over this channel, or waits to.
    pub(crate) fn is_channel_busy(&self, channel: u32) -> bool {
        let channel = &self.channels[channel as usize];
        channel.busy || !channel.waiting.is_empty()
    }

    /// Time left in the current step of a die; zero if it waits or is idle.
    pub(crate) fn step_left(&self, now: Instant, die: u32) -> Duration {
        match self.step_end(die) {
            _ if self.die(die).state == State::Idle => Duration::ZERO,
            _ if self.die(die).state == State::Reading => self.plane_reads_left(now, die),
            Instant::NEVER => Duration::ZERO,
            due => due.since(now),
        }
    }

    /// Time left until the operation on a die is suspended; zero if no suspension is under way.
    pub(crate) fn suspending_left(&self, now: Instant, die: u32) -> Duration {
        match self.die(die).state {
            State::Suspending => self.step_left(now, die),
            _ => Duration::ZERO,
        }
    }

    /// Wait of a read for a program that begins on a die at `start`, when its data have arrived;
    /// zero if the operation in service moves no data for a program.
    pub(crate) fn wait_for_program(&self, start: Instant, die: u32) -> Duration {
        self.suspender.wait_for_program(start, self.die(die))
    }

    /// Longest time that the host operations of a die can take, in service and waiting, if no other
    /// die of its channel interferes.
    pub(crate) fn committed_work(&self, now: Instant, die: u32) -> Duration {
        let worker = self.die(die);
        // A step that ends may be followed by another of the same operation.
        let rest = match worker.state {
            State::Idle | State::Held => Duration::ZERO,
            _ if self.times.transfer.is_zero() => Duration::ZERO,
            State::Scrubbing(..) => self.times.transfer,
            _ => self.times.program_service,
        };
        self.step_left(now, die) + worker.interruption.left() + rest + worker.queue.work
    }

    /// Returns true if a read that arrives now goes to the front of the queue of its die. It does
    /// not overtake a collection that waits for the die, because the host was told when that would
    /// be over. With paced writes it does: reads come before both, and the writes ahead of the
    /// collection take long.
    #[inline]
    fn overtakes(&self, target: &Die, task: Task) -> bool {
        self.scheduling.read_priority
            && !self.suspender.is_in_order()
            && task.is_host_read()
            && (target.collection.is_none() || target.job.is_some() || self.scheduling.paced_writes)
    }

    /// Returns true if reads overtake writes, so that they do not wait for writes that a collection
    /// held up.
    #[inline]
    pub(crate) fn reads_overtake(&self) -> bool {
        self.scheduling.read_priority
    }

    /// Sets whether writes wait for room in the buffer.
    #[inline]
    pub(crate) fn set_full(&mut self, is_full: bool) {
        self.suspender.set_full(is_full);
    }

    /// Puts an operation into the queue of a die.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, die: u32, task: Task, need: Need) -> Pushed {
        let overtook = self.overtakes(&self.dies[die as usize], task);
        let service = self.times.service_of(task, need);
        let target = &mut self.dies[die as usize];
        // An operation that queues up behind I/O that a collection held up is held up as well.
        let behind = target.collection.is_some() || (target.queue.held_up > 0 && !overtook);
        let held_up = behind && !matches!(task, Task::Hold { .. });
        self.held_up += u32::from(held_up);
        if task.is_counted_program() {
            target.programs += 1;
        }
        let before = if task.is_host_read() { self.spent_at(now, die) } else { Spent::ZERO };
        let target = &mut self.dies[die as usize];
        let op = self.ops.insert(Op::new(task, need, held_up, service, before));
        if overtook {
            target.queue.push_read(&mut self.ops, op);
        } else {
            target.queue.push_back(&mut self.ops, op);
        }
        let idle = match target.state {
            State::Idle => true,
            State::Reading => task.is_host_read(),
            _ => false,
        };
        Pushed { held_up, overtook, idle }
    }

    /// Service time of the first operation that waits for a die, and whether it is a read of the
    /// host.
    pub(crate) fn front(&self, die: u32) -> Option<(Duration, bool)> {
        let op = self.ops.get(self.die(die).queue.front()?);
        Some((op.service, op.task.is_host_read()))
    }

    /// Whether an operation that has joined the end of a queue may suspend what is in service.
    #[inline]
    pub(crate) fn suspends_in_order(&self, task: Task) -> bool {
        task.is_host_read() && self.suspender.suspends_collections_only()
    }

    /// Returns true if a host read that waits for a die goes before the suspended operation there.
    pub(crate) fn read_goes_first(&self, die: u32) -> bool {
        match self.suspender.suspends_collections_only() {
            // The read has not overtaken the writes before it, so these go first as well.
            true => self.die(die).queue.iter(&self.ops).any(|op| op.task.is_host_read()),
            false => self.front(die).is_some_and(|(_, is_host_read)| is_host_read),
        }
    }

    /// Whether operations wait for a die of this channel, or reads of the host are in service
    /// there.
    pub(crate) fn is_channel_wanted(&self, channel: u32) -> bool {
        self.dies.iter().filter(|die| die.channel == channel).any(|die| {
            let is_work = |op: &Op| !matches!(op.task, Task::Hold { .. });
            matches!(die.state, State::Serving(task, _) if task.is_host_read())
                || die.queue.iter(&self.ops).any(is_work)
        })
    }

    /// Takes the first operation of a die from its queue and begins it.
    #[inline]
    pub(crate) fn take_next(&mut self, now: Instant, die: u32) -> Taken {
        let target = &mut self.dies[die as usize];
        let Some(op) = target.queue.front() else { return Taken::Nothing };
        let entry = self.ops.get(op);
        let (task, need) = (entry.task, entry.need);
        target.queue.pop_front(op, entry);
        self.held_up -= u32::from(entry.held_up);
        (target.cells, target.transfers) = (need.cells, need.transfers);
        match task {
            Task::Hold { collection } => {
                target.state = State::Held;
                target.ledger.switch(now, Some(Work::CollectionRead));
                self.deadlines.set(die as usize, Instant::NEVER);
                self.ops.release(op);
                return Taken::Hold(collection);
            }
            task if task.is_read() => {
                if task.is_host_read() {
                    target.ledger.switch(now, Some(Work::HostRead));
                    target.waited = Spent::ZERO;
                    target.waited.add_between(&entry.before, target.ledger.spent());
                } else {
                    target.ledger.switch(now, Some(Work::HostWrite));
                }
                target.state = State::Serving(task, Step::Sense);
                self.deadlines.set(die as usize, now + need.cells);
            }
            task => self.serve_program(now, die, task, need.cells),
        }
        self.ops.release(op);
        Taken::Operation(task)
    }

    /// Begins a program whose data is in the controller.
    #[inline]
    fn serve_program(&mut self, now: Instant, die: u32, task: Task, cells: Duration) {
        self.forget_registers(die);
        let target = &mut self.dies[die as usize];
        target.ledger.switch(now, Some(Work::HostWrite));
        if self.times.transfer_in.is_zero() {
            target.state = State::Serving(task, Step::Program);
            self.deadlines.set(die as usize, now + cells);
        } else {
            target.state = State::Serving(task, Step::WaitChannel);
            self.request_channel(now, die);
        }
    }

    /// Begins a program without queueing it, on a die that has nothing else to do. Returns whether
    /// it did.
    #[inline]
    pub(crate) fn begin_if_idle(&mut self, now: Instant, die: u32, task: Task, need: Need) -> bool {
        let target = &mut self.dies[die as usize];
        if target.state != State::Idle || target.has_more_work() || !task.is_counted_program() {
            return false;
        }
        target.programs += 1;
        (target.cells, target.transfers) = (need.cells, need.transfers);
        self.serve_program(now, die, task, need.cells);
        true
    }

    /// Whether a die has work after its current step, or planes that may take some up.
    #[inline]
    pub(crate) fn has_more_work(&self, die: u32) -> bool {
        self.die(die).has_more_work() || self.planes.is_some()
    }

    /// Delays of the read that a die has just finished, by cause.
    #[inline]
    pub(crate) fn delays_of_read(&self, die: u32) -> Delays {
        let mut delays = self.die(die).waited.as_delays();
        delays.add(Cause::NandRead, self.die(die).cells);
        delays.add(Cause::Transfer, self.times.transfer);
        delays
    }

    /// Time of a die up to `now`, by kind of work.
    #[inline]
    fn spent_at(&self, now: Instant, die: u32) -> Spent {
        let target = self.die(die);
        match &target.follows {
            None => target.ledger.read(now),
            Some((worker, before)) => {
                let mut spent = *target.ledger.spent();
                spent.add_between(before, &self.die(*worker).ledger.read(now));
                spent
            }
        }
    }

    /// Ends the current step of a die, or of a plane that reads on its own.
    #[inline]
    pub(crate) fn end_step(&mut self, now: Instant, source: u32) -> StepEnd {
        let die = source;
        if die >= self.len() {
            return self.end_plane_step(now, source - self.len());
        }
        let target = &mut self.dies[die as usize];
        if self.suspender.is_on() {
            target.interruption.end_operation();
        }
        match target.state {
            State::Serving(task, step) => self.end_host_step(now, die, task, step),
            State::Copying(copy, step) => self.end_copy_step(now, die, copy, step),
            State::Scrubbing(page, step) => self.end_scrub_step(now, die, page, step),
            State::Gathering(step) => self.end_gather_step(now, die, step),
            State::Relocating(step) => self.end_relocation_step(now, die, step),
            State::Erasing => StepEnd::Erased,
            State::Suspending => StepEnd::Suspended,
            State::Idle => StepEnd::Idle,
            State::Held | State::Reading => {
                unreachable!("die {die} has a deadline but no work of its own")
            }
        }
    }

    /// Ends a data move of a die over its channel. Returns whether it was the last of the
    /// operation; if not, the die asks for the channel again, behind the others that wait for it.
    #[inline]
    fn end_transfer(&mut self, now: Instant, die: u32) -> bool {
        self.release_channel(now, die);
        let target = &mut self.dies[die as usize];
        if target.transfers > 1 {
            target.transfers -= 1;
            self.request_channel(now, die);
            return false;
        }
        true
    }

    #[inline]
    fn end_gather_step(&mut self, now: Instant, die: u32, step: Step) -> StepEnd {
        match step {
            Step::Sense if self.times.transfer.is_zero() => StepEnd::Gathered,
            Step::Sense => {
                self.request_channel(now, die);
                StepEnd::Continues
            }
            _ if self.end_transfer(now, die) => StepEnd::Gathered,
            _ => StepEnd::Continues,
        }
    }

    #[inline]
    fn end_relocation_step(&mut self, now: Instant, die: u32, step: Step) -> StepEnd {
        match step {
            Step::Transfer => {
                if self.end_transfer(now, die) {
                    self.begin_program(now, die);
                    self.dies[die as usize].ledger.switch(now, Some(Work::CollectionProgram));
                }
                StepEnd::Continues
            }
            _ => StepEnd::Relocated,
        }
    }

    /// Begins to program data that is in the register.
    #[inline]
    fn begin_program(&mut self, now: Instant, die: u32) {
        self.set_step(die, Step::Program);
        let cells = self.dies[die as usize].cells;
        self.deadlines.set(die as usize, now + cells);
    }

    #[inline]
    fn end_host_step(&mut self, now: Instant, die: u32, task: Task, step: Step) -> StepEnd {
        let target = &mut self.dies[die as usize];
        match step {
            Step::Sense => {
                if self.times.transfer.is_zero() {
                    return StepEnd::Finished(task);
                }
                self.request_channel(now, die);
                StepEnd::Continues
            }
            Step::Transfer if task.is_read() => {
                self.release_channel(now, die);
                StepEnd::Finished(task)
            }
            Step::Transfer => {
                if self.end_transfer(now, die) {
                    self.begin_program(now, die);
                }
                StepEnd::Continues
            }
            Step::Program | Step::WaitChannel => {
                if task.is_counted_program() {
                    target.programs -= 1;
                }
                StepEnd::Finished(task)
            }
        }
    }

    #[inline]
    fn end_copy_step(&mut self, now: Instant, die: u32, copy: Copy, step: Step) -> StepEnd {
        match step {
            Step::Sense => {
                self.request_channel(now, die);
                StepEnd::Continues
            }
            Step::Transfer => {
                self.release_channel(now, die);
                self.set_step(die, Step::Program);
                self.dies[die as usize].ledger.switch(now, Some(Work::CollectionProgram));
                self.deadlines.set(die as usize, now + self.times.program);
                StepEnd::Continues
            }
            Step::Program | Step::WaitChannel => StepEnd::Copied(copy),
        }
    }

    fn end_scrub_step(&mut self, now: Instant, die: u32, page: u32, step: Step) -> StepEnd {
        if step == Step::Sense && !self.times.transfer.is_zero() {
            self.request_channel(now, die);
            return StepEnd::Continues;
        }
        if step == Step::Transfer {
            self.release_channel(now, die);
        }
        self.dies[die as usize].state = State::Idle;
        StepEnd::Scrubbed(page)
    }

    /// Leaves a die without work; `wake` is when it begins to scrub.
    #[inline]
    pub(crate) fn rest(&mut self, now: Instant, die: u32, wake: Instant) {
        let target = &mut self.dies[die as usize];
        target.state = State::Idle;
        target.ledger.switch(now, None);
        self.deadlines.set(die as usize, wake);
    }

    /// An idle die reads a page to check it.
    pub(crate) fn begin_scrub(&mut self, now: Instant, die: u32, page: u32) {
        let target = &mut self.dies[die as usize];
        target.state = State::Scrubbing(page, Step::Sense);
        target.ledger.switch(now, Some(Work::CollectionRead));
        self.deadlines.set(die as usize, now + self.times.read);
    }

    /// A collection asks for a die.
    pub(crate) fn assign(&mut self, die: u32, collection: u32) {
        self.dies[die as usize].collection = Some(collection);
    }

    /// A collection gives a die back. The caller gives the die its next operation.
    pub(crate) fn release(&mut self, die: u32) {
        self.dies[die as usize].collection = None;
        self.dies[die as usize].state = State::Idle;
    }

    /// Begins the job of a die for a collection that has all its dies.
    ///
    /// The other dies that the job keeps from the host spend their time as this one does. They
    /// follow its ledger instead of booking every step: with 8 dies on a channel, booking would be
    /// a third of the cost of a copy.
    pub(crate) fn begin_job(&mut self, now: Instant, die: u32, job: Job) {
        self.dies[die as usize].job = Some(job);
        let before = self.dies[die as usize].ledger.read(now);
        for held in job.first_held..job.first_held + job.held {
            if held != die {
                let held = &mut self.dies[held as usize];
                held.ledger.switch(now, None);
                held.follows = Some((die, before));
            }
        }
    }

    /// Interrupts the collection's job on a die, so that the host goes first.
    pub(crate) fn interrupt_job(&mut self, die: u32) {
        self.dies[die as usize].state = State::Idle;
    }

    /// Records that the collection's job on a die has passed all pages in front of `cursor`.
    #[inline]
    pub(crate) fn advance_job(&mut self, die: u32, cursor: u32) {
        if let Some(job) = &mut self.dies[die as usize].job {
            job.cursor = cursor;
        }
    }

    /// Begins a copy on a collecting die; its job continues behind that page.
    #[inline]
    pub(crate) fn begin_copy(&mut self, now: Instant, die: u32, copy: Copy) {
        let Times { read, program, copy_transfer, .. } = self.times;
        let (step, work, lead, length) = if copy_transfer.is_zero() {
            // Nothing can come between sensing and programming: book both as one step.
            (Step::Program, Work::CollectionProgram, read, read + program)
        } else {
            (Step::Sense, Work::CollectionRead, Duration::ZERO, read)
        };
        let target = &mut self.dies[die as usize];
        if let Some(job) = &mut target.job {
            job.cursor = copy.from + 1;
        }
        target.state = State::Copying(copy, step);
        target.ledger.switch_with_lead(now, Some(work), lead);
        self.deadlines.set(die as usize, now + length);
    }

    /// Begins to gather pages on a collecting die: senses them for `sense`, then sends them out in
    /// `transfers` data moves.
    pub(crate) fn begin_gather(&mut self, now: Instant, die: u32, sense: Duration, transfers: u32) {
        self.forget_registers(die);
        let target = &mut self.dies[die as usize];
        (target.state, target.transfers) = (State::Gathering(Step::Sense), transfers);
        target.ledger.switch(now, Some(Work::CollectionRead));
        self.deadlines.set(die as usize, now + sense);
    }

    /// Begins to relocate gathered pages on a collecting die: takes them in with `transfers` data
    /// moves, then programs them for `program`.
    pub(crate) fn begin_relocation(
        &mut self,
        now: Instant,
        die: u32,
        program: Duration,
        transfers: u32,
    ) {
        self.forget_registers(die);
        let target = &mut self.dies[die as usize];
        (target.cells, target.transfers) = (program, transfers);
        if self.times.transfer.is_zero() {
            target.state = State::Relocating(Step::Program);
            target.ledger.switch(now, Some(Work::CollectionProgram));
            self.deadlines.set(die as usize, now + program);
        } else {
            target.state = State::Relocating(Step::WaitChannel);
            target.ledger.switch(now, Some(Work::CollectionRead));
            self.request_channel(now, die);
        }
    }

    /// A collecting die erases its block.
    pub(crate) fn begin_erase(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        target.state = State::Erasing;
        target.ledger.switch(now, Some(Work::CollectionErase));
        let length = target.erase_block(&self.times);
        self.deadlines.set(die as usize, now + length);
    }

    /// Ends a die's part of a collection, after its erase. The die stays held until the collection
    /// is over.
    pub(crate) fn end_job(&mut self, now: Instant, die: u32) -> (u32, Job) {
        let target = &mut self.dies[die as usize];
        let (Some(collection), Some(job)) = (target.collection, target.job.take()) else {
            unreachable!("die {die} erased a block outside a collection")
        };
        target.state = State::Held;
        target.ledger.switch(now, Some(Work::CollectionErase));
        let after = *target.ledger.spent();
        self.deadlines.set(die as usize, Instant::NEVER);
        self.catch_up(now, job, &after);
        (collection, job)
    }

    /// Ends the following of the job of `die`, which has just begun to erase: the dies that
    /// followed it keep their own ledgers again.
    pub(crate) fn end_following(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        let Some(job) = &mut target.job else { return };
        let whole = *job;
        (job.first_held, job.held) = (die, 1);
        let after = target.ledger.read(now);
        self.catch_up(now, whole, &after);
    }

    /// Books for the dies that a job kept from the host the time that its own die spent.
    fn catch_up(&mut self, now: Instant, job: Job, after: &Spent) {
        for held in &mut self.dies[job.first_held as usize..(job.first_held + job.held) as usize] {
            if let Some((_, before)) = held.follows.take() {
                held.ledger.catch_up(now, &before, after, Work::CollectionErase);
            }
        }
    }

    /// Suspension of the operation on a die for a read that has just arrived; see [`Suspender`].
    pub(crate) fn suspension(&self, now: Instant, die: u32) -> Option<Suspension> {
        self.suspender.suspension_of(now, self.die(die), self.step_left(now, die))
    }

    /// Interrupts the program or erase of a die.
    pub(crate) fn suspend(&mut self, now: Instant, die: u32, suspension: Suspension) {
        let Suspension { after, cost } = suspension;
        let left = self.step_left(now, die).saturating_sub(after) + cost;
        let target = &mut self.dies[die as usize];
        let work = target.ledger.current();
        target.interruption.suspend(Suspended { state: target.state, left, work });
        target.state = State::Suspending;
        self.deadlines.set(die as usize, now + after + cost);
    }

    /// Resumes the suspended operation.
    pub(crate) fn resume(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        let Some(suspended) = target.interruption.resume() else { return };
        target.state = suspended.state;
        target.ledger.switch(now, suspended.work);
        target.interruption.wait_until(self.suspender.next_after(now, target.state));
        self.deadlines.set(die as usize, now + suspended.left);
    }

    /// Puts the current operation of the die into the step `step`.
    #[inline]
    fn set_step(&mut self, die: u32, step: Step) {
        match &mut self.dies[die as usize].state {
            State::Serving(_, current)
            | State::Copying(_, current)
            | State::Scrubbing(_, current)
            | State::Gathering(current)
            | State::Relocating(current) => *current = step,
            other => unreachable!("a die in state {other:?} needs no channel"),
        }
    }

    fn request_channel(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        let channel = &mut self.channels[target.channel as usize];
        if channel.busy {
            if matches!(target.state, State::Serving(task, _) if task.is_host_read()) {
                target.channel_before = channel.ledger.read(now);
            }
            channel.waiting.push_back(die);
            self.set_step(die, Step::WaitChannel);
            self.deadlines.set(die as usize, Instant::NEVER);
        } else {
            self.begin_transfer(now, die);
        }
    }

    /// Gives the channel to a die that has waited for it.
    fn end_channel_wait(&mut self, now: Instant, die: u32) {
        self.begin_transfer(now, die);
        let target = &mut self.dies[die as usize];
        if matches!(target.state, State::Serving(task, _) if task.is_host_read()) {
            let after = self.channels[target.channel as usize].ledger.spent();
            target.waited.add_between(&target.channel_before, after);
        }
    }

    fn begin_transfer(&mut self, now: Instant, die: u32) {
        self.set_step(die, Step::Transfer);
        let target = &self.dies[die as usize];
        let channel = &mut self.channels[target.channel as usize];
        let (work, length) = match target.state {
            // Data goes out through error correction and back in.
            State::Copying(..) => (Work::CollectionRead, self.times.copy_transfer),
            State::Scrubbing(..) => (Work::CollectionRead, self.times.transfer),
            State::Gathering(_) | State::Relocating(_) => {
                (Work::CollectionRead, self.times.transfer_in)
            }
            State::Serving(task, _) if task.is_host_read() => (Work::HostRead, self.times.transfer),
            State::Serving(Task::FlushUnit { .. }, _) => (Work::HostWrite, self.times.transfer_in),
            _ => (Work::HostWrite, self.times.transfer),
        };
        channel.busy = true;
        channel.ledger.switch(now, Some(work));
        self.deadlines.set(die as usize, now + length);
    }

    pub(crate) fn release_channel(&mut self, now: Instant, die: u32) {
        let channel = &mut self.channels[self.dies[die as usize].channel as usize];
        channel.busy = false;
        channel.ledger.switch(now, None);
        match channel.waiting.pop_front() {
            None => {}
            Some(source) if source >= self.len() => {
                self.end_channel_wait_of_plane(now, source - self.len());
            }
            Some(die) => self.end_channel_wait(now, die),
        }
    }
}
