//! Policies: when to wait, when to reconstruct.
//!
//! A policy answers a few questions about reads and sees what is sent and answered; everything else
//! is the same for all of them. Reads that a write needs for its parity are reads like any other
//! (IODA §4.4, "Write Path"). `docs/writing-a-policy.md` walks through a small one.

mod about;
mod budget;
mod correspondence;
mod hooks;
mod quantile;
mod registry;
mod settings;
#[cfg(feature = "serde")]
mod stored;

pub use about::{About, Build, DriveChanges, Needs, PolicyKind, PolicySetup, WindowUse};
pub use correspondence::{CoordinatorState, Correspondence};
pub use hooks::Hooks;
pub(crate) use hooks::Rules;
pub use registry::plm_light::{
    AllocationConfig, BaseRule, CoordinatorPlace, PlmLightSettings, Plmlc, QosClass,
};
pub use settings::{
    AttentiveSettings, DriveProfile, HedgeSettings, ParityReads, PolicySettings, QuietReads,
    QuietSettings, SitOutSettings, TrainedOn, WriteCacheSettings,
};

use crate::cache_config::WriteCacheConfig;
use crate::contract::Measure;
use crate::coordinate::Coordinator;
use crate::drive_queues::Queues;
use crate::learnt::{Memory, Stalls};
use crate::members::MemberSet;
use crate::request::RequestKind;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use nvme::{CollectionReport, Opcode, PlFlag, Status, WindowCounts, WindowTraffic};
use units::{DriveId, Duration, Instant, Lba};

/// What to do about a sub-I/O before anything is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// Send it with this flag.
    Send(PlFlag),
    /// Do not send it; reconstruct it from the other members.
    Avoid,
    /// Send it and reconstruct it as well; take what comes first.
    SendAndReconstruct,
}

/// A sub-I/O that its drive failed fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The member of the stripe.
    pub member: u8,
    /// The drive that holds it.
    pub drive: DriveId,
    /// How long it would have taken.
    pub busy_remaining: Duration,
}

/// What a policy can look at when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Who may collect when.
    pub coordinator: &'a Coordinator,
    /// Commands that are out.
    pub queues: &'a Queues,
    /// The drives that hold the stripe in question, as bits.
    pub stripe: u64,
    /// Drives that have failed or are being rebuilt.
    pub missing: MemberSet,
}

/// A command as it goes out to a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The drive.
    pub drive: DriveId,
    /// What it is to do.
    pub opcode: Opcode,
    /// First logical block.
    pub lba: Lba,
    /// Number of logical blocks.
    pub blocks: u32,
}

/// A request of a host, as it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Which host.
    pub host: u8,
    /// Read or write.
    pub kind: RequestKind,
    /// Number of bytes.
    pub size_bytes: u64,
}

/// A drive's answer to a command, as much as a real drive says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The command.
    pub command: Sent,
    /// How it ended.
    pub status: Status,
    /// Time since it was sent.
    pub latency: Duration,
    /// Whether it is a read that serves only to reconstruct others.
    pub for_others: bool,
    /// Whether its stripe operation was hedged before the answer came.
    pub hedged: bool,
}

/// A stripe operation whose reads are out, as a policy is asked when to hedge it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// Whether a read of the host waits for it, and not a write that needs pages for its parity.
    pub host_waits: bool,
    /// Answers that it waits for.
    pub answers: u32,
    /// Reads that it takes to reconstruct one of the members, if the others answer.
    pub reads: u32,
    /// How long its request has waited when a hedge is refused; zero before, and without a request.
    pub waited: Duration,
    /// Blocks of writes that wait at the host, for all drives together.
    pub writes_waiting_blocks: u64,
}

/// Something that a policy has counted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tally {
    /// What.
    pub name: Cow<'static, str>,
    /// How often.
    pub count: u64,
}

impl Tally {
    /// A count under the name of what was counted.
    #[must_use]
    pub const fn new(name: &'static str, count: u64) -> Self {
        Self { name: Cow::Borrowed(name), count }
    }
}

