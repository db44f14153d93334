//! Reads that drives stall, by their true cause, and the share of them that the array hedged.
//!
//! A read has stalled if its die began with it late: other commands occupied the slots of the
//! drive, or the die was at work. The array does not know that. This module compares it with the
//! hedges of the array.

use array::{Event as ArrayEvent, OpId, OperationKind, Why};
use engine::Event;
use nvme::{CommandId, Opcode, Status};
use ssd::{Event as DriveEvent, Origin};
use std::collections::{BTreeMap, BTreeSet};
use units::{Duration, Instant};

/// Page read times after which a read that has not begun counts as stalled. Such a read takes five
/// times as long as usual, the limit of `attentive`.
const STALLED_TIMES: u64 = 4;

/// Reads of pages for the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StalledReads {
    /// Reads that drives answered.
    pub reads: u64,
    /// Reads that stalled.
    pub stalled: u64,
    /// Reads that were hedged.
    pub hedged: u64,
    /// Reads that stalled and were hedged.
    pub hedged_stalled: u64,
}

impl StalledReads {
    /// Percentage of reads that stalled.
    #[must_use]
    pub fn stalled_percent(&self) -> f64 {
        percent(self.stalled, self.reads)
    }

    /// Percentage of hedged reads that had stalled: the precision of hedges.
    #[must_use]
    pub fn precision_percent(&self) -> f64 {
        percent(self.hedged_stalled, self.hedged)
    }

    /// Percentage of stalled reads that were hedged: the recall of hedges.
    #[must_use]
    pub fn recall_percent(&self) -> f64 {
        percent(self.hedged_stalled, self.stalled)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.stalled += other.stalled;
        self.hedged += other.hedged;
        self.hedged_stalled += other.hedged_stalled;
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A read in flight.
struct Out {
    target: (OpId, u8),
    sent: Instant,
    /// Time at which a die began with the last of its pages.
    began: Option<Instant>,
    is_hedged: bool,
}

/// Watcher of these reads.
pub(crate) struct StalledReadWatch {
    stalled_after: Duration,
    /// Operations that read for a host.
    reads: BTreeSet<OpId>,
    out: BTreeMap<CommandId, Out>,
    /// Commands in flight, by operation and member.
    commands: BTreeMap<(OpId, u8), CommandId>,
    found: StalledReads,
}

impl StalledReadWatch {
    /// Creates a watcher; `read` is the time of a page read.
    pub(crate) fn new(read: Duration) -> Self {
        Self {
            stalled_after: read * STALLED_TIMES,
            reads: BTreeSet::new(),
            out: BTreeMap::new(),
            commands: BTreeMap::new(),
            found: StalledReads::default(),
        }
    }

    pub(crate) fn into_found(self) -> StalledReads {
        self.found
    }

    pub(crate) fn event(&mut self, at: Instant, event: &Event) {
        match event {
            Event::Array(event) => self.array_event(at, event),
            Event::Drive(_, DriveEvent::Began { origin: Origin::Command { id, .. }, .. }) => {
                if let Some(out) = self.out.get_mut(id) {
                    out.began = Some(at);
                }
            }
            Event::Drive(..) => {}
        }
    }

    fn array_event(&mut self, at: Instant, event: &ArrayEvent) {
        match *event {
            ArrayEvent::OperationOpened { op, kind: OperationKind::Read, .. } => {
                self.reads.insert(op);
            }
            ArrayEvent::OperationClosed { op } => {
                self.reads.remove(&op);
            }
            ArrayEvent::Dispatched {
                command,
                target: Some(target),
                opcode: Opcode::Read,
                why: Why::Wanted,
                ..
            } if self.reads.contains(&target.0) => {
                let out = Out { target, sent: at, began: None, is_hedged: false };
                self.out.insert(command, out);
                self.commands.insert(target, command);
            }
            ArrayEvent::HedgeFired { op, late, .. } => {
                for member in late {
                    let command = self.commands.get(&(op, member));
                    if let Some(out) = command.and_then(|command| self.out.get_mut(command)) {
                        out.is_hedged = true;
                    }
                }
            }
            ArrayEvent::Answered { command, status, .. } => {
                let Some(out) = self.out.remove(&command) else { return };
                self.commands.remove(&out.target);
                if status == Status::Success {
                    self.count(&out);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, out: &Out) {
        let stalled = out.began.is_some_and(|began| began.since(out.sent) >= self.stalled_after);
        self.found.add(&StalledReads {
            reads: 1,
            stalled: u64::from(stalled),
            hedged: u64::from(out.is_hedged),
            hedged_stalled: u64::from(stalled && out.is_hedged),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::{MemberSet, Origin as WorksFor, RequestId};
    use nvme::PlFlag;
    use ssd::PageOperation;
    use units::{DriveId, Lba};

    /// Feeds a read of member 0 whose die begins with it after `micros`, hedged or not.
    fn read(watch: &mut StalledReadWatch, micros: u64, hedged: bool) {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let (op, command, drive) = (OpId(3), CommandId(5), DriveId(0));
        let kind = OperationKind::Read;
        let origin = WorksFor::Request(RequestId(1));
        let mut array = |micros, event| watch.event(at(micros), &Event::Array(event));
        array(
            0,
            ArrayEvent::OperationOpened { op, origin, kind, stripe: 0, first_row: 0, rows: 1 },
        );
        array(
            0,
            ArrayEvent::Dispatched {
                command,
                target: Some((op, 0)),
                drive,
                opcode: Opcode::Read,
                lba: Lba(0),
                blocks: 1,
                pl: PlFlag::Off,
                why: Why::Wanted,
            },
        );
        if hedged {
            array(1, ArrayEvent::HedgeFired { op, late: MemberSet::of(0), reads: 2 });
        }
        let began = DriveEvent::Began {
            die: 0,
            channel: 0,
            operation: PageOperation::Read,
            origin: Origin::Command { id: command, block: 0 },
        };
        watch.event(at(micros), &Event::Drive(drive, began));
        let status = Status::Success;
        let mut array = |micros, event| watch.event(at(micros), &Event::Array(event));
        array(micros + 60, ArrayEvent::Answered { command, drive, status });
        array(micros + 60, ArrayEvent::OperationClosed { op });
    }

    #[test]
    fn a_read_stalls_that_its_die_begins_late_with() {
        let mut watch = StalledReadWatch::new(Duration::from_micros(50));
        read(&mut watch, 199, true);
        read(&mut watch, 200, true);
        read(&mut watch, 900, true);
        read(&mut watch, 900, false);
        let found = watch.into_found();
        assert_eq!(found, StalledReads { reads: 4, stalled: 3, hedged: 3, hedged_stalled: 2 });
        assert_eq!(found.stalled_percent(), 75.0);
        assert!((found.precision_percent() - 200.0 / 3.0).abs() < 1e-9);
        assert!((found.recall_percent() - 200.0 / 3.0).abs() < 1e-9);
        assert_eq!(StalledReads::default().precision_percent(), 0.0);
    }
}
