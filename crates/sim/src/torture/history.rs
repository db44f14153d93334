//! A history: a list of steps, each of which is repeatable on its own.
//!
//! No step draws from a random generator that others draw from, so leaving one out does not change
//! the others. This lets a failing history be shortened.

mod sizes;

use super::constants::QUIET_FOR;
use super::disk::Loss;
use super::play::{Play, possible};
use array::Level;
use array::policy::PolicyKind;
use engine::durability::{Journalled, Setup};
use sizes::Spots;
use std::fmt;
use units::{DriveId, Duration, Rng};

/// Shape of the array under torture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// RAID level.
    pub level: Level,
    /// Number of drives.
    pub width: u8,
    /// Members of a stripe.
    pub stripe_width: u8,
    /// Pages of 4096 bytes in a chunk.
    pub chunk_pages: u32,
    /// Chunks of a drive.
    pub drive_chunks: u32,
    /// Choice of the changes that are journalled.
    pub journalled: Journalled,
    /// True if data has checksums.
    pub checksums: bool,
    /// Times of marks, and sizes of journal and caches.
    pub setup: Setup,
    /// Initial policy, and the windows of the drives.
    pub play: Play,
}

impl Shape {
    /// Draws a shape of this level, or of a random level.
    pub fn draw(level: Option<Level>, rng: &mut Rng) -> Self {
        let levels = [
            Level::Raid1,
            Level::Raid4,
            Level::Raid5,
            Level::Raid5,
            Level::Raid6,
            Level::Raid6,
            Level::Raid10,
        ];
        let level = level.unwrap_or_else(|| levels[rng.below(levels.len() as u64) as usize]);
        let (least, most) = match level {
            Level::Raid0 => (1, 4),
            Level::Raid1 => (2, 3),
            Level::Raid4 | Level::Raid5 => (3, 5),
            Level::Raid6 => (4, 6),
            Level::Raid10 => (4, 6),
        };
        let mut width = (least + rng.below(most - least + 1)) as u8;
        if level == Level::Raid10 {
            width = width / 2 * 2;
        }
        let usual = level.usual_stripe_width(u32::from(width)) as u8;
        let narrow = matches!(level, Level::Raid5 | Level::Raid6)
            && u64::from(width) > least
            && rng.below(4) == 0;
        let stripe_width = if narrow { usual - 1 } else { usual };
        let chunk_pages = 1 << rng.below(3);
        // Two regions of the intent record, and a little.
        let drive_chunks = (256 + 8 + rng.below(64) as u32) / chunk_pages;
        // Stripes are placed in rotation, so that all drives are full at the same time.
        let drive_chunks = drive_chunks / u32::from(stripe_width) * u32::from(stripe_width);
        let journalled = Journalled::Degraded;
        let checksums = true;
        let setup = Setup::from(QUIET_FOR);
        let play = Play::PLAIN;
        Self {
            level,
            width,
            stripe_width,
            chunk_pages,
            drive_chunks,
            journalled,
            checksums,
            setup,
            play,
        }
    }

    /// Returns true if drives may be lost in a power cut.
    #[must_use]
    pub fn has_no_write_hole(&self) -> bool {
        self.level.is_mirrored() || self.journalled == Journalled::Always
    }

    pub(super) fn has_parity(&self) -> bool {
        self.level.is_redundant() && !self.level.is_mirrored()
    }

    /// Kinds of damage that the array must bear.
    pub(super) fn damages(&self) -> Vec<Fault> {
        let is_promised = |fault: &Fault| match fault {
            Fault::Record | Fault::Header => {
                self.has_parity() && self.journalled == Journalled::Always
            }
            fault if fault.harms_sums() => self.checksums,
            _ => true,
        };
        Fault::ALL.into_iter().filter(|fault| fault.is_damage() && is_promised(fault)).collect()
    }

