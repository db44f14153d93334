//! Degraded: compare the cost of waiting for a channel with the cost of avoiding it, for reads and
//! for updates (Sha et al., "Degraded mode-benefited I/O scheduling to ensure I/O responsiveness in
//! RAID-enabled SSDs", TODAES 2022; "the paper" below).
//!
//! The paper's channels are drives here: each has its own queue and collects by itself. A read
//! whose drive is congested is reconstructed from the rest of its stripe; an update is written to
//! the least busy drive outside its stripe (§3.1). Needs what a controller knows of its channels:
//! when they collect, and how many pages each collection moved. `degraded-host` is the same for
//! drives that do not report this. It knows only queues; a collection shows as a queue that does
//! not shrink. Costs the reads of reconstructions, a second level of mapping, and a check of all
//! drives of the stripe for each page.
//!
//! The model assumes that an inserted read is served at once, whatever its channel does (on
//! equation 4). In fact a read waits on a channel that collects; `degraded-aware`, which is ours,
//! counts that too.
//!
//! Equation 1 counts the collections to come, but Algorithm 1 adds one whether or not any is near.
//! This implementation follows the equation: otherwise reads of idle channels would be
//! reconstructed all the time.

use crate::policy::{
    About, Asked, Attempt, DriveChanges, DriveProfile, Hooks, Needs, Policy, PolicyKind,
    PolicySetup, Sent, Tally, View, WindowUse, members_of,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CollectionReport, PlFlag, Untimed};
use units::{DriveId, Duration, Instant, Lba};

/// The policy within a drive, or on drives that report their collections.
pub(super) const DEGRADED: PolicyKind = PolicyKind::new(&About {
    name: "degraded",
    label: "Degraded",
    summary: "reconstruct reads and relocate updates where a model of the queues predicts lower cost",
    source: "Sha et al., TODAES 2022, §3",
    drive_changes: DriveChanges::Firmware("announcing collections; deallocation"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Degraded::new(setup, Knows::OfTarget)),
});

/// The policy that counts the collections of all channels.
pub(super) const DEGRADED_AWARE: PolicyKind = PolicyKind::new(&About {
    name: "degraded-aware",
    label: "Degraded (aware)",
    summary: "as degraded, and going round costs more where it meets collections",
    source: "Sha et al., TODAES 2022, §3, and c × t_gc in equation 4",
    drive_changes: DriveChanges::Firmware("announcing collections; deallocation"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Degraded::new(setup, Knows::OfAll)),
});

/// The policy on drives that report nothing.
pub(super) const DEGRADED_HOST: PolicyKind = PolicyKind::new(&About {
    name: "degraded-host",
    label: "Degraded (host)",
    summary: "as degraded, on drives that do not announce their collections",
    source: "Sha et al., TODAES 2022, §3, without c × t_gc",
    drive_changes: DriveChanges::Usual("deallocation"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Degraded::new(setup, Knows::Nothing)),
});

/// Number of requests from which the frequency of arrivals is taken (§4.1).
const RECENT_REQUESTS: usize = 128;
/// Number of collections from which the page moves are taken (§4.1, equation 7).
const RECENT_COLLECTIONS: usize = 8;

/// Channels whose collections a policy takes into account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knows {
    Nothing,
    OfTarget,
    OfAll,
}

/// State of a channel.
#[derive(Clone, Default)]
struct Channel {
    /// Arrival times of the recent requests, oldest first.
    arrivals: VecDeque<Instant>,
    report: CollectionReport,
    /// The report when `moves` was last added to.
    counted: CollectionReport,
    /// Pages that each of the recent collections moved.
    moves: VecDeque<u64>,
}

struct Degraded {
    profile: DriveProfile,
    /// `t_xor`: time to compute a reconstructed page.
    compute: Duration,
    knows: Knows,
    channels: Vec<Channel>,
    /// The drive that took the last relocated page; equally idle ones take turns.
    last_taker: u8,
    evaluations: u64,
    reads: u64,
    updates: u64,
    /// Sum and number of the estimates for collections that have ended.
    expected: (Duration, u64),
    dispatcher: Dispatcher,
}

/// The processor that evaluates the model: one request after the other, in the order of arrival.
#[derive(Default)]
struct Dispatcher {
    /// Time to evaluate a request; zero if that takes no time.
    each: Duration,
    /// Number of requests evaluated.
    requests: u64,
    /// Dispatch times of the requests that wait, earliest first.
    due: VecDeque<Instant>,
}

