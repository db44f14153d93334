//! Attentive: a policy against slow reads that only sees when drives answer.
//!
//! Writes and reads for parity wait at the host while a drive with a write buffer has its limit of
//! blocks in flight, and reads of the host pass them ([`crate::backlog`]). A late read is also
//! reconstructed, and whatever comes first is taken. It counts as late as soon as the budget of
//! extra reads allows: sooner where a reconstruction takes one read, because the others are awaited
//! anyway. The delay is learnt from the drives' answers. It grows while extra reads are scarce, so
//! that some are left for the latest.
//!
//! Needs nothing from the drives. Costs extra reads up to its share, and a write that waits for a
//! busy drive waits at the host. The array does not know the die of a page: a read that will meet a
//! program or an erase looks like any other until it is late.

use crate::contract::Measure;
use crate::learnt::{Memory, OperationClass, Stalls};
use crate::policy::budget::{Budget, SAVED_READS};
use crate::policy::quantile::Histogram;
use crate::policy::{
    About, Answered, Attempt, AttentiveSettings, Awaited, DriveChanges, Failure, Hooks, Needs,
    Policy, PolicyKind, PolicySetup, Sent, Tally, View, WindowUse, least_busy,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{Opcode, PlFlag, Untimed};
use stalls::DriveStalls;
use units::{DriveId, Duration, Instant, Lba, Ratio};

/// The policy.
pub(super) const ATTENTIVE: PolicyKind = PolicyKind::new(&About {
    name: "attentive",
    label: "Attentive",
    summary: "writes wait at the host for busy drives; late reads are reconstructed, at a price",
    source: "ours",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Nothing,
    build: &|setup| Box::new(Attentive::new(setup)),
});

/// Number of reads after which the delays are computed again.
const STEP: u32 = 1024;
/// Number of reads after which earlier ones count half.
const MEMORY: u64 = 8192;
/// Operations that wait for this many answers or more are of one class.
const MOST_ANSWERS: usize = 16;
/// Number of delays: for a budget with much saved, with less, and with almost nothing. Each spends
/// a third of what the one before it does.
const DELAYS: usize = 3;

/// Blocks of reads from which on a drive has more than it reads at once. Drives of today have 16 to 64
/// dies, and a read of a hedge waits behind the others.
const DEEP_BLOCKS: u32 = 64;

/// Maximum number of reads of a hedge: one of each drive.
const MOST_MEMBERS: u32 = 64;
/// Bits of a share of reads, a fixed-point number.
const SHARE_BITS: u32 = 30;

/// Operations that are hedged by the same delays.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Operations by the number of answers that they wait for: those of a class are alike in the
    /// cost of a hedge and in how often they are late.
    classes: [OperationClass; MOST_ANSWERS],
    delays: [Option<Duration>; DELAYS],
}

impl Group {
    fn note(&mut self, awaited: &Awaited) {
        let class = &mut self.classes[(awaited.answers as usize).clamp(1, MOST_ANSWERS) - 1];
        class.operations += 1;
        class.reads = awaited.reads;
    }

    fn operations(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.operations)).sum()
    }

    /// Expected reads of hedges if a share `in_time` of all reads is answered before the delay.
    fn hedge_reads(&self, in_time: u64) -> u64 {
        let mut all_in_time = 1 << SHARE_BITS;
        let reads = self.classes.iter().map(|class| {
            all_in_time = (all_in_time * in_time) >> SHARE_BITS;
            let late = (1 << SHARE_BITS) - all_in_time;
            (u64::from(class.operations) * u64::from(class.reads) * late) >> SHARE_BITS
        });
        reads.sum()
    }

    /// The shortest delays that spend no more reads than `allowed`, a third and a ninth of it.
    fn solve(&mut self, latencies: &Histogram, allowed: u64) {
        let mut shares = [allowed, allowed / 3, allowed / 9].into_iter().zip(0..).peekable();
        self.delays = [None; DELAYS];
        for (end, in_time) in latencies.rising() {
            let reads = self.hedge_reads((in_time << SHARE_BITS) / latencies.total());
            while let Some((_, delay)) = shares.next_if(|&(allowed, _)| reads <= allowed) {
                self.delays[delay] = Some(end);
            }
        }
    }

    /// Adds operations of an earlier run.
    fn remember(&mut self, classes: &[OperationClass]) {
        for (class, before) in self.classes.iter_mut().zip(classes) {
            class.operations += before.operations.min(MEMORY as u32);
            class.reads = before.reads.min(MOST_MEMBERS);
        }
    }

    fn halve(&mut self) {
        for class in &mut self.classes {
            class.operations /= 2;
        }
    }
}