    /// Sectors of 512 bytes that clients can use.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        u64::from(self.drive_chunks / u32::from(self.stripe_width))
            * u64::from(u32::from(self.stripe_width) - self.parities())
            * u64::from(self.width)
            * u64::from(self.chunk_pages)
            * 8
    }

    /// Number of drives that a stripe can miss.
    #[must_use]
    pub fn parities(&self) -> u32 {
        self.level.parities(u32::from(self.stripe_width))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} drives", self.level.name(), self.width)?;
        if self.stripe_width != self.level.usual_stripe_width(u32::from(self.width)) as u8 {
            write!(f, " in stripes of {}", self.stripe_width)?;
        }
        write!(f, ", chunks of {} KiB", self.chunk_pages * 4)?;
        match self.journalled {
            Journalled::Always if self.has_parity() => f.write_str(", journalled always")?,
            Journalled::Always | Journalled::Degraded => {}
        }
        self.sizes(f)?;
        self.play.fmt(f)
    }
}

/// Kind of a client's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads.
    Read,
    /// Write.
    Write {
        /// True if the answer waits for stable storage.
        forced: bool,
    },
    /// Write zeros.
    Zeroes {
        /// True if the space may be deallocated.
        may_deallocate: bool,
    },
    /// Deallocate.
    Trim,
}

/// A fault of a drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// All its commands fail from now on.
    Dies,
    /// Its next write fails.
    WriteError,
    /// Its next sync fails.
    SyncError,
    /// Its next read fails.
    ReadError,
    /// Its next commands take a hundred times as long.
    Slow,
    /// Its file system is full: blocks that were never written cannot be written.
    Full,
    /// A bit of its data flips.
    Flip,
    /// It answers its next write of a block, and keeps the old content.
    LostWrite,
    /// It writes its next block in the wrong place.
    Misdirected,
    /// A sector of its checksums is damaged.
    Table,
    /// All content behind its head is replaced by other data.
    Garbage,
    /// While the power is off, a bit flips in a record of its journal.
    Record,
    /// While the power is off, a header of its journal is damaged, or both are.
    Header,
    /// While the power is off, a block of its write-intent record is damaged.
    Intent,
    /// While the power is off, the newer copy of its superblock is damaged.
    Superblock,
    /// While the power is off, both copies of its superblock are damaged.
    Superblocks,
    /// While the power is off, all of it is overwritten, including its head.
    Overwritten,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 17] = [
        Self::Dies,
        Self::WriteError,
        Self::SyncError,
        Self::ReadError,
        Self::Slow,
        Self::Full,
        Self::Flip,
        Self::LostWrite,
        Self::Misdirected,
        Self::Table,
        Self::Garbage,
        Self::Record,
        Self::Header,
        Self::Intent,
        Self::Superblock,
        Self::Superblocks,
        Self::Overwritten,
    ];

    /// Returns true if data of the drive becomes unreadable or wrong.
    #[must_use]
    pub const fn harms_data(self) -> bool {
        self.is_silent() || matches!(self, Self::ReadError)
    }

    /// Returns true if the drive reports no error.
    #[must_use]
    pub const fn is_silent(self) -> bool {
        matches!(self, Self::Flip | Self::LostWrite | Self::Misdirected)
    }

    /// Returns true if only checksums can detect it.
    #[must_use]
    pub const fn harms_sums(self) -> bool {
        self.is_silent() || matches!(self, Self::Table | Self::Garbage)
    }

    /// Returns true if stored content changes, independently of writes.
    #[must_use]
    pub const fn is_damage(self) -> bool {
        matches!(self, Self::Table | Self::Garbage) || self.is_in_head()
    }

    /// Returns true if it damages the head. This happens while the power is off, because only a
    /// start reads the head.
    #[must_use]
    pub const fn is_in_head(self) -> bool {
        matches!(
            self,
            Self::Record
                | Self::Header
                | Self::Intent
                | Self::Superblock
                | Self::Superblocks
                | Self::Overwritten
        )
    }

    /// Name for the table of coverage.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dies => "drive dies",
            Self::WriteError => "write error",
            Self::SyncError => "sync error",
            Self::ReadError => "read error",
            Self::Slow => "slow drive",
            Self::Full => "full drive",
            Self::Flip => "flipped bit",
            Self::LostWrite => "lost write",
            Self::Misdirected => "misdirected",
            Self::Table => "checksums damaged",
            Self::Garbage => "garbage",
            Self::Record => "record damaged",
            Self::Header => "header damaged",
            Self::Intent => "intent damaged",
            Self::Superblock => "superblock damaged",
            Self::Superblocks => "both superblocks",
            Self::Overwritten => "overwritten",
        }
    }
}

