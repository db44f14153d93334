//! Path of a page that the host writes: to a page on a die, to the write buffer, or into a RAIN
//! stripe.
//!
//! The drive asks its placement; only this module knows which of the three paths it takes.

mod buffer;
mod buffered;
mod direct;
mod location;
mod next;

pub(crate) use buffer::{Buffer, RESERVE_SHARE};
pub(crate) use buffered::FLUSHES_PER_DIE;
pub(crate) use location::Location;

use crate::config::{Config, WriteBufferConfig};
use crate::dies::Task;
use crate::flash::{Flash, Rights, Urgency};
use crate::link::HostLink;
use crate::rain::{ByStripe, Layout, Striped};
use alloc::boxed::Box;
use buffered::Buffered;
use core::ops::Range;
use direct::Direct;
use next::Next;
use nvme::Delays;
use units::{Instant, Observe};

/// Path of a page that the host writes.
#[derive(Clone, Debug)]
pub(crate) enum Placement {
    /// The page is programmed on the next die with room.
    Direct(Direct),
    /// The page is buffered, and flushed to the next die that suits.
    Buffered(Box<Buffered>),
    /// The page is buffered, and flushed with its stripe to the die that it is bound to.
    Striped(Box<Striped>),
}

impl Placement {
    /// The placement that a drive is configured for.
    pub(crate) fn new(config: &Config) -> Self {
        match (config.write_buffer, config.rain) {
            (None, _) => Self::Direct(Direct::default()),
            (Some(buffer), None) => Self::Buffered(Box::new(Buffered::new(buffer, config))),
            (Some(buffer), Some(rain)) => {
                Self::Striped(Box::new(Striped::new(config, rain, Buffer::new(buffer))))
            }
        }
    }

    /// The write buffer; `None` without one.
    pub(crate) fn buffer(&self) -> Option<&Buffer> {
        match self {
            Self::Direct(_) => None,
            Self::Buffered(buffered) => Some(buffered.buffer()),
            Self::Striped(striped) => Some(striped.buffer()),
        }
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        match self {
            Self::Direct(_) => None,
            Self::Buffered(buffered) => Some(buffered.buffer_mut()),
            Self::Striped(striped) => Some(striped.buffer_mut()),
        }
    }

    /// Starts again to record the most pages that the buffer held.
    pub(crate) fn reset_peak(&mut self) {
        if let Some(buffer) = self.buffer_mut() {
            buffer.reset_peak();
        }
    }

    /// Sets the latency of the buffer.
    pub(crate) fn set_latency(&mut self, config: &Config) {
        if let (Some(buffer), Some(WriteBufferConfig { latency, .. })) =
            (self.buffer_mut(), config.write_buffer)
        {
            buffer.set_latency(latency);
        }
    }

