//! A fetch: what one operation knows of a stripe, its reads in flight, and what to do next.
//!
//! A fetch gets the members that its operation *wants*: each is read, or reconstructed from the
//! others. Its state changes with events: a read was sent, succeeded, was failed fast, or failed.
//! [`Fetch::decide`] is a pure function of the state, the same for every policy. The router carries
//! the decision out, reports the result to the fetch, and asks again.
//!
//! Members that cannot be read in time are of three kinds. Those *to reconstruct*: their drives
//! failed the read fast (IODA §4.2), or the policy avoided them. *Unreadable* ones among them
//! cannot be read at all. In a *race*, all members that have not answered yet are to be
//! reconstructed: the first to come, answer or reconstruction, is taken.

use crate::members::MemberSet;
use crate::policy::{Awaited, Failure};
use alloc::boxed::Box;
use alloc::vec::Vec;
use nvme::{Blocked, Delays};
use units::{DriveId, Duration, Instant};

/// The members of a stripe by what they hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripeShape {
    pub(crate) data: MemberSet,
    pub(crate) parity: MemberSet,
    /// Number of members that can be reconstructed.
    pub(crate) parities: u32,
    /// Whether reconstruction is allowed: a scrub compares what the drives hold.
    pub(crate) may_reconstruct: bool,
}

/// Next action for a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// All wanted members are known.
    Done,
    /// The reads in flight suffice.
    Wait,
    /// Make sure that nothing changes the stripe while its members are computed with.
    Settle,
    /// Read these members, to reconstruct others from them.
    Read(MemberSet),
    /// Compute the members that are to be reconstructed.
    Reconstruct,
    /// Read one again, without the flag, so that it cannot fail fast again: more have failed than
    /// can be reconstructed (IODA §4.2.2).
    Resend(Resend),
    /// Wanted members can be neither read nor reconstructed.
    Fail,
}

/// Member to read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resend {
    /// One of those that failed fast, which the policy chooses: IODA waits for the one with the
    /// shortest busy remaining time.
    OneOfTheFailed,
    /// This member, which the policy had avoided.
    Avoided(u8),
}

/// Changes since the last call of [`Fetch::decide`], reviewed in this order. A read that succeeds
/// changes only the known members, and needs no review.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Review {
    /// Nothing.
    Nothing,
    /// More members are to be reconstructed than before: are they too many?
    TooMany { is_settled: bool },
    /// Is the stripe stable, so that members can be computed from it?
    Stripe,
    /// Which members must be read?
    Survivors,
}

/// Use of the data of a read that succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// The member is known now.
    New,
    /// The member was known before.
    Already,
    /// The data may be older than the other members: read it again.
    Outdated,
}

/// The state of a fetch.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    wanted: MemberSet,
    known: MemberSet,
    /// Members whose reads are in flight.
    outstanding: MemberSet,
    /// Members whose read met a collection.
    met_collection: MemberSet,
    /// Count of commits on the stripe when the known members were consistent.
    commits: u32,
    review: Review,
    blocked: Blocked,
    reconstructed: bool,
    /// `None` if the fetch only reads the wanted members.
    detour: Option<Box<Detour>>,
}

/// State that a fetch needs only if it does more than read the wanted members.
#[derive(Clone, Debug, Default)]
struct Detour {
    to_reconstruct: MemberSet,
    /// Members that cannot be read.
    unreadable: MemberSet,
    /// Unreadable members whose read by this fetch failed.
    broken: MemberSet,
    /// Parities of a stripe to be resynced, unreadable until then.
    unsynced: MemberSet,
    /// Members that are read only as a last resort: their drives answer late.
    shunned: MemberSet,
    /// Whether members with reads in flight are to be reconstructed as well; whatever comes first
    /// is taken.
    races: bool,
    /// Reads that were sent before the stripe was stable: their data may be older than the other
    /// members.
    to_discard: MemberSet,
    /// Reads that were failed fast, in order of failure.
    failures: Vec<Failure>,
    /// Delays up to the sending of each round of reads, except the first.
    rounds: Vec<Delays>,
    /// The round of a reconstruction that waits for a write, and the start of the wait.
    parked: Option<(u8, Instant)>,
    /// Reads that a hedge sent.
    hedge_reads: u32,
}

impl Fetch {
    #[inline]
    pub(crate) fn new(commits: u32) -> Self {
        Self {
            wanted: MemberSet::EMPTY,
            known: MemberSet::EMPTY,
            outstanding: MemberSet::EMPTY,
            met_collection: MemberSet::EMPTY,
            commits,
            review: Review::Nothing,
            blocked: Blocked::No,
            reconstructed: false,
            detour: None,
        }
    }

