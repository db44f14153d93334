//! Measurement of one drive as data sheets do it: in a closed loop, sequentially and at random, in
//! steady state.

use nvme::{Command, CommandId, Opcode, PlFlag};
use ssd::{Config, ConfigError, Ssd};
use units::{Duration, Instant, Lba, Rng};

/// Bytes of a sequential command, as in data sheets.
const SEQUENTIAL_BYTES: u64 = 128 << 10;
/// Bytes of a random command.
const RANDOM_BYTES: u64 = 4 << 10;
/// Commands in flight while bandwidth and rates are measured.
pub const DEPTH: u32 = 256;
/// Sequential commands in flight.
pub const SEQUENTIAL_DEPTH: u32 = 64;
/// Superblocks that are written while rates of writing are measured.
const SUPERBLOCKS: u64 = 12;
/// Random reads that are measured.
const READS: u64 = 200_000;
/// Number of commands for each latency that is measured without other commands.
const ALONE: u64 = 2_000;

/// Figures of a drive, measured as data sheets do it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Calibration {
    /// Sequential reads in bytes per second.
    pub sequential_read: f64,
    /// Sequential writes of a new drive in bytes per second.
    pub sequential_write: f64,
    /// Random reads per second.
    pub random_read: f64,
    /// Random writes per second in steady state.
    pub random_write: f64,
    /// Pages programmed per page written, during the random writes.
    pub write_amplification: f64,
    /// 99th percentile of random reads during as many random writes, at depth 32 in all.
    pub mixed_read_p99: Duration,
    /// Mean latency of a read without other commands.
    pub read_alone: Duration,
    /// Mean latency of a write without other commands.
    pub write_alone: Duration,
    /// Figures of the cache of SLC blocks; `None` without one.
    pub cache: Option<CacheCalibration>,
}

/// Figures of a drive with a cache of SLC blocks: the drive is new, and its cache empty at first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CacheCalibration {
    /// Sequential writes while the cache is full, in bytes per second.
    pub write_behind: f64,
    /// Sequential writes from the first block of the drive to the last, in bytes per second.
    pub fill: f64,
    /// Pages programmed per page written, during that.
    pub fill_amplification: f64,
    /// Random writes per second while the cache has room.
    pub random_write: f64,
    /// Mean latency of a read of cached data without other commands.
    pub read_alone: Duration,
    /// Folding by the idle drive, in bytes per second.
    pub folding: f64,
}

/// A host in a closed loop: it sends a command for each that ends.
struct Host<'drive> {
    drive: &'drive mut Ssd,
    rng: Rng,
    now: Instant,
    sent: Vec<(Instant, Opcode)>,
    next_block: u64,
    /// Number of logical blocks in use.
    span: u64,
}

/// Parameters of a load.
#[derive(Clone, Copy)]
struct Load {
    bytes: u64,
    depth: u32,
    write_percent: u64,
    sequential: bool,
}

/// Result of a load.
struct Outcome {
    commands: u64,
    elapsed: Duration,
    reads: Vec<Duration>,
    total: Duration,
}

impl Outcome {
    fn per_second(&self) -> f64 {
        self.commands as f64 / self.elapsed.as_secs_f64()
    }

    fn mean(&self) -> Duration {
        self.total / self.commands.max(1)
    }
}

impl<'drive> Host<'drive> {
    fn new(drive: &'drive mut Ssd, seed: u64) -> Self {
        let span = drive.logical_blocks();
        let rng = Rng::stream(seed, "calibration");
        Self { drive, rng, now: Instant::ZERO, sent: Vec::new(), next_block: 0, span }
    }

    fn send(&mut self, slot: u32, load: &Load) {
        let blocks_of = load.bytes / u64::from(self.drive.config().geometry.page_bytes);
        let (blocks, all) = (blocks_of.max(1), self.span);
        let first = if load.sequential {
            let first = self.next_block;
            self.next_block = (first + blocks) % (all - all % blocks);
            first
        } else {
            self.rng.below(all / blocks) * blocks
        };
        let write = self.rng.below(100) < load.write_percent;
        let opcode = if write { Opcode::Write } else { Opcode::Read };
        self.sent[slot as usize] = (self.now, opcode);
        let (id, lba, pl) = (CommandId(slot), Lba(first), PlFlag::Off);
        self.drive
            .handle_command(self.now, &Command { id, opcode, lba, blocks: blocks as u32, pl });
    }

    /// Runs `warm_up` commands, then `commands` that are measured, and waits for those in flight.
    fn run(&mut self, load: Load, warm_up: u64, commands: u64) -> Outcome {
        self.sent = vec![(self.now, Opcode::Read); load.depth as usize];
        (0..load.depth).for_each(|slot| self.send(slot, &load));
        let (mut done, mut began) = (0, self.now);
        let mut reads = Vec::new();
        let mut total = Duration::ZERO;
        while done < warm_up + commands {
            self.now = self.drive.next_deadline();
            self.drive.handle_deadline(self.now);
            while let Some(completed) = self.drive.poll_completion() {
                let slot = completed.completion.id.0;
                let (sent, opcode) = self.sent[slot as usize];
                done += 1;
                if done == warm_up {
                    began = completed.at;
                }
                if done > warm_up {
                    total += completed.at.since(sent);
                    if opcode == Opcode::Read {
                        reads.push(completed.at.since(sent));
                    }
                }
                self.send(slot, &load);
            }
        }
        let elapsed = self.now.since(began);
        self.settle();
        Outcome { commands: done - warm_up, elapsed, reads, total }
    }

