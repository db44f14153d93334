//! What is known of a stripe by one operation, what is on its way, and what to do next.
//!
//! A fetch gets the members that its operation *wants*: each is read, or reconstructed from the
//! others. Its state changes by what happens (a read was sent, came back, was failed fast, could
//! not be done), and [`Fetch::decide`] says what follows from the state, for every policy alike: a
//! pure function. The router carries the decision out, reports the result to the fetch, and asks
//! again.
//!
//! Members that cannot be read in time are of three kinds. Those *to reconstruct*: their drives
//! failed the read fast (IODA §4.2), or the policy avoided them. *Unreadable* ones among them,
//! which cannot be read at all. And in a *race* all members that have not answered yet are to be
//! reconstructed: whichever comes first, the answer or the reconstruction, is taken.

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
    /// How many members can be reconstructed.
    pub(crate) parities: u32,
    /// Whether it would help if they were: a scrub compares what the drives hold.
    pub(crate) may_reconstruct: bool,
}

/// What to do for a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// All that is wanted is known.
    Done,
    /// What is on its way suffices.
    Wait,
    /// Make sure that nothing changes the stripe while its members are computed with.
    Settle,
    /// Read these members, to reconstruct others from them.
    Read(MemberSet),
    /// Compute the members that are to be reconstructed.
    Reconstruct,
    /// More have failed than can be reconstructed: read one again, without the flag, so that it
    /// cannot fail again (IODA §4.2.2).
    Resend(Resend),
    /// What is wanted cannot be had.
    Fail,
}

/// Which member to read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resend {
    /// One of those that failed, whichever the policy says: IODA waits for the one with the
    /// shortest busy remaining time.
    OneOfTheFailed,
    /// This one, which the policy had avoided.
    Avoided(u8),
}

/// What has changed since [`Fetch::decide`] was last called. A read that succeeds changes only
/// what is known; all other changes are reviewed in this order.
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

/// How the data of a read that succeeded is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// The member is known now.
    New,
    /// The member was known before.
    Already,
    /// It may be older than the other members: read it again.
    Outdated,
}

/// The state of a fetch.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    wanted: MemberSet,
    known: MemberSet,
    /// Reads that are out.
    outstanding: MemberSet,
    /// Members whose read met a collection.
    met_collection: MemberSet,
    /// The count of commits on the stripe at which the known members were consistent.
    commits: u32,
    review: Review,
    blocked: Blocked,
    reconstructed: bool,
    /// Only if it does more than read what it wants.
    detour: Option<Box<Detour>>,
}

/// The state that a fetch needs only if it does more than read what it wants.
#[derive(Clone, Debug, Default)]
struct Detour {
    to_reconstruct: MemberSet,
    /// Members that cannot be read.
    unreadable: MemberSet,
    /// Those of them that a read of this fetch has shown to be unreadable.
    broken: MemberSet,
    /// Parities of a stripe to be resynced, which are unreadable until then.
    unsynced: MemberSet,
    /// Members that are read only if there is no other way: their drives answer late.
    shunned: MemberSet,
    /// All members whose reads are still out are to be reconstructed as well; whatever comes first
    /// is taken.
    races: bool,
    /// Reads that were sent before the stripe was stable: their data may be older than the other
    /// members.
    to_discard: MemberSet,
    /// Reads that were failed fast, in the order of failing.
    failures: Vec<Failure>,
    /// The delays up to the moment at which each round of reads was sent; none for the first round.
    rounds: Vec<Delays>,
    /// The round that the reads of a reconstruction belong to that waits for a write, and since
    /// when.
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

    /// What follows from the state, on a stripe of this shape. `goes_on` is false while the
    /// operation waits for a write: then it only makes sure that it will be able to go on.
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
        // What cannot be read, or is not to be, needs no reconstruction unless it is wanted.
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

    /// What is to be reconstructed: in a race all members that have not come.
    fn to_reconstruct_now(&self, shape: &StripeShape) -> MemberSet {
        if self.races() && !self.unknown().is_empty() {
            return (shape.data - self.known) | self.unknown();
        }
        self.to_reconstruct()
    }

    /// Members that will not come by themselves. In a race most of those to reconstruct will: their
    /// reads are out.
    fn missing(&self) -> MemberSet {
        match &self.detour {
            Some(detour) if detour.races => {
                let lost = failed_members(&detour.failures) | detour.unreadable | detour.shunned;
                lost - self.known - self.outstanding
            }
            _ => self.to_reconstruct(),
        }
    }

    /// Which member can be read instead of reconstructed, if any.
    fn resend(&self) -> Option<Resend> {
        if !self.failures().is_empty() {
            return Some(Resend::OneOfTheFailed);
        }
        let readable = self.to_reconstruct() - self.unreadable() - self.outstanding;
        readable.first().map(Resend::Avoided)
    }

    /// What must be read for the reconstruction: the rest of the data, and a parity for each data
    /// member to reconstruct, those first that are known or on their way. A read that was failed
    /// fast is not sent again for it.
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