    /// Decides what to do next, on a stripe of this shape. `goes_on` is false while the operation
    /// waits for a write: then the fetch only ensures that the operation will be able to go on.
    pub(crate) fn decide(&self, shape: &StripeShape, goes_on: bool) -> Decision {
        if let Review::TooMany { .. } = self.review {
            if self.missing().len() > shape.parities
                && let Some(resend) = self.resend()
            {
                return Decision::Resend(resend);
            }
            let lost = self.unreadable() - self.known;
            let beyond_repair = !shape.may_reconstruct || lost.len() > shape.parities;
            if lost.meets(self.wanted) && beyond_repair {
                return Decision::Fail;
            }
        }
        if !goes_on {
            return Decision::Wait;
        }
        let unknown = self.unknown();
        // Unreadable and shunned members need no reconstruction unless they are wanted.
        let needed = self.to_reconstruct() - ((self.unreadable() | self.shunned()) - self.wanted);
        match self.review {
            Review::TooMany { is_settled: false } | Review::Stripe
                if !needed.is_empty() && !unknown.is_empty() =>
            {
                return Decision::Settle;
            }
            Review::TooMany { is_settled: true } | Review::Survivors => {
                let survivors = self.survivors(shape);
                if !survivors.is_empty() {
                    return Decision::Read(survivors);
                }
            }
            _ => {}
        }
        if unknown.is_empty() {
            return Decision::Done;
        }
        let absent = self.to_reconstruct_now(shape);
        let known_parities = (self.known & shape.parity).len();
        let is_solvable = (unknown - absent).is_empty()
            && (shape.data - self.known - absent).is_empty()
            && known_parities >= (absent & shape.data).len();
        if is_solvable { Decision::Reconstruct } else { Decision::Wait }
    }

    /// The members to reconstruct; in a race, all members that have not come.
    fn to_reconstruct_now(&self, shape: &StripeShape) -> MemberSet {
        if self.races() && !self.unknown().is_empty() {
            return (shape.data - self.known) | self.unknown();
        }
        self.to_reconstruct()
    }

    /// Members that no read in flight will bring. In a race most members to reconstruct have reads
    /// in flight.
    fn missing(&self) -> MemberSet {
        match &self.detour {
            Some(detour) if detour.races => {
                let lost = failed_members(&detour.failures) | detour.unreadable | detour.shunned;
                lost - self.known - self.outstanding
            }
            _ => self.to_reconstruct(),
        }
    }

    /// The member that can be read instead of reconstructed, if any.
    fn resend(&self) -> Option<Resend> {
        if !self.failures().is_empty() {
            return Some(Resend::OneOfTheFailed);
        }
        let readable = self.to_reconstruct() - self.unreadable() - self.outstanding;
        readable.first().map(Resend::Avoided)
    }

    /// Members that must be read for the reconstruction: the rest of the data, and a parity for
    /// each data member to reconstruct. Parities that are known or being read go first. A read that
    /// was failed fast is not sent again for it.
    fn survivors(&self, shape: &StripeShape) -> MemberSet {
        let coming = self.known | self.outstanding;
        let to_reconstruct = self.to_reconstruct() | failed_members(self.failures());
        let mut needed = shape.data - to_reconstruct;
        let mut parities = (to_reconstruct & shape.data).len();
        let usable = shape.parity - to_reconstruct;
        for parity in (usable & coming).iter().chain(usable - coming) {
            if parities > 0 {
                needed.insert(parity);
                parities -= 1;
            }
        }
        needed - coming
    }

    /// Reads that were failed fast, in order of failure.
    pub(crate) fn failures(&self) -> &[Failure] {
        self.detour.as_ref().map_or(&[], |detour| &detour.failures)
    }

    fn detour(&mut self) -> &mut Detour {
        self.detour.get_or_insert_default()
    }

    /// Wanted members that are not known.
    #[inline]
    pub(crate) fn unknown(&self) -> MemberSet {
        self.wanted - self.known
    }

