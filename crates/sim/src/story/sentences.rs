//! The life of a request in sentences.

use super::command::OwnCommand;
use super::life::Life;
use super::operation::StoryStep;
use super::path;
use super::state::{OpenState, Who};
use super::told::{Activity, Sentence};
use super::words::{self, count, drives, list, time};
use array::{Layout, MemberSet, OperationKind, RequestKind, Role, Why};
use nvme::{Opcode, PlFlag, Status};
use units::{Bytes, DriveId, Duration, Instant};

/// Most commands that are described one by one.
const SINGLE_COMMANDS: usize = 12;

/// A life, and the context for its description.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) life: &'a Life,
    pub(super) state: &'a OpenState,
    pub(super) layout: &'a Layout,
    pub(super) page_bytes: u64,
    pub(super) number: u64,
    pub(super) completed: Instant,
}

/// All sentences, in order.
pub(super) fn tell(view: &View<'_>) -> Vec<Sentence> {
    let mut teller = Teller { view, sentences: Vec::new() };
    teller.arrival();
    let steps = &view.life.steps;
    let mut next = 0;
    while let Some((at, step)) = steps.get(next) {
        // Commands that leave together are described together.
        let same = |(other_at, other): &&(Instant, StoryStep)| {
            other_at == at && std::mem::discriminant(other) == std::mem::discriminant(step)
        };
        let together = match step {
            StoryStep::Sent { .. }
            | StoryStep::Cached { .. }
            | StoryStep::Opened { .. }
            | StoryStep::WaitsAtHost { .. } => steps[next..].iter().take_while(same).count(),
            _ => 1,
        };
        let before = steps[..next].iter().rev().take_while(|(before, _)| before == at);
        let announced = before.map(|(_, step)| step).any(|step| {
            use StoryStep as S;
            matches!(step, S::ReconstructBegun { .. } | S::CommitBegun { .. } | S::Resent { .. })
        });
        teller.step(*at, &steps[next..next + together], announced);
        next += together;
    }
    // The work that a page meets on its die is described with its command, but may be met later.
    teller.sentences.sort_by_key(|told| told.at);
    teller.sentences
}

struct Teller<'a> {
    view: &'a View<'a>,
    sentences: Vec<Sentence>,
}

