//! The collector: which collections run, what each of them blocks, and when one may start.
//!
//! Knows: collections, the part of the drive in which one runs at a time, the window contract. Does
//! not know: what a die does for a collection, where pages lie.

use crate::config::{CollectionTrigger, CollectionUnit, Config};
use crate::flash::collection::{Collection, Leave};
use crate::flash::rights::Rights;
use crate::ftl::{Shape, Worth};
use crate::plane_groups::GroupTurns;
use crate::rain::Rotation;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use nvme::CollectionRight;
use units::{Instant, Slab};

/// Reason for a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// Free space is at the level where a collection is due.
    Due,
    /// The cache of SLC blocks is to be folded: the host is idle, or little of the cache is left.
    Fold,
    /// Host writes to this range of logical blocks have no room: the window contract gives way.
    Forced { range: u32 },
}

impl Urgency {
    pub(crate) fn is_forced(self) -> bool {
        matches!(self, Self::Forced { .. })
    }
}

/// The collections of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    unit: CollectionUnit,
    /// Dies that a collection keeps from the host when it begins.
    dies_held: u32,
    dies: u32,
    collections: Slab<Collection>,
    /// Number of collections that level wear.
    leveling: u32,
    /// Whether a collection runs in the die, channel or drive that a collection blocks.
    scope_busy: Vec<bool>,
    /// Parts of the line being collected that are not done; 0 if none is.
    line_parts_left: u32,
    trigger: CollectionTrigger,
    rights: Rights,
    /// Collections on each channel; `None` if their number is not limited.
    channels: Option<Channels>,
    /// Dies of each plane group that collect; `None` without RAIN.
    turns: Option<GroupTurns>,
}

/// Collections on each channel, whose number is limited.
#[derive(Clone, Debug)]
struct Channels {
    most: u32,
    dies_each: u32,
    collections: Vec<u32>,
}

impl Channels {
    fn new(config: &Config) -> Option<Self> {
        let (most, g) = (config.collection.per_channel, &config.geometry);
        let collections = vec![0; g.channels as usize];
        (most > 0).then(|| Self { most, dies_each: g.dies() / g.channels, collections })
    }

    fn of(&mut self, die: u32) -> &mut u32 {
        &mut self.collections[(die / self.dies_each) as usize]
    }

    fn is_full(&self, die: u32) -> bool {
        self.collections[(die / self.dies_each) as usize] >= self.most
    }

    /// The dies of the channel of `die`.
    fn dies_beside(&self, die: u32) -> Range<u32> {
        let first = die / self.dies_each * self.dies_each;
        first..first + self.dies_each
    }
}

impl Collector {
    pub(crate) fn new(config: &Config) -> Self {
        let unit = config.collection.unit;
        let dies = config.geometry.dies();
        let dies_held = config.collection.blocking.held_dies(&config.geometry);
        let scopes = match unit {
            CollectionUnit::Line => 1,
            CollectionUnit::Block => dies / dies_held,
        };
        Self {
            unit,
            dies_held,
            dies,
            collections: Slab::new(),
            leveling: 0,
            scope_busy: vec![false; scopes as usize],
            line_parts_left: 0,
            trigger: config.collection.trigger,
            rights: Rights::new(config.ranges.count),
            channels: Channels::new(config),
            turns: config.rain.map(|rain| GroupTurns::new(config, rain)),
        }
    }