/// Number of reported or harmless kinds: the first of [`Fault::ALL`].
const LOUD: u64 = 6;
/// Number of silent kinds of single blocks: those that follow.
const SILENT: u64 = 3;
/// Most kinds of damage in a history, one after the other.
const DAMAGES: u64 = 6;

/// An order of an administrator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Fails a drive.
    Fail(DriveId),
    /// Replaces a failed drive by an empty one.
    Replace(DriveId),
    /// Compares parity with data everywhere.
    Scrub,
    /// Changes the policy.
    Policy(PolicyKind),
    /// Shuts the array down, and starts it again.
    Restart,
}

/// Conditions of a start after a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Drives that are missing, as bits.
    pub missing: u64,
    /// Number of places by which the drives are rotated.
    pub rotated: u8,
    /// Places that get the outdated drive from the shelf, as bits.
    pub outdated: u64,
    /// Number of writes and syncs of this start after which the power fails again.
    pub cut_after: Option<u32>,
}

/// One step of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistoryStep {
    /// A client sends a request.
    Client {
        /// Kind of the request.
        access: Access,
        /// First sector of 512 bytes.
        sector: u64,
        /// Number of sectors.
        sectors: u64,
    },
    /// A client sends a flush.
    Flush,
    /// Time passes.
    Wait(Duration),
    /// An administrator gives an order.
    Order(Order),
    /// A drive has a fault.
    Fault(DriveId, Fault),
    /// The power fails at the `after`-th command or answer of a disk from now, and comes back.
    Cut {
        /// Number of commands and answers until the cut.
        after: u32,
        /// Losses of the drives, by position modulo the length.
        loss: [Loss; 3],
        /// Seed of the cut.
        seed: u64,
        /// Conditions of the next start.
        start: Start,
    },
    /// A failed or missing drive comes back with its old content.
    Return(DriveId),
    /// The content of a drive is copied to the shelf.
    Copy(DriveId),
}

impl fmt::Display for HistoryStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { access, sector, sectors } => {
                let what = match access {
                    Access::Read => "reads",
                    Access::Write { forced: false } => "writes",
                    Access::Write { forced: true } => "writes, forced,",
                    Access::Zeroes { .. } => "zeroes",
                    Access::Trim => "trims",
                };
                write!(f, "a client {what} sectors {sector} to {}", sector + sectors - 1)
            }
            Self::Flush => f.write_str("a client flushes"),
            Self::Wait(time) => write!(f, "{time} pass"),
            Self::Order(Order::Fail(drive)) => write!(f, "order: drive {} has failed", drive.0),
            Self::Order(Order::Replace(drive)) => write!(f, "order: replace drive {}", drive.0),
            Self::Order(Order::Scrub) => f.write_str("order: scrub"),
            Self::Order(Order::Policy(policy)) => write!(f, "order: policy {}", policy.name()),
            Self::Order(Order::Restart) => f.write_str("order: shut down and start again"),
            Self::Fault(drive, fault) => write!(f, "drive {}: {}", drive.0, fault.name()),
            Self::Cut { after, loss, start, .. } => {
                write!(f, "the power goes {after} commands later; unsynced: {loss:?}")?;
                if start.missing != 0 {
                    write!(f, "; not found at the start: {:#b}", start.missing)?;
                }
                if start.outdated != 0 {
                    write!(f, "; back from the shelf: {:#b}", start.outdated)?;
                }
                if let Some(cut) = start.cut_after {
                    write!(f, "; it goes again {cut} writes into the start")?;
                }
                Ok(())
            }
            Self::Return(drive) => write!(f, "drive {} is back with what it holds", drive.0),
            Self::Copy(drive) => write!(f, "drive {} is copied", drive.0),
        }
    }
}

