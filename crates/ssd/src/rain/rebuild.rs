//! Reads that do not wait for a collection: the page is computed from the rest of its stripe
//! (TTFLASH §4.3).

use crate::command::InFlight;
use crate::device::Ssd;
use crate::flush::BUFFERED;
use crate::media::Media;
use crate::ops::{Op, OpKind};
use crate::rain::layout::{set_of, slots};
use crate::serve::succeeded;
use alloc::vec::Vec;
use nvme::{Cause, Delays};
use units::Instant;

/// In the place of a flash page while a read is accepted: the page will be computed.
pub(crate) const COMPUTED: u32 = u32::MAX - 2;

/// In the place of the rebuild that a read is part of: none.
pub(crate) const NO_REBUILD: u32 = u32::MAX;

/// A page that is computed from the rest of its stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebuild {
    command: u32,
    block: u32,
    stripe: u32,
    /// Pages that are not read yet.
    left: u32,
}

/// A page whose parts are all there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computing {
    pub(crate) at: Instant,
    command: u32,
    delays: Delays,
}

impl Ssd {
    /// Marks those of the `pages` from logical page `first` on that are computed rather than
    /// awaited. Returns whether there are any.
    pub(crate) fn mark_computed(&self, now: Instant, first: u32, pages: &mut [u32]) -> bool {
        let Some(rain) = self.rain.as_ref().filter(|rain| rain.config.tolerant_reads) else {
            return false;
        };
        let mut any = false;
        let mut begin = 0;
        while begin < pages.len() {
            let (stripe, slot) = rain.layout.slot_of(first + begin as u32);
            let end = pages.len().min(begin + (rain.layout.data() - slot) as usize);
            any |= self.mark_in_stripe(now, stripe, slot, &mut pages[begin..end]);
            begin = end;
        }
        any
    }

    /// The same for the pages from `slot` on of one stripe.
    fn mark_in_stripe(&self, now: Instant, stripe: u32, slot: u32, pages: &mut [u32]) -> bool {
        let on_flash = pages.iter().zip(slot..).filter(|&(&page, _)| page != BUFFERED);
        let read = set_of(on_flash.map(|(_, slot)| slot));
        let blocked = self.slots_on_collecting_dies(stripe, read);
        if blocked == 0 || !self.is_worth_computing(now, stripe, read, blocked) {
            return false;
        }
        pages[(blocked.trailing_zeros() - slot) as usize] = COMPUTED;
        true
    }

    /// Whether the page in the slot `blocked` is had sooner by reading the rest of its stripe, of
    /// which the command reads the slots `read` anyway.
    ///
    /// With the whole stripe, the parity takes the place of the page. Otherwise the additional reads
    /// get in the way of others, and only pay if what is left of the collection exceeds
    /// `B × (t_r + t_transfer)`, `B` being those of their channels that are busy.
    fn is_worth_computing(&self, now: Instant, stripe: u32, read: u64, blocked: u64) -> bool {
        let Some(rain) = &self.rain else { return false };
        let layout = &rain.layout;
        let all = rain.order.all() | 1 << layout.data();
        let rest = all & !blocked;
        // One parity makes up for one page.
        if blocked.count_ones() > 1
            || self.slots_on_collecting_dies(stripe, rest) != 0
            || self.waits_to_be_mapped(stripe)
        {
            return false;
        }
        let additional = rest & !read;
        if additional.count_ones() <= 1 {
            return true;
        }
        let place = layout.place(stripe);
        let busy_channels = slots(additional)
            .filter(|&slot| {
                let channel = &self.channels[self.channel_of(layout.die_at(stripe, slot, place))];
                channel.busy || !channel.waiting.is_empty()
            })
            .count() as u64;
        let die = layout.die_at(stripe, blocked.trailing_zeros(), place);
        self.collection_left(now, die) > self.read_service * busy_channels
    }

    /// Whether a read of this page alone would be computed if its die collected.
    pub(crate) fn would_be_computed(&self, now: Instant, logical: u32) -> bool {
        let Some(rain) = self.rain.as_ref().filter(|rain| rain.config.tolerant_reads) else {
            return false;
        };
        let (stripe, slot) = rain.layout.slot_of(logical);
        self.is_worth_computing(now, stripe, 1 << slot, 1 << slot)
    }