/// Reads that stalled or were hedged.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    /// Reads that stalled and were hedged.
    hits: u64,
    /// Reads that stalled and were not hedged.
    misses: u64,
    /// Reads that were hedged and did not stall.
    false_alarms: u64,
}

struct Attentive {
    settings: AttentiveSettings,
    finds_late_drives: bool,
    budget: Budget,
    /// Latencies of reads, without those that serve only to reconstruct.
    latencies: Histogram,
    until_solved: u32,
    /// Reads of the host.
    host: Group,
    /// Reads that writes need.
    parity: Group,
    /// Usual latency of a read, once it is known.
    usual: Option<Duration>,
    drives: Vec<DriveStalls>,
    outcomes: Outcomes,
    /// Limit of blocks of writes in flight, over all drives. Drives do not keep up if more than
    /// this wait at the host.
    behind_blocks: u64,
}

impl Attentive {
    fn new(setup: &PolicySetup<'_>) -> Self {
        let settings = setup.settings.attentive;
        Self {
            settings,
            finds_late_drives: setup.settings.finds_late_drives,
            budget: Budget::new(settings.extra_reads),
            latencies: Histogram::new(),
            until_solved: STEP,
            host: Group::default(),
            parity: Group::default(),
            usual: None,
            drives: (0..setup.drives).map(|_| DriveStalls::new()).collect(),
            outcomes: Outcomes::default(),
            behind_blocks: u64::from(setup.drives) * u64::from(settings.most_in_flight),
        }
    }

    fn group(&mut self, awaited: &Awaited) -> &mut Group {
        if awaited.host_waits { &mut self.host } else { &mut self.parity }
    }

    /// Index of the delay that the budget can afford. While drives do not keep up, more reads would
    /// delay their writes, because reads of the host pass writes.
    fn thrift(&self, awaited: &Awaited) -> usize {
        if awaited.writes_waiting_blocks > self.behind_blocks {
            return DELAYS - 1;
        }
        let saved = self.budget.saved_reads();
        match (saved * 2 >= SAVED_READS, saved * 6 >= SAVED_READS) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        }
    }

    fn solve(&mut self) {
        self.usual = Some(self.latencies.quantile(Ratio::from_percent(50)));
        let allowed = self.settings.extra_reads.of(self.latencies.total());
        // At best half of what a write waits for are reads: a quarter of the budget suffices.
        let (host, parity) = (self.host.operations(), self.parity.operations());
        let for_parity = (allowed * parity / (host + parity).max(1)).min(allowed / 4);
        self.host.solve(&self.latencies, allowed - for_parity);
        self.parity.solve(&self.latencies, for_parity);
        if self.latencies.total() >= MEMORY {
            self.latencies.halve();
            self.host.halve();
            self.parity.halve();
        }
    }
}

/// Drives of the stripe whose reads do not queue.
fn shallow_drives(view: &View<'_>) -> u32 {
    let holds = |place: usize| view.stripe >> place & 1 == 1;
    let queues = view.queues.all().iter().enumerate();
    let shallow = queues.filter(|&(place, queue)| holds(place) && queue.read_blocks < DEEP_BLOCKS);
    shallow.count() as u32
}