    /// Reads that were failed fast, in the order of failing.
    pub(crate) fn failures(&self) -> &[Failure] {
        self.detour.as_ref().map_or(&[], |detour| &detour.failures)
    }

    fn detour(&mut self) -> &mut Detour {
        self.detour.get_or_insert_default()
    }

    /// Members that are wanted and not known.
    #[inline]
    pub(crate) fn unknown(&self) -> MemberSet {
        self.wanted - self.known
    }

    /// Whether it does nothing but read what it wants, so that [`Fetch::decide`] could only say
    /// that it is done, or has to wait.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.detour.is_none() && self.review == Review::Nothing
    }

    /// Members that have been asked for and are awaited.
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

    /// Members that a read of this fetch has shown to be unreadable.
    pub(crate) fn broken(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.broken)
    }

    pub(crate) fn shunned(&self) -> MemberSet {
        self.detour.as_ref().map_or(MemberSet::EMPTY, |detour| detour.shunned)
    }

    /// Members that could be read, and are not because their drives answer late.
    pub(crate) fn shunned_readable(&self) -> MemberSet {
        (self.shunned() & self.missing()) - self.unreadable() - self.known
    }

    pub(crate) fn commits(&self) -> u32 {
        self.commits
    }

    /// What collections did to the reads that were waited for.
    #[inline]
    pub(crate) fn blocked(&self) -> Blocked {
        self.blocked
    }

    /// Members whose reads met a collection.
    #[inline]
    pub(crate) fn busy_members(&self) -> u32 {
        self.met_collection.len()
    }

    /// Whether all that is wanted is known or was computed.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.reconstructed || self.unknown().is_empty()
    }

    /// Whether something was reconstructed.
    #[inline]
    pub(crate) fn is_reconstructed(&self) -> bool {
        self.reconstructed
    }

    /// Reads that a hedge sent; 0 if there was none.
    #[inline]
    pub(crate) fn hedge_reads(&self) -> u32 {
        self.detour.as_ref().map_or(0, |detour| detour.hedge_reads)
    }

    pub(crate) fn races(&self) -> bool {
        self.detour.as_ref().is_some_and(|detour| detour.races)
    }

    /// Begins to get these members.
    #[inline]
    pub(crate) fn begin(&mut self, wanted: MemberSet) {
        let before = self.wanted;
        assert!(before.is_empty(), "a fetch of {before:?} begins again, for {wanted:?}");
        self.wanted = wanted;
    }

    /// Begins to get members all of which are unreadable, on a stripe of which so much is. The
    /// members of `spared` are not read either.
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

    /// These members are not read, but reconstructed.
    pub(crate) fn avoid(&mut self, members: MemberSet) {
        self.detour().to_reconstruct = members;
        self.review = Review::Stripe;
        self.go_without_shunned();
    }

    /// Members that are to be read only if there is no other way.
    pub(crate) fn shun(&mut self, members: MemberSet) {
        self.detour().shunned = members;
    }

    /// Something is to be reconstructed, not from what is not to be read.
    fn go_without_shunned(&mut self) {
        let more = self.shunned() - self.known - self.outstanding - self.to_reconstruct();
        if !more.is_empty() {
            self.detour().to_reconstruct |= more;
            self.review = Review::TooMany { is_settled: false };
        }
    }

    /// All members are asked that a race needs.
    pub(crate) fn begin_race(&mut self) {
        self.detour().races = true;
    }

    /// The members are late: they are to be reconstructed, and whatever comes first is taken.
    pub(crate) fn reconstruct_late(&mut self, late: MemberSet, commits: u32) {
        self.commits = commits;
        let detour = self.detour();
        (detour.races, detour.to_reconstruct) = (true, late);
        self.review = Review::Survivors;
    }

    pub(crate) fn note_hedge(&mut self, reads: u32) {
        self.detour().hedge_reads = reads;
    }

    /// How many reads it takes to reconstruct the `late` members while they are still awaited.
    pub(crate) fn reads_to_hedge(&self, shape: &StripeShape, late: MemberSet) -> u32 {
        shape.data.len().saturating_sub(self.coming_without(late).len())
    }

    /// Describes the reads that are out to a policy.
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

    /// What is known, or awaited and not late.
    pub(crate) fn coming_without(&self, late: MemberSet) -> MemberSet {
        self.known | (self.outstanding - late)
    }

    #[inline]
    pub(crate) fn read_sent(&mut self, member: u8) {
        assert!(!self.outstanding.contains(member), "member {member} is read twice at a time");
        self.outstanding.insert(member);
    }

    /// A read is answered, one way or another.
    #[inline]
    pub(crate) fn read_ended(&mut self, member: u8, met_collection: bool) {
        assert!(self.outstanding.contains(member), "member {member} has come, and was not asked");
        self.outstanding.remove(member);
        if met_collection {
            self.met_collection.insert(member);
        }
    }

    /// A read that was waited for has brought its member.
    #[inline]
    pub(crate) fn read_succeeded(&mut self, member: u8, blocked: Blocked) -> Kept {
        self.blocked = self.blocked.max(blocked);
        if let Some(detour) = &mut self.detour
            && detour.to_discard.contains(member)
        {
            detour.to_discard.remove(member);
            return Kept::Outdated;
        }
        // What a write in flight has in memory is newer than anything that arrives now.
        if self.known.contains(member) {
            return Kept::Already;
        }
        self.known.insert(member);
        if let Some(detour) = &mut self.detour
            && detour.shunned.contains(member)
        {
            // A probe was faster than the way around it.
            detour.to_reconstruct.remove(member);
        }
        Kept::New
    }

    /// A read was failed fast, or could not be done (`busy_remaining` is none). Returns whether the
    /// member is to be reconstructed from now on: not if a write in flight has brought it
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

    /// A read of a member has brought nothing. It is to be reconstructed from now on, unless it is
    /// known.
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

    /// A read of a fetch that is given up could not be done.
    pub(crate) fn note_broken(&mut self, member: u8) {
        self.detour().broken.insert(member);
    }

    /// Members of the stripe cannot be read, as far as they are not known. Those in `unsynced` are
    /// parities that can as soon as the stripe is resynced.
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

    /// Whether it does without parities that did not fit when it looked last.
    #[inline]
    pub(crate) fn has_unsynced(&self) -> bool {
        self.detour.as_ref().is_some_and(|detour| !detour.unsynced.is_empty())
    }

    /// Decides again what to read of a stripe of which a member is unreadable.
    pub(crate) fn count_unreadable(&mut self) {
        let Some(detour) = &mut self.detour else { return };
        if detour.unreadable.is_empty() {
            return;
        }
        // A race may have asked again what had failed.
        let settled = detour.unreadable | self.outstanding;
        detour.failures.retain(|failure| !settled.contains(failure.member));
        if core::mem::take(&mut detour.races) {
            // From here on it is asked for what is needed, member by member.
            detour.to_reconstruct = failed_members(&detour.failures);
        }
        detour.to_reconstruct |= detour.unreadable - self.known;
    }

    /// A member is read again after all.
    pub(crate) fn resent(&mut self, member: u8) {
        let detour = self.detour();
        detour.to_reconstruct.remove(member);
        // A probe of it may have been failed fast.
        detour.failures.retain(|failure| failure.member != member);
        if self.unreadable().is_empty() {
            // One has failed, so one is enough.
            self.review = match self.review {
                Review::TooMany { is_settled: true } => Review::Survivors,
                _ => Review::Stripe,
            };
        }
    }

    /// Takes a failure out, which is waited for.
    pub(crate) fn take_failure(&mut self, failure: Failure) -> u8 {
        self.detour().failures.retain(|&other| other != failure);
        failure.member
    }

    /// The stripe stands still for this fetch from now on. If it moved since the fetch began, what
    /// was read before may not fit what is read now: parity needs all members of one moment.
    /// Returns whether it moved.
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
            // What a race has brought is of no use any more: all is asked for again that did not
            // fail.
            let failed = failed_members(&detour.failures);
            detour.to_reconstruct = (failed - outstanding) | detour.unreadable;
        }
        true
    }

    /// The fetch may compute with the stripe. `is_intact` says that nothing of the stripe is
    /// unreadable.
    pub(crate) fn settled(&mut self, is_intact: bool) {
        self.review = match is_intact && self.unreadable().is_empty() {
            true => Review::Survivors,
            false => Review::TooMany { is_settled: true },
        };
    }

    /// A write in flight has these members in memory, and makes those parities `outdated` that it
    /// does not write. All of it counts, known or not: the rows of parity and data must be of one
    /// moment.
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

    /// All reads are sent that a reconstruction needs, and all is looked at.
    pub(crate) fn reviewed(&mut self, shape: &StripeShape, goes_on: bool) {
        self.review = Review::Nothing;
        if goes_on {
            let to_reconstruct = self.to_reconstruct_now(shape);
            if to_reconstruct != self.to_reconstruct() {
                self.detour().to_reconstruct = to_reconstruct;
            }
        }
    }

    /// The members to reconstruct are computed.
    pub(crate) fn reconstruct(&mut self) {
        self.reconstructed = true;
    }

    /// Remembers what has passed when a new round of reads is sent; returns its number.
    pub(crate) fn new_round(&mut self, passed: &Delays) -> u8 {
        let rounds = &mut self.detour().rounds;
        rounds.push(*passed);
        rounds.len() as u8
    }

    /// What had passed when a round was sent.
    #[inline]
    pub(crate) fn passed_before(&self, round: u8) -> Option<&Delays> {
        self.detour.as_ref()?.rounds.get(usize::from(round.checked_sub(1)?))
    }

    /// The reconstruction has to wait for a write.
    pub(crate) fn park(&mut self, now: Instant, passed: &Delays) {
        let round = self.new_round(passed);
        self.detour().parked = Some((round, now));
        self.review = Review::Nothing;
    }

    /// It goes on. Returns what had passed when it began to wait, and since when it did.
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
