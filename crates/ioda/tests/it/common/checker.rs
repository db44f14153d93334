//! A client that remembers what it wrote, and knows what each sector may hold.

use super::served::read;
use crate::forgetful::SECTOR;
use live::nbd::client::Client;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use units::Rng;

pub(crate) const BLOCK: usize = 4096;
const BLOCK_SECTORS: u64 = (BLOCK / SECTOR) as u64;
/// Blocks of the longest request.
const LONGEST: u64 = 24;
/// Blocks that are read at once to look at all of them.
const READ_BLOCKS: u64 = 64;

/// Longest that a request may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a sector may hold: the version that is promised to survive, or any later one. Version 0 is
/// zeros.
#[derive(Clone, Copy, Default)]
struct Versions {
    flushed: u64,
    answered: u64,
    sent: u64,
    /// What else might have been found after the last crash; more than the above if a drive is lost
    /// before something newer is flushed.
    oldest: u64,
    newest: u64,
}

enum Asked {
    Read,
    /// Whether it is to be stable when it is answered.
    Write {
        fua: bool,
    },
    /// A flush, and what had been answered when it was sent.
    Flush(Vec<u64>),
}

/// A client that checks what it reads.
pub(crate) struct Checker {
    pub(crate) random: Rng,
    versions: Vec<Versions>,
    next_version: u64,
    out: HashMap<u64, (Asked, u64, u64)>,
    busy: Vec<bool>,
    next_cookie: u64,
    /// Requests that may be answered with an error.
    pub(crate) errors_allowed: bool,
    pub(crate) errors: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
}