    /// Waits until the drive is idle.
    fn settle(&mut self) {
        while self.drive.commands_in_flight() > 0 {
            self.now = self.drive.next_deadline();
            self.drive.handle_deadline(self.now);
            while self.drive.poll_completion().is_some() {}
        }
    }
}

fn load(bytes: u64, depth: u32, write_percent: u64, sequential: bool) -> Load {
    Load { bytes, depth, write_percent, sequential }
}

/// Measures the cache of SLC blocks of the drive `config`; `None` if it has none.
fn calibrate_cache(config: &Config, seed: u64) -> Result<Option<CacheCalibration>, ConfigError> {
    let Some((cells, slc)) = config.cells.and_then(|cells| Some((cells, cells.slc?))) else {
        return Ok(None);
    };
    let geometry = &config.geometry;
    let page_bytes = u64::from(geometry.page_bytes);
    let per_block = slc.pages_per_block(&cells, geometry.pages_per_block);
    let cached = u64::from(slc.most_blocks) * u64::from(per_block) * u64::from(geometry.dies());
    let sequential = load(SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, 100, true);
    let commands = |pages: u64| (pages * page_bytes / SEQUENTIAL_BYTES).max(1);

    // First one and a half times the cache's capacity, then as much again with the cache full.
    let mut drive = Ssd::new(config.clone())?;
    let mut host = Host::new(&mut drive, seed);
    let write_behind =
        host.run(sequential, commands(cached * 3 / 2), commands(cached)).per_second();

    // The first pages of a new drive are in the cache, and stay there while the host sends
    // commands.
    let mut drive = Ssd::new(config.clone())?;
    let mut host = Host::new(&mut drive, seed);
    host.span = cached / 4;
    host.run(sequential, 0, commands(cached / 4));
    let read_alone = host.run(load(RANDOM_BYTES, 1, 0, false), 0, ALONE).mean();
    let before = host.now;
    while host.drive.slc_blocks() > 1 && host.drive.next_deadline() != Instant::NEVER {
        host.now = host.drive.next_deadline();
        host.drive.handle_deadline(host.now);
    }
    let folded = host.drive.counters().folded_pages * page_bytes;
    let elapsed = host.now.since(before).saturating_sub(slc.fold_after);

    let mut drive = Ssd::new(config.clone())?;
    let mut host = Host::new(&mut drive, seed);
    let random = cached * page_bytes / RANDOM_BYTES / 4;
    let random_write = host.run(load(RANDOM_BYTES, DEPTH, 100, false), random, random).per_second();

    let mut drive = Ssd::new(config.clone())?;
    let mut host = Host::new(&mut drive, seed);
    let fill = host.run(sequential, 0, commands(config.logical_pages())).per_second();
    let bytes = SEQUENTIAL_BYTES as f64;
    Ok(Some(CacheCalibration {
        write_behind: write_behind * bytes,
        fill: fill * bytes,
        fill_amplification: drive.counters().write_amplification(),
        random_write,
        read_alone,
        folding: folded as f64 / elapsed.as_secs_f64(),
    }))
}

/// Measures the drive `config`.
///
/// # Errors
///
/// If the drive cannot exist.
pub fn calibrate(config: &Config, seed: u64) -> Result<Calibration, ConfigError> {
    let mut fresh = Ssd::new(config.clone())?;
    // Each measurement covers several times the buffer, and several superblocks (or blocks on all
    // dies).
    let geometry = &config.geometry;
    let superblock = u64::from(geometry.dies()) * u64::from(geometry.pages_per_block);
    let buffered = config.write_buffer.map_or(0, |buffer| u64::from(buffer.pages));
    let page_bytes = u64::from(geometry.page_bytes);
    let several_pages = (superblock * SUPERBLOCKS + buffered * 2).min(config.logical_pages() / 4);
    let mut new = Host::new(&mut fresh, seed);
    let commands = (several_pages * page_bytes / SEQUENTIAL_BYTES).max(1);
    let sequential = load(SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, 100, true);
    let sequential_write = new.run(sequential, commands, commands).per_second();
    new.next_block = 0;
    let sequential = load(SEQUENTIAL_BYTES, SEQUENTIAL_DEPTH, 0, true);
    let sequential_read = new.run(sequential, commands / 16, commands).per_second();

    let mut used = Ssd::new(config.clone())?;
    used.age(seed);
    let mut old = Host::new(&mut used, seed);
    let read_alone = old.run(load(RANDOM_BYTES, 1, 0, false), 0, ALONE).mean();
    let write_alone = old.run(load(RANDOM_BYTES, 1, 100, false), 0, ALONE).mean();
    let random_read = old.run(load(RANDOM_BYTES, DEPTH, 0, false), READS / 8, READS);
    let random = load(RANDOM_BYTES, DEPTH, 100, false);
    // Steady state takes longer: a share of the drive has to be overwritten.
    let pages = config.logical_pages() * page_bytes / RANDOM_BYTES;
    let _warm = old.run(random, 0, pages / 6);
    old.drive.reset_counters();
    let random_write = old.run(random, pages / 256, pages / 12).per_second();
    let write_amplification = old.drive.counters().write_amplification();
    let mut mixed = old.run(load(RANDOM_BYTES, 32, 50, false), READS / 8, READS).reads;
    mixed.sort_unstable();
    let mixed_read_p99 = mixed.get(mixed.len() * 99 / 100).copied().unwrap_or_default();
    let bytes = SEQUENTIAL_BYTES as f64;
    Ok(Calibration {
        sequential_read: sequential_read * bytes,
        sequential_write: sequential_write * bytes,
        random_read: random_read.per_second(),
        random_write,
        write_amplification,
        mixed_read_p99,
        read_alone,
        write_alone,
        cache: calibrate_cache(config, seed)?,
    })
}