    /// Whether it only reads the wanted members, so that [`Fetch::decide`] could only return `Done`
    /// or `Wait`.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.detour.is_none() && self.review == Review::Nothing
    }

    /// Members whose reads are in flight.
    #[inline]
    pub(crate) fn outstanding(&self) -> MemberSet {
        self.outstanding
    }

    pub(crate) fn known(&self) -> MemberSet {
        self.known
    }

    pub(crate) fn wanted(&self) -> MemberSet {
        self.wanted
    }

    pub(crate) fn to_reconstruct(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.to_reconstruct)
    }

    pub(crate) fn unreadable(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.unreadable)
    }

    /// Unreadable members whose read by this fetch failed.
    pub(crate) fn broken(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.broken)
    }

    pub(crate) fn shunned(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.shunned)
    }

    /// Members that could be read, but are avoided because their drives answer late.
    pub(crate) fn shunned_readable(&self) -> MemberSet {
        (self.shunned() & self.missing()) - self.unreadable() - self.known
    }

    pub(crate) fn commits(&self) -> u32 {
        self.commits
    }

    /// Effect of collections on the reads that were waited for.
    #[inline]
    pub(crate) fn blocked(&self) -> Blocked {
        self.blocked
    }

    /// Number of members whose reads met a collection.
    #[inline]
    pub(crate) fn busy_members(&self) -> u32 {
        self.met_collection.len()
    }

    /// Whether all wanted members are known or computed.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.reconstructed || self.unknown().is_empty()
    }

    /// Whether any member was reconstructed.
    #[inline]
    pub(crate) fn is_reconstructed(&self) -> bool {
        self.reconstructed
    }

    /// Number of reads that a hedge sent.
    #[inline]
    pub(crate) fn hedge_reads(&self) -> u32 {
        self.detour.as_ref().map_or(0, |detour| detour.hedge_reads)
    }

    pub(crate) fn races(&self) -> bool {
        self.detour.as_ref().is_some_and(|detour| detour.races)
    }

    /// Begins to get the `wanted` members.
    #[inline]
    pub(crate) fn begin(&mut self, wanted: MemberSet) {
        let before = self.wanted;
        assert!(before.is_empty(), "a fetch of {before:?} begins again, for {wanted:?}");
        self.wanted = wanted;
    }

    /// Begins to get `wanted` members that are all unreadable, on a stripe with these `unreadable`
    /// members. The members of `spared` are not read either.
    pub(crate) fn begin_lost(
        &mut self,
        unreadable: MemberSet,
        spared: MemberSet,
        wanted: MemberSet,
    ) {
        self.begin(wanted);
        let detour = self.detour();
        (detour.unreadable, detour.to_reconstruct) = (unreadable, unreadable | spared);
        self.review = Review::TooMany { is_settled: false };
    }

    /// Has these members reconstructed instead of read.
    pub(crate) fn avoid(&mut self, members: MemberSet) {
        self.detour().to_reconstruct = members;
        self.review = Review::Stripe;
        self.go_without_shunned();
    }

    /// Has these members read only as a last resort.
    pub(crate) fn shun(&mut self, members: MemberSet) {
        self.detour().shunned = members;
    }

    /// Excludes the shunned members from the sources of a reconstruction.
    fn go_without_shunned(&mut self) {
        let more = self.shunned() - self.known - self.outstanding - self.to_reconstruct();
        if !more.is_empty() {
            self.detour().to_reconstruct |= more;
            self.review = Review::TooMany { is_settled: false };
        }
    }

    /// Begins a race: all members that it needs are being read.
    pub(crate) fn begin_race(&mut self) {
        self.detour().races = true;
    }

    /// Has the late members reconstructed, and takes whatever comes first.
    pub(crate) fn reconstruct_late(&mut self, late: MemberSet, commits: u32) {
        self.commits = commits;
        let detour = self.detour();
        (detour.races, detour.to_reconstruct) = (true, late);
        self.review = Review::Survivors;
    }

    pub(crate) fn note_hedge(&mut self, reads: u32) {
        self.detour().hedge_reads = reads;
    }

    /// Number of reads needed to reconstruct the `late` members while they are still awaited.
    pub(crate) fn reads_to_hedge(&self, shape: &StripeShape, late: MemberSet) -> u32 {
        shape.data.len().saturating_sub(self.coming_without(late).len())
    }

    /// Describes the reads in flight to a policy.
    pub(crate) fn awaited(
        &self,
        shape: &StripeShape,
        host_waits: bool,
        waited: Duration,
        writes_waiting_blocks: u64,
    ) -> Awaited {
        let answers = self.outstanding.len();
        let coming = (self.known | self.outstanding).len().saturating_sub(1);
        let reads = shape.data.len().saturating_sub(coming);
        Awaited { host_waits, answers, reads, waited, writes_waiting_blocks }
    }

    /// Members that are known, or awaited and not late.
    pub(crate) fn coming_without(&self, late: MemberSet) -> MemberSet {
        self.known | (self.outstanding - late)
    }

    #[inline]
    pub(crate) fn read_sent(&mut self, member: u8) {
        assert!(!self.outstanding.contains(member), "member {member} is read twice at a time");
        self.outstanding.insert(member);
    }

    /// Notes that a read is answered, successfully or not.
    #[inline]
    pub(crate) fn read_ended(&mut self, member: u8, met_collection: bool) {
        assert!(self.outstanding.contains(member), "member {member} has come, and was not asked");
        self.outstanding.remove(member);
        if met_collection {
            self.met_collection.insert(member);
        }
    }

    /// Notes that a read that was waited for has brought its member.
    #[inline]
    pub(crate) fn read_succeeded(&mut self, member: u8, blocked: Blocked) -> Kept {
        self.blocked = self.blocked.max(blocked);
        if let Some(detour) = &mut self.detour
            && detour.to_discard.contains(member)
        {
            detour.to_discard.remove(member);
            return Kept::Outdated;
        }
        // A write in flight has newer data in memory than anything that arrives now.
        if self.known.contains(member) {
            return Kept::Already;
        }
        self.known.insert(member);
        if let Some(detour) = &mut self.detour
            && detour.shunned.contains(member)
        {
            // A probe was faster than the reconstruction.
            detour.to_reconstruct.remove(member);
        }
        Kept::New
    }

    /// Notes that a read was failed fast, or failed (`busy_remaining` is `None`). Returns whether
    /// the member is to be reconstructed from now on: not if a write in flight has brought it
    /// meanwhile.
    pub(crate) fn read_failed(
        &mut self,
        member: u8,
        drive: DriveId,
        busy_remaining: Option<Duration>,
    ) -> bool {
        let Some(detour) = self.go_without(member) else { return false };
        match busy_remaining {
            Some(busy_remaining) => {
                detour.failures.push(Failure { member, drive, busy_remaining });
            }
            None => {
                detour.unreadable.insert(member);
                detour.broken.insert(member);
            }
        }
        true
    }

    /// Has a member reconstructed whose read has brought nothing; `None` if the member is known.
    fn go_without(&mut self, member: u8) -> Option<&mut Detour> {
        let is_known = self.known.contains(member);
        if !is_known {
            self.review = Review::TooMany { is_settled: false };
        }
        let detour = self.detour();
        detour.to_discard.remove(member);
        if is_known {
            return None;
        }
        detour.to_reconstruct.insert(member);
        self.go_without_shunned();
        Some(self.detour())
    }

    /// Notes a failed read of a fetch that is given up.
    pub(crate) fn note_broken(&mut self, member: u8) {
        self.detour().broken.insert(member);
    }

    /// Marks members of the stripe as unreadable unless they are known. Those in `unsynced` are
    /// parities that become readable when the stripe is resynced.
    pub(crate) fn note_unreadable(&mut self, unreadable: MemberSet, unsynced: MemberSet) {
        if let Some(detour) = &mut self.detour {
            let synced = detour.unsynced - unsynced;
            let readable = synced - unreadable - detour.broken;
            detour.unsynced -= synced;
            detour.unreadable -= readable;
            detour.to_reconstruct -= readable;
        }
        let more = unreadable - self.known;
        if !more.is_empty() {
            let detour = self.detour();
            detour.unreadable |= more;
            detour.unsynced |= more & unsynced;
        }
    }

    /// Whether it excludes parities that did not match the data when last checked.
    #[inline]
    pub(crate) fn has_unsynced(&self) -> bool {
        self.detour.as_ref().is_some_and(|detour| !detour.unsynced.is_empty())
    }

    /// Updates the members to reconstruct on a stripe with an unreadable member; ends a race.
    pub(crate) fn count_unreadable(&mut self) {
        let Some(detour) = &mut self.detour else { return };
        if detour.unreadable.is_empty() {
            return;
        }
        // A race may have read again what had failed.
        let settled = detour.unreadable | self.outstanding;
        detour.failures.retain(|failure| !settled.contains(failure.member));
        if core::mem::take(&mut detour.races) {
            // From here on members are read as they are needed.
            detour.to_reconstruct = failed_members(&detour.failures);
        }
        detour.to_reconstruct |= detour.unreadable - self.known;
    }

    /// Notes that a member is read again.
    pub(crate) fn resent(&mut self, member: u8) {
        let detour = self.detour();
        detour.to_reconstruct.remove(member);
        // A probe of it may have been failed fast.
        detour.failures.retain(|failure| failure.member != member);
        if self.unreadable().is_empty() {
            // Only one more has failed than can be reconstructed, so one resend is enough.
            self.review = match self.review {
                Review::TooMany { is_settled: true } => Review::Survivors,
                _ => Review::Stripe,
            };
        }
    }

    /// Removes a failure, because its member is waited for.
    pub(crate) fn take_failure(&mut self, failure: Failure) -> u8 {
        self.detour().failures.retain(|&other| other != failure);
        failure.member
    }

    /// Fixes the stripe for this fetch from now on. If the stripe changed since the fetch began,
    /// members read before may not match those read now: parity needs all members of one moment.
    /// Returns whether it changed.
    pub(crate) fn settle(&mut self, commits: u32) -> bool {
        if self.commits == commits {
            return false;
        }
        self.commits = commits;
        self.known = MemberSet::EMPTY;
        let outstanding = self.outstanding;
        let detour = self.detour();
        detour.to_discard = outstanding;
        if core::mem::take(&mut detour.races) {
            // The members of a race are discarded: all that did not fail are read again.
            let failed = failed_members(&detour.failures);
            detour.to_reconstruct = (failed - outstanding) | detour.unreadable;
        }
        true
    }

    /// Lets the fetch compute with the stripe. `is_intact` says that no member of the stripe is
    /// unreadable.
    pub(crate) fn settled(&mut self, is_intact: bool) {
        self.review = match is_intact && self.unreadable().is_empty() {
            true => Review::Survivors,
            false => Review::TooMany { is_settled: true },
        };
    }

    /// Takes the members that a write in flight has in memory. The `outdated` parities, which it
    /// does not write, become unreadable. Members known before are replaced: the rows of parity and
    /// data must be of one moment.
    pub(crate) fn take_from_write(&mut self, in_memory: MemberSet, outdated: MemberSet) {
        self.known = (self.known | in_memory) - outdated;
        if self.detour.is_none() && outdated.is_empty() {
            return;
        }
        let detour = self.detour();
        detour.to_reconstruct = (detour.to_reconstruct - in_memory) | outdated;
        detour.unreadable |= outdated;
        detour.unsynced -= outdated;
        detour.to_discard -= in_memory;
        detour.failures.retain(|failure| !in_memory.contains(failure.member));
    }

    /// Ends the review: all reads that a reconstruction needs are sent.
    pub(crate) fn reviewed(&mut self, shape: &StripeShape, goes_on: bool) {
        self.review = Review::Nothing;
        if goes_on {
            let to_reconstruct = self.to_reconstruct_now(shape);
            if to_reconstruct != self.to_reconstruct() {
                self.detour().to_reconstruct = to_reconstruct;
            }
        }
    }

    /// Notes that the members to reconstruct are computed.
    pub(crate) fn reconstruct(&mut self) {
        self.reconstructed = true;
    }

    /// Begins a new round of reads after the delays `passed`; returns its number.
    pub(crate) fn new_round(&mut self, passed: &Delays) -> u8 {
        let rounds = &mut self.detour().rounds;
        rounds.push(*passed);
        rounds.len() as u8
    }

    /// Delays up to the sending of a round of reads.
    #[inline]
    pub(crate) fn passed_before(&self, round: u8) -> Option<&Delays> {
        self.detour.as_ref()?.rounds.get(usize::from(round.checked_sub(1)?))
    }

    /// Parks the fetch, because its reconstruction has to wait for a write.
    pub(crate) fn park(&mut self, now: Instant, passed: &Delays) {
        let round = self.new_round(passed);
        self.detour().parked = Some((round, now));
        self.review = Review::Nothing;
    }

    /// Resumes the fetch. Returns the delays before the wait, and the start of the wait.
    pub(crate) fn unpark(&mut self) -> (Delays, Instant) {
        self.review = Review::Stripe;
        let parked = self.detour().parked.take();
        let (round, since) = parked.expect("a fetch goes on that waits");
        (self.passed_before(round).copied().unwrap_or(Delays::ZERO), since)
    }

    /// Panics if the sets contradict each other.
    pub(crate) fn check_invariants(&self, shape: &StripeShape) {
        let all = shape.data | shape.parity;
        let (to_reconstruct, unreadable) = (self.to_reconstruct(), self.unreadable());
        for set in [self.wanted, self.known, self.outstanding, to_reconstruct, unreadable] {
            assert!((set - all).is_empty(), "{set:?} are not all members of the stripe");
        }
        for failure in self.failures() {
            assert!(all.contains(failure.member));
        }
        assert_eq!(
            self.review,
            Review::Nothing,
            "everything has been looked at between two inputs"
        );
    }
}

fn failed_members(failures: &[Failure]) -> MemberSet {
    failures.iter().map(|failure| failure.member).collect()
}

#[cfg(test)]
mod tests;
