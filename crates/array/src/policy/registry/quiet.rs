//! Quiet: outside of its window a drive does nothing that a read could wait for (`docs/quiet.md`).
//!
//! IODA keeps collections in the windows; reads still wait for the host's own writes. Under Quiet,
//! writes are acknowledged from a buffer that survives a loss of power, and reach flash in the busy
//! window of their drive, before its collections. The buffer is the drive's; where that does not
//! hold the rated writes of a cycle, it is the host's. Reads carry the flag, and drives fail them
//! fast for any work in their way. Failed reads are reconstructed unless too many members are busy.
//! A write gets its parity in the way that avoids the drive in its window.
//!
//! Its price is the buffer, and the extra reads of reconstructions.

use super::write_caching::{NVRAM, TurnDrain};
use crate::cache_config::WriteCacheConfig;
use crate::contract::{Measure, ReadTimes};
use crate::policy::{
    About, Attempt, DriveChanges, Failure, Hooks, Needs, Policy, PolicyKind, PolicySetup,
    QuietReads, QuietSettings, View, WindowUse, least_busy, members_of,
};
use alloc::boxed::Box;
use nvme::{PlFlag, Untimed};
use units::{DriveId, Duration, Instant, Lba};

/// The policy.
pub(super) const QUIET: PolicyKind = PolicyKind::new(&About {
    name: "quiet",
    label: "Quiet",
    summary: "as ioda, and buffered writes reach flash in busy windows only: no read waits for a write",
    source: "ours; IODA §7.1, Flash on Rails",
    drive_changes: DriveChanges::Firmware(
        "the PL flag, busy remaining time and busy windows, for all that changes flash",
    ),
    windows: WindowUse::Quiet,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Quiet::new(setup)),
});

struct Quiet {
    settings: QuietSettings,
    /// The host's buffer, where the buffers of the drives do not hold a cycle.
    write_cache: Option<WriteCacheConfig>,
    drain: TurnDrain,
    /// Maximum times of reads with the flag, if drives keep the contract.
    promised_reads: Option<ReadTimes>,
    /// Maximum number of pages queued at the other drives of a stripe with which a reconstruction
    /// is quick.
    most_queued: u64,
}

impl Quiet {
    fn new(setup: &PolicySetup<'_>) -> Self {
        let settings = setup.settings;
        let profile = &settings.profile;
        let times = ReadTimes { alone: profile.longest_read, each: profile.read };
        Self {
            settings: settings.quiet,
            write_cache: (!profile.buffers_a_cycle).then(|| settings.write_cache.over(NVRAM)),
            drain: TurnDrain::new(setup),
            promised_reads: (settings.finds_late_drives && times.alone > Duration::ZERO)
                .then_some(times),
            // A queued page delays one read in `dies`, by half a read on average. So `dies / 2`
            // pages delay a read by a quarter of a read. An operation interrupted for a read takes
            // as long.
            most_queued: u64::from(profile.dies / 2),
        }
    }

    /// Whether the queues of the other drives of the stripe are short enough that a page of `drive`
    /// is reconstructed soon.
    fn is_reconstruction_quick(&self, drive: DriveId, view: &View<'_>) -> bool {
        let others = members_of(view.stripe & !(1 << drive.0));
        let queued: u64 = others.map(|other| u64::from(view.queues.of(other).blocks())).sum();
        queued <= self.most_queued
    }
}

impl Policy for Quiet {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT
    }

    fn first_attempt(&mut self, _: Instant, drive: DriveId, _: Lba, view: &View<'_>) -> Attempt {
        let is_strict = match self.settings.reads {
            QuietReads::Strict => true,
            QuietReads::Patient => false,
            QuietReads::ByQueue => self.is_reconstruction_quick(drive, view),
        };
        Attempt::Send(if is_strict { PlFlag::Predictable } else { PlFlag::Patient })
    }

    fn reconstruct_flag(&self) -> PlFlag {
        PlFlag::Patient
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        least_busy(failures)
    }

    fn read_measure(&self) -> Option<Measure> {
        self.promised_reads.map(Measure::Promise)
    }

    fn spares_windows_in_writes(&self) -> bool {
        self.settings.spares_windows_in_writes
    }

    fn write_cache(&self) -> Option<WriteCacheConfig> {
        self.write_cache
    }

    fn may_drain_from(&mut self, now: Instant, drive: DriveId, view: &View<'_>) -> Instant {
        self.drain.from(now, drive, view)
    }
}