impl Dispatcher {
    /// Takes a request. Returns whether it is dispatched at once.
    fn take(&mut self, now: Instant) -> bool {
        if self.each.is_zero() {
            return true;
        }
        let begins = self.due.back().map_or(now, |&last| last.max(now));
        self.due.push_back(begins + self.each);
        self.requests += 1;
        false
    }

    /// Dispatches the first request that waits if its time has come.
    fn dispatch_one(&mut self, now: Instant) -> bool {
        let is_due = self.due.front().is_some_and(|&due| due <= now);
        is_due && self.due.pop_front().is_some()
    }
}

impl Channel {
    /// `each` times the `interval × f` requests that arrive, where `f` is the frequency of the
    /// recent ones (equation 2).
    fn delayed(&self, now: Instant, interval: Duration, each: Duration) -> Duration {
        let Some(&oldest) = self.arrivals.front() else { return Duration::ZERO };
        let span = u128::from(now.since(oldest).as_nanos()).max(1);
        let product = u128::from(interval.as_nanos()) * u128::from(each.as_nanos());
        let nanos = product * self.arrivals.len() as u128 / span;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// `each` times the pages that a collection moves, on average over the recent ones; zero before
    /// the first.
    fn moves(&self, each: Duration) -> Duration {
        let collections = self.moves.len().max(1) as u64;
        each * self.moves.iter().sum::<u64>() / collections
    }

    /// Pages that a collection frees of a block of `block_pages`, rounded up, at least 1.
    fn freed(&self, block_pages: u64) -> u64 {
        let collections = self.moves.len().max(1) as u64;
        block_pages.saturating_sub(self.moves.iter().sum::<u64>() / collections).max(1)
    }
}

impl Degraded {
    fn new(setup: &PolicySetup<'_>, knows: Knows) -> Self {
        Self {
            profile: setup.settings.profile,
            compute: setup.reconstruct_compute,
            knows,
            channels: vec![Channel::default(); setup.drives as usize],
            last_taker: 0,
            evaluations: 0,
            reads: 0,
            updates: 0,
            expected: (Duration::ZERO, 0),
            dispatcher: Dispatcher {
                each: setup.settings.evaluation_time,
                ..Dispatcher::default()
            },
        }
    }

    /// Computing time of the controller (§4.2.5): the model for each request, and the parity for
    /// each degraded read and update.
    fn computed(&self) -> Duration {
        self.dispatcher.each * self.dispatcher.requests + self.compute * (self.reads + self.updates)
    }

    /// `t_gc` of a channel (equation 7): page moves and an erase.
    fn collection(&self, drive: DriveId) -> Duration {
        let copy = self.profile.read + self.profile.write;
        self.channels[drive.index()].moves(copy) + self.profile.erase
    }

    /// `c`: the collection in progress, and those that the queued writes will cause (§3.2, on
    /// equation 1).
    fn collections(&self, drive: DriveId, queued_writes: u64) -> u64 {
        if self.knows == Knows::Nothing {
            return 0;
        }
        let channel = &self.channels[drive.index()];
        let freed = channel.freed(self.profile.block_pages);
        let beyond = queued_writes.saturating_sub(channel.report.pages_before_next);
        u64::from(channel.report.collecting) + beyond.div_ceil(freed)
    }

    /// `n_r` and `n_w`: requests "en-queued" on a channel (§3.2). A write leaves the queue when its
    /// chip takes it: from then on it does not delay requests for other chips. A read needs the
    /// channel until its end. When writes in service were counted, a read avoided a channel with a
    /// single write.
    fn queued(&self, drive: DriveId, view: &View<'_>) -> (u64, u64) {
        let queue = view.queues.of(drive);
        let waiting = queue.write_blocks.saturating_sub(self.profile.dies);
        (u64::from(queue.read_blocks), u64::from(waiting))
    }

    /// All that is queued on a channel.
    fn queued_blocks(&self, drive: DriveId, view: &View<'_>) -> u64 {
        let (reads, writes) = self.queued(drive, view);
        reads + writes
    }

    /// `T_wait`: time for the queue of a channel and its collections (equation 1).
    fn wait(&self, drive: DriveId, view: &View<'_>) -> Duration {
        let (reads, writes) = self.queued(drive, view);
        self.profile.read * reads
            + self.profile.write * writes
            + self.collection(drive) * self.collections(drive, writes)
    }