impl Policy for Attentive {
    fn hooks(&self) -> Hooks {
        let hooks = Hooks::HEDGE_AFTER | Hooks::ANSWERED;
        if self.settings.oracle { hooks | Hooks::FIRST_ATTEMPT } else { hooks }
    }

    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        Attempt::Send(self.reconstruct_flag())
    }

    fn reconstruct_flag(&self) -> PlFlag {
        if self.settings.oracle { PlFlag::Patient } else { PlFlag::Off }
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        least_busy(failures)
    }

    fn read_measure(&self) -> Option<Measure> {
        self.finds_late_drives.then_some(Measure::Peers)
    }

    fn asks_more_around(&mut self) -> bool {
        // Such a read waits for a whole row, of which one late member is likely: it pays as much as
        // a hedge that wins.
        let pays = self.budget.spend(1);
        if pays {
            self.budget.won(1);
        }
        pays
    }

    fn most_in_flight(&self) -> Option<u32> {
        Some(self.settings.most_in_flight)
    }

    fn hedge_after(&mut self, _: Instant, awaited: &Awaited) -> Option<Duration> {
        let thrift = self.thrift(awaited);
        let group = self.group(awaited);
        group.note(awaited);
        group.delays[thrift]
    }

    fn hedge_again_after(&mut self, _: Instant, awaited: &Awaited) -> Option<Duration> {
        let delay = self.group(awaited).delays[DELAYS - 1].filter(|_| !awaited.waited.is_zero())?;
        // The wait doubles each time: a drive that does not answer is not asked about for ever.
        Some(delay.max(awaited.waited))
    }

    fn may_hedge(&mut self, _: Instant, _: u64, reads: u32, view: &View<'_>) -> bool {
        // Where reads come faster than drives answer, a hedge only delays those behind it.
        shallow_drives(view) >= reads && self.budget.spend(reads)
    }

    fn hedge_ended(&mut self, reads: u32, won: bool) {
        if won {
            self.budget.won(reads);
        }
    }

    fn answered(&mut self, now: Instant, answer: &Answered) {
        let Sent { drive, opcode, blocks, .. } = answer.command;
        let stalls = &mut self.drives[drive.index()];
        if opcode == Opcode::Write {
            return stalls.wrote(blocks);
        }
        let stalled = self.usual.map(|usual| stalls.answered(now, answer.latency, usual));
        if answer.for_others {
            return;
        }
        match (stalled, answer.hedged) {
            (Some(true), true) => self.outcomes.hits += 1,
            (Some(true), false) => self.outcomes.misses += 1,
            (Some(false), true) => self.outcomes.false_alarms += 1,
            _ => {}
        }
        self.budget.earn();
        self.latencies.add(answer.latency);
        self.until_solved -= 1;
        if self.until_solved == 0 {
            self.until_solved = STEP;
            self.solve();
        }
    }

    fn drive_replaced(&mut self, drive: DriveId) {
        self.drives[drive.index()] = DriveStalls::new();
    }

    fn stalls(&self) -> Vec<Stalls> {
        self.drives.iter().map(DriveStalls::estimates).collect()
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory {
            latencies: self.latencies.counts().collect(),
            host: self.host.classes.to_vec(),
            parity: self.parity.classes.to_vec(),
            drives: self.drives.iter().map(DriveStalls::kept).collect(),
        })
    }

    fn remember(&mut self, memory: &Memory) {
        self.latencies.remember(&memory.latencies);
        self.host.remember(&memory.host);
        self.parity.remember(&memory.parity);
        for (drive, stalls) in self.drives.iter_mut().zip(&memory.drives) {
            drive.remember(stalls);
        }
        if self.latencies.total() > 0 {
            self.solve();
        }
    }

    fn tallies(&self) -> Vec<Tally> {
        let Outcomes { hits, misses, false_alarms } = self.outcomes;
        vec![
            Tally::new("stalled reads that were hedged (hits)", hits),
            Tally::new("stalled reads that were not (misses)", misses),
            Tally::new("hedged reads that did not stall (false alarms)", false_alarms),
        ]
    }
}

mod stalls;
#[cfg(test)]
mod tests;
