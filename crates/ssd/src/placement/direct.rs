//! Writes without a buffer: each page is programmed into the next die that has room.

use crate::dies::Task;
use crate::event::Event;
use crate::flash::Flash;
use crate::link::HostLink;
use crate::placement::next::Next;
use alloc::collections::VecDeque;
use units::{Instant, Observe};

/// The writes of a drive without a buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direct {
    /// Pages without a place, as command and block.
    stalled: VecDeque<(u32, u32)>,
}

impl Direct {
    /// Whether pages wait for room.
    #[inline]
    pub(crate) fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Pages that wait for room, as command and block.
    pub(crate) fn stalled(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.stalled.iter().copied()
    }

    /// Step for a page whose data has arrived. It is programmed if there is room and no other page
    /// waits for room, else it waits as well.
    #[inline]
    pub(super) fn take<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        block: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) -> Next {
        if self.stalled.is_empty()
            && let Some(next) = Self::program(command, block, flash, link)
        {
            return next;
        }
        self.stalled.push_back((command, block));
        flash.counters_mut().stalled_writes_pages += 1;
        let id = link.id_of(command);
        flash.journal_mut().emit(now, || Event::Stalled { id, block });
        Next::Wait
    }

    /// The step for the page that has waited longest.
    pub(super) fn next<O: Observe>(&mut self, flash: &mut Flash<O>, link: &mut HostLink) -> Next {
        let Some(&(command, block)) = self.stalled.front() else { return Next::Wait };
        let mut next = Self::program(command, block, flash, link);
        if next.is_none() && flash.collect_everywhere_instantly() {
            next = Self::program(command, block, flash, link);
        }
        match next {
            Some(next) => {
                self.stalled.pop_front();
                next
            }
            None => Next::MakeRoom { range: flash.shape().range_of(link.page_of(command, block)) },
        }
    }

    /// Program of one page of a write; `None` without room for it.
    #[inline]
    fn program<O: Observe>(
        command: u32,
        block: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) -> Option<Next> {
        let logical = link.page_of(command, block);
        let place = flash.place_for_host(logical)?;
        if flash.dies().is_collecting(place.die) {
            link.meet_collection(command);
        }
        let task = Task::Program { command, block, logical, flash: place.page };
        Some(Next::Program { place, task })
    }
}
