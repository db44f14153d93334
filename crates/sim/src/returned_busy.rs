//! Members of stripe reads that drives return busy (IODA §6.1.1, Figure 5(b)): their reads failed
//! fast, or were sent to a collecting die.

use array::{Event as ArrayEvent, OpId, OperationKind, Why};
use engine::Event;
use nvme::{CommandId, Opcode};
use ssd::{Event as DriveEvent, Origin, PageOperation};
use std::collections::BTreeMap;
use std::ops::Range;
use units::DriveId;

/// Counts stripe reads by the number of members that were returned busy.
pub(crate) struct ReturnedBusy {
    /// Dies of each collection in progress, by drive.
    collections: Vec<BTreeMap<u32, Range<u32>>>,
    /// Members of stripe reads in progress that were returned busy, as bits.
    stripe_reads: BTreeMap<OpId, u64>,
    /// Reads in flight: stripe read and member.
    out: BTreeMap<CommandId, (OpId, u8)>,
    /// Stripe reads by the number of such members: 0, 1, ….
    counts: Vec<u64>,
}

impl ReturnedBusy {
    pub(crate) fn new(drives: usize) -> Self {
        Self {
            collections: vec![BTreeMap::new(); drives],
            stripe_reads: BTreeMap::new(),
            out: BTreeMap::new(),
            counts: vec![0; drives + 1],
        }
    }

    /// Stripe reads with 0, 1, … members that were returned busy.
    pub(crate) fn into_counts(self) -> Vec<u64> {
        self.counts
    }

    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Array(event) => self.array_event(event),
            Event::Drive(drive, event) => self.drive_event(*drive, event),
        }
    }

    fn array_event(&mut self, event: &ArrayEvent) {
        match *event {
            ArrayEvent::OperationOpened { op, kind: OperationKind::Read, .. } => {
                self.stripe_reads.insert(op, 0);
            }
            ArrayEvent::OperationClosed { op } => {
                if let Some(busy) = self.stripe_reads.remove(&op) {
                    self.counts[busy.count_ones() as usize] += 1;
                }
            }
            ArrayEvent::Dispatched { command, target, opcode: Opcode::Read, why, .. } => {
                let is_of_read = matches!(why, Why::Wanted | Why::Reconstruct | Why::Hedge);
                if let Some(target) = target.filter(|_| is_of_read) {
                    self.out.insert(command, target);
                }
            }
            ArrayEvent::Answered { command, .. } => {
                self.out.remove(&command);
            }
            _ => {}
        }
    }

    fn drive_event(&mut self, drive: DriveId, event: &DriveEvent) {
        let collections = &mut self.collections[drive.index()];
        match *event {
            DriveEvent::CollectionRequested { collection, first_die, dies, .. } => {
                collections.insert(collection, first_die..first_die + dies);
            }
            DriveEvent::CollectionCancelled { collection }
            | DriveEvent::CollectionEnded { collection } => {
                collections.remove(&collection);
            }
            DriveEvent::FailedFast { id, .. } => self.note(id),
            DriveEvent::Queued {
                die,
                operation: PageOperation::Read,
                origin: Origin::Command { id, .. },
                ..
            } if collections.values().any(|dies| dies.contains(&die)) => self.note(id),
            _ => {}
        }
    }

    /// Notes that the member of a command was returned busy.
    fn note(&mut self, command: CommandId) {
        if let Some((op, member)) = self.out.get(&command)
            && let Some(busy) = self.stripe_reads.get_mut(op)
        {
            *busy |= 1 << member;
        }
    }
}
