//! {{label}}: reconstruct a read that would queue behind far more than the other drives have to do.
//!
//! Needs nothing from the drives. Costs the reads of reconstructions.

use array::policy::{About, Attempt, DriveChanges, Needs, Policy, PolicyKind, View, WindowUse};
use nvme::{PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// Blocks from which on a queue is long.
const LONG_BLOCKS: u32 = 4;

/// The policy, as tables and options name it.
pub const POLICY: PolicyKind = PolicyKind::new(&About {
    name: "mine",
    label: "{{label}}",
    summary: "reconstruct what would queue behind far more than the other drives have to do",
    source: "{{project-name}}",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Mine),
});

/// The rules of one array. What they remember belongs here.
struct Mine;

impl Policy for Mine {
    fn first_attempt(&mut self, _: Instant, drive: DriveId, _: Lba, view: &View<'_>) -> Attempt {
        let own = view.queues.of(drive).blocks();
        let all = view.queues.all();
        let mean = all.iter().map(|queue| queue.blocks()).sum::<u32>() / all.len() as u32;
        match own >= LONG_BLOCKS && own >= 2 * mean {
            true => Attempt::Avoid,
            false => Attempt::Send(PlFlag::Off),
        }
    }
}