/// What the array asks its policy, and tells it.
pub trait Policy: Send {
    /// Which of the questions below it has an answer of its own to: the others are never asked, and
    /// cost nothing. Asked once.
    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    /// What to do about the first read of pages that are wanted from `drive`, the first at `lba`.
    fn first_attempt(
        &mut self,
        _now: Instant,
        _drive: DriveId,
        _lba: Lba,
        _view: &View<'_>,
    ) -> Attempt {
        Attempt::Send(PlFlag::Off)
    }

    /// Whether reads that a write needs for its parity are sent to their drives without a question.
    fn sends_parity_reads(&self) -> bool {
        false
    }

    /// Which of the `copies` (drives as bits) of the same pages a read of the host goes to, the
    /// first of them at `lba` of `primary`, which holds the chunk that the others are copies of.
    /// Only on mirrors.
    fn choose_copy(
        &mut self,
        _now: Instant,
        primary: DriveId,
        _copies: u64,
        _lba: Lba,
        _view: &View<'_>,
    ) -> DriveId {
        primary
    }

    /// How reads are flagged that serve only to reconstruct other members.
    fn reconstruct_flag(&self) -> PlFlag {
        PlFlag::Off
    }

    /// Which of more failures than there are parities to send again and wait for: an index into
    /// `failures`, which is in the order of failing.
    fn wait_for(&self, failures: &[Failure]) -> usize {
        failures.len() - 1
    }

    /// Whether a write that can have its parity in two ways spares the drive in its busy window.
    fn spares_windows_in_writes(&self) -> bool {
        false
    }

    /// What reads are held against, to find drives that are slow and not read them for as long as
    /// they are (`docs/quiet.md`, `docs/attentive.md`); `None` for a policy that reads all of them.
    /// Asked once.
    fn read_measure(&self) -> Option<Measure> {
        None
    }

    /// How many members of its stripe a read of the host asks beyond those that suffice to compute
    /// any page; it goes on with the first that suffice. 0 to ask only for what is wanted.
    fn spare_reads(&self) -> u32 {
        0
    }

    /// Whether a read of the host asks one member more than suffices, if it goes around a slow drive
    /// ([`Policy::read_measure`]). Asked only where a parity is left for it.
    fn asks_more_around(&mut self) -> bool {
        false
    }

    /// After how long without an answer from one of its drives a stripe operation begins to
    /// reconstruct what is missing, while it goes on waiting; none for never.
    fn hedge_after(&mut self, _now: Instant, _awaited: &Awaited) -> Option<Duration> {
        None
    }

    /// After how much longer a stripe operation that [`Policy::may_hedge`] has refused is asked
    /// again; none for never.
    fn hedge_again_after(&mut self, _now: Instant, _awaited: &Awaited) -> Option<Duration> {
        None
    }

    /// Whether a stripe operation may send `reads` more because drives among `late` (as bits) have
    /// not answered in time. Asked once per operation, when its time is up and a
    /// reconstruction is possible.
    fn may_hedge(&mut self, _now: Instant, _late: u64, _reads: u32, _view: &View<'_>) -> bool {
        true
    }

    /// A stripe operation that sent `reads` more is known: by what it reconstructed, or (if not
    /// `won`) by the answer that was late.
    fn hedge_ended(&mut self, _reads: u32, _won: bool) {}

    /// Where to write a page of the host instead of to `drive`, which holds it now: one of the
    /// `free` drives (as bits), which are not of its stripe and have room; none to write it in
    /// place. Asked for each page of a write when it is its turn, if [`Policy::relocates_chunks`]
    /// and the array has spare blocks.
    fn place_update(
        &mut self,
        _now: Instant,
        _drive: DriveId,
        _free: u64,
        _view: &View<'_>,
    ) -> Option<DriveId> {
        None
    }

    /// Whether writes may take pages to other drives.
    fn relocates_chunks(&self) -> bool {
        false
    }

