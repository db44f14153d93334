//! The generator: one thread, one connection, a clock.

use super::errors::{Errors, SentKind};
use super::permitted::{permit, takes_flushes, takes_fua};
use live::clock::{Clock, Event, Interest, Spin, Waiter};
use live::nbd::client::Client;
use sim::LatencySummary;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use study::Failure;
use units::{Duration, Instant};
use workload::{Arrival, Op, Request, Room, Workload};

/// How a device is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadOptions {
    /// What is written is drawn from it.
    pub(crate) seed: u64,
    /// How moments are waited for.
    pub(crate) spin: Spin,
    /// Whether the latency of every single request is kept, which takes eight bytes each.
    pub(crate) keep_each: bool,
}

/// Requests that are out at most: beyond it the device is so late that more would only cost memory.
const OUT_MOST: usize = 65_536;
/// The waiter's token of the connection.
const CONNECTION: u64 = 1;

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Reads, from the intended moment.
    pub(crate) read: LatencySummary,
    /// Writes, from the intended moment.
    pub(crate) write: LatencySummary,
    /// How much later than intended requests were sent: the generator's own part.
    pub(crate) sent_late: LatencySummary,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// From the first intended moment to the last answer.
    pub(crate) length: Duration,
    /// Writes that were sent with FUA, because their trace has them so.
    pub(crate) forced: u64,
    /// Flushes of a trace, from the intended moment of the request behind each.
    pub(crate) flush: LatencySummary,
    /// Requests that the device answered with an error.
    pub(crate) errors: Errors,
    /// If it was asked for: of every request in the order of the workload, from the intended
    /// moment.
    pub(crate) each: Option<Vec<Duration>>,
}

/// The bit of the cookie of a flush. The others are the number of the request behind it, whose
/// cookie has this bit clear.
const FLUSH_COOKIE: u64 = 1 << 63;

/// A request or flush that is out.
#[derive(Clone, Copy)]
struct Out {
    kind: SentKind,
    intended: Instant,
    size_bytes: u64,
}

struct Generator<'a> {
    client: &'a mut Client,
    clock: Clock,
    waiter: Waiter,
    interest: Interest,
    events: Vec<Event>,
    out: HashMap<u64, Out>,
    room: Room,
    next_cookie: u64,
    /// What is written: nothing compressible, so that no device can cheat.
    payload: Vec<u8>,
    loaded: Loaded,
    progress: &'a AtomicU64,
}

/// Sends `workload` to the device of `client`.
///
/// # Errors
///
/// If the workload ends with an error, or the device hangs up.
pub(crate) fn load(
    client: &mut Client,
    workload: Workload,
    options: LoadOptions,
    progress: &AtomicU64,
) -> Result<Loaded, Failure> {
    let failed = |error: std::io::Error| Failure::internal(format!("the clock: {error}"));
    let mut waiter = Waiter::new(options.spin).map_err(failed)?;
    waiter.add(client.fd(), CONNECTION, Interest::READ).map_err(failed)?;
    let arrival = workload.arrival();
    let mut generator = Generator {
        client,
        clock: Clock::new(),
        waiter,
        interest: Interest::READ,
        events: Vec::new(),
        out: HashMap::new(),
        room: Room::of(arrival),
        next_cookie: 0,
        payload: noise(options.seed),
        loaded: Loaded {
            read: LatencySummary::new(),
            write: LatencySummary::new(),
            sent_late: LatencySummary::new(),
            read_bytes: 0,
            written_bytes: 0,
            length: Duration::ZERO,
            forced: 0,
            flush: LatencySummary::new(),
            errors: Errors::default(),
            each: options.keep_each.then(Vec::new),
        },
        progress,
    };
    match arrival {
        Arrival::Open => generator.open_loop(workload)?,
        Arrival::Closed { runtime, .. } => {
            generator.closed_loop(workload, runtime)?;
        }
    }
    generator.loaded.length = generator.clock.now().since(Instant::ZERO);
    Ok(generator.loaded)
}

/// Bytes of noise, which longer writes repeat.
const NOISE_BYTES: usize = 1 << 20;

