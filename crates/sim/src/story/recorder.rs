//! Watches a run until a request is done, and records its life.

use super::command::{FastFailure, OwnCommand, PageStep};
use super::life::{Die, Life, Times};
use super::operation::{Link, LinkKind, OwnOp, StoryStep};
use super::state::{OpenState, Who};
use super::told::{Activity, Lane, Segment, Span, Story, StoryPlace};
use super::{path, sentences, words};
use crate::plan::{Plan, PlanError};
use crate::watch::Watch;
use array::policy::PolicyKind;
use array::{Layout, OpId, Outcome, RequestId, RequestKind};
use engine::{Drive, Event};
use nvme::CommandId;
use ssd::{Geometry, Origin, PageOperation};
use std::collections::BTreeMap;
use units::{DriveId, Duration, Instant, Lba, Recorded};

/// Most dies that get a lane.
const DIE_LANES: usize = 24;

/// Watches a run until a request is done.
pub(super) struct Recorder {
    number: u64,
    policy: PolicyKind,
    layout: Layout,
    geometry: Geometry,
    times: Times,
    compute: Duration,
    page_bytes: u64,
    state: OpenState,
    life: Option<Life>,
    /// Reads that failed fast and whose dies are not known yet.
    failing: Vec<usize>,
    outcome: Option<Outcome>,
    /// True if the request is done.
    is_over: bool,
}

impl Recorder {
    pub(super) fn new(plan: &Plan, number: u64) -> Result<Self, PlanError> {
        let layout = plan.layout()?;
        let (geometry, timing) = (plan.drive.geometry, &plan.drive.timing);
        let Timing { sense, transfer, program } = timing.into();
        let is_copy = layout.level().is_mirrored();
        Ok(Self {
            number,
            policy: plan.policy,
            times: Times { sense, transfer, program },
            compute: if is_copy { Duration::ZERO } else { plan.reconstruct_compute },
            page_bytes: u64::from(geometry.page_bytes),
            state: OpenState::new(layout.width(), geometry.dies()),
            layout,
            geometry,
            life: None,
            failing: Vec::new(),
            outcome: None,
            is_over: false,
        })
    }