/// An array and its steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// Seed of the times of the disks, and of other draws beside the steps.
    pub seed: u64,
    /// The array.
    pub shape: Shape,
    /// The steps.
    pub steps: Vec<HistoryStep>,
}

/// Weights of the kinds of steps.
#[derive(Clone, Copy, Debug)]
struct Weights {
    cut: u64,
    fault: u64,
    order: u64,
    flush: u64,
    wait: u64,
    read: u64,
    forced: u64,
}

impl History {
    /// Number of steps of a long history: a hundred starts, and as many changes of superblocks as
    /// an array has in years.
    pub const LONG_STEPS: u32 = 30_000;

    /// Returns true if the history of this seed is a long one: one of `one_of` histories is, and
    /// none if `one_of` is 0.
    #[must_use]
    pub fn is_long(seed: u64, one_of: u64) -> bool {
        one_of > 0 && Rng::stream(seed, "long").below(one_of) == 0
    }

    /// Draws the history of a seed.
    #[must_use]
    pub fn draw(seed: u64, level: Option<Level>, steps: usize) -> Self {
        let mut rng = Rng::stream(seed, "history");
        let mut shape = Shape::draw(level, &mut rng);
        if Rng::stream(seed, "journalled").below(2) == 0 && !shape.level.is_mirrored() {
            shape.journalled = Journalled::Always;
        }
        sizes::draw(&mut shape, &mut Rng::stream(seed, "sizes"));
        shape.play = Play::draw(&shape, &mut Rng::stream(seed, "play"));
        // Every history has its own weights, so that long quiet times and storms both occur.
        let weights = Weights {
            cut: 1 + rng.below(12),
            fault: rng.below(8),
            order: rng.below(24),
            flush: 2 + rng.below(20),
            wait: 5 + rng.below(40),
            read: 5 + rng.below(40),
            forced: rng.below(3),
        };
        let sectors = shape.sectors();
        // Range of the requests: the whole array, or a few stripes.
        let span = if rng.below(3) == 0 { sectors } else { sectors.min(64 + rng.below(1024)) };
        let policies = possible(&shape);
        let mut steps: Vec<HistoryStep> =
            (0..steps).map(|_| step(&shape, span, &policies, &weights, &mut rng)).collect();
        Spots::draw(&shape, span, &mut Rng::stream(seed, "spots")).spread(&mut steps);
        let mut silent = Rng::stream(seed, "silent");
        shape.checksums = silent.below(8) > 0;
        // In a cut during writes without a journal, checksums are computed from the data found.
        let is_cut = steps.iter().any(|step| matches!(step, HistoryStep::Cut { .. }));
        let is_covered = shape.has_parity() && shape.journalled == Journalled::Always;
        for step in &mut steps {
            if let HistoryStep::Fault(_, fault) = step
                && silent.below(3) == 0
                && (is_covered || !is_cut)
            {
                *fault = Fault::ALL[(LOUD + silent.below(SILENT)) as usize];
            }
        }
        damage(&shape, &mut steps, &mut Rng::stream(seed, "damage"));
        Self { seed, shape, steps }
    }
}

