//! Critical path of a request: the chain of steps that ended last, traced from the end to the
//! arrival.

use super::command::{OwnCommand, PageStep};
use super::life::Life;
use super::operation::{Link, LinkKind};
use super::state::Who;
use super::told::{Activity, Segment};
use nvme::{Cause, Delays};
use ssd::PageOperation;
use units::{DriveId, Duration, Instant};

/// Times of a path, in groups that can be compared with the run's report.
///
/// A drive attributes a wait for a channel to the owner of the data on the channel. Events do not
/// name that owner. So the wait is a group of its own here, and part of the two other waits in the
/// report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathSums {
    /// Reading, moving and computing pages.
    pub service: Duration,
    /// Waiting for other work of the host.
    pub behind_host: Duration,
    /// Waiting for collections, and for the check of copied pages.
    pub behind_collections: Duration,
    /// Waiting for a channel.
    pub channel: Duration,
    /// Fast failures.
    pub fail_fast: Duration,
    /// Waiting for writes of the same rows.
    pub stripe_lock: Duration,
    /// Waiting until the array read other members too.
    pub late_answer: Duration,
    /// Held back by the policy, as a request or as a command.
    pub held_back: Duration,
}

impl PathSums {
    /// Sums of a path.
    #[must_use]
    pub fn of(path: &[Segment]) -> Self {
        let mut sums = Self::default();
        for segment in path {
            use Activity as A;
            let group = match segment.activity {
                A::OwnRead | A::OwnReconstructRead | A::OwnProgram | A::InDrive => {
                    &mut sums.service
                }
                A::Compute | A::WriteCache => &mut sums.service,
                A::OtherRead | A::OtherProgram | A::Job | A::Flush => &mut sums.behind_host,
                A::CollectionCopy | A::CollectionErase | A::Check => &mut sums.behind_collections,
                A::Channel => &mut sums.channel,
                A::FailFast => &mut sums.fail_fast,
                A::LockWait => &mut sums.stripe_lock,
                A::LateAnswer => &mut sums.late_answer,
                A::HeldBack | A::AtHost => &mut sums.held_back,
                A::Suspension | A::Stalled | A::Window | A::Other => &mut sums.behind_host,
            };
            *group += segment.until.since(segment.from);
        }
        sums
    }

    /// The same groups of a read's reported delays. Waits for a channel are in two of them.
    #[must_use]
    pub fn reported(delays: &Delays) -> Self {
        let service = [Cause::NandRead, Cause::Transfer, Cause::Rebuild];
        Self {
            service: service.into_iter().map(|cause| delays.get(cause)).sum(),
            behind_host: delays.behind_host(),
            behind_collections: delays.behind_collections(),
            channel: Duration::ZERO,
            fail_fast: delays.get(Cause::FailFast),
            stripe_lock: delays.get(Cause::StripeLock),
            late_answer: delays.get(Cause::LateAnswer),
            held_back: delays.get(Cause::HeldBack),
        }
    }
}

/// Critical path of `life`, which ended at `completed`.
pub(super) fn of(life: &Life, completed: Instant) -> Vec<Segment> {
    let mut path = Vec::new();
    let (mut at, mut limit) = (completed, life.links.len());
    let mut op = None;
    while at > life.admitted {
        let fits = |link: &Link| link.until == at && op.is_none_or(|op| op == link.op);
        let Some(index) = life.links[..limit].iter().rposition(fits) else {
            let (from, activity) = (life.admitted, Activity::Other);
            path.push(Segment { from, until: at, activity, drive: None });
            break;
        };
        let link = life.links[index];
        let plain = |activity| Segment { from: link.from, until: at, activity, drive: None };
        match link.what {
            LinkKind::Command(command) => {
                let mut segments = Vec::new();
                of_command(life, &life.commands[command], at, &mut segments);
                path.extend(segments.into_iter().rev());
            }
            LinkKind::Lock => path.push(plain(Activity::LockWait)),
            LinkKind::Compute => path.push(plain(Activity::Compute)),
            LinkKind::AtHost(drive) => {
                path.push(Segment { drive: Some(drive), ..plain(Activity::AtHost) });
            }
            LinkKind::Late => path.push(plain(Activity::LateAnswer)),
        }
        (at, limit, op) = (link.from, index, Some(link.op));
    }
    if life.admitted > life.arrived {
        let (from, until) = (life.arrived, life.admitted);
        path.push(Segment { from, until, activity: Activity::HeldBack, drive: None });
    }
    path.retain(|segment| segment.until > segment.from);
    path.reverse();
    path
}

/// Adds the segments of a command, from its dispatch to its answer at `answered`.
fn of_command(life: &Life, command: &OwnCommand, answered: Instant, path: &mut Vec<Segment>) {
    let drive = Some(command.drive);
    let mut add = |from: Instant, until: Instant, activity| {
        if until > from {
            path.push(Segment { from, until, activity, drive });
        }
    };
    let whole = match command {
        OwnCommand { failed_fast: Some(_), .. } => Some(Activity::FailFast),
        OwnCommand { cached: true, pages, .. } if pages.is_empty() => Some(Activity::WriteCache),
        _ => None,
    };
    if let Some(activity) = whole {
        return add(command.sent, answered, activity);
    }
    let Some(page) = command.last_page() else {
        return add(command.sent, answered, Activity::InDrive);
    };
    let (Some(began), Some(ended)) = (page.began, page.ended) else { return };
    let way_in = if command.stalled { Activity::Stalled } else { Activity::InDrive };
    add(command.sent, page.queued, way_in);
    for (from, until, activity) in waits(life, command.drive, page) {
        add(from, until, activity);
    }
    // Only the channel can make a page operation longer.
    let channel = ended.since(began).saturating_sub(life.times.of(page.operation));
    let (service, waits_first) = match page.operation {
        PageOperation::Program => (Activity::OwnProgram, true),
        _ if command.is_for_others() => (Activity::OwnReconstructRead, false),
        _ => (Activity::OwnRead, false),
    };
    let sense = if waits_first { Duration::ZERO } else { life.times.sense };
    let waits_from = (began + sense).min(ended);
    let waits_until = (waits_from + channel).min(ended);
    add(began, waits_from, service);
    add(waits_from, waits_until, Activity::Channel);
    add(waits_until, ended, service);
    add(ended, answered, Activity::InDrive);
}

/// Work of the die during the wait of a page operation.
pub(super) fn waits(
    life: &Life,
    drive: DriveId,
    page: &PageStep,
) -> Vec<(Instant, Instant, Activity)> {
    let until = page.began.unwrap_or(page.queued);
    let mut at = page.queued;
    let mut waits: Vec<(Instant, Instant, Activity)> = Vec::new();
    let mut add = |from: Instant, until: Instant, activity| match waits.last_mut() {
        Some(last) if last.2 == activity && last.1 == from => last.1 = until,
        _ => waits.push((from, until, activity)),
    };
    for (span, end) in life.work_on(drive, page.die) {
        let (from, end) = (span.since.max(at), end.min(until));
        if end <= from {
            continue;
        }
        if from > at {
            add(at, from, Activity::Other);
        }
        // A wait for a suspension counts as a wait for the suspended work.
        let activity = match (span.activity, span.who) {
            (Activity::Suspension, Who::Collection(_)) => Activity::CollectionCopy,
            (Activity::Suspension, _) => Activity::OtherProgram,
            (activity, _) => activity,
        };
        add(from, end, activity);
        at = end;
    }
    if until > at {
        add(at, until, Activity::Other);
    }
    waits
}
