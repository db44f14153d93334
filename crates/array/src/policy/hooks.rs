//! The questions that a policy answers, as a set, so that the others cost nothing.

use super::{
    Answered, Asked, Attempt, Awaited, Correspondence, Policy, PolicyKind, PolicySetup, Sent, View,
};
use crate::event::Why;
use crate::members::MemberSet;
use crate::trust::{Advice, Trust};
use alloc::boxed::Box;
use core::ops::BitOr;
use nvme::PlFlag;
use units::{DriveId, Duration, Instant, Lba};

/// The questions of [`Policy`] that are asked for every request or command, as a set. The others
/// are asked rarely, and need no mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hooks(u8);

impl Hooks {
    /// None of them: every question gets the default answer.
    pub const NONE: Self = Self(0);
    /// [`Policy::first_attempt`].
    pub const FIRST_ATTEMPT: Self = Self(1);
    /// [`Policy::spare_reads`].
    pub const SPARE_READS: Self = Self(1 << 1);
    /// [`Policy::hedge_after`].
    pub const HEDGE_AFTER: Self = Self(1 << 2);
    /// [`Policy::sent`].
    pub const SENT: Self = Self(1 << 3);
    /// [`Policy::answered`].
    pub const ANSWERED: Self = Self(1 << 4);
    /// [`Policy::admits`].
    pub const ADMITS: Self = Self(1 << 5);
    /// [`Policy::next_deadline`] and [`Policy::handle_deadline`].
    pub const DEADLINE: Self = Self(1 << 6);
    /// [`Policy::coordinator`] and the questions that belong to it.
    pub const COORDINATED: Self = Self(1 << 7);
    /// All of them.
    pub const ALL: Self = Self(0xff);
    /// The questions that are asked before the pages of a stripe operation are read.
    const READS: Self = Self(0b111);

    /// Whether one of `hooks` is in the set.
    #[inline]
    #[must_use]
    pub const fn has(self, hooks: Self) -> bool {
        self.0 & hooks.0 != 0
    }
}

impl BitOr for Hooks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A policy with the set of its hooks.
pub(crate) struct Rules {
    policy: Box<dyn Policy>,
    hooks: Hooks,
    /// Whether reads for parity are sent without asking the policy.
    sends_parity_reads: bool,
    /// Whether writes avoid the drive in its window.
    spares_windows_in_writes: bool,
    /// Trust in the drives, if the policy has a measure for reads.
    trust: Option<Box<Trust>>,
}

impl Rules {
    /// The rules of a policy for an array that lacks these drives.
    pub(crate) fn of(kind: PolicyKind, setup: &PolicySetup<'_>, absent: MemberSet) -> Self {
        let policy = (kind.about().build)(setup);
        let (hooks, sends_parity_reads) = (policy.hooks(), policy.sends_parity_reads());
        let spares_windows_in_writes = policy.spares_windows_in_writes();
        let measure = policy.read_measure();
        let trust = measure
            .map(|measure| Box::new(Trust::new(setup.drives, setup.parities, measure, absent)));
        Self { policy, hooks, sends_parity_reads, spares_windows_in_writes, trust }
    }

    /// The policy, for questions that are rarely asked.
    #[inline]
    pub(crate) fn policy(&mut self) -> &mut dyn Policy {
        &mut *self.policy
    }

    /// The policy, read-only.
    pub(crate) fn view(&self) -> &dyn Policy {
        &*self.policy
    }

    /// Whether the policy, or trust, influences how pages are read.
    #[inline]
    pub(crate) fn chooses_reads(&self) -> bool {
        self.hooks.has(Hooks::READS) || self.trust.is_some()
    }

    /// Whether this read is sent to its drive without asking the policy.
    pub(crate) fn sends_at_once(&self, why: Why) -> bool {
        self.sends_parity_reads && why == Why::Parity
    }

    /// Whether a write that can get its parity in two ways avoids the drive in its busy window.
    #[inline]
    pub(crate) fn spares_windows_in_writes(&self) -> bool {
        self.spares_windows_in_writes
    }

    pub(crate) fn first_attempt(
        &mut self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        view: &View<'_>,
    ) -> Attempt {
        if !self.hooks.has(Hooks::FIRST_ATTEMPT) {
            return Attempt::Send(PlFlag::Off);
        }
        match self.policy.first_attempt(now, drive, lba, view) {
            // Any way around the drive would go through a distrusted one.
            Attempt::Send(PlFlag::Predictable) if self.is_reduced(view.stripe) => {
                Attempt::Send(PlFlag::Patient)
            }
            attempt => attempt,
        }
    }

    /// Whether a stripe on these drives (as bits) lacks all members that it can do without.
    #[inline]
    fn is_reduced(&self, stripe: u64) -> bool {
        self.trust.as_ref().is_some_and(|trust| trust.is_reduced(stripe))
    }

    /// Trust in the drives; `None` if the policy has no measure.
    #[inline]
    pub(crate) fn trust(&self) -> Option<&Trust> {
        self.trust.as_deref()
    }