/// Replaces requests of clients by damage, if this history has any.
fn damage(shape: &Shape, steps: &mut [HistoryStep], rng: &mut Rng) {
    let kinds = shape.damages();
    if rng.below(3) == 0 || steps.is_empty() {
        return;
    }
    for _ in 0..1 + rng.below(DAMAGES) {
        let kind = kinds[rng.below(kinds.len() as u64) as usize];
        let damage = HistoryStep::Fault(drive(shape, rng), kind);
        // Damage of the head strikes soon, when the power is off.
        let at = rng.below(steps.len() as u64) as usize;
        let off = |step: &HistoryStep| {
            matches!(step, HistoryStep::Cut { .. } | HistoryStep::Order(Order::Restart))
        };
        let next_off = steps[at..].iter().position(off).map_or(at, |before| at + before);
        let until = if kind.is_in_head() { next_off } else { at + 1 };
        let is_request = |step: &HistoryStep| matches!(step, HistoryStep::Client { .. });
        if let Some(request) = steps[..until].iter_mut().rfind(|step| is_request(step)) {
            *request = damage;
        }
    }
}

fn drive(shape: &Shape, rng: &mut Rng) -> DriveId {
    DriveId(rng.below(u64::from(shape.width)) as u8)
}

fn step(
    shape: &Shape,
    span: u64,
    policies: &[PolicyKind],
    weights: &Weights,
    rng: &mut Rng,
) -> HistoryStep {
    let Weights { cut, fault, order, flush, wait, read, forced } = *weights;
    let mut at = rng.below(200 + cut + fault + order + flush + wait + read);
    let mut is = |weight: u64| {
        let hit = at < weight;
        at = at.saturating_sub(weight);
        hit
    };
    if is(cut) {
        return draw_cut(shape, rng);
    }
    if is(fault) {
        return HistoryStep::Fault(drive(shape, rng), Fault::ALL[rng.below(LOUD) as usize]);
    }
    if is(order) {
        return HistoryStep::Order(match rng.below(16) {
            0..5 => Order::Fail(drive(shape, rng)),
            5..12 => Order::Replace(drive(shape, rng)),
            12 => Order::Scrub,
            13 => Order::Policy(policies[rng.below(policies.len() as u64) as usize]),
            14 => Order::Restart,
            _ => return HistoryStep::Return(drive(shape, rng)),
        });
    }
    if is(flush) {
        return HistoryStep::Flush;
    }
    if is(wait) {
        return HistoryStep::Wait(match rng.below(12) {
            0 => Duration::from_secs(1 + rng.below(12)),
            1..4 => Duration::from_millis(1 + rng.below(200)),
            _ => Duration::from_micros(1 + rng.below(5000)),
        });
    }
    let (sector, sectors) = extent(shape, span, rng);
    let access = if is(read) {
        Access::Read
    } else {
        match rng.below(40) {
            0 => Access::Trim,
            1 => Access::Zeroes { may_deallocate: rng.below(2) == 0 },
            _ => Access::Write { forced: rng.below(8) < forced },
        }
    };
    HistoryStep::Client { access, sector, sectors }
}

fn extent(shape: &Shape, span: u64, rng: &mut Rng) -> (u64, u64) {
    let chunk = u64::from(shape.chunk_pages) * 8;
    let sectors = match rng.below(10) {
        0 => 1 + rng.below(8),
        1..3 => (1 + rng.below(4)) * chunk,
        3 => 1 + rng.below(64),
        _ => 8,
    };
    let sectors = sectors.min(span);
    let mut sector = rng.below(span - sectors + 1);
    if rng.below(4) > 0 {
        sector = sector / 8 * 8;
    }
    (sector, sectors)
}

fn draw_cut(shape: &Shape, rng: &mut Rng) -> HistoryStep {
    let after = match rng.below(4) {
        0 => rng.below(4),
        1 => rng.below(300),
        _ => rng.below(40),
    } as u32;
    let loss = std::array::from_fn(|_| Loss::ALL[rng.below(5) as usize]);
    let missing = match rng.below(5) {
        0 => 1 << rng.below(u64::from(shape.width)),
        _ => 0,
    };
    let start = Start {
        missing,
        rotated: if rng.below(6) == 0 { rng.below(u64::from(shape.width)) as u8 } else { 0 },
        outdated: 0,
        cut_after: (rng.below(4) == 0).then(|| rng.below(60) as u32),
    };
    HistoryStep::Cut { after, loss, seed: rng.next_u64(), start }
}