fn fill(sector: u64, version: u64, into: &mut [u8]) {
    let mut random = Rng::new(version.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ sector);
    for (index, word) in into.chunks_exact_mut(8).enumerate() {
        let value = match index {
            _ if version == 0 => 0,
            0 => version,
            1 => sector,
            _ => random.next_u64(),
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
}

impl Checker {
    /// A client of the first `blocks` blocks.
    pub(crate) fn new(seed: u64, blocks: u64) -> Self {
        let sectors = (blocks * BLOCK_SECTORS) as usize;
        Self {
            random: Rng::new(seed),
            versions: vec![Versions::default(); sectors],
            next_version: 1,
            out: HashMap::new(),
            busy: vec![false; sectors],
            next_cookie: 0,
            errors_allowed: false,
            errors: 0,
            reads: 0,
            writes: 0,
            flushes: 0,
        }
    }

    /// Keeps `depth` requests out until `until`, or until the server is gone.
    pub(crate) fn run(&mut self, client: &mut Client, depth: usize, until: Instant) {
        loop {
            while self.out.len() < depth && Instant::now() < until {
                self.send(client);
            }
            if self.out.is_empty() || !self.exchange(client) {
                return;
            }
            let late = Instant::now().saturating_duration_since(until);
            assert!(late < PATIENCE, "{} requests are not answered", self.out.len());
        }
    }

    /// Keeps `depth` requests out until `meanwhile` is done.
    pub(crate) fn run_during<T: Send>(
        &mut self,
        client: &mut Client,
        depth: usize,
        meanwhile: impl FnOnce() -> T + Send,
    ) -> T {
        std::thread::scope(|scope| {
            let other = scope.spawn(meanwhile);
            while !other.is_finished() {
                self.run(client, depth, Instant::now() + Duration::from_millis(20));
            }
            other.join().unwrap()
        })
    }

    fn exchange(&mut self, client: &mut Client) -> bool {
        if client.flush().is_err() {
            return false;
        }
        let mut any = false;
        loop {
            match client.receive() {
                Err(_) => return false,
                Ok(None) => break,
                Ok(Some(reply)) => {
                    any = true;
                    let (cookie, error) = (reply.cookie, reply.error);
                    let data = reply.data.to_vec();
                    self.answered(cookie, error, &data);
                }
            }
        }
        if !any {
            std::thread::sleep(Duration::from_micros(100));
        }
        true
    }

    /// First sector and number of sectors of a request: whole blocks, mostly.
    fn range(&mut self) -> (u64, u64) {
        let sectors = self.versions.len() as u64;
        if self.random.below(6) == 0 {
            let count = 1 + self.random.below(3 * BLOCK_SECTORS);
            return (self.random.below(sectors - count), count);
        }
        let count = 1 + self.random.below(LONGEST);
        let first = self.random.below(sectors / BLOCK_SECTORS - count);
        (first * BLOCK_SECTORS, count * BLOCK_SECTORS)
    }

    fn send(&mut self, client: &mut Client) {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        if self.random.below(24) == 0 {
            client.send_flush(cookie);
            let answered = self.versions.iter().map(|versions| versions.answered).collect();
            self.out.insert(cookie, (Asked::Flush(answered), 0, 0));
            return;
        }
        let (first, count) = self.range();
        let sectors = first as usize..(first + count) as usize;
        if self.busy[sectors.clone()].contains(&true) {
            return;
        }
        self.busy[sectors.clone()].fill(true);
        let (offset, length) = (first * SECTOR as u64, count as usize * SECTOR);
        if self.random.below(3) == 0 {
            client.send_read(cookie, offset, length as u32);
            self.out.insert(cookie, (Asked::Read, first, count));
            return;
        }
        let version = self.next_version;
        self.next_version += 1;
        let mut data = vec![0; length];
        for (sector, bytes) in (first..).zip(data.chunks_exact_mut(SECTOR)) {
            fill(sector, version, bytes);
            self.versions[sector as usize].sent = version;
        }
        let fua = self.random.below(12) == 0;
        client.send_write(cookie, offset, &data, fua);
        self.out.insert(cookie, (Asked::Write { fua }, first, count));
    }

    fn answered(&mut self, cookie: u64, error: u32, data: &[u8]) {
        let (asked, first, count) = self.out.remove(&cookie).expect("it was asked");
        if error != 0 {
            self.errors += 1;
            assert!(self.errors_allowed, "a request of sectors {first}+{count}: error {error}");
        }
        let sectors = first as usize..(first + count) as usize;
        self.busy[sectors.clone()].fill(false);
        match asked {
            Asked::Read if error == 0 => {
                self.reads += 1;
                for (sector, bytes) in (first..).zip(data.chunks_exact(SECTOR)) {
                    let versions = self.versions[sector as usize];
                    // A write that failed may or may not have come through.
                    check(sector, bytes, versions.answered, versions.sent);
                }
            }
            Asked::Write { fua } if error == 0 => {
                self.writes += 1;
                for versions in &mut self.versions[sectors] {
                    versions.answered = versions.sent;
                    if fua {
                        versions.flush(versions.sent);
                    }
                }
            }
            Asked::Flush(answered) if error == 0 => {
                self.flushes += 1;
                for (versions, answered) in self.versions.iter_mut().zip(answered) {
                    versions.flush(answered);
                }
            }
            Asked::Read | Asked::Write { .. } | Asked::Flush(_) => {}
        }
    }

    /// After the server was killed: nothing is under way.
    pub(crate) fn forget_what_is_out(&mut self) {
        self.out.clear();
        self.busy.fill(false);
    }

    /// The array starts without a drive that it had: what a crash left different on several drives
    /// may be found otherwise than before, where nothing newer was flushed.
    pub(crate) fn drive_lost(&mut self) {
        for versions in &mut self.versions {
            versions.flushed = versions.flushed.min(versions.oldest);
            versions.sent = versions.sent.max(versions.newest);
        }
    }

    /// Reads everything. Each sector must hold what was flushed or something later; from now on it
    /// holds what was found.
    pub(crate) fn check_all(&mut self, client: &mut Client) {
        let blocks = self.versions.len() as u64 / BLOCK_SECTORS;
        for first in (0..blocks).step_by(READ_BLOCKS as usize) {
            let bytes = READ_BLOCKS.min(blocks - first) * BLOCK as u64;
            let found = read(client, first * BLOCK as u64, bytes as u32);
            let found = found.unwrap_or_else(|error| panic!("block {first}: error {error}"));
            for (sector, bytes) in (first * BLOCK_SECTORS..).zip(found.chunks_exact(SECTOR)) {
                let versions = &mut self.versions[sector as usize];
                let found = check(sector, bytes, versions.flushed, versions.sent);
                // What is certain leaves no alternatives.
                let oldest = versions.oldest.min(versions.flushed);
                let newest = versions.newest.max(versions.sent);
                *versions =
                    Versions { flushed: found, answered: found, sent: found, oldest, newest };
            }
        }
    }
}

impl Versions {
    fn flush(&mut self, version: u64) {
        if version > self.flushed {
            self.flushed = version;
            (self.oldest, self.newest) = (version, version);
        }
    }
}

/// Checks that a sector holds a version between two.
fn check(sector: u64, bytes: &[u8], oldest: u64, newest: u64) -> u64 {
    let version = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let mut expected = [0; SECTOR];
    fill(sector, version, &mut expected);
    assert!(
        bytes == expected && (oldest..=newest).contains(&version),
        "sector {sector} holds version {version} (whole: {}), not one of {oldest} to {newest}",
        bytes == expected
    );
    version
}
