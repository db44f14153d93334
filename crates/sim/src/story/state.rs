//! Open work at one moment of a run: commands, stripe operations, collections, work on dies. It is
//! updated event by event, and forgets work that has ended.

use super::told::Activity;
use array::{OpId, OperationKind, RequestId};
use engine::Event;
use nvme::{CollectionRight, CommandId};
use ssd::{Origin, PageOperation};
use units::{DriveId, Instant};

/// Purpose of some work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    /// A request: its stripe operation reads or writes.
    Request(RequestId, OperationKind),
    /// A background job of the array.
    Job(OperationKind),
    /// Pages that leave the write cache.
    Drain,
    /// A collection of the drive, by its number.
    Collection(u32),
    /// The write buffer of the drive.
    Flush,
    /// The drive's check of copied pages.
    Check,
    /// Unknown.
    Unknown,
}

/// Work of a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Work {
    pub(super) since: Instant,
    pub(super) activity: Activity,
    pub(super) who: Who,
}

impl Work {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.activity, self.who) == (other.activity, other.who)
    }
}

/// A collection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collection {
    pub(super) requested: Instant,
    pub(super) first_die: u32,
    pub(super) dies: u32,
    pub(super) valid_pages: u32,
    pub(super) has_begun: Option<Instant>,
}

impl Collection {
    pub(super) fn holds(&self, die: u32) -> bool {
        (self.first_die..self.first_die + self.dies).contains(&die)
    }
}

/// A die.
#[derive(Clone, Copy, Default, Debug)]
struct DieState {
    running: Option<Work>,
    suspended: Option<Work>,
    /// Operations in its queue.
    waiting: u32,
}

/// A drive.
#[derive(Clone, Debug)]
pub(super) struct DriveState {
    dies: Vec<DieState>,
    /// Collections, by number.
    pub(super) collections: Vec<Option<Collection>>,
    /// Last interval in which it might collect, by window or lease.
    pub(super) window: Option<(Instant, Instant)>,
}

/// A stripe operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpState {
    pub(super) who: Who,
}

/// All open work.
#[derive(Clone, Debug)]
pub(super) struct OpenState {
    ops: Vec<Option<OpState>>,
    /// Purpose of each command.
    commands: Vec<Option<Who>>,
    pub(super) drives: Vec<DriveState>,
    pub(super) rebuilding: Option<DriveId>,
    pub(super) failed: Vec<DriveId>,
}

fn put<T>(slots: &mut Vec<Option<T>>, index: u32, value: Option<T>) {
    let index = index as usize;
    if slots.len() <= index {
        slots.resize_with(index + 1, || None);
    }
    slots[index] = value;
}

impl OpenState {
    pub(super) fn new(drives: u32, dies: u32) -> Self {
        let drive = DriveState {
            dies: vec![DieState::default(); dies as usize],
            collections: Vec::new(),
            window: None,
        };
        Self {
            ops: Vec::new(),
            commands: Vec::new(),
            drives: vec![drive; drives as usize],
            rebuilding: None,
            failed: Vec::new(),
        }
    }

    /// Purpose of a stripe operation.
    pub(super) fn who_is(&self, op: OpId) -> Who {
        self.ops.get(op.0 as usize).copied().flatten().map_or(Who::Unknown, |op| op.who)
    }

    fn sender(&self, command: CommandId) -> Who {
        self.commands.get(command.0 as usize).copied().flatten().unwrap_or(Who::Unknown)
    }

    /// Work of a die; `None` if it is idle.
    pub(super) fn work(&self, drive: DriveId, die: u32) -> Option<Work> {
        let state = &self.drives[drive.index()];
        let worker = &state.dies[die as usize];
        if worker.running.is_some() {
            return worker.running;
        }
        let held = |collection: &Collection| collection.has_begun.filter(|_| collection.holds(die));
        let hold = || {
            let mut holds = (0..).zip(state.collections.iter().flatten());
            holds.find_map(|(number, collection)| {
                let (since, who) = (held(collection)?, Who::Collection(number));
                Some(Work { since, activity: Activity::CollectionCopy, who })
            })
        };
        worker.suspended.or_else(hold)
    }

    /// Returns true if a die has a suspended program or erase.
    pub(super) fn is_suspended(&self, drive: DriveId, die: u32) -> bool {
        self.drives[drive.index()].dies[die as usize].suspended.is_some()
    }

    /// Returns true if a collection has a die.
    pub(super) fn is_collected(&self, drive: DriveId, die: u32) -> bool {
        self.collection_at(drive, die).is_some_and(|collection| collection.has_begun.is_some())
    }

    /// Number of operations in the queue of a die.
    pub(super) fn waiting(&self, drive: DriveId, die: u32) -> u32 {
        self.drives[drive.index()].dies[die as usize].waiting
    }