    /// Rights of the drive to collect.
    #[inline]
    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }

    pub(crate) fn rights_mut(&mut self) -> &mut Rights {
        &mut self.rights
    }

    /// Free blocks at which a collection is due on a die. With windows there are more, because the
    /// free space at the end of a window must last until the next (IODA §4.3.1, rule 1).
    #[inline]
    pub(crate) fn collect_at(&self, shape: &Shape) -> u32 {
        match self.rights.right() {
            CollectionRight::Always => shape.levels.soft,
            CollectionRight::Windows(_) | CollectionRight::Lease { .. } => shape.levels.restore,
            CollectionRight::Order { .. } => shape.blocks_per_die,
        }
    }

    /// Least gain for which a victim is collected. With windows any gain is enough: a line that is
    /// left alone in one window is missing until the next, and running out of space between windows
    /// breaks the contract.
    pub(crate) fn worth(&self) -> Worth {
        match self.rights.right() {
            CollectionRight::Windows(_) | CollectionRight::Lease { .. } => Worth::Anything,
            CollectionRight::Always | CollectionRight::Order { .. } => Worth::Enough,
        }
    }

    /// Returns true if a collection that levels wear goes before one that makes room. The free
    /// space at the end of a window or a lease must last until the next, so room comes first there.
    pub(crate) fn levels_first(&self) -> bool {
        match self.rights.right() {
            CollectionRight::Windows(_) | CollectionRight::Lease { .. } => false,
            CollectionRight::Always | CollectionRight::Order { .. } => true,
        }
    }

    /// Returns true if the drive checks by itself whether a collection is due. A host that grants a
    /// lease or an order has asked for collections by that, and may hold its commands back until
    /// they are done.
    pub(crate) fn collects_by_itself(&self) -> bool {
        let right = self.rights.right();
        self.trigger == CollectionTrigger::FreeSpace
            || matches!(right, CollectionRight::Lease { .. } | CollectionRight::Order { .. })
    }

    /// The plane groups, if the dies of each take turns in collecting (TTFLASH §4.4).
    #[inline]
    pub(crate) fn rotation(&self) -> Option<&GroupTurns> {
        self.turns.as_ref().filter(|turns| turns.rotation != Rotation::Off)
    }

    /// Dies of a plane group that collections hold; `None` without plane groups.
    pub(crate) fn collecting_in_group(&self, group: u32) -> Option<u32> {
        self.turns.as_ref().map(|turns| turns.collecting(group))
    }

    /// Calls `tell` with every plane group where a die was taken or returned since the last call.
    pub(crate) fn take_changed_groups(&mut self, tell: impl FnMut(usize)) {
        if let Some(turns) = &mut self.turns {
            turns.take_changed(tell);
        }
    }

    /// A collection asks for a die.
    pub(crate) fn take_die(&mut self, die: u32) {
        if let Some(turns) = &mut self.turns {
            turns.take(die);
        }
    }

    /// A collection gives a die back.
    pub(crate) fn give_back_die(&mut self, die: u32) {
        if let Some(turns) = &mut self.turns {
            turns.give_back(die);
        }
    }

    /// Parts of the drive in which one collection runs at a time.
    pub(crate) fn scopes(&self) -> usize {
        self.scope_busy.len()
    }

    /// The scope of a die.
    pub(crate) fn scope_of(&self, die: u32) -> usize {
        match self.unit {
            CollectionUnit::Line => 0,
            CollectionUnit::Block => (die / self.dies_held) as usize,
        }
    }

    /// Dies of a scope among which one is chosen. All dies of a line have the same free space and
    /// the same victim, so the first stands for all.
    pub(crate) fn candidates(&self, scope: usize) -> Range<u32> {
        let dies = self.dies / self.scope_busy.len() as u32;
        let first = scope as u32 * dies;
        let tried = if self.unit == CollectionUnit::Line { 1 } else { dies };
        first..first + tried
    }

    pub(crate) fn is_busy(&self, scope: usize) -> bool {
        self.scope_busy[scope]
    }

    /// Whether the channel of a scope has its most collections already.
    #[inline]
    pub(crate) fn is_channel_full(&self, scope: usize) -> bool {
        self.channels
            .as_ref()
            .is_some_and(|channels| channels.is_full(self.candidates(scope).start))
    }

    /// Scopes where a collection may begin after one has ended in `scope`: all of its channel if
    /// the number of collections there is limited, else `scope` alone. `scope` comes last.
    pub(crate) fn scopes_beside(&self, scope: usize) -> impl Iterator<Item = usize> + use<> {
        let first_die = self.candidates(scope).start;
        let dies = match &self.channels {
            Some(channels) => channels.dies_beside(first_die),
            None => first_die..first_die + 1,
        };
        let scopes = self.scope_of(dies.start)..self.scope_of(dies.end - 1) + 1;
        (scope + 1..scopes.end).chain(scopes.start..scope + 1)
    }

    /// First die and number of dies that a collection on `die` keeps from the host.
    pub(crate) fn held_dies(&self, die: u32) -> (u32, u32) {
        (die / self.dies_held * self.dies_held, self.dies_held)
    }

    /// Whether no collection runs or waits for its dies.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.collections.is_empty()
    }

    /// Returns true if no collection runs that gives room back, at whose pace the host would
    /// program.
    #[inline]
    pub(crate) fn makes_no_room(&self) -> bool {
        self.collections.len() == self.leveling as usize
    }

    pub(crate) fn get(&self, collection: u32) -> &Collection {
        self.collections.get(collection)
    }

    /// Registers a collection of the victim `block` of `die`. Returns its parts: one, or for a line
    /// one for each set of dies that are held together.
    pub(crate) fn start(
        &mut self,
        now: Instant,
        die: u32,
        block: u32,
        until: Instant,
        leave: Leave,
        levels: bool,
    ) -> Vec<u32> {
        let scope = self.scope_of(die);
        self.scope_busy[scope] = true;
        if let Some(channels) = &mut self.channels {
            *channels.of(die) += 1;
        }
        let line = self.unit == CollectionUnit::Line;
        let (mut next, end) = if line { (0, self.dies) } else { (die, die + 1) };
        let mut started = Vec::new();
        while next < end {
            let (first_die, dies) = self.held_dies(next);
            started.push(self.collections.insert(Collection {
                first_die,
                dies,
                victim_die: (!line).then_some(die),
                block,
                holds_pending: dies,
                jobs_active: 0,
                until,
                leave,
                levels,
                began: now,
            }));
            next = first_die + dies;
        }
        if levels {
            self.leveling += started.len() as u32;
        }
        if line {
            self.line_parts_left = started.len() as u32;
        }
        started
    }

    /// Counts a die that has come to the collection. Returns whether the collection has all its
    /// dies now.
    pub(crate) fn hold(&mut self, collection: u32) -> bool {
        let collection = self.collections.get_mut(collection);
        collection.holds_pending -= 1;
        collection.holds_pending == 0
    }

    /// Begins a collection that has all its dies, with `workers` dies at work.
    pub(crate) fn begin(&mut self, now: Instant, collection: u32, workers: u32) {
        let collection = self.collections.get_mut(collection);
        collection.began = now;
        collection.jobs_active = workers;
    }

    /// Reduces a collection to the die of its victim. Returns all dies that it had.
    pub(crate) fn keep_victim(&mut self, collection: u32, victim: u32) -> Range<u32> {
        let collection = self.collections.get_mut(collection);
        let dies = collection.first_die..collection.first_die + collection.dies;
        (collection.first_die, collection.dies) = (victim, 1);
        dies
    }

    /// Ends a die's part of a collection. Returns whether all parts are done.
    pub(crate) fn end_job(&mut self, collection: u32) -> bool {
        let collection = self.collections.get_mut(collection);
        collection.jobs_active -= 1;
        collection.jobs_active == 0
    }

    /// Removes a collection that is over or cancelled. Returns the scope that is free for the next
    /// one, unless other parts of its line are still collected.
    pub(crate) fn end(&mut self, collection: u32) -> Option<usize> {
        let Collection { first_die, levels, .. } = *self.collections.get(collection);
        self.leveling -= u32::from(levels);
        let scope = self.scope_of(first_die);
        self.collections.release(collection);
        if let Some(channels) = &mut self.channels {
            *channels.of(first_die) -= 1;
        }
        if self.unit == CollectionUnit::Line {
            self.line_parts_left -= 1;
            if self.line_parts_left > 0 {
                return None;
            }
        }
        self.scope_busy[scope] = false;
        Some(scope)
    }

    /// Checks that the dies of each collection are those that name it. `collection_of` is the
    /// collection of each die.
    pub(crate) fn check_invariants(&self, collection_of: impl Iterator<Item = Option<u32>>) {
        let (mut held, mut leveling) = (0, 0);
        let mut seen: Vec<u32> = Vec::new();
        for (collection, die) in collection_of.zip(0..) {
            let Some(number) = collection else { continue };
            let collection = self.get(number);
            let dies = collection.first_die..collection.first_die + collection.dies;
            assert!(dies.contains(&die), "die {die} is held by a collection of dies {dies:?}");
            assert!(collection.holds_pending <= collection.dies);
            assert!(self.scope_busy[self.scope_of(die)], "a collection in a scope without one");
            if die == collection.first_die {
                leveling += u32::from(collection.levels);
                seen.push(number);
                held += collection.dies;
            }
            held -= 1;
        }
        assert_eq!(held, 0, "a die of a collection does not know of it");
        assert_eq!(seen.len(), self.collections.len(), "collections without dies");
        assert_eq!(leveling, self.leveling, "collections that level wear");
        let busy = self.scope_busy.iter().any(|&busy| busy);
        assert_eq!(busy, !self.collections.is_empty(), "scopes and collections");
        if self.unit == CollectionUnit::Line {
            assert_eq!(self.line_parts_left as usize, seen.len(), "parts of the line");
        }
    }
}
