//! Policies: when to wait, when to reconstruct.
//!
//! A policy answers a few questions about reads and sees commands sent and answered; everything
//! else is the same for all policies. Reads that a write needs for its parity are reads like any
//! other (IODA §4.4, "Write Path"). `docs/writing-a-policy.md` walks through a small one.

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

/// Decision about a sub-I/O before anything is known about it.
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
    /// Time that it would have waited.
    pub busy_remaining: Duration,
}

/// State that a policy can see when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Knows when each drive may collect.
    pub coordinator: &'a Coordinator,
    /// Blocks in flight at each drive.
    pub queues: &'a Queues,
    /// The drives that hold the stripe in question, as bits.
    pub stripe: u64,
    /// Drives that have failed or are being rebuilt.
    pub missing: MemberSet,
}

/// A command as it is sent to a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The drive.
    pub drive: DriveId,
    /// Read, write or deallocation.
    pub opcode: Opcode,
    /// First logical block.
    pub lba: Lba,
    /// Number of logical blocks.
    pub blocks: u32,
}

/// A request of a host, as it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Number of the host.
    pub host: u8,
    /// Read or write.
    pub kind: RequestKind,
    /// Number of bytes.
    pub size_bytes: u64,
}

/// A drive's answer to a command: only what a real drive tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The command.
    pub command: Sent,
    /// Completion status.
    pub status: Status,
    /// Time since it was sent.
    pub latency: Duration,
    /// Whether it is a read that serves only to reconstruct others.
    pub for_others: bool,
    /// Whether its stripe operation was hedged before the answer came.
    pub hedged: bool,
}

/// A stripe operation with reads in flight, about which a policy is asked when to hedge it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// Whether a read of the host waits for it, rather than a write that needs pages for its
    /// parity.
    pub host_waits: bool,
    /// Number of answers that it waits for.
    pub answers: u32,
    /// Number of reads needed to reconstruct one of the members, if the others answer.
    pub reads: u32,
    /// Time that its request has waited when a hedge is refused; zero before, and without a
    /// request.
    pub waited: Duration,
    /// Blocks of writes that wait at the host, for all drives together.
    pub writes_waiting_blocks: u64,
}

/// A counter of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tally {
    /// Name of what is counted.
    pub name: Cow<'static, str>,
    /// Number of times.
    pub count: u64,
}

impl Tally {
    /// A count under the name of what was counted.
    #[must_use]
    pub const fn new(name: &'static str, count: u64) -> Self {
        Self { name: Cow::Borrowed(name), count }
    }
}

/// Questions that the array asks its policy, and events that it reports.
pub trait Policy: Send {
    /// The questions below to which the policy has its own answer. The others are never asked, and
    /// cost nothing. Asked once.
    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    /// Decides about the first read of wanted pages on `drive`, the first page at `lba`.
    fn first_attempt(
        &mut self,
        _now: Instant,
        _drive: DriveId,
        _lba: Lba,
        _view: &View<'_>,
    ) -> Attempt {
        Attempt::Send(PlFlag::Off)
    }

    /// Whether reads that a write needs for its parity are sent to their drives without asking.
    fn sends_parity_reads(&self) -> bool {
        false
    }

    /// Chooses which of the `copies` (drives as bits) of the same pages a read of the host goes to.
    /// The first page is at `lba` of `primary`, which holds the chunk that the others are copies
    /// of. Asked only on mirrors.
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

    /// Flag of reads that serve only to reconstruct other members.
    fn reconstruct_flag(&self) -> PlFlag {
        PlFlag::Off
    }

    /// Chooses which read to send again and wait for, of more failures than there are parities: an
    /// index into `failures`, which is in order of failure.
    fn wait_for(&self, failures: &[Failure]) -> usize {
        failures.len() - 1
    }

    /// Whether a write that can get its parity in two ways avoids the drive in its busy window.
    fn spares_windows_in_writes(&self) -> bool {
        false
    }

    /// Reference for the latency of reads, by which slow drives are found; they are not read while
    /// they are slow (`docs/quiet.md`, `docs/attentive.md`). `None` for a policy that reads all
    /// drives. Asked once.
    fn read_measure(&self) -> Option<Measure> {
        None
    }

    /// Number of stripe members that a read of the host reads beyond those that suffice to compute
    /// any page; the read goes on with the first that suffice. 0 to read only wanted members.
    fn spare_reads(&self) -> u32 {
        0
    }

    /// Whether a read of the host that avoids a slow drive ([`Policy::read_measure`]) reads one
    /// member more than suffices. Asked only where a parity is left for it.
    fn asks_more_around(&mut self) -> bool {
        false
    }