    /// Notes that another drive is in the place of this one.
    pub(crate) fn drive_replaced(&mut self, drive: DriveId) {
        self.policy.drive_replaced(drive);
        if let Some(trust) = self.trust_mut() {
            trust.drive_replaced(drive);
        }
    }

    /// Trust in the drives, to be updated.
    #[inline]
    pub(crate) fn trust_mut(&mut self) -> Option<&mut Trust> {
        self.trust.as_deref_mut()
    }

    /// Drives that are not to be read.
    #[inline]
    pub(crate) fn distrusted(&self) -> MemberSet {
        self.trust.as_ref().map_or(MemberSet::EMPTY, |trust| trust.distrusted())
    }

    /// Advice for a read of a drive with `out` blocks to be read in its queue.
    #[inline]
    pub(crate) fn advice(&mut self, now: Instant, drive: DriveId, out: u32) -> Advice {
        self.trust.as_mut().map_or(Advice::Read, |trust| trust.advice(now, drive, out))
    }

    pub(crate) fn spare_reads(&self) -> u32 {
        if self.hooks.has(Hooks::SPARE_READS) { self.policy.spare_reads() } else { 0 }
    }

    #[inline]
    pub(crate) fn hedge_after(
        &mut self,
        now: Instant,
        awaited: impl FnOnce() -> Awaited,
    ) -> Option<Duration> {
        match self.hooks.has(Hooks::HEDGE_AFTER) {
            true => self.policy.hedge_after(now, &awaited()),
            false => None,
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, command: impl FnOnce() -> Sent) {
        if self.hooks.has(Hooks::SENT) {
            self.policy.sent(now, &command());
        }
    }

    #[inline]
    pub(crate) fn answered(&mut self, now: Instant, answer: impl FnOnce() -> Answered) {
        if self.hooks.has(Hooks::ANSWERED) {
            self.policy.answered(now, &answer());
        }
    }

    #[inline]
    pub(crate) fn admits(&mut self, now: Instant, asked: impl FnOnce() -> Asked) -> bool {
        !self.hooks.has(Hooks::ADMITS) || self.policy.admits(now, &asked())
    }

    /// Messages of a coordinator on another host; `None` if the policy needs no such coordinator.
    #[inline]
    pub(crate) fn correspondence(&mut self) -> Option<Correspondence<'_>> {
        match self.hooks.has(Hooks::COORDINATED) {
            true => Correspondence::of(&mut *self.policy),
            false => None,
        }
    }

    /// Whether its deadline may change with any event.
    #[inline]
    pub(crate) fn has_deadline(&self) -> bool {
        self.hooks.has(Hooks::DEADLINE)
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        if self.has_deadline() { self.policy.next_deadline() } else { Instant::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinate::Coordinator;
    use crate::drive_queues::Queues;
    use crate::members::MemberSet;
    use crate::policy::{PolicyKind, PolicySettings, PolicySetup};
    use crate::request::RequestKind;
    use nvme::{Opcode, Status};

    /// A policy that leaves a hook out must give the default answer if it is asked nevertheless.
    #[test]
    fn what_is_not_asked_would_have_the_default_answer() {
        let settings = PolicySettings::default();
        let queues = Queues::new(4);
        let view = View {
            coordinator: &Coordinator::Free,
            queues: &queues,
            stripe: 0b1111,
            missing: MemberSet::EMPTY,
        };
        for kind in PolicyKind::ALL {
            let reconstruct_compute = Duration::ZERO;
            let setup =
                PolicySetup { drives: 4, parities: 1, reconstruct_compute, settings: &settings };
            let mut policy = (kind.about().build)(&setup);
            let hooks = policy.hooks();
            let lacks = |hook| !hooks.has(hook);
            let now = Instant::ZERO + Duration::from_millis(1);
            let awaited = Awaited {
                host_waits: true,
                answers: 1,
                reads: 3,
                waited: Duration::ZERO,
                writes_waiting_blocks: 0,
            };
            for page in 0..2_000 {
                let command =
                    Sent { drive: DriveId(0), opcode: Opcode::Read, lba: Lba(page), blocks: 1 };
                if lacks(Hooks::FIRST_ATTEMPT) {
                    let attempt = policy.first_attempt(now, DriveId(0), Lba(page), &view);
                    assert_eq!(attempt, Attempt::Send(PlFlag::Off), "{kind:?}");
                }
                assert!(!lacks(Hooks::SPARE_READS) || policy.spare_reads() == 0, "{kind:?}");
                assert!(!lacks(Hooks::HEDGE_AFTER) || policy.hedge_after(now, &awaited).is_none());
                let asked = Asked { host: 0, kind: RequestKind::Read, size_bytes: 4096 };
                assert!(!lacks(Hooks::ADMITS) || policy.admits(now, &asked), "{kind:?}");
                assert!(!lacks(Hooks::DEADLINE) || policy.next_deadline() == Instant::NEVER);
                assert!(!lacks(Hooks::COORDINATED) || policy.coordinator().is_none());
                policy.sent(now, &command);
                let (status, latency) = (Status::Success, Duration::from_micros(100));
                policy.answered(
                    now,
                    &Answered { command, status, latency, for_others: false, hedged: false },
                );
            }
        }
    }
}
