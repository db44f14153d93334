//! The last events of the array and its drives, for people: `ioda ctl trace`, and a file when the
//! array stops.

use super::array_io::ArrayIo;
use crate::control::{Trace, TracedEvent};
use array::{Event as ArrayEvent, OpId, Origin, RequestId};
use engine::Event;
use nvme::CommandId;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use units::{DriveId, Instant};

/// What a server writes down and checks beside its work.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// File that gets the last events when the array stops, if one is to.
    pub trace_path: Option<PathBuf>,
    /// File that gets what policies have learnt when the array stops, if one is to.
    pub learnt_path: Option<PathBuf>,
    /// Check the state of array and durability after each turn of the loop: for tests.
    pub checks_invariants: bool,
}

/// Choice of events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// Only events of requests with this number.
    pub(super) request: Option<RequestId>,
    /// Only events that name this drive.
    pub(super) drive: Option<DriveId>,
    /// Number of events at most, the last ones.
    pub(super) last: usize,
}

/// Operations and commands under way for the wanted request. Their numbers are used again.
#[derive(Default)]
struct Open {
    operations: BTreeSet<OpId>,
    commands: BTreeSet<CommandId>,
}

impl Open {
    /// Whether an event is about `request`.
    fn is_of(&mut self, request: RequestId, event: &ArrayEvent) -> bool {
        match *event {
            ArrayEvent::RequestArrived { request: other, .. }
            | ArrayEvent::RequestHeldBack { request: other }
            | ArrayEvent::RequestCompleted { request: other, .. } => other == request,
            ArrayEvent::OperationOpened { op, origin, .. } => {
                let is_own = origin == Origin::Request(request);
                match is_own {
                    true => self.operations.insert(op),
                    false => self.operations.remove(&op),
                };
                is_own
            }
            ArrayEvent::OperationClosed { op } => self.operations.remove(&op),
            ArrayEvent::Dispatched { command, target, .. } => {
                let is_own = target.is_some_and(|(op, _)| self.operations.contains(&op));
                match is_own {
                    true => self.commands.insert(command),
                    false => self.commands.remove(&command),
                };
                is_own
            }
            ArrayEvent::Answered { command, .. } => self.commands.remove(&command),
            ArrayEvent::Cached { command } | ArrayEvent::FailedFast { command, .. } => {
                self.commands.contains(&command)
            }
            _ => event.operation().is_some_and(|op| self.operations.contains(&op)),
        }
    }
}

/// The drive that an event names.
fn drive_of(event: &Event) -> Option<DriveId> {
    match event {
        Event::Drive(drive, _) => Some(*drive),
        Event::Array(
            ArrayEvent::Dispatched { drive, .. }
            | ArrayEvent::Answered { drive, .. }
            | ArrayEvent::Permitted { drive, .. }
            | ArrayEvent::DriveFailed { drive }
            | ArrayEvent::DriveDistrusted { drive }
            | ArrayEvent::DriveTrusted { drive },
        ) => Some(*drive),
        Event::Array(ArrayEvent::PageRepaired(repair)) => Some(repair.drive),
        Event::Array(_) => None,
    }
}

/// The wanted events among those that are kept.
pub(super) fn trace(io: &ArrayIo, wanted: &Wanted) -> Trace {
    let mut open = Open::default();
    let is_wanted = |(_, event): &(Instant, Event)| {
        let is_of_request = match (wanted.request, event) {
            (None, _) => true,
            (Some(request), Event::Array(event)) => open.is_of(request, event),
            (Some(_), Event::Drive(..)) => false,
        };
        is_of_request && wanted.drive.is_none_or(|drive| drive_of(event) == Some(drive))
    };
    let events: Vec<_> = io.engine().kept_events().into_iter().filter(is_wanted).collect();
    let told = |(at, event): &(Instant, Event)| TracedEvent {
        nanoseconds: at.as_nanos(),
        text: event.to_string(),
    };
    let last = &events[events.len().saturating_sub(wanted.last)..];
    Trace { events: last.iter().map(told).collect() }
}

/// Writes all events that are kept to a file, because the array stops.
pub(super) fn save(io: &ArrayIo, path: &Path) {
    let wanted = Wanted { last: usize::MAX, ..Wanted::default() };
    let trace = trace(io, &wanted);
    let written = std::fs::File::create(path).map(std::io::BufWriter::new).and_then(|mut file| {
        trace.events.iter().try_for_each(|event| writeln!(file, "{event}"))?;
        file.flush()
    });
    match written {
        Ok(()) => tracing::error!(
            "the last {} events before that are in {}",
            trace.events.len(),
            path.display()
        ),
        Err(error) => tracing::error!("no trace in {}: {error}", path.display()),
    }
}
