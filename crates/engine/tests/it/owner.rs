//! Several servers compete for one drive, in virtual time. Clocks drift, and commands take long or
//! never arrive. Processes stop for a while at any moment, and are killed and restarted. An
//! administrator demands the drive for a server though another lives. No two servers ever own the
//! drive at once, and no command of a former owner is carried out later.
#![allow(clippy::unwrap_used, reason = "a test")]

use engine::durability::Uuid;
use engine::durability::owner::{
    Found, Guard, Lease, LeaseIo, OwnerBlock, OwnerName, OwnerState, Process, Standing, Terms,
    Verdict, Watch,
};
use units::{Duration, Instant, Rng};

const SERVERS: usize = 3;
const MS: u64 = 1_000_000;
const STEP: u64 = MS;
/// Silence after which the drive ends a controller, with all its commands.
const SILENCE: u64 = 700 * MS;
/// Longest delay of a command beside that.
const SLOWEST: u64 = 250 * MS;
const HISTORIES: u64 = 60;
const LONG: u64 = 120_000 * MS;

const TERMS: Terms = Terms {
    lease: Duration::from_millis(1600),
    in_flight: Duration::from_nanos(SILENCE + SLOWEST),
};

/// A command on its way to the drive, and its answer on the way back.
#[derive(Clone, Copy, Debug)]
struct Command {
    what: What,
    /// Life of its server: number of the server's start.
    life: u64,
    /// Time of the decision to send it, by the clock of the server.
    asked: Instant,
    /// Time at which it is carried out; `None` if never.
    carried_out: Option<u64>,
    answered: u64,
    /// Content that a read returned.
    brought: Found,
    is_done: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Read,
    Owner(OwnerBlock),
    /// Data of the array.
    Data,
}

enum Stage {
    Gone {
        until: u64,
    },
    /// The watch, the holder of the reservation at its start, and true if the administrator demands
    /// the drive for the newcomer.
    Watching(Watch, Option<(usize, u64)>, bool),
    Leasing(Lease),
}

struct Server {
    number: usize,
    life: u64,
    stage: Stage,
    /// Drift of its clock, in thousandths.
    drift: i64,
    /// Time until which it does nothing.
    stopped_until: u64,
    /// Time until which the block is out of its reach, though data is not.
    muffled_until: u64,
    /// Time at which its controller last received a command.
    heard: u64,
    commands: Vec<Command>,
}

struct World {
    rng: Rng,
    now: u64,
    guard: Guard,
    block: Found,
    /// Server and life that hold the reservation of a fenced drive.
    reserved: Option<(usize, u64)>,
    /// Server and life that own the drive until `owned`: only their commands may be carried out.
    owner: Option<(usize, u64)>,
    owned: u64,
    takeovers: u64,
    demanded: u64,
    refusals: u64,
    lost: u64,
}

impl Server {
    fn clock(&self, now: u64) -> Instant {
        let drift = (i128::from(now) * i128::from(self.drift) / 1000) as i64;
        Instant::from_nanos(now.saturating_add_signed(drift) + 1_000 * MS * self.number as u64)
    }

    fn id(&self) -> Uuid {
        let mut id = [self.number as u8 + 1; 16];
        id[8..].copy_from_slice(&self.life.to_le_bytes());
        Uuid(id)
    }

    fn own(&self) -> OwnerBlock {
        OwnerBlock {
            owner: self.id(),
            epoch: 0,
            heartbeat: 0,
            state: OwnerState::Held,
            terms: TERMS,
            process: Process::default(),
            name: OwnerName::new("a server"),
        }
    }

    /// Time at which its ownership ends unless it writes the block again.
    fn runs_out(&self, now: u64) -> u64 {
        let Stage::Leasing(lease) = &self.stage else { return now };
        let Standing::Held { until } = lease.standing(self.clock(now)) else { return now };
        let left = i128::from(until.since(self.clock(now)).as_nanos()) * 1000;
        now + (left / i128::from(1000 + self.drift)) as u64
    }

    fn is_valid(&self, now: u64) -> bool {
        match &self.stage {
            Stage::Leasing(lease) => lease.is_valid(self.clock(now)),
            _ => false,
        }
    }
}

impl World {
    fn new(seed: u64, guard: Guard) -> Self {
        Self {
            rng: Rng::stream(seed, "owners"),
            now: 0,
            guard,
            block: Found::Nothing,
            reserved: None,
            owner: None,
            owned: 0,
            takeovers: 0,
            demanded: 0,
            refusals: 0,
            lost: 0,
        }
    }