    /// Time without an answer from one of its drives after which a stripe operation also
    /// reconstructs the missing members; `None` for never.
    fn hedge_after(&mut self, _now: Instant, _awaited: &Awaited) -> Option<Duration> {
        None
    }

    /// Further time after which a stripe operation that [`Policy::may_hedge`] has refused is asked
    /// about again; `None` for never.
    fn hedge_again_after(&mut self, _now: Instant, _awaited: &Awaited) -> Option<Duration> {
        None
    }

    /// Whether a stripe operation may send `reads` additional reads because drives among `late` (as
    /// bits) have not answered in time. Asked when its time is up and a reconstruction is possible.
    fn may_hedge(&mut self, _now: Instant, _late: u64, _reads: u32, _view: &View<'_>) -> bool {
        true
    }

    /// Reports the end of a hedge that sent `reads` reads: the reconstruction came first if `won`,
    /// otherwise the answer that was late.
    fn hedge_ended(&mut self, _reads: u32, _won: bool) {}

    /// Chooses where to write a page of the host instead of to `drive`, which holds it now: one of
    /// the `free` drives (as bits), which are outside its stripe and have room, or `None` to write
    /// it in place. Asked for each page of a write at its turn, if [`Policy::relocates_chunks`] and
    /// the array has spare blocks.
    fn place_update(
        &mut self,
        _now: Instant,
        _drive: DriveId,
        _free: u64,
        _view: &View<'_>,
    ) -> Option<DriveId> {
        None
    }

    /// Whether writes may relocate pages to other drives.
    fn relocates_chunks(&self) -> bool {
        false
    }

    /// Whether drives are to report every change of their collections.
    fn watches_drives(&self) -> bool {
        false
    }

    /// Takes the report of a drive about its collections; only if [`Policy::watches_drives`].
    fn handle_report(&mut self, _now: Instant, _drive: DriveId, _report: &CollectionReport) {}

    /// Mean of the durations that it estimated for collections; `None` if it estimated none.
    fn expected_collection(&self) -> Option<Duration> {
        None
    }

    /// Reports a command that is sent.
    fn sent(&mut self, _now: Instant, _command: &Sent) {}

    /// Reports an answer of a drive.
    fn answered(&mut self, _now: Instant, _answer: &Answered) {}

    /// Whether a request may begin. If not, it is held back until [`Policy::releases`], and so is
    /// every later request of its host that is not admitted. Writes must be admitted, or wait in
    /// one queue with all other requests: they are applied in order of arrival.
    fn admits(&mut self, _now: Instant, _asked: &Asked) -> bool {
        true
    }

    /// Whether the first request that is held back begins now. Asked again for each.
    fn releases(&mut self, _now: Instant) -> bool {
        true
    }

    /// Maximum number of blocks of writes in flight at a drive with a write buffer, and likewise of
    /// reads for parity; more of them wait at the host. `None` if all are sent at once. Asked once.
    fn most_in_flight(&self) -> Option<u32> {
        None
    }

    /// The write cache in front of the drives; `None` if the policy has no write cache. Asked once.
    fn write_cache(&self) -> Option<WriteCacheConfig> {
        None
    }

    /// Time from which on the pages cached for `drive` may be drained to it: `now` if at once,
    /// otherwise when to ask again.
    fn may_drain_from(&mut self, now: Instant, _drive: DriveId, _view: &View<'_>) -> Instant {
        now
    }

    /// Reports that pages entered or left the write cache, which now holds `held_pages`.
    fn write_cache_changed(&mut self, _now: Instant, _held_pages: u64) {}

    /// State of a coordinator on another host; `None` for a policy without one. The driver of the
    /// array carries the messages ([`Correspondence`]). This and the next three questions are asked
    /// only with [`Hooks::COORDINATED`].
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

    /// Time at which to call [`Policy::handle_deadline`] if nothing else happens.
    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }

    /// Lets time pass until `now`.
    fn handle_deadline(&mut self, _now: Instant) {}

    /// Reports that another drive, of which nothing is known, is in the place of `drive`.
    fn drive_replaced(&mut self, _drive: DriveId) {}

    /// Stalls of each drive as learnt, in order of drives; empty if the policy learns none.
    fn stalls(&self) -> Vec<Stalls> {
        Vec::new()
    }

    /// Knowledge for another run; `None` if the policy learns nothing that lasts.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Takes knowledge learnt before, perhaps under another load. Called once, at the start.
    fn remember(&mut self, _memory: &Memory) {}

    /// Counters since the start.
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