    /// Whether drives are to announce whenever something about their collections has changed.
    fn watches_drives(&self) -> bool {
        false
    }

    /// What a drive announces about its collections; only if [`Policy::watches_drives`].
    fn handle_report(&mut self, _now: Instant, _drive: DriveId, _report: &CollectionReport) {}

    /// The mean of the times that it took collections to last, if it has reckoned with any.
    fn expected_collection(&self) -> Option<Duration> {
        None
    }

    /// A command goes out.
    fn sent(&mut self, _now: Instant, _command: &Sent) {}

    /// A drive has answered.
    fn answered(&mut self, _now: Instant, _answer: &Answered) {}

    /// Whether a request may begin. If not it is held back, and with it every later one of its host
    /// that is not admitted, until [`Policy::releases`]. Writes must be admitted, or wait in one row
    /// with all other requests: they are applied in the order of their coming.
    fn admits(&mut self, _now: Instant, _asked: &Asked) -> bool {
        true
    }

    /// Returns whether the first request that is held back begins now. Asked again for each.
    fn releases(&mut self, _now: Instant) -> bool {
        true
    }

    /// Most blocks of writes that a drive with a write buffer has at a time, and likewise of reads for
    /// parity, while more of them wait at the host; `None` if all go to their drives at once. Asked
    /// once.
    fn most_in_flight(&self) -> Option<u32> {
        None
    }

    /// The write cache in front of the drives; none if writes do not wait in one. Asked once.
    fn write_cache(&self) -> Option<WriteCacheConfig> {
        None
    }

    /// From when on the pages cached for `drive` may be drained to it: `now` if they may be, or
    /// when to ask again.
    fn may_drain_from(&mut self, now: Instant, _drive: DriveId, _view: &View<'_>) -> Instant {
        now
    }

    /// Pages entered or left the write cache, which now holds `held_pages`.
    fn write_cache_changed(&mut self, _now: Instant, _held_pages: u64) {}

    /// State of a coordinator on another host; `None` for a policy without one. The driver of the
    /// array brings the messages ([`Correspondence`]). This and the three questions after it are
    /// asked only with [`Hooks::COORDINATED`].
    fn coordinator(&self) -> Option<CoordinatorState> {
        None
    }

    /// Length of the windows for which such a coordinator gives counts.
    fn coordinated_window(&self) -> Duration {
        Duration::ZERO
    }

    /// Next traffic for such a coordinator.
    fn poll_traffic(&mut self) -> Option<WindowTraffic> {
        None
    }

    /// Takes counts for windows that begin from now on. Returns whether the policy accepts them.
    fn set_counts(&mut self, _counts: &WindowCounts) -> bool {
        false
    }

    /// When [`Policy::handle_deadline`] is to be called if nothing else happens.
    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }

    /// Lets time pass until `now`.
    fn handle_deadline(&mut self, _now: Instant) {}

    /// Another drive is in the place of `drive`: nothing is known of it.
    fn drive_replaced(&mut self, _drive: DriveId) {}

    /// What it has learnt of the stalls of each drive, in order; empty if it learns none.
    fn stalls(&self) -> Vec<Stalls> {
        Vec::new()
    }

    /// What it has learnt, for another run; `None` if it learns nothing that lasts.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Takes what was learnt before, perhaps under another load. Called once, at the start.
    fn remember(&mut self, _memory: &Memory) {}

    /// What it has counted since the start.
    fn tallies(&self) -> Vec<Tally> {
        Vec::new()
    }
}

/// The drives whose bits are set.
fn members_of(mask: u64) -> impl Iterator<Item = DriveId> {
    MemberSet::from_bits(mask).iter().map(DriveId)
}

/// Index of the failure with the shortest busy remaining time (IODA §4.2.2); the earliest of
/// equals.
fn least_busy(failures: &[Failure]) -> usize {
    let mut best = 0;
    for (index, failure) in failures.iter().enumerate() {
        if failure.busy_remaining < failures[best].busy_remaining {
            best = index;
        }
    }
    best
}
