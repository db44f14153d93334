//! Writes without a buffer: each page is programmed into the next die that has room.

use crate::dies::Task;
use crate::event::Event;
use crate::flash::{Flash, Urgency};
use crate::link::HostLink;
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
        for block in 0..link.blocks_of(command) {
            if !self.stalled.is_empty() || !Self::program(now, command, block, flash, link) {
                self.stalled.push_back((command, block));
                flash.counters_mut().stalled_writes_pages += 1;
                let id = link.id_of(command);
                flash.journal_mut().emit(now, || Event::Stalled { id, block });
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
            let placed = Self::program(now, command, block, flash, link)
                || (flash.collect_everywhere_instantly()
                    && Self::program(now, command, block, flash, link));
            if !placed {
                let range = flash.shape().range_of(link.page_of(command, block));
                flash.collect_where_due(now, Urgency::Forced { range }, false);
                return;
            }
            self.stalled.pop_front();
        }
    }

    /// Programs one page of a write where there is room; false if there is none.
    #[inline]
    fn program<O: Observe>(
        now: Instant,
        command: u32,
        block: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) -> bool {
        let logical = link.page_of(command, block);
        let Some(place) = flash.place_for_host(logical) else { return false };
        if flash.dies().is_collecting(place.die) {
            link.meet_collection(command);
        }
        let task = Task::Program { command, block, logical, flash: place.page };
        flash.enqueue(now, place.die, task);
        flash.collect_if_low(now, place, false);
        true
    }
}
