//! Choice of the dies for programs of the host, by their queues and collections.
//!
//! Changes nothing.

use crate::config::{Config, PreemptionScope};
use crate::dies::DieArray;
use crate::flash::collector::Collector;
use crate::flash::pace::Pace;
use crate::ftl::Ftl;
use units::{Duration, Instant};

/// Machines that determine how much a die has to do.
#[derive(Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) config: &'a Config,
    pub(super) ftl: &'a Ftl,
    pub(super) dies: &'a DieArray,
    pub(super) collector: &'a Collector,
    pub(super) pace: Option<&'a Pace>,
}

impl Programs<'_> {
    /// Whether the host may program on `die` as far as collections go.
    fn is_within_pace(&self, die: u32) -> bool {
        self.collector.makes_no_room()
            || self.pace.is_none_or(|pace| pace.allows(die))
            || self.folds_at_leisure(die)
    }

    /// Returns true if collections fold the cache of SLC blocks while nothing needs the room: the
    /// host need not wait for that.
    pub(super) fn folds_at_leisure(&self, die: u32) -> bool {
        self.ftl.has_slc()
            && self.ftl.free(die) > self.collector.collect_at(self.ftl.shape())
            && !self.ftl.is_slc_low(die)
    }

    /// Returns true if collections let all other work on their channels go first, so that programs
    /// need not avoid them.
    fn stands_back_for_channels(&self) -> bool {
        let scheduling = &self.config.scheduling;
        scheduling.preemptive_collection && scheduling.preemption_scope == PreemptionScope::Channel
    }

    /// Whether `die` has fewer than `most` programs, and one more keeps the pace.
    pub(super) fn takes_another(&self, die: u32, most: u32) -> bool {
        self.dies.programs_on(die) < most && self.is_within_pace(die)
    }

    /// [`Self::takes_another`], and the program would not wait for a collection and would be over
    /// at `until`.
    pub(super) fn suits(&self, now: Instant, die: u32, until: Instant, most: u32) -> bool {
        // With paced writes a program takes turns with the collection; it need not wait for its
        // end.
        let takes_turns = self.config.scheduling.paced_writes && until == Instant::NEVER;
        let takes_turns = takes_turns || self.stands_back_for_channels();
        let waits = self.dies.is_collecting(die) && !takes_turns;
        if waits || !self.takes_another(die, most) {
            return false;
        }
        until == Instant::NEVER
            || now + self.dies.committed_work(now, die) + self.bound(die) <= until
    }

    /// Longest time of a program after its turn has come, and the time that operations ahead of it
    /// may lose to other dies of their channel.
    fn bound(&self, die: u32) -> Duration {
        let times = self.dies.times();
        let others = u64::from(self.ftl.shape().chips_per_channel) - 1;
        let shortest = times.read_service.min(times.program_service).as_nanos().max(1);
        let ahead = self.dies.queued_work(die).as_nanos() / shortest + 1;
        // A collection's copy moves its page twice.
        times.program_service + times.moved * others * (ahead + 1)
    }
}
