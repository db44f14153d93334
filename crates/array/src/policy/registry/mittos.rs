//! MittOS: predict the wait for a drive, and avoid the drive if it is too long (IODA §6.2.7).
//!
//! The host keeps a model of each drive from a profile that was measured once: the cost of a page,
//! the number of dies that share the work, the pages written between two collections, and the
//! duration of one. It counts what it writes, and takes overdue reads as the sign of a collection.
//! A read whose predicted wait exceeds the objective is rejected, and reconstructed from the other
//! members; if too many of these are predicted to be slow too, it waits. Needs nothing from the
//! drives but a known profile: the paper calls it white-box. Costs the reads of reconstructions,
//! and the reads that the model gets wrong.
//!
//! A rejected read does not show whether it would have been slow. So one in [`PROBED`] is sent as
//! well while it is reconstructed; what comes first is taken.

use crate::policy::{
    About, Answered, Attempt, DriveChanges, DriveProfile, Hooks, Needs, Policy, PolicyKind,
    PolicySetup, Sent, Tally, View, WindowUse,
};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{Opcode, PlFlag, Untimed};
use units::{DriveId, Duration, Instant, Lba};

/// The policy.
pub(super) const MITTOS: PolicyKind = PolicyKind::new(&About {
    name: "mittos",
    label: "MittOS",
    summary: "the host predicts slow reads from a model of its drives, and reconstructs them",
    source: "IODA §6.2.7; MittOS (SOSP 2017)",
    drive_changes: DriveChanges::KnownInside,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Mittos::new(setup)),
});

/// One in this number of rejected reads is sent, to check whether the rejection was right.
const PROBED: u64 = 32;

/// The host's model of a drive.
#[derive(Clone, Default)]
struct Model {
    /// Predicted end of its collection.
    collects_until: Instant,
    /// Pages written since the last collection began.
    written: u64,
    /// Reads in flight, by the time at which they were sent.
    out: BTreeMap<Instant, u32>,
    /// Rejected reads that were sent nevertheless.
    probes: Vec<Lba>,
}

struct Mittos {
    objective: Duration,
    profile: DriveProfile,
    drives: Vec<Model>,
    rejected: u64,
    probed: u64,
    needless: u64,
    missed: u64,
}

impl Mittos {
    fn new(setup: &PolicySetup<'_>) -> Self {
        Self {
            objective: setup.settings.objective,
            profile: setup.settings.profile,
            drives: vec![Model::default(); setup.drives as usize],
            rejected: 0,
            probed: 0,
            needless: 0,
            missed: 0,
        }
    }

    /// Predicted wait of a read that is sent now.
    fn predict(&mut self, now: Instant, drive: DriveId, view: &View<'_>) -> Duration {
        let model = &mut self.drives[drive.index()];
        let oldest = model.out.first_key_value().map(|(&sent, _)| sent);
        if let Some(sent) = oldest.filter(|&sent| now.since(sent) > self.objective)
            && model.collects_until <= now
        {
            // It began before the read that is overdue was to be served.
            model.collects_until = sent + self.profile.collection;
            model.written = 0;
        }
        let queue = view.queues.of(drive);
        let work = self.profile.read * u64::from(queue.read_blocks)
            + self.profile.write * u64::from(queue.write_blocks);
        let held = match now < model.collects_until {
            true => {
                model.collects_until.since(now) / u64::from(self.profile.collections_to_hold_it)
            }
            false => Duration::ZERO,
        };
        work / u64::from(self.profile.dies) + held
    }
}

impl Policy for Mittos {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT | Hooks::SENT | Hooks::ANSWERED
    }

    fn first_attempt(
        &mut self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        view: &View<'_>,
    ) -> Attempt {
        if self.predict(now, drive, view) <= self.objective {
            return Attempt::Send(PlFlag::Off);
        }
        self.rejected += 1;
        if !self.rejected.is_multiple_of(PROBED) {
            return Attempt::Avoid;
        }
        self.drives[drive.index()].probes.push(lba);
        Attempt::SendAndReconstruct
    }

    fn sent(&mut self, now: Instant, command: &Sent) {
        let model = &mut self.drives[command.drive.index()];
        match command.opcode {
            Opcode::Read => *model.out.entry(now).or_insert(0) += 1,
            Opcode::Deallocate => {}
            Opcode::Write => {
                model.written += u64::from(command.blocks);
                if model.written >= self.profile.pages_between_collections {
                    model.written -= self.profile.pages_between_collections;
                    model.collects_until = now + self.profile.collection;
                }
            }
        }
    }

    fn answered(&mut self, now: Instant, answer: &Answered) {
        if answer.command.opcode == Opcode::Write {
            return;
        }
        let model = &mut self.drives[answer.command.drive.index()];
        let sent = Instant::from_nanos(now.as_nanos() - answer.latency.as_nanos());
        if let Some(count) = model.out.get_mut(&sent) {
            *count -= 1;
            if *count == 0 {
                model.out.remove(&sent);
            }
        }
        let slow = answer.latency > self.objective;
        let probe = model.probes.iter().position(|&lba| lba == answer.command.lba);
        match probe {
            Some(probe) => {
                model.probes.swap_remove(probe);
                self.probed += 1;
                self.needless += u64::from(!slow);
            }
            None => self.missed += u64::from(slow),
        }
    }

    fn tallies(&self) -> Vec<Tally> {
        vec![
            Tally::new("rejected reads", self.rejected),
            Tally::new("rejected reads looked at", self.probed),
            Tally::new("of these, needlessly rejected", self.needless),
            Tally::new("slow reads not predicted", self.missed),
        ]
    }
}