    /// Sends a command: the decision is made now, and the process may stop before the bytes leave
    /// it.
    fn send(&mut self, server: &mut Server, what: What) {
        let stops_one_in = if what == What::Data { 4_000 } else { 100 };
        if self.rng.below(stops_one_in) == 0 {
            server.stopped_until = self.now + self.pause();
        }
        if what != What::Data && self.rng.below(60) == 0 {
            server.muffled_until = self.now + self.rng.below(4_000) * MS;
        }
        let left = server.stopped_until.max(self.now);
        // A controller that was silent for too long has ended, with all commands of its connection.
        let is_heard = left < server.heard + SILENCE;
        let takes = match self.rng.below(20) {
            0 => self.rng.below(SLOWEST),
            _ => self.rng.below(10 * MS),
        };
        let is_dropped = self.rng.below(200) == 0;
        let mut carried_out = (is_heard && !is_dropped).then_some(left + takes);
        let mut answered = left + takes + self.rng.below(20 * MS);
        if what != What::Data && server.muffled_until > answered {
            answered = server.muffled_until;
            carried_out = carried_out.filter(|_| self.rng.below(2) == 0);
        }
        // A connection may hold data back until the server ends it because its ownership is over,
        // or until the drive ends it.
        if what == What::Data && self.rng.below(10) == 0 {
            let last = server.runs_out(self.now) + SILENCE + SLOWEST;
            carried_out = Some(self.now + self.rng.below(last - self.now));
        }
        let (brought, is_done, life) = (Found::Nothing, false, server.life);
        let asked = server.clock(self.now);
        server.commands.push(Command {
            what,
            life,
            asked,
            carried_out,
            answered,
            brought,
            is_done,
        });
    }

    /// Draws how long a process stops: often just as long as its controller allows.
    fn pause(&mut self) -> u64 {
        match self.rng.below(2) {
            0 => self.rng.below(SILENCE),
            _ => self.rng.below(8_000) * MS,
        }
    }

    /// Carries out commands at the drive.
    fn carry_out(&mut self, servers: &mut [Server]) {
        let mut due: Vec<(u64, usize, usize)> = Vec::new();
        for (number, server) in servers.iter().enumerate() {
            for (index, command) in server.commands.iter().enumerate() {
                if let Some(at) = command.carried_out
                    && at <= self.now
                    && !command.is_done
                {
                    due.push((at, number, index));
                }
            }
        }
        due.sort_unstable();
        for (_, number, index) in due {
            let present = servers[number].life;
            let command = &mut servers[number].commands[index];
            let life = (number, command.life);
            let fenced = self.guard == Guard::Fenced && self.reserved != Some(life);
            command.is_done = true;
            if fenced && command.what != What::Read {
                command.carried_out = None;
                if life.1 == present
                    && let Stage::Leasing(lease) = &mut servers[number].stage
                {
                    lease.handle_conflict();
                }
                continue;
            }
            match command.what {
                What::Read => command.brought = self.block,
                What::Owner(block) => self.block = Found::Owner(block),
                What::Data => {
                    assert!(
                        self.owner.is_none_or(|owner| owner == life),
                        "{life:?} after {:?}",
                        self.owner
                    );
                }
            }
        }
    }

    fn answer(&mut self, server: &mut Server) {
        let now = server.clock(self.now);
        let mut answered = Vec::new();
        let at = self.now;
        server.commands.retain(|command| {
            let is_over = command.answered <= at;
            if is_over {
                answered.push(*command);
            }
            !is_over
        });
        for command in answered.into_iter().filter(|command| command.life == server.life) {
            let is_lost = command.carried_out.is_none();
            match (&mut server.stage, command.what) {
                (_, What::Data) => {}
                (Stage::Leasing(lease), _) if is_lost => lease.handle_cut(),
                (Stage::Leasing(lease), What::Read) => lease.handle_read(now, command.brought),
                (Stage::Leasing(lease), What::Owner(_)) => lease.handle_written(now),
                (Stage::Watching(watch, _, demands), What::Read) if !is_lost => {
                    watch.handle_read(command.asked, now, command.brought);
                    if *demands {
                        watch.handle_owner_gone();
                    }
                }
                (Stage::Watching(..) | Stage::Gone { .. }, _) => {}
            }
        }
    }