    fn follow_array(&mut self, at: Instant, event: &array::Event) {
        use array::Event as E;
        let number = RequestId(self.number);
        if let E::RequestArrived { request, kind, offset_bytes, size_bytes } = *event
            && request == number
        {
            self.begin(at, kind, offset_bytes, size_bytes);
        }
        let Some(life) = &mut self.life else { return };
        let own = |op: &OpId| life.open_ops.get(op).copied();
        match *event {
            E::RequestHeldBack { request } if request == number => {
                life.push(at, StoryStep::HeldBack)
            }
            E::RequestCompleted { request, .. } if request == number => {
                life.push(at, StoryStep::Done);
                self.is_over = true;
            }
            E::OperationOpened { op, origin, stripe, first_row, rows, .. }
                if origin == array::Origin::Request(number) =>
            {
                if life.ops.is_empty() {
                    life.admitted = at;
                }
                let index = life.ops.len();
                life.ops.push(OwnOp { stripe, first_row, rows, waits_since: None });
                life.open_ops.insert(op, index);
                life.push(at, StoryStep::Opened { op: index });
            }
            E::OperationClosed { op } => drop(life.open_ops.remove(&op)),
            E::Dispatched { command, target: Some((op, member)), .. } => {
                if let Some(op) = own(&op) {
                    self.dispatched(at, event, (command, op, member));
                }
            }
            E::Cached { command } => {
                if let Some(&command) = life.open_commands.get(&command) {
                    life.commands[command].cached = true;
                    life.push(at, StoryStep::Cached { command });
                }
            }
            E::Answered { command, status, .. } => {
                if let Some(command) = life.open_commands.remove(&command) {
                    let answered = &mut life.commands[command];
                    answered.answered = Some((at, status));
                    let (op, from) = (answered.op, answered.sent);
                    let what = LinkKind::Command(command);
                    life.links.push(Link { op, from, until: at, what });
                    life.push(at, StoryStep::Answered { command, status });
                }
            }
            E::WaitsAtHost { op, drive, opcode, ahead_blocks, .. } if own(&op).is_some() => {
                life.push(at, StoryStep::WaitsAtHost { drive, opcode, ahead_blocks });
            }
            E::LeftHost { command } => {
                if let Some(&command) = life.open_commands.get(&command) {
                    let command = &mut life.commands[command];
                    let (op, from, drive) = (command.op, command.sent, command.drive);
                    command.sent = at;
                    life.links.push(Link { op, from, until: at, what: LinkKind::AtHost(drive) });
                }
            }
            E::Avoided { op, members, late } if own(&op).is_some() => {
                life.push(at, StoryStep::Avoided { members, late });
            }
            E::Resent { op, member } => {
                if let Some(op) = own(&op) {
                    life.push(at, StoryStep::Resent { op, member });
                }
            }
            E::ReconstructBegun { op, members, from } if own(&op).is_some() => {
                life.push(at, StoryStep::ReconstructBegun { members, from });
            }
            E::Reconstructed { op, members, from } => {
                if let Some(op) = own(&op) {
                    let until = at + self.compute;
                    life.links.push(Link { op, from: at, until, what: LinkKind::Compute });
                    life.push(at, StoryStep::Reconstructed { members, from });
                }
            }
            E::HedgeFired { op, late, .. } => {
                if let Some(op) = own(&op) {
                    let from = life.admitted;
                    life.links.push(Link { op, from, until: at, what: LinkKind::Late });
                    life.push(at, StoryStep::HedgeFired { late });
                }
            }
            E::HedgeDenied { op, late } if own(&op).is_some() => {
                life.push(at, StoryStep::HedgeDenied { late });
            }
            E::LockWaited { op, behind } => {
                if let Some(op) = own(&op) {
                    life.ops[op].waits_since = Some(at);
                    let behind = behind.map(|op| self.state.who_is(op));
                    life.push(at, StoryStep::LockWaited { op, behind });
                }
            }
            E::LockObtained { op } => {
                if let Some(op) = own(&op)
                    && let Some(from) = life.ops[op].waits_since.take()
                {
                    life.links.push(Link { op, from, until: at, what: LinkKind::Lock });
                    life.push(at, StoryStep::LockObtained { waited: at.since(from) });
                }
            }
            E::SharedWithWrite { op, write, members } if own(&op).is_some() => {
                let write = self.state.who_is(write);
                life.push(at, StoryStep::SharedWithWrite { members, write });
            }
            E::CommitBegun { op, members } => {
                if let Some(op) = own(&op) {
                    life.push(at, StoryStep::CommitBegun { op, members });
                }
            }
            E::DriveFailed { drive } => life.push(at, StoryStep::DriveFailed { drive }),
            E::DriveDistrusted { drive } => {
                life.push(at, StoryStep::DriveJudged { drive, distrusted: true });
            }
            E::DriveTrusted { drive } => {
                life.push(at, StoryStep::DriveJudged { drive, distrusted: false });
            }
            _ => {}
        }
    }

    fn begin(&mut self, at: Instant, kind: RequestKind, offset_bytes: u64, size_bytes: u64) {
        self.life = Some(Life {
            id: RequestId(self.number),
            kind,
            offset_bytes,
            size_bytes,
            arrived: at,
            admitted: at,
            ops: Vec::new(),
            commands: Vec::new(),
            links: Vec::new(),
            steps: Vec::new(),
            times: self.times,
            dies: Vec::new(),
            die_numbers: BTreeMap::new(),
            open_ops: BTreeMap::new(),
            open_commands: BTreeMap::new(),
        });
    }

    fn dispatched(
        &mut self,
        sent: Instant,
        event: &array::Event,
        (id, op, member): (CommandId, usize, u8),
    ) {
        let Some(life) = &mut self.life else { return };
        let array::Event::Dispatched { drive, opcode, lba, blocks, pl, why, .. } = *event else {
            return;
        };
        let command = life.commands.len();
        life.commands.push(OwnCommand {
            op,
            member,
            drive,
            opcode,
            why,
            pl,
            lba: lba.0,
            blocks,
            sent,
            cached: false,
            stalled: false,
            failed_fast: None,
            pages: Vec::new(),
            answered: None,
        });
        life.open_commands.insert(id, command);
        life.push(sent, StoryStep::Sent { command });
    }