impl Teller<'_> {
    fn say(&mut self, at: Instant, text: String) {
        self.sentences.push(Sentence { at, text });
    }

    fn arrival(&mut self) {
        let View { life, state, page_bytes, number, .. } = *self.view;
        let verb = match life.kind {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Deallocate => "deallocation",
        };
        let (offset, size) = life.extent();
        let (first, last) = (offset / page_bytes, (offset + size - 1) / page_bytes);
        let pages = match last - first {
            0 => format!("page {first}"),
            _ => format!("pages {first} to {last}"),
        };
        let size = Bytes(size);
        self.say(life.arrived, format!("request {number} arrives: a {verb} of {size}, {pages}"));
        if !state.failed.is_empty() {
            let failed = drives(state.failed.iter().map(|drive| drive.0));
            self.say(life.arrived, format!("{failed} failed before"));
        }
        if let Some(drive) = state.rebuilding {
            self.say(life.arrived, format!("drive {} is being rebuilt", drive.0));
        }
    }

    fn step(&mut self, at: Instant, steps: &[(Instant, StoryStep)], announced: bool) {
        let commands = || -> Vec<usize> {
            let command = |(_, step): &(Instant, StoryStep)| match step {
                StoryStep::Sent { command } | StoryStep::Cached { command } => Some(*command),
                _ => None,
            };
            steps.iter().filter_map(command).collect()
        };
        match &steps[0].1 {
            StoryStep::HeldBack => self.say(at, String::from("the policy holds it back")),
            StoryStep::Opened { op } => self.opened(at, *op, steps.len()),
            StoryStep::Sent { .. } => self.sent(at, &commands(), announced),
            StoryStep::Cached { .. } => self.cached(at, &commands()),
            StoryStep::FailedFast { command } => self.failed_fast(at, *command),
            StoryStep::Answered { command, status } => self.answered(at, *command, *status),
            StoryStep::Avoided { members, late } => self.avoided(at, *members, *late),
            StoryStep::WaitsAtHost { .. } => self.wait_at_host(at, steps),
            StoryStep::Resent { op, member } => self.resent(at, *op, *member),
            StoryStep::ReconstructBegun { members, from } => {
                let from = words::members(*from);
                let text = match members.is_empty() {
                    true => format!("reads {from} as well"),
                    false => {
                        format!("reconstructs {}: reads {from} for it", words::members(*members))
                    }
                };
                self.say(at, text);
            }
            StoryStep::Reconstructed { members, from } => {
                let (members, from) = (words::members(*members), words::members(*from));
                self.say(at, format!("all is known: computes {members} from {from}"));
            }
            StoryStep::HedgeFired { late } => {
                let late = words::members(*late);
                let waited = time(at.since(self.view.life.admitted));
                let text = format!("{late} did not answer for {waited}: reads the rest as well");
                self.say(at, text);
            }
            StoryStep::HedgeDenied { late } => {
                let late = words::members(*late);
                self.say(at, format!("{late} did not answer, but more reads are not allowed now"));
            }
            StoryStep::LockWaited { op, behind } => self.lock_waited(at, *op, *behind),
            StoryStep::LockObtained { waited } => {
                self.say(at, format!("has the stripe after {}", time(*waited)));
            }
            StoryStep::SharedWithWrite { members, write } => {
                let (members, write) = (words::members(*members), words::of_who(*write));
                let text = format!("takes what {write} is about to write to {members} from memory");
                self.say(at, text);
            }
            StoryStep::CommitBegun { op, members } => self.commit(at, *op, *members),
            StoryStep::DriveFailed { drive } => self.say(at, format!("drive {} fails", drive.0)),
            StoryStep::DriveJudged { drive, distrusted } => self.say(
                at,
                match distrusted {
                    true => format!("drive {} answers late, and is not read any more", drive.0),
                    false => format!("drive {} answers in time again, and is read", drive.0),
                },
            ),
            StoryStep::Done => self.done(at),
        }
    }

    fn avoided(&mut self, at: Instant, members: MemberSet, late: MemberSet) {
        let predicted = members - late;
        if !late.is_empty() {
            let late = words::members(late);
            self.say(at, format!("does not ask {late}: answers of its drive came late"));
        }
        if !predicted.is_empty() {
            let predicted = words::members(predicted);
            self.say(at, format!("does not ask {predicted}: the policy expects it to be slow"));
        }
    }

    /// Describes commands of one moment that wait at the host, each drive once.
    fn wait_at_host(&mut self, at: Instant, steps: &[(Instant, StoryStep)]) {
        let mut told = Vec::new();
        for (_, step) in steps {
            let StoryStep::WaitsAtHost { drive, opcode, ahead_blocks } = *step else { continue };
            if told.contains(&(drive, opcode)) {
                continue;
            }
            told.push((drive, opcode));
            let verb = if opcode == Opcode::Read { "read" } else { "write" };
            let ahead = match ahead_blocks {
                0 => String::new(),
                _ => format!(", behind {} of others", count(u64::from(ahead_blocks), "block")),
            };
            let drive = drive.0;
            self.say(
                at,
                format!("its {verb} waits at the host until drive {drive} has less to do{ahead}"),
            );
        }
    }

    fn opened(&mut self, at: Instant, op: usize, ops: usize) {
        let life = self.view.life;
        let first = &life.ops[op];
        if ops > 1 {
            let stripes = count(ops as u64, "stripe");
            let last = &life.ops[op + ops - 1];
            let text = format!("it is in {stripes}, {} to {}", first.stripe, last.stripe);
            return self.say(at, text);
        }
        let rows = match (self.view.layout.chunk_pages(), first.rows) {
            (1, _) => String::new(),
            (_, 1) => format!(", row {}", first.first_row),
            (_, rows) => format!(", rows {} to {}", first.first_row, first.first_row + rows - 1),
        };
        self.say(at, format!("it is in stripe {}{rows}", first.stripe));
    }

    fn sent(&mut self, at: Instant, commands: &[usize], announced: bool) {
        let life = self.view.life;
        let all = || commands.iter().map(|&command| &life.commands[command]);
        if !announced {
            let mut whys: Vec<Why> = Vec::new();
            for command in all() {
                if !whys.contains(&command.why) {
                    whys.push(command.why);
                }
            }
            for why in whys {
                let of_why: Vec<&OwnCommand> = all().filter(|command| command.why == why).collect();
                self.sent_for(at, why, &of_why);
            }
        }
        // Causes of the waits.
        let waits = |command: &&OwnCommand| self.longest_wait(command) > Duration::ZERO;
        let mut waiting: Vec<&OwnCommand> = all().filter(waits).collect();
        if waiting.len() > SINGLE_COMMANDS / 3 {
            waiting.sort_by_key(|command| std::cmp::Reverse(self.longest_wait(command)));
            waiting.truncate(SINGLE_COMMANDS / 3);
        }
        for command in waiting {
            self.meets(at, command);
        }
    }

    fn sent_for(&mut self, at: Instant, why: Why, commands: &[&OwnCommand]) {
        let asked = drives(commands.iter().map(|command| command.drive.0));
        let text = match why {
            Why::Wanted => {
                let flagged = commands.iter().any(|command| command.pl != PlFlag::Off);
                let rest = if flagged { ", to fail fast rather than wait" } else { "" };
                format!("reads {asked}{rest}")
            }
            Why::Parity => {
                let has_parity = commands.iter().any(|command| self.is_parity(command));
                match has_parity {
                    true => {
                        format!("reads what is replaced and its parity, {asked}: read-modify-write")
                    }
                    false => format!("reads the rest of the stripe, {asked}: reconstruct-write"),
                }
            }
            Why::Reconstruct => format!("reads {asked} to reconstruct from"),
            Why::Hedge => format!("reads {asked} as well, in case it is faster"),
            Why::Commit => format!("writes {asked}"),
            Why::Job | Why::Drain => return,
            Why::Relocate => format!("tells {asked} that a block was left"),
        };
        self.say(at, text);
    }

    fn is_parity(&self, command: &OwnCommand) -> bool {
        let stripe = self.view.life.ops[command.op].stripe;
        let role = self.view.layout.role(stripe, DriveId(command.member));
        !matches!(role, Role::Data(_)) && !self.view.layout.level().is_mirrored()
    }

    /// Longest wait of a page of a command for its die.
    fn longest_wait(&self, command: &OwnCommand) -> Duration {
        let waits = command.pages.iter().filter_map(|page| Some(page.began?.since(page.queued)));
        waits.max().unwrap_or(Duration::ZERO)
    }

    /// Describes the work that a command meets on the die where it waits longest.
    fn meets(&mut self, at: Instant, command: &OwnCommand) {
        let waited = |page: &&super::command::PageStep| page.began.map(|b| b.since(page.queued));
        let Some(page) = command.pages.iter().max_by_key(waited) else { return };
        let (drive, die) = (command.drive.0, page.die);
        let space = if command.stalled { "free space came late, and " } else { "" };
        let mut text = format!("drive {drive}: {space}its die {die} ");
        match &page.met {
            Some(work) => {
                let since = page.queued.since(work.since);
                let since = if since.is_zero() {
                    String::new()
                } else {
                    format!(" since {} ago", time(since))
                };
                match work.who {
                    Who::Collection(_) => {
                        text += &format!("is held by a collection{since}");
                    }
                    Who::Request(id, _) if id.0 == self.view.number => {
                        text += "works for this very request";
                    }
                    _ => text += &format!("is at work: it {}{since}", words::of_work(work)),
                }
            }
            None => text += "was free, but others wait for it",
        }
        if page.ahead > 0 {
            text += &format!("; {} ahead of it", count(u64::from(page.ahead), "operation"));
        }
        self.say(at.max(page.queued), text);
    }

    fn cached(&mut self, at: Instant, commands: &[usize]) {
        let all = || commands.iter().map(|&command| &self.view.life.commands[command]);
        let asked = drives(all().map(|command| command.drive.0));
        let reads = all().all(|command| command.opcode == Opcode::Read);
        let text = match reads {
            true => format!("the write cache has what is read of {asked}"),
            false => format!("the write cache in front of {asked} takes it in"),
        };
        self.say(at, text);
    }

    fn failed_fast(&mut self, at: Instant, command: usize) {
        let command = &self.view.life.commands[command];
        let Some(failure) = command.failed_fast else { return };
        let (drive, left) = (command.drive.0, time(failure.busy_remaining));
        let why = match failure.die {
            Some((die, Some(collection))) => {
                let pages = count(u64::from(collection.valid_pages), "page");
                let begun = match collection.has_begun {
                    Some(begun) => format!("began {} ago", time(at.since(begun))),
                    None => {
                        format!("asked for the die {} ago", time(at.since(collection.requested)))
                    }
                };
                format!(
                    "a collection on its die {die}, which {begun} and copies {pages}, needs {left} more"
                )
            }
            Some((die, None)) => {
                format!("what a collection held up on its die {die} needs {left} more")
            }
            None => format!("it is busy for {left} more"),
        };
        self.say(at, format!("drive {drive} fails the read fast: {why}"));
    }

    fn answered(&mut self, at: Instant, command: usize, status: Status) {
        let life = self.view.life;
        let command = &life.commands[command];
        let drive = command.drive.0;
        match status {
            Status::FailedFast => return,
            Status::Unrecovered => {
                let verb = if command.opcode == Opcode::Read { "read" } else { "write" };
                return self.say(at, format!("drive {drive} cannot {verb} it"));
            }
            Status::Success => {}
        }
        let many = life.commands.len() > SINGLE_COMMANDS;
        if many && at < self.view.completed {
            return;
        }
        let verb = match command.opcode {
            Opcode::Read => "answers",
            Opcode::Write if command.cached => "is cached",
            Opcode::Write => "has written",
            Opcode::Deallocate => return,
        };
        let mut text = match command.cached {
            true => format!("the write cache answers for drive {drive}"),
            false => format!("drive {drive} {verb}"),
        };
        if let Some(page) = command.last_page() {
            let waits = path::waits(life, command.drive, page);
            let mut sums: Vec<(Activity, Duration)> = Vec::new();
            for (from, until, activity) in waits {
                match sums.iter_mut().find(|(other, _)| *other == activity) {
                    Some((_, sum)) => *sum += until.since(from),
                    None => sums.push((activity, until.since(from))),
                }
            }
            let parts: Vec<String> = sums
                .iter()
                .map(|(activity, sum)| {
                    format!("{} behind {}", time(*sum), words::of_wait(*activity))
                })
                .collect();
            if !parts.is_empty() {
                text += &format!("; its die {} kept it waiting {}", page.die, list(&parts));
            }
            if page.suspended_another {
                text += "; a program or erase was suspended for it";
            } else if page.preempted_collection {
                text += "; the collection let it go first";
            }
        }
        self.say(at, text);
    }

    fn resent(&mut self, at: Instant, op: usize, member: u8) {
        let life = self.view.life;
        let failed: Vec<String> = life
            .commands
            .iter()
            .filter(|command| command.op == op && command.sent <= at)
            .filter_map(|command| {
                let left = command.failed_fast?.busy_remaining;
                Some(format!("drive {} says {}", command.member, time(left)))
            })
            .collect();
        let parities = self.view.layout.parities();
        let more = format!(
            "more members are busy than {} can make up for",
            count(u64::from(parities), "parity").replace("paritys", "parities")
        );
        let detail =
            if failed.is_empty() { String::new() } else { format!(" ({})", list(&failed)) };
        self.say(at, format!("{more}{detail}: asks drive {member} again, to wait this time"));
    }

    fn lock_waited(&mut self, at: Instant, op: usize, behind: Option<Who>) {
        let stripe = self.view.life.ops[op].stripe;
        let text = match behind {
            Some(Who::Job(OperationKind::Check)) => {
                format!("waits for the scrub of stripe {stripe}")
            }
            Some(Who::Job(OperationKind::Rewrite)) => {
                format!("waits for the repair of a page of stripe {stripe}")
            }
            Some(Who::Job(_)) => {
                format!("waits for the rebuild of stripe {stripe}, which has its rows")
            }
            Some(who) => format!(
                "waits for {}, which has the same rows of stripe {stripe}",
                words::of_who(who)
            ),
            None => {
                format!("has its new data, and waits for reads that compute with stripe {stripe}")
            }
        };
        self.say(at, text);
    }

    fn commit(&mut self, at: Instant, op: usize, members: MemberSet) {
        let stripe = self.view.life.ops[op].stripe;
        let layout = self.view.layout;
        let is_parity = |member: &u8| {
            !layout.level().is_mirrored()
                && !matches!(layout.role(stripe, DriveId(*member)), Role::Data(_))
        };
        let (parity, data): (Vec<u8>, Vec<u8>) = members.into_iter().partition(is_parity);
        let text = match (data.is_empty(), parity.is_empty()) {
            (false, false) => {
                format!("writes data to {} and parity to {}", drives(data), drives(parity))
            }
            (true, _) => format!("writes parity to {}", drives(parity)),
            (_, true) => format!("writes {}", drives(data)),
        };
        let verb =
            if self.view.life.kind == RequestKind::Deallocate { "deallocates: " } else { "" };
        self.say(at, format!("{verb}{text}"));
    }

    fn done(&mut self, at: Instant) {
        let life = self.view.life;
        let mut text = format!("done in {}", time(at.since(life.arrived)));
        // Drives that were announced busy, and did not delay the request after all.
        let waited = |drive: DriveId| {
            let mut again = life.commands.iter().filter(|command| command.drive == drive);
            again.any(|command| command.opcode == Opcode::Read && command.pl == PlFlag::Off)
        };
        let avoided = life
            .commands
            .iter()
            .filter_map(|command| Some((command.drive, command.failed_fast?.busy_remaining)))
            .filter(|&(drive, _)| !waited(drive))
            .max_by_key(|&(_, left)| left);
        if let Some((drive, left)) = avoided
            && left > at.since(life.arrived)
        {
            text += &format!("; waiting for drive {} would have taken {}", drive.0, time(left));
        }
        self.say(at, text);
    }
}