    fn step(&mut self, server: &mut Server) {
        if server.stopped_until > self.now {
            return;
        }
        // A server that was silent for too long connects again, and its commands under way are
        // lost.
        if self.now >= server.heard + SILENCE {
            let is_reading = server.commands.iter().any(|command| command.what != What::Data);
            for command in &mut server.commands {
                // A command that was carried out stays so; its answer never arrives.
                command.answered = command.answered.max(self.now + 1);
            }
            if is_reading && let Stage::Leasing(lease) = &mut server.stage {
                lease.handle_cut();
                server.commands.retain(|command| command.carried_out.is_some() && !command.is_done);
                server.commands.iter_mut().for_each(|command| command.answered = u64::MAX);
            }
        }
        server.heard = self.now;
        if self.rng.below(16_000) == 0 {
            server.stopped_until = self.now + self.pause();
            return;
        }
        if self.rng.below(25_000) == 0 {
            return self.kill(server);
        }
        self.answer(server);
        let now = server.clock(self.now);
        let mut next = None;
        match &mut server.stage {
            Stage::Gone { until } if *until <= self.now => {
                server.life += 1;
                server.commands.retain(|command| !command.is_done);
                let is_reserved = self.reserved.is_some();
                let watch = Watch::new(server.id(), TERMS, self.guard, is_reserved);
                let demands = self.rng.below(6) == 0;
                server.stage = Stage::Watching(watch, self.reserved, demands);
            }
            Stage::Gone { .. } => {}
            Stage::Watching(watch, holder, demands) => {
                let is_reading =
                    server.commands.iter().any(|c| c.what == What::Read && c.answered != u64::MAX);
                if watch.next_read() <= now && !is_reading {
                    next = Some(What::Read);
                }
                match watch.verdict() {
                    Verdict::Unsure => {}
                    Verdict::Moving(_) => {
                        self.refusals += 1;
                        next = None;
                        server.stage = Stage::Gone { until: self.now + self.rng.below(2_000) * MS };
                    }
                    Verdict::Free | Verdict::Still(_) => {
                        let (holder, demands) = (*holder, *demands);
                        let found = watch.found().unwrap_or(Found::Nothing);
                        if let Verdict::Still(_) = watch.verdict() {
                            self.takeovers += 1;
                            self.demanded += u64::from(demands);
                        }
                        // Acquire, or Preempt with the key of the holder that was watched.
                        if self.guard == Guard::Fenced && self.reserved != holder {
                            server.stage = Stage::Gone { until: self.now };
                            return;
                        }
                        if self.guard == Guard::Fenced {
                            self.reserved = Some((server.number, server.life));
                        }
                        let own = server.own();
                        server.stage = Stage::Leasing(Lease::new(own, self.guard, found, demands));
                    }
                }
            }
            Stage::Leasing(lease) => match lease.poll(now) {
                Some(LeaseIo::Read) => next = Some(What::Read),
                Some(LeaseIo::Write(block)) => next = Some(What::Owner(block)),
                None => {}
            },
        }
        if let Some(what) = next {
            self.send(server, what);
        }
        if let Stage::Leasing(lease) = &server.stage
            && matches!(lease.standing(now), Standing::Lost(_) | Standing::Released)
        {
            if self.reserved == Some((server.number, server.life)) {
                self.reserved = None;
            }
            self.lost += 1;
            server.stage = Stage::Gone { until: self.now + self.rng.below(3_000) * MS };
        }
        // The server answers a client, and changes data.
        if server.is_valid(self.now) && self.rng.below(30) == 0 {
            if self.guard == Guard::Bare {
                self.owner = Some((server.number, server.life));
            }
            self.send(server, What::Data);
        }
        // The server ends in order: all that it has sent is done.
        server.commands.retain(|command| command.what != What::Data || command.answered > self.now);
        let has_data = server.commands.iter().any(|command| command.what == What::Data);
        if server.is_valid(self.now)
            && !has_data
            && self.rng.below(1_000) == 0
            && let Stage::Leasing(lease) = &mut server.stage
        {
            lease.release();
        }
    }

    fn kill(&mut self, server: &mut Server) {
        server.stage = Stage::Gone { until: self.now + self.rng.below(4_000) * MS };
        server.commands.retain(|command| command.carried_out.is_some() && !command.is_done);
    }

    fn run(&mut self) {
        let drifts = [0, 28, -28];
        let mut servers: Vec<Server> = (0..SERVERS)
            .map(|number| Server {
                number,
                life: 0,
                stage: Stage::Gone { until: self.rng.below(500) * MS },
                drift: drifts[self.rng.below(3) as usize],
                stopped_until: 0,
                muffled_until: 0,
                heard: 0,
                commands: Vec::new(),
            })
            .collect();
        while self.now < LONG {
            self.now += STEP;
            self.carry_out(&mut servers);
            for server in &mut servers {
                self.step(server);
            }
            // A stopped process answers no client, whatever its clock says.
            let acts =
                |server: &&Server| server.is_valid(self.now) && server.stopped_until <= self.now;
            let owners: Vec<_> = servers.iter().filter(acts).map(|s| (s.number, s.life)).collect();
            assert!(owners.len() <= 1, "{owners:?} at {} ms", self.now / MS);
            self.owned += u64::from(!owners.is_empty());
        }
    }
}

fn live_through(guard: Guard) {
    let (mut owned, mut takeovers, mut demanded, mut refusals, mut lost) = (0, 0, 0, 0, 0);
    for seed in testing::seeds(0..HISTORIES) {
        let mut world = World::new(seed, guard);
        world.run();
        owned += world.owned;
        takeovers += world.takeovers;
        demanded += world.demanded;
        refusals += world.refusals;
        lost += world.lost;
    }
    if !testing::is_repeat() {
        let steps = HISTORIES * LONG / STEP;
        assert!(owned * 4 > steps, "the drive is owned {owned} of {steps} steps");
        assert!(
            takeovers > HISTORIES && refusals > HISTORIES && lost > HISTORIES / 4,
            "{takeovers} {refusals} {lost}"
        );
        assert!(demanded > HISTORIES / 4, "{demanded}");
    }
}

#[test]
fn a_bare_drive_never_has_two_owners() {
    live_through(Guard::Bare);
}

#[test]
fn of_a_fenced_drive_no_two_servers_answer_clients_at_once() {
    live_through(Guard::Fenced);
}
