//! The claim of one drive: what has to be sent that it is this server's, and whether it is.
//!
//! Knows: the order of reservation, watch and lease (`nvme::initiator::Reserving`,
//! `engine::durability::owner`). Does not know: sockets, and what becomes of a drive that is not
//! this server's.
//!
//! Commands of a claim go over the I/O queue before all others, one at a time.

use super::claims::{Claims, Parked};
use crate::buffer::PAGE_BYTES;
use engine::durability::Uuid;
use engine::durability::owner::{
    Found, Guard, Lease, LeaseIo, OWNER_AT, OwnerBlock, OwnerState, Standing, Terms, Verdict, Watch,
};
use nvme::initiator::{
    DriveFacts, Holder, Outgoing, Purpose, ReservationGoal, ReservationOutcome, Reserving,
    Submission, can_reserve, is_server_key,
};
use nvme::wire::{
    BlockCount, BlockRange, CommonFields, CompletionEntry, IoCommand, SglDescriptor, StatusCode,
    StatusField, Transfer,
};
use units::{Duration, Instant};

/// What is added to the Keep Alive Timeout: how long a drive may take to end a controller.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_millis(500);

/// What a newcomer has found out about a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    /// It is looking.
    Unsure,
    /// Nobody has the drive.
    Free,
    /// A server has it and does not move: its block, if that can be read.
    Still(Option<OwnerBlock>),
    /// A server has it and lives.
    Moving(OwnerBlock),
    /// A host has reserved it that is no server of this kind.
    Foreign(Holder),
    /// It is reserved for this server, but the former owner may answer clients for the rest of its
    /// lease.
    Reserved,
    /// It is this server's.
    Held,
    /// It cannot be claimed, and why.
    Failed(String),
}

#[derive(Debug)]
enum Phase {
    /// Nothing was claimed.
    Idle,
    /// It is registered, and whose the reservation is is asked.
    Looking(Reserving),
    /// The block is watched.
    Watching {
        watch: Watch,
        holder: Option<Holder>,
    },
    /// The reservation is taken.
    Taking(Reserving, Found),
    /// The lease goes on.
    Leasing,
    /// Over a new connection: whether the reservation is still held.
    Verifying(Reserving),
    /// The drive has lost all reservations: whether the block is still this server's.
    Recalling,
    /// It is: the reservation is made anew.
    Restoring(Reserving),
    GivingUp(Reserving),
    Over,
}

/// What became of the drive while it was not certain whose it is.
#[derive(Clone, Debug)]
struct Doubt {
    why: String,
    /// Something may be lost, so that the drive has failed if it is still this server's.
    has_lost: bool,
}

/// The claim of one drive.
#[derive(Debug)]
pub(super) struct DriveClaim {
    claims: Option<Claims>,
    keep_alive: Duration,
    facts: Option<DriveFacts>,
    phase: Phase,
    lease: Option<Lease>,
    guard: Guard,
    /// Since when a command is under way.
    asked: Option<Instant>,
    /// People have said that the drive is to be taken.
    takes_over: bool,
    /// Since the time of the lease has run out, nothing of before is on its way.
    is_renewed: bool,
    /// Since when it is known that the time has run out.
    lapsed_since: Option<Instant>,
    doubt: Option<Doubt>,
    /// It was not certain whose the drive is.
    was_doubtful: bool,
    /// Why the drive is not this server's.
    lost: Option<String>,
    /// Why the drive cannot be used.
    failed: Option<String>,
}

impl DriveClaim {
    pub(super) fn new(
        claims: Option<Claims>,
        parked: Option<Parked>,
        keep_alive: Duration,
    ) -> Self {
        let guard = parked.as_ref().map_or(Guard::Bare, |parked| parked.guard);
        let phase = if parked.is_some() { Phase::Leasing } else { Phase::Idle };
        Self {
            claims,
            keep_alive,
            facts: None,
            phase,
            lease: parked.map(|parked| parked.lease),
            guard,
            asked: None,
            takes_over: false,
            is_renewed: true,
            lapsed_since: None,
            doubt: None,
            was_doubtful: false,
            lost: None,
            failed: None,
        }
    }

    /// What is left of a claim when its drive is closed.
    pub(super) fn take_parked(&mut self) -> Option<(Claims, Parked)> {
        self.handle_cut();
        if self.lost.is_some() || matches!(self.phase, Phase::Over | Phase::GivingUp(_)) {
            return None;
        }
        let lease = self.lease.take()?;
        Some((self.claims.clone()?, Parked { lease, guard: self.guard }))
    }

