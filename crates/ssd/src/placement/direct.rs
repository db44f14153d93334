//! Writes without a buffer: each page is programmed into the next die that has room.

use crate::collector::Urgency;
use crate::event::Event;
use crate::flash::Flash;
use crate::link::HostLink;
use crate::ops::Task;
use alloc::collections::VecDeque;
use units::{Instant, Observe};

/// The writes of a drive without a buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direct {
    /// Pages without a place, as command and block.
    stalled: VecDeque<(u32, u32)>,
}

impl Direct {
    /// Pages that wait for room, as command and block.
    pub(crate) fn stalled(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.stalled.iter().copied()
    }

    /// The data of a write has arrived: finds places for its pages.
    #[inline]
    pub(crate) fn begin_write<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        for block in 0..link.command(command).blocks {
            if !self.stalled.is_empty() || !write_page(now, command, block, flash, link) {
                self.stalled.push_back((command, block));
                flash.journal.counters.stalled_writes_pages += 1;
                let id = link.command(command).id;
                flash.journal.emit(now, || Event::Stalled { id, block });
            }
        }
        self.relieve(now, flash, link);
    }

    /// Finds room for stalled writes, collecting against the contract if there is no other way.
    #[inline]
    pub(crate) fn relieve<O: Observe>(
        &mut self,
        now: Instant,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        while let Some(&(command, block)) = self.stalled.front() {
            let placed = write_page(now, command, block, flash, link)
                || (flash.collect_everywhere_instantly()
                    && write_page(now, command, block, flash, link));
            if !placed {
                let logical = link.command(command).first_logical + block;
                let range = flash.ftl.shape.range_of(logical);
                flash.collect_where_due(now, Urgency::Forced { range }, false);
                return;
            }
            self.stalled.pop_front();
        }
    }
}

/// Finds a place for one page of a write and queues it; false if there is none.
#[inline]
fn write_page<O: Observe>(
    now: Instant,
    slot: u32,
    block: u32,
    flash: &mut Flash<O>,
    link: &mut HostLink,
) -> bool {
    let command = link.command_mut(slot);
    let logical = command.first_logical + block;
    let Some(place) = flash.ftl.allocate_for_host(logical) else { return false };
    command.met_collection |= flash.dies.die(place.die).collection.is_some();
    let task = Task::Program { command: slot, block, logical, flash: place.page };
    flash.enqueue(now, place.die, task);
    flash.collect_if_low(now, place, false);
    true
}
