//! Sit-out: a drive that is much slower than its peers is not read for a while (OpenZFS's detection
//! of slow members of a raidz, pull request 17227).
//!
//! From time to time, a running mean of each drive's read latency is compared with those of its
//! peers. A drive beyond Tukey's fence of its peers in several comparisons sits out: its reads are
//! reconstructed. Needs nothing from the drives. Made for drives that fail slowly, over minutes; a
//! collection is over before it is noticed. Costs a reconstruction for each read of the drive that
//! sits out, and can hit the wrong drive.
//!
//! OpenZFS differs: its fence is taken over all members, the slow one included, so that it needs at
//! least six; it checks once a second and lets a drive sit out for ten minutes.

use crate::fence;
use crate::policy::{
    About, Answered, Attempt, DriveChanges, Hooks, Needs, Policy, PolicyKind, PolicySetup,
    SitOutSettings, View, WindowUse,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{Opcode, PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const SIT_OUT: PolicyKind = PolicyKind::new(&About {
    name: "sit-out",
    label: "Sit-out",
    summary: "a drive that is much slower than its peers is not read for a while",
    source: "OpenZFS raidz slow-member detection",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(SitOut::new(setup)),
});

#[derive(Clone, Copy, Default)]
struct Member {
    /// Running mean of its read latencies, in nanoseconds; 0 before the first.
    mean_nanos: u64,
    looks_out: u32,
    until: Instant,
}

struct SitOut {
    settings: SitOutSettings,
    parities: usize,
    members: Vec<Member>,
    next_look: Instant,
}

impl SitOut {
    fn new(setup: &PolicySetup<'_>) -> Self {
        let settings = setup.settings.sit_out;
        Self {
            settings,
            parities: setup.parities as usize,
            members: vec![Member::default(); setup.drives as usize],
            next_look: Instant::ZERO + settings.interval,
        }
    }

    /// Whether `drive` lies beyond the fence of its peers.
    fn is_outlier(&self, drive: usize) -> bool {
        let peers = (0..self.members.len()).filter(|&other| other != drive);
        let peers = peers.map(|other| self.members[other].mean_nanos);
        fence::is_beyond(self.members[drive].mean_nanos, peers)
    }

    fn sitting(&self, now: Instant) -> usize {
        self.members.iter().filter(|member| now < member.until).count()
    }
}

impl Policy for SitOut {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT | Hooks::ANSWERED | Hooks::DEADLINE
    }

    fn first_attempt(&mut self, now: Instant, drive: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        match now < self.members[drive.index()].until {
            true => Attempt::Avoid,
            false => Attempt::Send(PlFlag::Off),
        }
    }

    fn answered(&mut self, _: Instant, answer: &Answered) {
        if answer.command.opcode == Opcode::Read {
            let mean = &mut self.members[answer.command.drive.index()].mean_nanos;
            *mean = fence::mean_with_first(*mean, answer.latency);
        }
    }

    fn next_deadline(&self) -> Instant {
        self.next_look
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.next_look = now + self.settings.interval;
        for drive in 0..self.members.len() {
            let out = now >= self.members[drive].until && self.is_outlier(drive);
            let looks = if out { self.members[drive].looks_out + 1 } else { 0 };
            self.members[drive].looks_out = looks;
            if looks >= self.settings.looks && self.sitting(now) < self.parities {
                let until = now + self.settings.period;
                // It starts afresh when it comes back.
                self.members[drive] = Member { mean_nanos: 0, looks_out: 0, until };
            }
        }
    }
}