    /// `T_A` and `T'_A`: the wait, and the delay of requests that arrive meanwhile, `service` each
    /// (equation 3, and equation 5 without the parity).
    fn normal(&self, now: Instant, drive: DriveId, service: Duration, view: &View<'_>) -> Duration {
        let wait = self.wait(drive, view);
        wait + self.channels[drive.index()].delayed(now, wait, service)
    }

    /// `T_B`: the delay of all requests queued on the other channels of the stripe, by a read each
    /// (equation 4).
    fn degraded(&self, drive: DriveId, view: &View<'_>) -> Duration {
        let others = members_of(view.stripe & !(1 << drive.0));
        others.fold(self.compute, |cost, other| {
            let queued = self.queued_blocks(other, view);
            let collections = match self.knows {
                Knows::OfAll => self.collection(other) * self.collections(other, 0),
                Knows::Nothing | Knows::OfTarget => Duration::ZERO,
            };
            cost + self.profile.read * queued + collections
        })
    }

    /// The least busy of the `free` drives. A drive that collects is not idle, whatever its queue.
    fn most_idle(&self, free: u64, view: &View<'_>) -> Option<DriveId> {
        let after_last = |drive: DriveId| drive.0.wrapping_sub(self.last_taker + 1) % 64;
        members_of(free).min_by_key(|&drive| {
            let collecting = self.channels[drive.index()].report.collecting;
            (collecting, view.queues.of(drive).blocks(), after_last(drive))
        })
    }
}

impl Policy for Degraded {
    fn hooks(&self) -> Hooks {
        let hooks = Hooks::FIRST_ATTEMPT | Hooks::SENT;
        match self.dispatcher.each.is_zero() {
            true => hooks,
            false => hooks | Hooks::ADMITS | Hooks::DEADLINE,
        }
    }

    fn admits(&mut self, now: Instant, _: &Asked) -> bool {
        self.dispatcher.take(now)
    }

    fn releases(&mut self, now: Instant) -> bool {
        self.dispatcher.dispatch_one(now)
    }

    fn next_deadline(&self) -> Instant {
        self.dispatcher.due.front().copied().unwrap_or(Instant::NEVER)
    }

    fn first_attempt(&mut self, now: Instant, drive: DriveId, _: Lba, view: &View<'_>) -> Attempt {
        self.evaluations += 1;
        if self.normal(now, drive, self.profile.read, view) <= self.degraded(drive, view) {
            return Attempt::Send(PlFlag::Off);
        }
        self.reads += 1;
        Attempt::Avoid
    }

    /// Equations 5 and 6; the write of the parity is a term of both.
    fn place_update(
        &mut self,
        now: Instant,
        drive: DriveId,
        free: u64,
        view: &View<'_>,
    ) -> Option<DriveId> {
        self.evaluations += 1;
        let taker = self.most_idle(free, view)?;
        let queued = self.queued_blocks(taker, view);
        let degraded = self.degraded(drive, view) + self.profile.write * queued;
        if self.normal(now, drive, self.profile.write, view) <= degraded {
            return None;
        }
        self.last_taker = taker.0;
        self.updates += 1;
        Some(taker)
    }

    fn relocates_chunks(&self) -> bool {
        true
    }

    fn watches_drives(&self) -> bool {
        self.knows != Knows::Nothing
    }

    fn handle_report(&mut self, _: Instant, drive: DriveId, report: &CollectionReport) {
        let estimate = self.collection(drive);
        let channel = &mut self.channels[drive.index()];
        channel.report = *report;
        if report.collected_blocks < channel.counted.collected_blocks {
            // Another drive is in its place, and counts from the beginning.
            channel.counted = CollectionReport::default();
        }
        let collections = report.collected_blocks - channel.counted.collected_blocks;
        if collections == 0 {
            return;
        }
        let moved = report.moved_pages - channel.counted.moved_pages;
        channel.counted = *report;
        if channel.moves.len() == RECENT_COLLECTIONS {
            channel.moves.pop_front();
        }
        channel.moves.push_back(moved / collections);
        self.expected = (self.expected.0 + estimate, self.expected.1 + 1);
    }

    fn expected_collection(&self) -> Option<Duration> {
        let (sum, collections) = self.expected;
        (collections > 0).then(|| sum / collections)
    }

