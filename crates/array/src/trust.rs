//! Trust in drives: a drive that is slower than it may be is found, and not read while it is slow.
//!
//! Two findings count against a drive. *A late answer*: a read took longer than any such read may
//! take. *Its peers*: its reads take much longer than those of the other drives (Tukey's fence).
//! Slow reads alone only raise a suspicion, because a busy drive has slow reads as well. A
//! suspected drive is not read until it is idle; then single reads, *probes*, show whether it is
//! slow.
//!
//! A measure ([`Measure`]) says how long a read may take. Where drives guarantee the time of
//! flagged reads, each late answer is proof; an answer that is overdue is late as well. Where
//! drives guarantee nothing, only probes are judged, by the reads of the other drives ([`peers`]),
//! and most probes have to be late. There a drive that leaves several reads unanswered for long is
//! not read until it answers again.
//!
//! A distrusted drive is probed from time to time. It is read again when it has answered in time
//! for long enough; the time required grows each time.

mod peers;

use crate::commands::ReadFlag;
use crate::contract::Measure;
use crate::fence;
use crate::members::MemberSet;
use crate::policy::Tally;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{PlFlag, Status};
use peers::{Silence, Usual};
use units::{DriveId, Duration, Instant};

/// Longest on-time latency of a read, as a multiple of its time by the contract. The margin covers
/// waits for a channel, or for the interruption of a program.
const MARGIN: u64 = 3;
/// Number of on-time answers that outweigh a late one. A drive that is late more rarely does not
/// show in 99.9 % of reads.
const LATE: u32 = 2048;
/// Evidence that proves a drive slow: three late answers.
const PROOF: u32 = 3 * LATE;
/// Value of `ahead` from which on a read is not judged: too much can be in its way.
pub(crate) const MOST_AHEAD: u8 = u8::MAX;

/// Time from one comparison with the peers to the next.
const LOOK: Duration = Duration::from_millis(10);
/// Consecutive comparisons beyond the fence after which a drive is suspected.
const LOOKS: u32 = 3;
/// Reads that a drive must have answered since the last comparison to be compared.
const READS_PER_LOOK: u32 = 8;

/// Time for which a drive must be on time to be read again: at first, and at most.
const PENANCE: Duration = Duration::from_millis(500);
const LONGEST_PENANCE: Duration = Duration::from_secs(64);
/// On-time probes needed to be read again.
const GOOD_PROBES: u32 = 16;
/// Late probes needed to prove a suspicion where drives guarantee nothing.
const LATE_PROBES: u32 = 12;
/// Time needed to prove one there: a drive that collects is slow for tens of milliseconds.
const PROOF_TIME: Duration = Duration::from_millis(250);
/// On-time probes that a late one cancels there. A drive model fitted to a real drive, with nothing
/// else to read, answers at most one in six late by the measure of its peers.
const LATE_OUTWEIGHS: u32 = 3;
/// Time for which a wrongly suspected drive is not suspected again, at first.
const PEACE: Duration = Duration::from_secs(1);

/// Whether a drive is read, and why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// It is read.
    Trusted,
    /// It is beyond the fence of its peers.
    Suspected { since: Instant },
    /// It has answered late.
    Distrusted { since: Instant },
}

/// Knowledge about one drive.
#[derive(Clone, Copy, Debug)]
struct Member {
    standing: Standing,
    /// Evidence against it: see [`LATE`].
    evidence: u32,
    /// Running mean of its read latencies, in nanoseconds; 0 before the first. Only kept where
    /// drives guarantee times.
    mean_nanos: u64,
    /// Its usual read latencies. Only kept where drives guarantee nothing.
    usual: Usual,
    reads_since_look: u32,
    looks_out: u32,
    /// Time from which on it may be suspected.
    peace_until: Instant,
    /// Number of suspicions that were not confirmed.
    acquitted: u32,
    /// One of its reads in flight.
    watched: Option<Watched>,
    /// Time from which on it may be probed.
    next_probe: Instant,
    /// Start of the current run of on-time probes, and their number.
    good_since: Instant,
    good: u32,
    /// Late probes since it was suspected; on-time ones are in `good`.
    late_probes: u32,
    /// Time for which it must be on time to be read again; `None` if it was never distrusted.
    penance: Option<Duration>,
    /// Total time for which it was not read, up to its last return.
    past: Duration,
}