    /// Whether pages go to dies as they come, so that every page is on flash.
    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// Places of RAIN stripes; `None` without RAIN.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.striped().map(Striped::layout)
    }

    /// Place of a page that the host reads.
    pub(crate) fn locate<O: Observe>(&self, logical: u32, flash: &Flash<O>) -> Location {
        match self.buffer() {
            Some(buffer) if buffer.holds(logical) => Location::Buffered,
            _ => Location::on_flash(flash.ftl().lookup(logical)),
        }
    }

    /// Marks those of `pages` that are reconstructed instead of read from their die; logical page
    /// `first` is the first of them. Returns whether any is.
    pub(crate) fn mark_reconstructed<O: Observe>(
        &self,
        now: Instant,
        first: u32,
        pages: &mut [Location],
        flash: &Flash<O>,
    ) -> bool {
        self.striped().is_some_and(|striped| striped.mark_reconstructed(now, first, pages, flash))
    }

    /// Whether a read of this page alone would be reconstructed if its die collected.
    pub(crate) fn would_reconstruct<O: Observe>(
        &self,
        now: Instant,
        logical: u32,
        flash: &Flash<O>,
    ) -> bool {
        self.striped().is_some_and(|striped| striped.would_reconstruct(now, logical, flash))
    }

    /// Begins to reconstruct the marked `pages` of a command. Returns the reconstructions by
    /// stripe.
    pub(crate) fn begin_reconstructions<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        pages: &[Location],
        flash: &mut Flash<O>,
        link: &HostLink,
    ) -> ByStripe {
        match self {
            Self::Direct(_) | Self::Buffered(_) => ByStripe::new(),
            Self::Striped(striped) => {
                striped.begin_reconstructions(now, command, pages, flash, link)
            }
        }
    }

    /// Operation that reads a block of a command. It also serves the reconstruction of another page
    /// of its stripe, if there is one.
    pub(crate) fn read_of(
        &self,
        command: u32,
        block: u32,
        logical: u32,
        reconstructions: &ByStripe,
    ) -> Task {
        let stripe = || self.layout().map(|layout| layout.slot_of(logical).0);
        match reconstructions.iter().find(|&&(other, _)| Some(other) == stripe()) {
            None => Task::Read { command, block, logical },
            Some(&(_, reconstruction)) => {
                Task::SharedRead { command, block, logical, reconstruction }
            }
        }
    }

    /// Counts a page that a command reads and that also serves a reconstruction.
    pub(crate) fn add_to_reconstruction<O: Observe>(
        &mut self,
        now: Instant,
        (reconstruction, page): (u32, u32),
        delays: Delays,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        if let Self::Striped(striped) = self {
            striped.add_to_reconstruction(now, (reconstruction, page), delays, flash, link);
        }
    }

    /// The stripes; `None` without RAIN.
    fn striped(&self) -> Option<&Striped> {
        match self {
            Self::Striped(striped) => Some(striped),
            _ => None,
        }
    }

    /// Time at which the buffer answers a command or a page has been reconstructed.
    #[inline]
    pub(crate) fn next_due(&self) -> Instant {
        match self {
            Self::Direct(_) => Instant::NEVER,
            Self::Buffered(buffered) => buffered.buffer().next_answer(),
            Self::Striped(striped) => striped.next_due(),
        }
    }

    /// Handles what is due first.
    pub(crate) fn end_due(&mut self, now: Instant, link: &mut HostLink) {
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => buffered.buffer_mut().end_answer(now, link),
            Self::Striped(striped) => striped.end_due(now, link),
        }
    }

    /// Whether no flush program is queued or running.
    #[inline]
    pub(crate) fn flushes_nothing(&self) -> bool {
        self.buffer().is_none_or(|buffer| buffer.flushing() == 0)
    }

    /// Whether dirty pages wait for a window.
    pub(crate) fn waits_to_flush(&self, rights: &Rights) -> bool {
        self.buffer().is_some_and(|buffer| buffer.flushes_in_window(rights) && buffer.has_dirty())
    }

    /// Whether a collection that is not forced has to wait for the flush.
    pub(crate) fn flush_goes_first(&self, now: Instant, rights: &Rights) -> bool {
        match self {
            Self::Buffered(buffered) => buffered.goes_first(now, rights),
            Self::Direct(_) | Self::Striped(_) => false,
        }
    }

    /// Records that a collection waits until the flush has queued its last page.
    pub(crate) fn collection_waits(&mut self) {
        if let Self::Buffered(buffered) = self {
            buffered.collection_waits();
        }
    }

    /// Die that a page is bound to; `None` if it may go to any.
    pub(crate) fn bound_die<O: Observe>(&self, page: u32, flash: &Flash<O>) -> Option<u32> {
        match self {
            Self::Striped(striped) => Some(striped.layout().die_of(page)),
            Self::Direct(_) | Self::Buffered(_) => flash.ftl().bound_die(page),
        }
    }

    /// The die that serves a read of a page that was never written.
    #[inline]
    pub(crate) fn die_of_unwritten<O: Observe>(&self, flash: &Flash<O>, logical: u32) -> u32 {
        match self {
            Self::Striped(striped) => striped.layout().die_of(logical),
            Self::Direct(_) | Self::Buffered(_) => flash.ftl().die_of_unwritten(logical),
        }
    }

    /// Accepts the data of a write, which has arrived.
    #[inline]
    pub(crate) fn begin_write<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        link.begin_write(now, command);
        match self {
            Self::Direct(direct) => {
                for block in 0..link.blocks_of(command) {
                    let next = direct.take(now, command, block, flash, link);
                    if let Next::Program { place, task } = next {
                        flash.program(now, place, task, false);
                    }
                }
                self.relieve(now, flash, link);
            }
            Self::Buffered(buffered) => {
                buffered.buffer_mut().receive(now, command, flash, link);
                Self::flush_buffered(now, buffered, flash);
            }
            Self::Striped(striped) => {
                striped.buffer_mut().receive(now, command, flash, link);
                striped.flush(now, flash);
            }
        }
    }

    /// Serves block `block` of a read from the buffer.
    pub(crate) fn read_buffered<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        block: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        if let Some(buffer) = self.buffer_mut() {
            buffer.read(now, command, block, flash, link);
        }
    }

    /// Ends an operation of the drive's own. The caller continues the die, and after a program the
    /// flush.
    pub(crate) fn end_task<O: Observe>(
        &mut self,
        now: Instant,
        die: u32,
        task: Task,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        match (self, task) {
            (Self::Buffered(buffered), Task::Flush { logical, flash: page, forced }) => {
                buffered.end_flush(now, (logical, page, forced), flash, link);
            }
            (Self::Buffered(buffered), Task::FlushUnit { unit, forced, .. }) => {
                buffered.end_flush_unit(now, (unit, forced), flash, link);
            }
            (Self::Striped(striped), task) => striped.end_task(now, die, task, flash, link),
            (_, task) => unreachable!("{task:?} needs a buffer, and the drive has none"),
        }
    }

    /// Queues flush programs as far as the rule, the window and the dies allow.
    #[inline]
    pub(crate) fn flush<O: Observe>(&mut self, now: Instant, flash: &mut Flash<O>) {
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => Self::flush_buffered(now, buffered, flash),
            Self::Striped(striped) => striped.flush(now, flash),
        }
    }

    /// Queues flush programs, and then the collections that were put off for them.
    fn flush_buffered<O: Observe>(now: Instant, buffered: &mut Buffered, flash: &mut Flash<O>) {
        loop {
            match buffered.next(now, flash) {
                Next::Program { place, task } => {
                    let first = buffered.goes_first(now, flash.rights());
                    if flash.program(now, place, task, first) {
                        buffered.collection_waits();
                    }
                }
                Next::MakeRoom { range } => {
                    flash.make_room(now, range);
                    break;
                }
                Next::Wait => break,
            }
        }
        if buffered.take_waiting_collection(now, flash.rights())
            && flash.collect_where_due(now, Urgency::Due, false)
        {
            buffered.collection_waits();
        }
    }

    /// Makes room for writes that wait for it, by collecting against the contract if nothing else
    /// helps.
    #[inline]
    pub(crate) fn relieve<O: Observe>(
        &mut self,
        now: Instant,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        if let Self::Direct(direct) = self
            && direct.has_stalled()
        {
            Self::relieve_stalled(now, direct, flash, link);
        }
    }

    #[cold]
    fn relieve_stalled<O: Observe>(
        now: Instant,
        direct: &mut Direct,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        loop {
            match direct.next(flash, link) {
                Next::Program { place, task } => {
                    flash.program(now, place, task, false);
                }
                Next::MakeRoom { range } => return flash.make_room(now, range),
                Next::Wait => return,
            }
        }
    }

    /// Releases programs that waited for these dies, which a collection has given back and which
    /// have not continued yet.
    pub(crate) fn end_hold<O: Observe>(
        &mut self,
        now: Instant,
        dies: Range<u32>,
        flash: &mut Flash<O>,
    ) {
        if let Self::Striped(striped) = self {
            dies.for_each(|die| striped.release_delayed(now, die, flash));
        }
    }

    /// Flash pages that are allocated and not mapped, beyond those that dies program and then map.
    pub(crate) fn pages_in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        let buffered = match self {
            Self::Buffered(buffered) => Some(buffered),
            Self::Direct(_) | Self::Striped(_) => None,
        };
        let striped = self.striped().into_iter().flat_map(|striped| striped.pages_in_flight());
        striped.chain(buffered.into_iter().flat_map(|buffered| buffered.pages_in_flight()))
    }

    /// Calls `tell` with each command that waits here, and the number of its pages that do.
    pub(crate) fn pages_of_commands<O: Observe>(
        &self,
        flash: &Flash<O>,
        mut tell: impl FnMut(u32, u32),
    ) {
        if let Self::Direct(direct) = self {
            direct.stalled().for_each(|(command, _)| tell(command, 1));
        }
        if let Some(buffer) = self.buffer() {
            buffer.waiting().for_each(|command| tell(command, 1));
            buffer.answered().for_each(|command| tell(command, 0));
        }
        if let Some(striped) = self.striped() {
            striped.commands(flash).for_each(|command| tell(command, 1));
        }
    }

    /// Checks the counts of the write buffer and of the stripes.
    pub(crate) fn check_invariants<O: Observe>(&self, flash: &Flash<O>) {
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => buffered.check_invariants(flash),
            Self::Striped(striped) => striped.check_invariants(flash),
        }
    }
}