    fn follow_drive(&mut self, at: Instant, drive: DriveId, event: &ssd::Event, before: Before) {
        use ssd::Event as E;
        let Some(life) = &mut self.life else { return };
        let own = |id: CommandId| {
            let index = life.open_commands.get(&id).copied()?;
            (life.commands[index].drive == drive).then_some(index)
        };
        let sender = |origin: Origin| match origin {
            Origin::Command { id, .. } | Origin::Reconstruction { id } => own(id),
            _ => None,
        };
        match *event {
            E::FailedFast { id, busy_remaining } => {
                if let Some(command) = own(id) {
                    let failure = FastFailure { busy_remaining, die: None };
                    life.commands[command].failed_fast = Some(failure);
                    life.push(at, StoryStep::FailedFast { command });
                    self.failing.push(command);
                }
            }
            E::Stalled { id, .. } => {
                if let Some(command) = own(id) {
                    life.commands[command].stalled = true;
                }
            }
            E::Queued { die, operation, origin, .. } => {
                if let Some(command) = sender(origin) {
                    let met = self.state.work(drive, die);
                    let ahead = self.state.waiting(drive, die).saturating_sub(1);
                    life.track(&self.state, drive, die);
                    life.commands[command].pages.push(PageStep {
                        die,
                        operation,
                        origin,
                        queued: at,
                        met,
                        ahead,
                        began: None,
                        ended: None,
                        suspended_another: false,
                        preempted_collection: false,
                    });
                }
            }
            E::Began { die, origin, .. } => {
                if let Some(command) = sender(origin)
                    && let Some(page) = life.commands[command].page_mut(die, origin)
                {
                    page.began = Some(at);
                    page.suspended_another = before.is_suspended;
                    page.preempted_collection = before.is_collected;
                }
            }
            E::Ended { die, origin, .. } => {
                if let Some(command) = sender(origin)
                    && let Some(page) = life.commands[command].page_mut(die, origin)
                {
                    page.ended = Some(at);
                }
            }
            _ => {}
        }
        // Most events are about one die; those of collections may be about several.
        let dies = match *event {
            E::Queued { .. } | E::Accepted { .. } | E::Completed { .. } => return,
            E::Began { die, .. }
            | E::Ended { die, .. }
            | E::Suspended { die }
            | E::Resumed { die } => (drive, die)..=(drive, die),
            _ => (drive, 0)..=(drive, u32::MAX),
        };
        for (&(_, die), &number) in life.die_numbers.range(dies) {
            life.dies[number].turn_to(at, self.state.work(drive, die));
        }
    }

    /// Returns the story; `None` if the request was not found or is not done.
    pub(super) fn into_story(self) -> Option<Story> {
        let (mut life, outcome) = (self.life?, self.outcome?);
        let completed = outcome.completed;
        for die in &mut life.dies {
            die.turn_to(completed, None);
        }
        let path = path::of(&life, completed);
        let view = sentences::View {
            life: &life,
            state: &self.state,
            layout: &self.layout,
            page_bytes: self.page_bytes,
            number: self.number,
            completed,
        };
        let sentences = sentences::tell(&view);
        let (lanes, dies_left_out) = lanes(&life, &self.state, &path, completed);
        Some(Story {
            number: self.number,
            kind: life.kind,
            offset_bytes: life.offset_bytes,
            size_bytes: life.size_bytes,
            policy: self.policy,
            arrived: life.arrived,
            completed,
            ended: outcome.ended,
            delays: outcome.delays,
            path,
            lanes,
            dies_left_out,
            sentences,
        })
    }
}

/// State of a die before an event.
#[derive(Clone, Copy, Default)]
struct Before {
    is_suspended: bool,
    is_collected: bool,
}

/// Times of a drive that matter here.
struct Timing {
    sense: Duration,
    transfer: Duration,
    program: Duration,
}

impl From<&ssd::Timing> for Timing {
    fn from(timing: &ssd::Timing) -> Self {
        Self { sense: timing.read, transfer: timing.transfer, program: timing.program }
    }
}

impl Watch for Recorder {
    type Observe = Recorded;

    fn event(&mut self, at: Instant, event: Event) {
        let before = match &event {
            Event::Drive(drive, ssd::Event::Began { die, .. }) if self.life.is_some() => Before {
                is_suspended: self.state.is_suspended(*drive, *die),
                is_collected: self.state.is_collected(*drive, *die),
            },
            _ => Before::default(),
        };
        self.state.apply(at, &event);
        if self.is_over {
            return;
        }
        match &event {
            Event::Array(event) => self.follow_array(at, event),
            Event::Drive(drive, event) => self.follow_drive(at, *drive, event, before),
        }
    }