    /// Whether the drive belongs to a server that claims its drives, and is claimed.
    pub(super) const fn is_claimed(&self) -> bool {
        self.lease.is_some() || self.lost.is_some()
    }

    /// What keeps others from the drive.
    pub(super) const fn guard(&self) -> Guard {
        self.guard
    }

    /// Why the drive is not this server's any more.
    pub(super) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Why the drive cannot be used, said once.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        self.failed.take()
    }

    /// Whether anything may be changed on the drive by this server, as soon as it may be sent.
    pub(super) const fn may_change(&self) -> bool {
        self.claims.is_none() || self.lease.is_some()
    }

    /// Whether commands may be sent now.
    pub(super) fn permits(&self, now: Instant) -> bool {
        match self.phase {
            _ if self.claims.is_none() => true,
            Phase::Idle | Phase::Looking(_) | Phase::Watching { .. } => true,
            Phase::Leasing if self.doubt.is_none() => match self.guard {
                // The drive itself refuses what is not this server's.
                Guard::Fenced => self.facts.is_some(),
                Guard::Bare => self.is_valid(now),
            },
            _ => false,
        }
    }

    /// Whether the drive is this server's for certain.
    pub(super) fn is_valid(&self, now: Instant) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_valid(now))
    }

    /// Until when the drive is this server's for certain, or was; `None` if that is not known.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.lease.as_ref()?.standing(Instant::ZERO) {
            Standing::Held { until } => Some(until),
            _ => None,
        }
    }

    /// Whether the drive was this server's and is not for certain now.
    pub(super) fn is_doubtful(&self, now: Instant) -> bool {
        self.lease.is_some()
            && (!matches!(self.phase, Phase::Leasing)
                || !self.is_valid(now)
                || self.doubt.is_some())
    }

    /// Whether connections have to be closed over which a change has no answer: it may be carried
    /// out after the time of the lease. `has_change` says whether one has none; drives get some
    /// time to answer.
    pub(super) fn must_renew(&mut self, now: Instant, has_change: impl FnOnce() -> bool) -> bool {
        let Some(lease) = &self.lease else { return false };
        let has_lapsed = lease.standing(now) == Standing::Lapsed && !lease.is_ending();
        if self.guard == Guard::Fenced || self.is_renewed || !has_lapsed {
            return false;
        }
        let since = *self.lapsed_since.get_or_insert(now);
        let (is_over, has_change) = (now >= since + self.grace(), has_change());
        if !has_change || is_over {
            (self.is_renewed, self.lapsed_since) = (true, None);
        }
        has_change && is_over
    }

    /// How long drives have to answer when the time of the lease has run out.
    fn grace(&self) -> Duration {
        self.claims.as_ref().map_or(Duration::ZERO, |claims| claims.claimant().lease) / 4
    }

    /// The clock of the machine has stood still for a while.
    pub(super) fn lapse(&mut self) {
        self.lease.iter_mut().for_each(Lease::lapse);
    }

    /// The drive is connected.
    pub(super) fn handle_ready(&mut self, now: Instant, facts: DriveFacts) {
        self.facts = Some(facts);
        self.is_renewed = !self.is_valid(now);
        if self.lease.is_none() || self.guard == Guard::Bare {
            return;
        }
        match can_reserve(&facts) {
            true => self.phase = Phase::Verifying(self.reserving(&facts, ReservationGoal::Verify)),
            false => self.failed = Some("it has no reservations any more".into()),
        }
    }

    /// The connection is lost, and with it what was under way.
    pub(super) fn handle_cut(&mut self) {
        (self.facts, self.is_renewed, self.lapsed_since) = (None, true, None);
        let was_asked = self.asked.take().is_some();
        match self.phase {
            Phase::Idle | Phase::Over => {}
            Phase::Leasing => {
                if was_asked {
                    self.lease.iter_mut().for_each(Lease::handle_cut);
                }
            }
            Phase::Verifying(_) | Phase::Recalling | Phase::Restoring(_) => {
                self.phase = Phase::Leasing;
            }
            Phase::Looking(_) | Phase::Watching { .. } | Phase::Taking(..) | Phase::GivingUp(_) => {
                self.phase = Phase::Over;
                self.failed.get_or_insert_with(|| "the connection was closed".into());
            }
        }
    }

    /// The connection was lost while it is not certain whose the drive is: that is found out first.
    pub(super) fn doubt(&mut self, why: &str, has_lost: bool) {
        let doubt = self.doubt.get_or_insert_with(|| Doubt { why: why.into(), has_lost: false });
        doubt.has_lost |= has_lost;
    }

    /// Ends a doubt once the drive is this server's again. Returns why the drive has failed
    /// meanwhile, if it has.
    pub(super) fn settle(&mut self, now: Instant) -> Option<Result<(), String>> {
        let is_settled = matches!(self.phase, Phase::Leasing) && self.is_valid(now);
        if !is_settled {
            self.was_doubtful |= self.lease.is_some();
            return None;
        }
        (self.is_renewed, self.lapsed_since) = (false, None);
        if !std::mem::take(&mut self.was_doubtful) {
            return None;
        }
        match self.doubt.take() {
            Some(Doubt { why, has_lost: true }) => Some(Err(why)),
            _ => Some(Ok(())),
        }
    }

    /// The drive has said that it is reserved for another host.
    pub(super) fn handle_conflict(&mut self) {
        self.lose("the drive is reserved for another host".into());
    }

    fn lose(&mut self, why: String) {
        if self.lost.is_none() {
            self.lost = Some(why);
        }
        self.phase = Phase::Over;
        self.lease = None;
    }

    fn fail(&mut self, why: String) {
        self.phase = Phase::Over;
        self.failed = Some(why);
    }

    fn reserving(&self, facts: &DriveFacts, goal: ReservationGoal) -> Reserving {
        let owner = self.claims.as_ref().map_or([0; 16], |claims| claims.claimant().owner.0);
        Reserving::new(owner, facts, goal)
    }

    fn terms(&self, facts: &DriveFacts) -> Terms {
        let unit = facts.keep_alive_unit.as_nanos().max(1);
        let silence = self.keep_alive.as_nanos().next_multiple_of(unit);
        Terms {
            lease: self.claims.as_ref().map_or(Duration::ZERO, |claims| claims.claimant().lease),
            in_flight: Duration::from_nanos(silence) + KEEP_ALIVE_MARGIN + self.grace(),
        }
    }

    fn me(&self) -> Uuid {
        self.claims.as_ref().map_or(Uuid([0; 16]), |claims| claims.claimant().owner)
    }

    /// Begins to find out whose the drive is. It is connected.
    pub(super) fn begin(&mut self, takes_over: bool) {
        let Some(facts) = self.facts.filter(|_| matches!(self.phase, Phase::Idle)) else { return };
        self.takes_over = takes_over;
        self.guard = if can_reserve(&facts) { Guard::Fenced } else { Guard::Bare };
        match self.guard {
            Guard::Fenced => {
                self.phase = Phase::Looking(self.reserving(&facts, ReservationGoal::Look));
            }
            Guard::Bare => self.watch(&facts, None),
        }
    }

    fn watch(&mut self, facts: &DriveFacts, holder: Option<Holder>) {
        let holder = holder.filter(|holder| holder.host_id != self.me().0);
        let watch = Watch::new(self.me(), self.terms(facts), self.guard, holder.is_some());
        self.phase = Phase::Watching { watch, holder };
    }

    /// What is known of whose the drive is.
    pub(super) fn finding(&self, now: Instant) -> Finding {
        if let Some(why) = self.lost.as_ref().or(self.failed.as_ref()) {
            return Finding::Failed(why.clone());
        }
        match &self.phase {
            Phase::Watching { holder: Some(holder), .. }
                if !is_server_key(holder.key) && !self.takes_over =>
            {
                Finding::Foreign(*holder)
            }
            Phase::Watching { watch, .. } => match watch.verdict() {
                Verdict::Unsure => Finding::Unsure,
                Verdict::Free => Finding::Free,
                Verdict::Still(owner) => Finding::Still(owner),
                Verdict::Moving(owner) if self.takes_over => Finding::Still(Some(owner)),
                Verdict::Moving(owner) => Finding::Moving(owner),
            },
            _ if self.is_valid(now) => Finding::Held,
            Phase::Leasing if self.guard == Guard::Fenced => Finding::Reserved,
            _ => Finding::Unsure,
        }
    }

    /// The block that is watched, if its server is the one that holds the drive.
    pub(super) fn watched(&self) -> Option<OwnerBlock> {
        let Phase::Watching { watch, holder } = &self.phase else { return None };
        let owner = *watch.found()?.owner()?;
        let is_holder = holder.is_none_or(|holder| holder.host_id == owner.owner.0);
        (is_holder && watch.verdict() == Verdict::Unsure).then_some(owner)
    }

    /// The process of the server that is watched is gone.
    pub(super) fn handle_owner_gone(&mut self) {
        if let Phase::Watching { watch, .. } = &mut self.phase {
            watch.handle_owner_gone();
        }
    }

    /// Takes the drive, after a finding of [`Finding::Free`] or [`Finding::Still`].
    pub(super) fn proceed(&mut self) {
        let (Phase::Watching { watch, holder }, Some(facts)) = (&self.phase, self.facts) else {
            return;
        };
        let (found, from) = (watch.found().unwrap_or(Found::Nothing), *holder);
        match self.guard {
            Guard::Fenced => {
                let goal = ReservationGoal::Take { from };
                self.phase = Phase::Taking(self.reserving(&facts, goal), found);
            }
            Guard::Bare => self.lease(&facts, found),
        }
    }

    fn lease(&mut self, facts: &DriveFacts, found: Found) {
        let Some(claims) = &self.claims else { return };
        let claimant = claims.claimant();
        let own = OwnerBlock {
            owner: claimant.owner,
            epoch: 0,
            heartbeat: 0,
            state: OwnerState::Held,
            terms: self.terms(facts),
            process: claimant.process,
            name: claimant.name,
        };
        self.lease = Some(Lease::new(own, self.guard, found, self.takes_over));
        self.phase = Phase::Leasing;
        self.is_renewed = false;
    }

    /// Gives the drive up, or stops looking at it. Nothing else is under way.
    pub(super) fn give_up(&mut self) {
        match (&mut self.lease, self.facts) {
            (Some(lease), _) => lease.release(),
            (None, Some(facts)) if self.guard == Guard::Fenced => {
                self.asked = None;
                self.phase = Phase::GivingUp(self.reserving(&facts, ReservationGoal::GiveUp));
            }
            (None, _) => self.phase = Phase::Over,
        }
    }

    /// Whether nothing is left to give up.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over | Phase::Idle)
    }

    /// Whether the drive does not answer a command.
    pub(super) fn is_late(&self, now: Instant, timeout: Duration) -> bool {
        self.asked.is_some_and(|asked| now >= asked + timeout)
    }

    /// When [`Self::poll`] wants to be called, or a command has taken too long.
    pub(super) fn next_deadline(&self, timeout: Duration) -> Instant {
        // Some time after that of the lease has run out, connections are closed.
        let until = match (self.lapsed_since, self.lease.as_ref().and_then(Lease::until)) {
            (Some(since), _) => since + self.grace(),
            (None, Some(until)) if self.guard == Guard::Bare && !self.is_renewed => until,
            _ => Instant::NEVER,
        };
        if let Some(asked) = self.asked {
            return until.min(asked + timeout);
        }
        let next = match (&self.phase, &self.lease) {
            _ if self.facts.is_none() => Instant::NEVER,
            (Phase::Watching { watch, .. }, _) => watch.next_read(),
            (Phase::Leasing, Some(lease)) => lease.next_deadline(),
            (Phase::Idle | Phase::Over | Phase::Leasing, _) => Instant::NEVER,
            _ => Instant::ZERO,
        };
        next.min(until)
    }

    /// The next command for the I/O queue.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Submission> {
        let facts = self.facts.filter(|_| self.asked.is_none())?;
        let submission = match &mut self.phase {
            Phase::Looking(reserving)
            | Phase::Taking(reserving, _)
            | Phase::Verifying(reserving)
            | Phase::Restoring(reserving)
            | Phase::GivingUp(reserving) => reserving.poll(),
            Phase::Watching { watch, .. } if watch.next_read() > now => None,
            Phase::Watching { .. } | Phase::Recalling => block_io(&facts, None),
            Phase::Leasing => match self.lease.as_mut()?.poll(now) {
                Some(LeaseIo::Read) => block_io(&facts, None),
                Some(LeaseIo::Write(block)) => block_io(&facts, Some(&block)),
                None => {
                    if self.lease.as_ref()?.standing(now) == Standing::Released {
                        self.handle_released();
                    }
                    None
                }
            },
            Phase::Idle | Phase::Over => None,
        }?;
        self.asked = Some(now);
        Some(submission)
    }

    /// A command has ended.
    pub(super) fn handle_completion(
        &mut self,
        now: Instant,
        completion: &CompletionEntry,
        data: &[u8],
    ) {
        let Some(asked) = self.asked.take() else { return };
        let status = completion.status;
        let outcome = match &mut self.phase {
            Phase::Looking(reserving)
            | Phase::Taking(reserving, _)
            | Phase::Verifying(reserving)
            | Phase::Restoring(reserving)
            | Phase::GivingUp(reserving) => reserving.handle_completion(status, data),
            _ => return self.handle_block(now, asked, status, data),
        };
        if let Some(outcome) = outcome {
            self.handle_reservation(outcome);
        }
    }

    fn handle_reservation(&mut self, outcome: ReservationOutcome) {
        let Some(facts) = self.facts else { return };
        match (std::mem::replace(&mut self.phase, Phase::Over), outcome) {
            (Phase::GivingUp(_) | Phase::Idle | Phase::Over, _) => {}
            (_, ReservationOutcome::Failed(status)) => {
                self.fail(format!("a reservation command failed with status {status:?}"));
            }
            (Phase::Looking(_), ReservationOutcome::Seen(holder)) => self.watch(&facts, holder),
            (Phase::Taking(_, found), ReservationOutcome::Held) => self.lease(&facts, found),
            (Phase::Taking(..), _) => self.fail("another server was faster to claim it".into()),
            (Phase::Verifying(_) | Phase::Restoring(_), ReservationOutcome::Held) => {
                self.phase = Phase::Leasing;
            }
            (Phase::Verifying(_), ReservationOutcome::Forgotten) => self.phase = Phase::Recalling,
            (_, ReservationOutcome::Conflict(Some(holder))) => {
                let host = Uuid(holder.host_id);
                self.lose(format!("the drive is reserved for another host ({host})"));
            }
            (_, _) => self.handle_conflict(),
        }
    }

    /// The block of the owner was read or written.
    fn handle_block(&mut self, now: Instant, asked: Instant, status: StatusField, data: &[u8]) {
        if status.code() == Some(StatusCode::ReservationConflict) {
            return match self.phase {
                Phase::Leasing => {
                    self.lease.iter_mut().for_each(Lease::handle_conflict);
                    self.handle_conflict();
                }
                _ => self.fail("another server was faster to claim it".into()),
            };
        }
        if !status.is_success() {
            return self.fail(format!("its head cannot be read or written: status {status:?}"));
        }
        let found = if data.len() == PAGE_BYTES { Found::decode(data) } else { Found::Damaged };
        match (&mut self.phase, &mut self.lease) {
            (Phase::Watching { watch, .. }, _) => {
                watch.handle_read(asked, now, found);
                if self.takes_over {
                    watch.handle_owner_gone();
                }
            }
            (Phase::Recalling, Some(lease)) => {
                let is_own = |owner: &OwnerBlock| owner.is_of(&lease.block().owner);
                match (found.owner().is_some_and(is_own), self.facts) {
                    (true, Some(facts)) => {
                        let goal = ReservationGoal::Restore;
                        self.phase = Phase::Restoring(self.reserving(&facts, goal));
                    }
                    _ => self.lose(taken(found.owner())),
                }
            }
            (Phase::Leasing, Some(lease)) => {
                match lease.is_reading() {
                    true => lease.handle_read(now, found),
                    false => lease.handle_written(now),
                }
                match lease.standing(now) {
                    Standing::Lost(owner) => self.lose(taken(owner.as_ref())),
                    Standing::Released => self.handle_released(),
                    Standing::Bidding | Standing::Held { .. } | Standing::Lapsed => {}
                }
            }
            _ => {}
        }
    }

    fn handle_released(&mut self) {
        self.lease = None;
        self.phase = match (self.guard, self.facts) {
            (Guard::Fenced, Some(facts)) => {
                Phase::GivingUp(self.reserving(&facts, ReservationGoal::GiveUp))
            }
            _ => Phase::Over,
        };
    }
}

fn taken(owner: Option<&OwnerBlock>) -> String {
    match owner {
        Some(owner) => format!("{} has taken the drive over", owner.name),
        None => "another server has taken the drive over".into(),
    }
}

/// A read of the block of the owner, or a write that is on stable storage when it is done.
fn block_io(facts: &DriveFacts, block: Option<&OwnerBlock>) -> Option<Submission> {
    let lba = OWNER_AT >> facts.block_shift;
    let blocks = BlockCount::new((PAGE_BYTES >> facts.block_shift) as u32)?;
    let transfer = Transfer::new(BlockRange { lba, blocks });
    let (command, data) = match block {
        Some(block) => {
            let command = IoCommand::Write(Transfer { force_unit_access: true, ..transfer });
            (command, Outgoing::Data(block.encode().to_vec()))
        }
        None => (IoCommand::Read(transfer), Outgoing::Room(PAGE_BYTES as u32)),
    };
    let common = CommonFields { cid: 0, nsid: facts.nsid, data: SglDescriptor::NO_DATA };
    Some(Submission { queue: 1, purpose: Purpose::Driver, entry: command.encode(common), data })
}