impl Member {
    const NEW: Self = Self {
        standing: Standing::Trusted,
        evidence: 0,
        mean_nanos: 0,
        usual: Usual::NEW,
        reads_since_look: 0,
        looks_out: 0,
        peace_until: Instant::ZERO,
        acquitted: 0,
        watched: None,
        next_probe: Instant::ZERO,
        good_since: Instant::ZERO,
        good: 0,
        late_probes: 0,
        penance: None,
        past: Duration::ZERO,
    };

    fn since(&self) -> Option<Instant> {
        match self.standing {
            Standing::Trusted => None,
            Standing::Suspected { since } | Standing::Distrusted { since } => Some(since),
        }
    }
}

/// A read in flight that is known to be late before its answer comes.
#[derive(Clone, Copy, Debug)]
struct Watched {
    sent: Instant,
    /// Time from which on it counts against its drive; once more each time that the wait has
    /// tripled.
    late_from: Instant,
}

/// Advice for a read of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    /// Read it as any other.
    Read,
    /// Avoid it if possible.
    Avoid,
    /// Avoid it, but read it once to measure its latency.
    Probe,
}

/// An answer to a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAnswer {
    pub(crate) drive: DriveId,
    pub(crate) blocks: u32,
    pub(crate) flag: ReadFlag,
    pub(crate) status: Status,
    pub(crate) latency: Duration,
}

/// A change of whether a drive is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    pub(crate) drive: DriveId,
    /// `true` if it is not read from now on, `false` if it is read again.
    pub(crate) distrusted: bool,
}

/// Whether the flag has a drive fail a read fast rather than let it wait.
fn is_flagged(pl: PlFlag) -> bool {
    matches!(pl, PlFlag::Predictable | PlFlag::Patient)
}

/// Trust in the drives of an array.
#[derive(Clone, Debug)]
pub(crate) struct Trust {
    measure: Measure,
    /// Number of drives that the array can do without, including absent ones.
    most: u32,
    absent: MemberSet,
    /// Drives that are not read.
    distrusted: MemberSet,
    /// Distrusted drives with a verdict.
    convicted: MemberSet,
    members: Vec<Member>,
    next_look: Instant,
    /// Changes that were not taken yet.
    verdicts: Vec<Verdict>,
    probes: u64,
    late: u64,
    times_distrusted: u64,
    /// Suspicions that ended without a verdict.
    acquittals: u64,
    times_silent: u64,
}

impl Trust {
    /// Trust in all of `drives` drives. The array can do without `parities` of them, and lacks the
    /// `absent`.
    pub(crate) fn new(drives: u32, parities: u32, measure: Measure, absent: MemberSet) -> Self {
        Self {
            measure,
            most: parities,
            absent,
            distrusted: MemberSet::EMPTY,
            convicted: MemberSet::EMPTY,
            members: vec![Member::NEW; drives as usize],
            next_look: Instant::ZERO + LOOK,
            verdicts: Vec::new(),
            probes: 0,
            late: 0,
            times_distrusted: 0,
            acquittals: 0,
            times_silent: 0,
        }
    }

    /// The drives that are not to be read.
    #[inline]
    pub(crate) fn distrusted(&self) -> MemberSet {
        self.distrusted
    }

    /// Time at which the array stopped reading a drive; `None` for a drive without a verdict.
    pub(crate) fn since(&self, drive: DriveId) -> Option<Instant> {
        self.convicted.contains(drive.0).then(|| self.members[drive.index()].since())?
    }