    fn settled(&mut self, drives: &[Drive<Recorded>]) {
        let Some(life) = &mut self.life else { return };
        let pages_per_die = self.geometry.blocks_per_die() * self.geometry.pages_per_block;
        for index in self.failing.drain(..) {
            let command = &life.commands[index];
            let drive = command.drive;
            let Some(ssd) = drives[drive.index()].ssd() else { continue };
            let blocks = command.lba..command.lba + u64::from(command.blocks);
            let dies = blocks.filter_map(|lba| Some(ssd.flash_page(Lba(lba))? / pages_per_die));
            let collected = |die: u32| Some((die, Some(self.state.collection_at(drive, die)?)));
            let mut dies = dies.collect::<Vec<_>>();
            dies.dedup();
            let die = dies.iter().find_map(|&die| collected(die));
            let die = die.or_else(|| dies.first().map(|&die| (die, None)));
            if let Some((number, _)) = die {
                life.track(&self.state, drive, number);
            }
            if let Some(failure) = &mut life.commands[index].failed_fast {
                failure.die = die;
            }
        }
    }

    fn completed(&mut self, outcome: &Outcome) {
        if outcome.request == RequestId(self.number) {
            self.outcome = Some(*outcome);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Returns the lanes of host, drives and dies, and the number of dies without a lane.
fn lanes(
    life: &Life,
    state: &OpenState,
    path: &[Segment],
    completed: Instant,
) -> (Vec<Lane>, usize) {
    let host = path.iter().map(|segment| Span {
        from: segment.from,
        until: segment.until,
        activity: segment.activity,
        label: words::of_segment(segment),
    });
    let mut lanes = vec![Lane { place: StoryPlace::Host, spans: host.collect() }];
    let mut drives: Vec<DriveId> = life.commands.iter().map(|command| command.drive).collect();
    drives.sort_unstable();
    drives.dedup();
    // The dies that the request used first.
    let shown = life.dies.len().min(DIE_LANES);
    for drive in drives {
        let mut spans = Vec::new();
        if let Some((from, until)) = state.drives[drive.index()].window
            && until > life.arrived
            && from < completed
        {
            let label = format!("busy window of drive {}", drive.0);
            spans.push(Span { from, until, activity: Activity::Window, label });
        }
        for command in life.commands.iter().filter(|command| command.drive == drive) {
            let until = command.answered.map_or(completed, |(at, _)| at.min(completed));
            let activity = match command {
                OwnCommand { failed_fast: Some(_), .. } => Activity::FailFast,
                OwnCommand { cached: true, .. } => Activity::WriteCache,
                _ => Activity::InDrive,
            };
            let label = words::of_command(command);
            spans.push(Span { from: command.sent, until, activity, label });
        }
        lanes.push(Lane { place: StoryPlace::Drive(drive), spans });
        let mut dies: Vec<&Die> =
            life.dies[..shown].iter().filter(|die| die.drive == drive).collect();
        dies.sort_by_key(|die| die.die);
        for die in dies {
            lanes.push(Lane {
                place: StoryPlace::Die(drive, die.die),
                spans: die_spans(life, drive, die),
            });
        }
    }
    (lanes, life.dies.len() - shown)
}

/// Work of a die, with the request's own operations marked as its own.
fn die_spans(life: &Life, drive: DriveId, die: &Die) -> Vec<Span> {
    let own = life.commands.iter().filter(|command| command.drive == drive).flat_map(|command| {
        command.pages.iter().filter(|page| page.die == die.die).map(move |page| (command, page))
    });
    let own: Vec<_> = own.filter_map(|(c, p)| Some((c, p, p.began?, p.ended?))).collect();
    let mut spans = Vec::new();
    for &(work, until) in &die.spans {
        // The request's own operations are drawn one by one.
        let is_own = matches!(work.who, Who::Request(id, _) if id == life.id);
        if !is_own {
            let label = words::of_work(&work);
            spans.push(Span { from: work.since, until, activity: work.activity, label });
        }
    }
    for (command, page, from, until) in own {
        let activity = match page.operation {
            PageOperation::Program => Activity::OwnProgram,
            _ if command.is_for_others() => Activity::OwnReconstructRead,
            _ => Activity::OwnRead,
        };
        let label = words::of_page(command, page);
        spans.push(Span { from, until, activity, label });
    }
    spans.sort_by_key(|span| (span.from, span.until));
    spans
}