    /// Collection that has requested a die, or holds it.
    pub(super) fn collection_at(&self, drive: DriveId, die: u32) -> Option<Collection> {
        let collections = self.drives[drive.index()].collections.iter().flatten();
        collections.copied().find(|collection| collection.holds(die))
    }

    /// Updates the state with an event.
    pub(super) fn apply(&mut self, at: Instant, event: &Event) {
        match event {
            Event::Array(event) => self.apply_array(event),
            Event::Drive(drive, event) => self.apply_drive(at, *drive, event),
        }
    }

    fn apply_array(&mut self, event: &array::Event) {
        use array::Event as E;
        match *event {
            E::OperationOpened { op, origin, kind, .. } => {
                let who = match origin {
                    array::Origin::Request(request) => Who::Request(request, kind),
                    array::Origin::Job(_) | array::Origin::ReadRepair => Who::Job(kind),
                };
                put(&mut self.ops, op.0, Some(OpState { who }));
            }
            E::OperationClosed { op } => put(&mut self.ops, op.0, None),
            E::Dispatched { command, target, .. } => {
                let who = target.map_or(Who::Drain, |(op, _)| self.who_is(op));
                put(&mut self.commands, command.0, Some(who));
            }
            E::DriveFailed { drive } => self.failed.push(drive),
            E::JobStarted { job: array::JobKind::Rebuild(drive) } => {
                self.failed.retain(|&failed| failed != drive);
                self.rebuilding = Some(drive);
                // A new drive has replaced the failed one.
                let state = &mut self.drives[drive.index()];
                state.collections.clear();
                state.window = None;
                state.dies.fill(DieState::default());
            }
            E::JobEnded { job: array::JobKind::Rebuild(_), .. } => self.rebuilding = None,
            _ => {}
        }
    }

    fn apply_drive(&mut self, at: Instant, drive: DriveId, event: &ssd::Event) {
        use ssd::Event as E;
        let who = match *event {
            E::Began { origin, .. } => self.worker(origin),
            _ => Who::Unknown,
        };
        let state = &mut self.drives[drive.index()];
        match *event {
            E::Queued { die, .. } => state.dies[die as usize].waiting += 1,
            E::Began { die, operation, origin, .. } => {
                let die = &mut state.dies[die as usize];
                if !matches!(origin, Origin::Collection { .. } | Origin::Scrub) {
                    die.waiting = die.waiting.saturating_sub(1);
                }
                let activity = activity(operation, who);
                die.running = Some(Work { since: at, activity, who });
            }
            E::Ended { die, .. } => state.dies[die as usize].running = None,
            E::Suspended { die } => {
                let die = &mut state.dies[die as usize];
                die.suspended = die.running.take();
                if let Some(work) = &mut die.suspended {
                    *work = Work { since: at, activity: Activity::Suspension, ..*work };
                }
            }
            E::Resumed { die } => {
                let die = &mut state.dies[die as usize];
                die.running = die.suspended.take().map(|work| {
                    let activity = match work.who {
                        Who::Collection(_) => Activity::CollectionCopy,
                        who => activity(PageOperation::Program, who),
                    };
                    Work { since: at, activity, ..work }
                });
            }
            E::CollectionRequested { collection, first_die, dies, valid_pages, .. } => {
                let asked =
                    Collection { requested: at, first_die, dies, valid_pages, has_begun: None };
                put(&mut state.collections, collection, Some(asked));
            }
            E::CollectionBegan { collection } => {
                if let Some(Some(collection)) = state.collections.get_mut(collection as usize) {
                    collection.has_begun = Some(at);
                }
            }
            E::CollectionCancelled { collection } | E::CollectionEnded { collection } => {
                put(&mut state.collections, collection, None);
            }
            E::WindowOpened { until, .. } => state.window = Some((at, until)),
            E::RightChanged {
                right: CollectionRight::Lease { until } | CollectionRight::Order { until },
            } => state.window = (until > at).then_some((at, until)),
            _ => {}
        }
    }

    fn worker(&self, origin: Origin) -> Who {
        match origin {
            Origin::Command { id, .. } | Origin::Reconstruction { id } => self.sender(id),
            Origin::Flush { .. } | Origin::FlushUnit { .. } | Origin::Parity { .. } => Who::Flush,
            Origin::Collection { collection } => Who::Collection(collection),
            Origin::Scrub => Who::Check,
        }
    }
}

/// Activity of a die that works for another request than the explained one.
fn activity(operation: PageOperation, who: Who) -> Activity {
    match (operation, who) {
        (_, Who::Job(_)) => Activity::Job,
        (_, Who::Flush) => Activity::Flush,
        (_, Who::Check) => Activity::Check,
        (PageOperation::Erase, _) => Activity::CollectionErase,
        (_, Who::Collection(_)) | (PageOperation::Copy, _) => Activity::CollectionCopy,
        (PageOperation::Read, _) => Activity::OtherRead,
        (PageOperation::Program, _) => Activity::OtherProgram,
    }
}