    /// Begins to compute the marked `pages` of a command. Returns the rebuilds by stripe.
    pub(crate) fn begin_rebuilds(
        &mut self,
        now: Instant,
        command: u32,
        pages: &[u32],
    ) -> Vec<(u32, u32)> {
        let mut rebuilds = Vec::new();
        for (&page, block) in pages.iter().zip(0..) {
            if page == COMPUTED {
                rebuilds.extend(self.begin_rebuild(now, command, block, pages));
            }
        }
        rebuilds
    }

    /// The rebuild that a read of this page is part of.
    #[inline]
    pub(crate) fn rebuild_of(&self, rebuilds: &[(u32, u32)], logical: u32) -> u32 {
        let (Some(rain), false) = (&self.rain, rebuilds.is_empty()) else { return NO_REBUILD };
        let (stripe, _) = rain.layout.slot_of(logical);
        let found = rebuilds.iter().find(|&&(other, _)| other == stripe);
        found.map_or(NO_REBUILD, |&(_, rebuild)| rebuild)
    }

    /// Reads what block `block` of a command is computed from. `pages` are those of the command;
    /// what it reads anyway is part of this. Returns its stripe and the rebuild.
    fn begin_rebuild(
        &mut self,
        now: Instant,
        command: u32,
        block: u32,
        pages: &[u32],
    ) -> Option<(u32, u32)> {
        let first = self.commands.get(command).first_logical;
        let rain = self.rain.as_mut()?;
        let (stripe, missing) = rain.layout.slot_of(first + block);
        let left = rain.layout.data();
        let rebuild = rain.rebuilds.insert(Rebuild { command, block, stripe, left });
        *rain.rebuilding.entry(stripe).or_insert(0) += 1;
        for slot in (0..=left).filter(|&slot| slot != missing) {
            let Some(rain) = &self.rain else { return None };
            let page = rain.layout.page(stripe, slot);
            let die = rain.layout.die_of(page);
            let in_command =
                page.checked_sub(first).and_then(|block| pages.get(block as usize).copied());
            if in_command.is_some_and(|page| page != BUFFERED) {
                continue;
            }
            let mut op = Op::new(OpKind::RebuildRead, rebuild, 0, page, NO_REBUILD);
            op.before = self.dies[die as usize].ledger.read(now);
            self.enqueue(now, die, op, self.read_service);
        }
        Some((stripe, rebuild))
    }

    /// A page was read that only a rebuild needs.
    pub(crate) fn end_rebuild_read(&mut self, now: Instant, die: u32) {
        let target = &self.dies[die as usize];
        let (delays, op) = (target.delays, target.op);
        let Op { owner, logical, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.counters.rebuild_reads_pages += 1;
        self.add_to_rebuild(now, owner, logical, delays);
        self.dispatch(now, die);
    }

    /// The page `logical` is there for the rebuild.
    pub(crate) fn add_to_rebuild(
        &mut self,
        now: Instant,
        rebuild: u32,
        logical: u32,
        mut delays: Delays,
    ) {
        let Some(rain) = &mut self.rain else { return };
        let part = rain.rebuilds.get_mut(rebuild);
        part.left -= 1;
        let Rebuild { command, block, stripe, left } = *part;
        if let Some(media) = &mut self.media {
            let page = self.ftl.mapped(logical);
            media.push(Media::SensedPart { command: self.commands.get(command).id, block, page });
        }
        if left > 0 {
            return;
        }
        rain.rebuilds.release(rebuild);
        let users = rain.rebuilding.entry(stripe).or_insert(1);
        *users -= 1;
        let last = *users == 0;
        if last {
            rain.rebuilding.remove(&stripe);
        }
        delays.add(Cause::Rebuild, rain.config.xor);
        rain.computing.push_back(Computing { at: now + rain.config.xor, command, delays });
        self.counters.rebuilt_pages += 1;
        if last {
            self.map_if_programmed(now, stripe);
        }
    }

    /// When the next page is computed.
    #[inline]
    pub(crate) fn next_computed(&self) -> Instant {
        let Some(rain) = &self.rain else { return Instant::NEVER };
        rain.computing.front().map_or(Instant::NEVER, |computing| computing.at)
    }

    /// A page is computed.
    pub(crate) fn end_computing(&mut self, now: Instant) {
        let Some(rain) = &mut self.rain else { return };
        let Some(Computing { command, delays, .. }) = rain.computing.pop_front() else { return };
        if let Some(command) = self.end_page(command) {
            let InFlight { blocks, .. } = command;
            self.send_data(now, succeeded(&command, delays), blocks);
        }
    }
}