    fn sent(&mut self, now: Instant, command: &Sent) {
        let arrivals = &mut self.channels[command.drive.index()].arrivals;
        if arrivals.len() == RECENT_REQUESTS {
            arrivals.pop_front();
        }
        arrivals.push_back(now);
    }

    fn tallies(&self) -> Vec<Tally> {
        vec![
            Tally::new("evaluations of the model", self.evaluations),
            Tally::new("degraded reads", self.reads),
            Tally::new("degraded updates", self.updates),
            Tally::new("nanoseconds of computing", self.computed().as_nanos()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinate::Coordinator;
    use crate::drive_queues::Queues;
    use crate::members::MemberSet;
    use crate::policy::PolicySettings;
    use nvme::Opcode;

    const READ: Duration = Duration::from_micros(45);
    const WRITE: Duration = Duration::from_micros(700);
    const ERASE: Duration = Duration::from_micros(3_500);
    const XOR: Duration = Duration::from_micros(19);

    /// The paper's Table 2, eight channels.
    fn policy() -> Degraded {
        let profile = DriveProfile {
            read: READ,
            write: WRITE,
            erase: ERASE,
            block_pages: 128,
            ..DriveProfile::default()
        };
        let settings = PolicySettings { profile, ..PolicySettings::default() };
        let setup =
            PolicySetup { drives: 8, parities: 1, reconstruct_compute: XOR, settings: &settings };
        Degraded::new(&setup, Knows::OfTarget)
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn sent(policy: &mut Degraded, drive: u8, micros: u64) {
        let (opcode, lba) = (Opcode::Read, Lba(0));
        policy.sent(at(micros), &Sent { drive: DriveId(drive), opcode, lba, blocks: 1 });
    }

    #[test]
    fn the_equations_come_out_as_by_hand() {
        let mut policy = policy();
        let mut queues = Queues::new(8);
        // Channel 0 has 2 reads and 3 writes that wait, channels 1 to 3 have 1, 2 and 4 requests.
        // One more write is in service on each channel with writes, and is not counted.
        for (drive, opcode, blocks) in [
            (0, Opcode::Read, 2),
            (0, Opcode::Write, 4),
            (1, Opcode::Read, 1),
            (2, Opcode::Write, 3),
            (3, Opcode::Read, 4),
        ] {
            queues.add(DriveId(drive), opcode, blocks);
        }
        // 10 arrivals in 1 ms: f is 10 000 a second.
        for arrival in 0..10 {
            sent(&mut policy, 0, arrival * 100);
        }
        let view = View {
            coordinator: &Coordinator::Free,
            queues: &queues,
            stripe: 0b1111,
            missing: MemberSet::EMPTY,
        };
        let now = at(1_000);
        let report = CollectionReport { pages_before_next: 3, ..CollectionReport::default() };
        policy.handle_report(now, DriveId(0), &report);
        // 2 × 45 + 3 × 700 = 2190 µs; × (1 + 45 µs × 10 000/s) = 3175.5 µs.
        let nanos = |duration: Duration| duration.as_nanos();
        assert_eq!(nanos(policy.normal(now, DriveId(0), READ, &view)), 3_175_500);
        // 19 + 45 × 7 = 334 µs.
        assert_eq!(nanos(policy.degraded(DriveId(0), &view)), 334_000);
        assert_eq!(policy.first_attempt(now, DriveId(0), Lba(0), &view), Attempt::Avoid);
        let free = policy.first_attempt(now, DriveId(1), Lba(0), &view);
        assert_eq!(free, Attempt::Send(PlFlag::Off), "45 µs against 19 + 45 × 11");
        // For an update the writes count: 2190 × (1 + 700 µs × 10 000/s) = 17 520 µs.
        assert_eq!(nanos(policy.normal(now, DriveId(0), WRITE, &view)), 17_520_000);
        assert!(policy.place_update(now, DriveId(0), 0b1111_0000, &view).is_some());
        assert_eq!(policy.place_update(now, DriveId(1), 0b1111_0000, &view), None);
        // Five queued writes where three find room: one collection, and one more if one runs.
        queues.add(DriveId(0), Opcode::Write, 2);
        assert_eq!(policy.collections(DriveId(0), 5), 1);
        let report = CollectionReport { collecting: true, ..report };
        policy.handle_report(now, DriveId(0), &report);
        assert_eq!(policy.collections(DriveId(0), 5), 2);
        assert_eq!(nanos(policy.collection(DriveId(0))), nanos(ERASE), "none has ended yet");
    }

    #[test]
    fn requests_are_dispatched_one_after_the_other() {
        let mut policy = policy();
        assert!(policy.dispatcher.take(at(0)), "computing takes no time");
        assert!(!policy.hooks().has(Hooks::ADMITS));
        policy.dispatcher.each = Duration::from_micros(5);
        assert!(policy.hooks().has(Hooks::ADMITS) && policy.hooks().has(Hooks::DEADLINE));
        for micros in [0, 2, 20] {
            assert!(!policy.dispatcher.take(at(micros)));
        }
        for micros in [5, 10, 25] {
            assert_eq!(policy.next_deadline(), at(micros));
            assert!(!policy.releases(at(micros - 1)), "not before its time");
            assert!(policy.releases(at(micros)));
            assert!(!policy.releases(at(micros)), "one at a time");
        }
        assert_eq!(policy.next_deadline(), Instant::NEVER);
        policy.reads = 2;
        assert_eq!(policy.computed(), Duration::from_micros(3 * 5 + 2 * 19));
    }

    #[test]
    fn only_the_aware_count_collections_on_the_way_round() {
        let mut policy = policy();
        let mut queues = Queues::new(8);
        queues.add(DriveId(0), Opcode::Write, 2);
        let view = View {
            coordinator: &Coordinator::Free,
            queues: &queues,
            stripe: 0b1111,
            missing: MemberSet::EMPTY,
        };
        let collecting = CollectionReport { collecting: true, ..CollectionReport::default() };
        policy.handle_report(at(1), DriveId(3), &collecting);
        policy.channels[0].report.pages_before_next = 100;
        assert_eq!(policy.degraded(DriveId(0), &view), XOR);
        assert_eq!(policy.first_attempt(at(2), DriveId(0), Lba(0), &view), Attempt::Avoid);
        policy.knows = Knows::OfAll;
        assert_eq!(policy.degraded(DriveId(0), &view), XOR + ERASE);
        let attempt = policy.first_attempt(at(2), DriveId(0), Lba(0), &view);
        assert_eq!(attempt, Attempt::Send(PlFlag::Off), "0.7 ms against 3.5");
        policy.knows = Knows::Nothing;
        assert_eq!(policy.collections(DriveId(3), 0), 0);
    }

    #[test]
    fn page_moves_are_averaged_over_eight_collections() {
        let mut policy = policy();
        let mut report = CollectionReport::default();
        for moved in [100, 1, 2, 3, 4, 5, 6, 7, 8_u64] {
            // Copies are announced before the erase, one by one.
            report.moved_pages += moved;
            policy.handle_report(at(1), DriveId(2), &report);
            report.collected_blocks += 1;
            policy.handle_report(at(2), DriveId(2), &report);
        }
        let copies = (READ + WRITE) * 36 / 8;
        assert_eq!(policy.collection(DriveId(2)), copies + ERASE, "the first is forgotten");
        assert_eq!(policy.channels[2].freed(128), 128 - 4);
        assert_eq!(policy.collection(DriveId(1)), ERASE, "each channel by itself");
    }

    #[test]
    fn equally_idle_drives_take_turns_and_busy_ones_none() {
        let mut policy = policy();
        let mut queues = Queues::new(8);
        queues.add(DriveId(5), Opcode::Read, 1);
        let collecting = CollectionReport { collecting: true, ..CollectionReport::default() };
        policy.handle_report(at(1), DriveId(6), &collecting);
        queues.add(DriveId(0), Opcode::Write, 9);
        let view = View {
            coordinator: &Coordinator::Free,
            queues: &queues,
            stripe: 0b111,
            missing: MemberSet::EMPTY,
        };
        let mut takers = Vec::new();
        for _ in 0..4 {
            takers.push(policy.place_update(at(2), DriveId(0), 0b1111_1000, &view).unwrap().0);
        }
        assert_eq!(takers, [3, 4, 7, 3]);
    }

    #[test]
    fn the_frequency_is_that_of_the_last_128_requests() {
        let mut policy = policy();
        for arrival in 0..1_000 {
            sent(&mut policy, 4, arrival);
        }
        let channel = &policy.channels[4];
        assert_eq!(channel.arrivals.len(), 128);
        // 128 requests in 128 µs: in 10 µs 10, of 45 µs each.
        let delayed = channel.delayed(at(1_000), Duration::from_micros(10), READ);
        assert_eq!(delayed, READ * 10);
    }
}
