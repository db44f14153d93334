//! What becomes of a page that the host writes: a page on a die, a page in the write buffer, or a
//! part of a RAIN stripe.
//!
//! The drive asks its placement; only this module knows which of the three it is.

mod buffer;
mod buffered;
mod direct;
mod location;

pub(crate) use buffer::{Buffer, RESERVE_SHARE};
pub(crate) use buffered::FLUSHES_PER_DIE;
pub(crate) use location::Location;

use crate::config::{Config, WriteBufferConfig};
use crate::flash::Flash;
use crate::link::HostLink;
use crate::ops::Task;
use crate::rain::Striped;
use crate::rights::Rights;
use alloc::boxed::Box;
use buffered::Buffered;
use core::ops::Range;
use direct::Direct;
use units::{Instant, Observe};

/// What becomes of a page that the host writes.
#[derive(Clone, Debug)]
pub(crate) enum Placement {
    /// It is programmed into a page of the next die that has room.
    Direct(Direct),
    /// It is buffered, and flushed to the next die that suits.
    Buffered(Box<Buffered>),
    /// It is buffered, and flushed with its stripe to the die that it is bound to.
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

    /// The write buffer, if there is one.
    pub(crate) fn buffer(&self) -> Option<&Buffer> {
        match self {
            Self::Direct(_) => None,
            Self::Buffered(buffered) => Some(&buffered.buffer),
            Self::Striped(striped) => Some(&striped.buffer),
        }
    }

    /// The most that the buffer held is counted from now on.
    pub(crate) fn reset_peak(&mut self) {
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => buffered.buffer.reset_peak(),
            Self::Striped(striped) => striped.buffer.reset_peak(),
        }
    }

    /// How long a buffer takes to answer has changed.
    pub(crate) fn set_latency(&mut self, config: &Config) {
        let Some(WriteBufferConfig { latency, .. }) = config.write_buffer else { return };
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => buffered.buffer.set_latency(latency),
            Self::Striped(striped) => striped.buffer.set_latency(latency),
        }
    }

    /// The stripes, if there are any.
    pub(crate) fn striped(&self) -> Option<&Striped> {
        match self {
            Self::Striped(striped) => Some(striped),
            _ => None,
        }
    }

    /// When the buffer answers a command or a page is reconstructed.
    #[inline]
    pub(crate) fn next_due(&self) -> Instant {
        match self {
            Self::Direct(_) => Instant::NEVER,
            Self::Buffered(buffered) => buffered.buffer.next_answer(),
            Self::Striped(striped) => striped.next_due(),
        }
    }

    /// What is due first happens.
    pub(crate) fn end_due(&mut self, now: Instant, link: &mut HostLink) {
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => buffered.buffer.end_answer(now, link),
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

    /// Whether a collection that is not forced has to let the flush go first.
    pub(crate) fn flush_goes_first(&self, now: Instant, rights: &Rights) -> bool {
        match self {
            Self::Buffered(buffered) => buffered.goes_first(now, rights),
            Self::Direct(_) | Self::Striped(_) => false,
        }
    }

    /// A collection was put off until the flush has queued its last page.
    pub(crate) fn collection_waits(&mut self) {
        if let Self::Buffered(buffered) = self {
            buffered.collection_waits();
        }
    }

    /// The die that serves a read of a page that was never written.
    #[inline]
    pub(crate) fn die_of_unwritten<O: Observe>(&self, flash: &Flash<O>, logical: u32) -> u32 {
        match self {
            Self::Striped(striped) => striped.layout().die_of(logical),
            Self::Direct(_) | Self::Buffered(_) => flash.ftl.die_of_unwritten(logical),
        }
    }

    /// The data of a write has arrived.
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
            Self::Direct(direct) => direct.begin_write(now, command, flash, link),
            Self::Buffered(buffered) => {
                buffered.buffer.receive(command, link);
                buffered.buffer.admit_waiting(now, flash, link);
                buffered.flush(now, flash);
            }
            Self::Striped(striped) => {
                striped.buffer.receive(command, link);
                striped.buffer.admit_waiting(now, flash, link);
                striped.flush(now, flash);
            }
        }
    }

    /// Block `block` of a read is served from the buffer.
    pub(crate) fn read_buffered<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        block: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        match self {
            Self::Direct(_) => {}
            Self::Buffered(buffered) => buffered.buffer.read(now, command, block, flash, link),
            Self::Striped(striped) => striped.buffer.read(now, command, block, flash, link),
        }
    }

    /// An operation is done that is not the host's own. Its die has to go on, and after a program
    /// the flush.
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
            Self::Buffered(buffered) => buffered.flush(now, flash),
            Self::Striped(striped) => striped.flush(now, flash),
        }
    }

    /// Finds room for writes that wait for it, collecting against the contract if there is no other
    /// way.
    #[inline]
    pub(crate) fn relieve<O: Observe>(
        &mut self,
        now: Instant,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        if let Self::Direct(direct) = self {
            direct.relieve(now, flash, link);
        }
    }

    /// A collection has given these dies back, and they have not gone on yet.
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

    /// Calls `tell` with each command that waits here, and how many of its pages do.
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
            Self::Buffered(buffered) => {
                buffered.buffer.check_invariants();
                let single = |&(_, task): &(u32, Task)| matches!(task, Task::Flush { .. });
                let flushes =
                    flash.dies.tasks().filter(single).count() + buffered.pages_in_flight().count();
                assert_eq!(flushes, buffered.buffer.flushing() as usize, "flush programs");
            }
            Self::Striped(striped) => striped.check_invariants(flash),
        }
    }
}
