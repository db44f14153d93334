//! Choice of the collection that is due next: its die or line, its permission and its deadline.
//!
//! Reads rights, free space and the state of dies. Changes nothing; `collect.rs` carries its
//! answers out.

use crate::config::CollectionUnit;
use crate::flash::collection::Leave;
use crate::flash::collector::{Collector, Urgency};
use crate::flash::waits::Waits;
use crate::ftl::{Ftl, Worth};
use alloc::vec::Vec;
use nvme::WindowScope;
use units::Instant;

/// A collection that is to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) die: u32,
    /// Block within the die, or line.
    pub(super) block: u32,
    /// Time at which the collection must be over.
    pub(super) until: Instant,
    pub(super) leave: Leave,
    /// True if the collection moves cold data to a worn block, and gives no room back.
    pub(super) levels: bool,
}

/// The answer to a request for a collection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// No collection can be started.
    Nothing,
    /// The collection is put off, because the flush of the write buffer goes first.
    PutOff,
    /// This collection is to be started.
    Start(Request),
}

/// The machines that decide which collection is due.
#[derive(Clone, Copy)]
pub(super) struct Due<'a> {
    pub(super) ftl: &'a Ftl,
    pub(super) collector: &'a Collector,
    pub(super) waits: Waits<'a>,
    /// Whether the host has been idle for long enough to fold the cache of SLC blocks.
    pub(super) is_idle: bool,
}