fn noise(seed: u64) -> Vec<u8> {
    let mut random = units::Rng::new(seed);
    let mut noise = Vec::with_capacity(NOISE_BYTES);
    while noise.len() < NOISE_BYTES {
        noise.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    noise
}

impl Generator<'_> {
    fn open_loop(&mut self, mut workload: Workload) -> Result<(), Failure> {
        // Nothing is intended before everything is ready.
        self.clock = Clock::new();
        let mut next = take(&mut workload)?;
        while next.is_some() || !self.out.is_empty() {
            let now = self.clock.now();
            while let Some(request) = next
                && request.at <= now
                && self.out.len() < OUT_MOST
            {
                self.send(&request, request.at)?;
                next = take(&mut workload)?;
            }
            let due = match next {
                Some(request) if self.out.len() < OUT_MOST => request.at,
                _ => Instant::NEVER,
            };
            self.exchange(due)?;
        }
        Ok(())
    }

    fn closed_loop(
        &mut self,
        mut workload: Workload,
        runtime: Option<Duration>,
    ) -> Result<(), Failure> {
        self.clock = Clock::new();
        let until = runtime.map_or(Instant::NEVER, |runtime| Instant::ZERO + runtime);
        let mut more = true;
        while more || !self.out.is_empty() {
            while more && !self.room.is_full() {
                let now = self.clock.now();
                match if now < until { take(&mut workload)? } else { None } {
                    Some(request) => {
                        let request = Request { op: self.room.direction(request.op), ..request };
                        self.room.take(request.op);
                        self.send(&request, now)?;
                    }
                    None => more = false,
                }
            }
            if !self.out.is_empty() {
                self.exchange(Instant::NEVER)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, request: &Request, intended: Instant) -> Result<(), Failure> {
        permit(self.client.negotiated(), request)?;
        let Request { op, offset_bytes, size_bytes, durable, after_flush, .. } = *request;
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        if after_flush && takes_flushes(self.client.negotiated()) {
            self.client.send_flush(cookie | FLUSH_COOKIE);
            let flush = Out { kind: SentKind::Flush, intended, size_bytes: 0 };
            self.out.insert(cookie | FLUSH_COOKIE, flush);
        }
        match op {
            Op::Read => self.client.send_read(cookie, offset_bytes, size_bytes as u32),
            Op::Write => {
                while self.payload.len() < size_bytes as usize {
                    self.payload.extend_from_within(..NOISE_BYTES);
                }
                // Each write starts elsewhere in the noise, so that no two are alike.
                let start = (cookie as usize * 8) % (self.payload.len() - size_bytes as usize + 1);
                let data = &self.payload[start..start + size_bytes as usize];
                let fua = durable && takes_fua(self.client.negotiated());
                self.loaded.forced += u64::from(fua);
                self.client.send_write(cookie, offset_bytes, data, fua);
            }
        }
        let late = self.clock.now().since(intended);
        self.loaded.sent_late.record(late);
        self.out.insert(cookie, Out { kind: op.into(), intended, size_bytes });
        Ok(())
    }

    /// Sends and receives until `due` or until something was received.
    fn exchange(&mut self, due: Instant) -> Result<(), Failure> {
        let hung_up = |error: std::io::Error| Failure::internal(format!("the device: {error}"));
        self.client.flush().map_err(hung_up)?;
        let interest = if self.client.wants_write() { Interest::BOTH } else { Interest::READ };
        if interest != self.interest {
            self.interest = interest;
            self.waiter.change(self.client.fd(), CONNECTION, interest).map_err(hung_up)?;
        }
        self.waiter.wait(&self.clock, due, true, &mut self.events).map_err(hung_up)?;
        if self.events.is_empty() {
            return Ok(());
        }
        while let Some(reply) = self.client.receive().map_err(hung_up)? {
            let now = self.clock.now();
            let (cookie, error) = (reply.cookie, reply.error);
            let Some(out) = self.out.remove(&cookie) else {
                return Err(Failure::internal("the device answered what nobody had asked"));
            };
            self.record(cookie, out, now, error);
        }
        Ok(())
    }

    fn record(&mut self, cookie: u64, out: Out, now: Instant, error: u32) {
        self.progress.fetch_add(u64::from(out.kind != SentKind::Flush), Ordering::Relaxed);
        match out.kind {
            SentKind::Read => self.room.give_back(Op::Read),
            SentKind::Write => self.room.give_back(Op::Write),
            SentKind::Flush => {}
        }
        if out.kind != SentKind::Flush
            && let Some(each) = &mut self.loaded.each
        {
            let index = cookie as usize;
            if each.len() <= index {
                each.resize(index + 1, Duration::ZERO);
            }
            each[index] = now.since(out.intended);
        }
        if error != 0 {
            self.loaded.errors.note(out.kind, error);
            return;
        }
        let latency = now.since(out.intended);
        match out.kind {
            SentKind::Read => {
                self.loaded.read.record(latency);
                self.loaded.read_bytes += out.size_bytes;
            }
            SentKind::Write => {
                self.loaded.write.record(latency);
                self.loaded.written_bytes += out.size_bytes;
            }
            SentKind::Flush => self.loaded.flush.record(latency),
        }
    }
}

fn take(workload: &mut Workload) -> Result<Option<Request>, Failure> {
    Ok(workload.next().transpose()?)
}