    /// Drives that had a verdict, each with the total time for which it was not read until `now`.
    pub(crate) fn times(&self, now: Instant) -> impl Iterator<Item = (DriveId, Duration)> + '_ {
        let members = self.members.iter().zip(0..);
        members.filter_map(move |(member, drive)| {
            let present = match self.convicted.contains(drive) {
                true => member.since().map_or(Duration::ZERO, |since| now.since(since)),
                false => Duration::ZERO,
            };
            let time = member.past + present;
            (time > Duration::ZERO).then_some((DriveId(drive), time))
        })
    }

    /// Counters above zero.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = Tally> + use<> {
        let counts = [
            ("times a drive was distrusted", self.times_distrusted),
            ("answers that came too late", self.late),
            ("probes of distrusted drives", self.probes),
            ("times a drive was suspected for nothing", self.acquittals),
            ("times a drive was silent", self.times_silent),
        ];
        let counts = counts.into_iter().filter(|&(_, count)| count > 0);
        counts.map(|(name, count)| Tally::new(name, count))
    }

    /// Whether a stripe on these drives (as bits) lacks all members that it can do without.
    #[inline]
    pub(crate) fn is_reduced(&self, stripe: u64) -> bool {
        let distrusted = self.distrusted & MemberSet::from_bits(stripe);
        !distrusted.is_empty()
            && ((self.distrusted | self.absent) & MemberSet::from_bits(stripe)).len() >= self.most
    }

    /// Whether there are verdicts to take.
    #[inline]
    pub(crate) fn has_verdicts(&self) -> bool {
        !self.verdicts.is_empty()
    }

    /// Takes the verdicts since the last call.
    #[inline]
    pub(crate) fn take_verdicts(&mut self) -> Vec<Verdict> {
        core::mem::take(&mut self.verdicts)
    }

    /// Expected latency of a read of the drive, as far as known.
    pub(crate) fn expected(&self, drive: DriveId) -> Duration {
        Duration::from_nanos(self.typical_nanos(drive.index())).max(self.alone())
    }

    /// Flag of a probe.
    pub(crate) fn probe_flag(&self) -> PlFlag {
        match self.measure {
            Measure::Promise(_) => PlFlag::Predictable,
            Measure::Peers => PlFlag::Off,
        }
    }

    /// Typical read latency of a drive, by which drives are compared, in nanoseconds; 0 if unknown.
    fn typical_nanos(&self, drive: usize) -> u64 {
        match self.measure {
            Measure::Promise(_) => self.members[drive].mean_nanos,
            Measure::Peers => self.members[drive].usual.median_nanos(),
        }
    }

    /// Guaranteed latency of a read of an idle drive; zero if nothing is guaranteed.
    fn alone(&self) -> Duration {
        match self.measure {
            Measure::Promise(times) => times.alone,
            Measure::Peers => Duration::ZERO,
        }
    }

    /// Advice for a read of a drive with `out` blocks in flight.
    #[inline]
    pub(crate) fn advice(&mut self, now: Instant, drive: DriveId, out: u32) -> Advice {
        if self.measure == Measure::Peers && !self.distrusted.contains(drive.0) {
            return self.advice_by_peers(now, drive);
        }
        if let Some(watched) = &mut self.members[drive.index()].watched
            && now > watched.late_from
        {
            watched.late_from = now + now.since(watched.sent) * 2;
            self.came_late(now, drive);
        }
        if !self.distrusted.contains(drive.0) {
            return Advice::Read;
        }
        let alone = self.alone();
        let member = &mut self.members[drive.index()];
        if now < member.next_probe || out > 0 {
            return Advice::Avoid;
        }
        self.probes += 1;
        // Spaced so that twice the probes needed fit into the time required.
        let pause = match member.standing {
            Standing::Distrusted { .. } => {
                member.penance.unwrap_or(PENANCE) / u64::from(2 * GOOD_PROBES)
            }
            Standing::Suspected { .. } | Standing::Trusted => alone,
        };
        member.next_probe = now + pause;
        Advice::Probe
    }

    /// Advice for a read of a trusted drive that guarantees nothing.
    #[inline]
    fn advice_by_peers(&mut self, now: Instant, drive: DriveId) -> Advice {
        let (silence, can_do_without) =
            (self.members[drive.index()].usual.look(now), self.can_do_without());
        match silence {
            Silence::No => Advice::Read,
            _ if !can_do_without => Advice::Read,
            Silence::Begins => {
                self.times_silent += 1;
                Advice::Avoid
            }
            Silence::GoesOn => Advice::Avoid,
        }
    }

    /// Longest on-time latency of a flagged read of `blocks` blocks behind `ahead` blocks; `None`
    /// if the queue is too deep to judge, or if nothing is guaranteed.
    #[inline]
    fn longest(&self, ahead: u8, blocks: u32) -> Option<Duration> {
        let Measure::Promise(times) = self.measure else { return None };
        let more = u64::from(ahead) + u64::from(blocks) - 1;
        (ahead < MOST_AHEAD).then_some((times.alone + times.each * more) * MARGIN)
    }

    /// Notes a read of `blocks` blocks that is sent.
    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, drive: DriveId, flag: ReadFlag, blocks: u32) {
        if self.measure == Measure::Peers {
            return self.members[drive.index()].usual.sent(now);
        }
        if self.members[drive.index()].watched.is_none()
            && is_flagged(flag.pl)
            && let Some(longest) = self.longest(flag.ahead, blocks)
        {
            let watched = Watched { sent: now, late_from: now + longest };
            self.members[drive.index()].watched = Some(watched);
        }
    }

    /// Takes the answer of a drive to a read.
    #[inline]
    pub(crate) fn answered(&mut self, now: Instant, answer: &ReadAnswer) {
        match self.measure {
            Measure::Promise(_) => self.answered_a_promise(now, answer),
            Measure::Peers => self.answered_beside_peers(now, answer),
        }
        if now >= self.next_look {
            self.look(now);
        }
    }

    #[inline]
    fn answered_a_promise(&mut self, now: Instant, answer: &ReadAnswer) {
        let member = &mut self.members[answer.drive.index()];
        let is_flagged = is_flagged(answer.flag.pl);
        if member.watched.is_some_and(|watched| watched.sent + answer.latency == now) {
            member.watched = None;
        }
        if answer.status != Status::Success || !(is_flagged || member.since().is_some()) {
            return;
        }
        member.mean_nanos = fence::mean_with_first(member.mean_nanos, answer.latency);
        member.reads_since_look += 1;
        if is_flagged && let Some(longest) = self.longest(answer.flag.ahead, answer.blocks) {
            match answer.latency > longest {
                true => self.came_late(now, answer.drive),
                false => self.came_in_time(now, answer),
            }
        }
    }

    #[inline]
    fn answered_beside_peers(&mut self, now: Instant, answer: &ReadAnswer) {
        let member = &mut self.members[answer.drive.index()];
        member.usual.answered(now);
        if answer.status != Status::Success {
            return;
        }
        match member.since() {
            None => {
                member.usual.add(answer.latency, answer.flag.ahead == 0);
                member.reads_since_look += 1;
            }
            // Reads sent before that, or queued behind others, do not show how fast the drive is.
            Some(since) => {
                if answer.flag.ahead == 0 && now.since(since) >= answer.latency {
                    self.probe_answered(now, answer);
                }
            }
        }
    }

    /// Takes the answer to a probe of a drive that guarantees nothing.
    #[cold]
    fn probe_answered(&mut self, now: Instant, answer: &ReadAnswer) {
        if !self.is_late_beside_peers(answer.drive, answer.latency) {
            return self.was_good(now, answer.drive);
        }
        self.late += 1;
        let member = &mut self.members[answer.drive.index()];
        member.late_probes += 1;
        if let Standing::Suspected { since } = member.standing {
            let is_long = now.since(since) >= PROOF_TIME;
            if is_long && member.late_probes >= LATE_PROBES.max(member.good + 1) {
                self.distrust(now, answer.drive);
            }
            return;
        }
        member.good = member.good.saturating_sub(LATE_OUTWEIGHS);
        if member.good == 0 {
            member.good_since = now;
            member.next_probe = now + member.penance.unwrap_or(PENANCE) / 8;
        }
    }

    /// Whether this latency of an idle drive is late beside the drives that are read.
    fn is_late_beside_peers(&self, drive: DriveId, latency: Duration) -> bool {
        let others = self.members.iter().zip(0..).filter(|&(_, other)| other != drive.0);
        let peers = others.filter(|(peer, _)| peer.since().is_none());
        peers::is_late(latency, peers.map(|(peer, _)| &peer.usual))
    }

    #[cold]
    fn came_late(&mut self, now: Instant, drive: DriveId) {
        self.late += 1;
        let all_late = self.are_all_late(drive);
        let member = &mut self.members[drive.index()];
        member.evidence = (member.evidence + LATE).min(PROOF);
        match member.standing {
            Standing::Distrusted { .. } => {
                (member.good, member.good_since) = (0, now);
                member.next_probe = now + member.penance.unwrap_or(PENANCE) / 8;
            }
            // A drive that is suspected, or was distrusted before, needs less evidence.
            Standing::Suspected { .. } => self.distrust(now, drive),
            Standing::Trusted => {
                let needed = if member.penance.is_some() { LATE } else { PROOF };
                if member.evidence >= needed && !all_late {
                    self.distrust(now, drive);
                }
            }
        }
    }

    /// Whether half of the other drives have answered late as well: then the measure is wrong.
    fn are_all_late(&self, drive: DriveId) -> bool {
        let others = self.members.iter().zip(0..).filter(|&(_, other)| other != drive.0);
        let others =
            others.filter(|&(other, id)| !self.absent.contains(id) && other.since().is_none());
        let (count, late) = others.fold((0, 0), |(count, late), (other, _)| {
            (count + 1, late + u32::from(other.evidence >= LATE / 2))
        });
        late * 2 >= count && count > 0
    }

    #[inline]
    fn came_in_time(&mut self, now: Instant, answer: &ReadAnswer) {
        let member = &mut self.members[answer.drive.index()];
        member.evidence = member.evidence.saturating_sub(1);
        // A read queued behind others does not show how fast the drive is.
        if member.since().is_some() && answer.flag.ahead == 0 {
            self.was_good(now, answer.drive);
        }
    }

    /// Notes an on-time answer of a drive that is not read.
    #[cold]
    fn was_good(&mut self, now: Instant, drive: DriveId) {
        let member = &mut self.members[drive.index()];
        if member.good == 0 {
            member.good_since = now;
        }
        member.good += 1;
        let needed = match member.standing {
            Standing::Suspected { .. } => GOOD_PROBES.max(member.late_probes),
            Standing::Distrusted { .. } | Standing::Trusted => GOOD_PROBES,
        };
        if member.good < needed {
            return;
        }
        match member.standing {
            Standing::Suspected { .. } => {
                member.peace_until = now + PEACE * (1 << member.acquitted.min(10));
                member.acquitted += 1;
                self.acquittals += u64::from(!self.convicted.contains(drive.0));
                self.absolve(now, drive);
            }
            Standing::Distrusted { .. } => {
                let penance = member.penance.unwrap_or(PENANCE);
                if now.since(member.good_since) >= penance {
                    member.penance = Some((penance * 4).min(LONGEST_PENANCE));
                    self.absolve(now, drive);
                }
            }
            Standing::Trusted => {}
        }
    }

    /// Whether the array can do without one more drive.
    fn can_do_without(&self) -> bool {
        (self.distrusted | self.absent).len() < self.most
    }

    fn distrust(&mut self, now: Instant, drive: DriveId) {
        let member = self.members[drive.index()];
        if member.since().is_none() && !self.can_do_without() {
            return;
        }
        let member = &mut self.members[drive.index()];
        let since = member.since().unwrap_or(now);
        let penance = *member.penance.get_or_insert(PENANCE);
        member.standing = Standing::Distrusted { since };
        (member.evidence, member.good, member.good_since) = (0, 0, now);
        member.next_probe = now + penance / 8;
        self.distrusted.insert(drive.0);
        self.give_verdict(drive);
    }

    fn suspect(&mut self, now: Instant, drive: DriveId) {
        let member = &mut self.members[drive.index()];
        member.standing = Standing::Suspected { since: now };
        (member.good, member.late_probes, member.next_probe) = (0, 0, now);
        self.distrusted.insert(drive.0);
        // Windows depend on which drives are read. Without windows a suspicion is no verdict.
        if self.measure != Measure::Peers {
            self.give_verdict(drive);
        }
    }

    fn give_verdict(&mut self, drive: DriveId) {
        if !self.convicted.contains(drive.0) {
            self.convicted.insert(drive.0);
            self.times_distrusted += 1;
            self.verdicts.push(Verdict { drive, distrusted: true });
        }
    }

    /// Has a drive read again.
    fn absolve(&mut self, now: Instant, drive: DriveId) {
        let member = &mut self.members[drive.index()];
        let Some(since) = member.since() else { return };
        member.standing = Standing::Trusted;
        (member.evidence, member.mean_nanos, member.looks_out) = (0, 0, 0);
        member.usual.forget();
        self.distrusted.remove(drive.0);
        if self.convicted.contains(drive.0) {
            member.past += now.since(since);
            self.convicted.remove(drive.0);
            self.verdicts.push(Verdict { drive, distrusted: false });
        }
    }

    /// Compares each drive with its peers; suspects a drive that stays beyond their fence.
    #[cold]
    fn look(&mut self, now: Instant) {
        self.next_look = now + LOOK;
        for drive in 0..self.members.len() {
            let id = DriveId(drive as u8);
            let member = &self.members[drive];
            if member.reads_since_look < READS_PER_LOOK || member.since().is_some() {
                continue;
            }
            let peers = (0..self.members.len()).filter(|&other| other != drive);
            let peers = peers.filter(|&peer| self.members[peer].since().is_none());
            let peers = peers.map(|peer| self.typical_nanos(peer));
            let nanos = self.typical_nanos(drive);
            let is_slow = match self.measure {
                Measure::Promise(times) => nanos > times.alone.as_nanos() * MARGIN,
                Measure::Peers => self.is_late_beside_peers(id, Duration::from_nanos(nanos)),
            };
            let is_out = is_slow && fence::is_beyond(nanos, peers);
            let member = &mut self.members[drive];
            member.reads_since_look = 0;
            member.looks_out = if is_out { member.looks_out + 1 } else { 0 };
            let may = now >= member.peace_until;
            if member.looks_out >= LOOKS && may && self.can_do_without() {
                self.suspect(now, id);
            }
        }
    }

    /// Notes that a drive has failed. Distrusted drives are read again if the array cannot do
    /// without them now: those first that are distrusted for the shortest time.
    pub(crate) fn drive_failed(&mut self, now: Instant, drive: DriveId) {
        self.absent.insert(drive.0);
        self.absolve(now, drive);
        while (self.distrusted | self.absent).len() > self.most {
            let since = |&drive: &u8| self.members[usize::from(drive)].since();
            let Some(last) = self.distrusted.iter().max_by_key(since) else { return };
            self.absolve(now, DriveId(last));
        }
    }

    /// Notes that a drive was replaced by another, of which nothing is known.
    pub(crate) fn drive_replaced(&mut self, drive: DriveId) {
        self.absent.remove(drive.0);
        let past = self.members[drive.index()].past;
        self.members[drive.index()] = Member { past, ..Member::NEW };
    }
}

#[cfg(test)]
mod tests;