impl Due<'_> {
    /// The collection that is due in a scope. `flush_first` says that the flush of the write buffer
    /// goes before collections that are not forced.
    pub(super) fn in_scope(
        &self,
        now: Instant,
        scope: usize,
        urgency: Urgency,
        flush_first: bool,
    ) -> Answer {
        if self.collector.is_busy(scope) {
            return Answer::Nothing;
        }
        if flush_first && !urgency.is_forced() {
            return Answer::PutOff;
        }
        let leveling = match urgency {
            Urgency::Due => self.leveling(now, scope),
            Urgency::Fold | Urgency::Forced { .. } => None,
        };
        match (self.collection(now, scope, urgency), leveling) {
            (Some(_), Some(request)) if self.collector.levels_first() => Answer::Start(request),
            (Some(request), _) | (None, Some(request)) => Answer::Start(request),
            (None, None) => Answer::Nothing,
        }
    }

    /// The collection of a scope that moves cold data to a worn block, if one is due and over in
    /// time.
    fn leveling(&self, now: Instant, scope: usize) -> Option<Request> {
        if !self.ftl.levels_wear() {
            return None;
        }
        self.collector.candidates(scope).find_map(|die| {
            let block = self.ftl.cold_block(die)?;
            let range = self.ftl.shape().range_of_die(die);
            let until = self.collector.rights().allowed_until(now, range)?;
            let fits = self.fits(now, until, die, block);
            fits.then_some(Request { die, block, until, leave: Leave::Granted, levels: true })
        })
    }

    /// The collection of a scope that makes room, if one is due.
    fn collection(&self, now: Instant, scope: usize, urgency: Urgency) -> Option<Request> {
        let victim = match urgency {
            Urgency::Fold => self.block_to_fold(scope),
            Urgency::Due => self.neediest_victim(now, scope, urgency),
            // Host writes that have no room may be waiting for the cache.
            Urgency::Forced { .. } if self.ftl.waits_for_slc() => {
                self.block_to_fold(scope).or_else(|| self.neediest_victim(now, scope, urgency))
            }
            Urgency::Forced { .. } => self.neediest_victim(now, scope, urgency),
        };
        let (die, block) = victim?;
        let range = self.ftl.shape().range_of_die(die);
        let until = self.collector.rights().allowed_until(now, range);
        let fits = until.is_some_and(|until| self.fits(now, until, die, block));
        let leave = match urgency {
            _ if fits => Leave::Granted,
            Urgency::Forced { .. } => Leave::Forced,
            Urgency::Due if self.is_short_of_space(die) => Leave::Taken,
            Urgency::Due | Urgency::Fold => return None,
        };
        let until = until.filter(|_| leave != Leave::Taken).unwrap_or(Instant::NEVER);
        Some(Request { die, block, until, leave, levels: false })
    }

    /// Returns true if a drive whose work belongs in windows may collect outside of them too. At
    /// the hard watermark it would be too late: collections give way to nothing there.
    fn is_short_of_space(&self, die: u32) -> bool {
        let levels = &self.ftl.shape().levels;
        let short = levels.hard + ((levels.soft - levels.hard) / 4).max(1);
        self.collector.rights().scope() == WindowScope::AllWork && self.ftl.free(die) <= short
    }

    /// Block to fold in a scope, and its die: the die with the least free space among those whose
    /// part of the cache has to be folded.
    fn block_to_fold(&self, scope: usize) -> Option<(u32, u32)> {
        let dies = self.collector.candidates(scope);
        let dies = dies.filter(|&die| self.is_idle || self.ftl.is_slc_low(die));
        let blocks = dies.filter_map(|die| Some((die, self.ftl.slc_to_fold(die)?)));
        blocks.min_by_key(|&(die, _)| self.ftl.free(die))
    }

    /// Whether a block of the cache of SLC blocks would be folded if that were allowed now.
    pub(super) fn has_block_to_fold(&self) -> bool {
        (0..self.collector.scopes()).any(|scope| self.block_to_fold(scope).is_some())
    }

    /// Returns true if windows allow a collection on a die now: its range has its turn, or host
    /// writes to this range have no room.
    fn may_collect(&self, now: Instant, die: u32, urgency: Urgency) -> bool {
        let shape = self.ftl.shape();
        let range = shape.range_of_die(die);
        shape.ranges.count == 1
            || urgency == Urgency::Forced { range }
            || self.collector.rights().allowed_until(now, range).is_some()
    }

    /// Die of a scope with the least free space, and its victim, among dies that are low on free
    /// blocks, may be collected and have a victim.
    fn neediest_victim(&self, now: Instant, scope: usize, urgency: Urgency) -> Option<(u32, u32)> {
        let mut least = self.collector.collect_at(self.ftl.shape()) + 1;
        let mut neediest = None;
        let worth = if urgency.is_forced() { Worth::Anything } else { self.collector.worth() };
        for die in self.collector.candidates(scope) {
            let free = self.ftl.free(die);
            if free >= least || !self.may_collect(now, die, urgency) {
                continue;
            }
            if let Some(block) = self.ftl.victim(die, worth) {
                least = free;
                neediest = Some((die, block));
            }
        }
        neediest
    }

    /// Whether a die with a victim has at most `level` free blocks (or lines).
    pub(super) fn is_any_below(&self, level: u32) -> bool {
        let worth = self.collector.worth();
        (0..self.ftl.shape().dies)
            .any(|die| self.ftl.free(die) <= level && self.ftl.victim(die, worth).is_some())
    }

    /// Whether a collection that is requested now is over at `until` in the worst case.
    fn fits(&self, now: Instant, until: Instant, die: u32, block: u32) -> bool {
        if until == Instant::NEVER {
            return true;
        }
        let ends = |die: u32, valid: u32| self.waits.collected_at(now, die, valid);
        let shape = self.ftl.shape();
        match shape.unit {
            CollectionUnit::Line => {
                (0..shape.dies).all(|die| ends(die, self.ftl.count_valid(die, block)) <= until)
            }
            CollectionUnit::Block => {
                let valid = self.ftl.count_valid(die, block);
                let (first, dies) = self.collector.held_dies(die);
                (first..first + dies).all(|held| ends(held, valid) <= until)
            }
        }
    }

    /// The dies of a plane group that are low on free blocks, the neediest first.
    pub(super) fn low_dies(&self, dies: impl Iterator<Item = u32>) -> Vec<u32> {
        let collect_at = self.collector.collect_at(self.ftl.shape());
        let mut low: Vec<u32> = dies.filter(|&die| self.ftl.free(die) <= collect_at).collect();
        low.sort_by_key(|&die| self.ftl.free(die));
        low
    }
}
