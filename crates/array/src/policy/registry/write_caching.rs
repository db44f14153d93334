//! Writes cached and drained in turn: Flash on Rails, IODA with NVRAM, and NVMe's predictable
//! latency mode (IODA §5 and §6.2.3; NVMe 1.4 §8.18).
//!
//! All three give every drive a turn in which it is written and collects, and keep reads away from
//! it meanwhile. They differ in the length of a turn, in whether reads carry the flag, and in the
//! kind of redundancy. Writes wait in fast memory until the turn of their drive comes. The size of
//! that memory is their price.

use crate::cache_config::WriteCacheConfig;
use crate::policy::{
    About, Attempt, DriveChanges, Failure, Hooks, Needs, Policy, PolicyKind, PolicySetup, View,
    WindowUse, least_busy, members_of,
};
use alloc::boxed::Box;
use nvme::{PlFlag, Untimed};
use units::{DriveId, Duration, Instant, Lba};

/// Flash on Rails: drives are read-only or write-only in turn, for 5 s each (IODA §5).
pub(super) const RAILS: PolicyKind = PolicyKind::new(&About {
    name: "rails",
    label: "Rails",
    summary: "drives are written in turn, writes wait in NVRAM; never read from the one written",
    source: "Flash on Rails (ATC 2014) as in IODA §6.2.3",
    drive_changes: DriveChanges::Firmware("busy windows"),
    windows: WindowUse::Roles { turn: Duration::from_secs(5) },
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(WriteCaching::new(setup, Reads::AroundTheTurn)),
});

/// IODA with the same NVRAM as Rails (IODA §6.2.3, "IODA_NVM").
pub(super) const IODA_NVM: PolicyKind = PolicyKind::new(&About {
    name: "ioda-nvm",
    label: "IODA_NVM",
    summary: "as ioda; writes wait in NVRAM for the busy window of their drive",
    source: "IODA §6.2.3",
    drive_changes: DriveChanges::Firmware("the PL flag, busy remaining time and busy windows"),
    windows: WindowUse::Seen,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(WriteCaching::new(setup, Reads::Flagged)),
});

/// NVMe's predictable latency mode on copies: one is always deterministic, and is read (NVMe 1.4
/// §8.18; PLM-light §II).
pub(super) const PLM: PolicyKind = PolicyKind::new(&About {
    name: "plm",
    label: "PLM",
    summary: "of the copies of a mirror, read one that does not collect; writes wait for the other",
    source: "NVMe 1.4 §8.18; PLM-light §II",
    drive_changes: DriveChanges::Firmware("busy windows"),
    windows: WindowUse::Blind,
    untimed: Untimed::Nothing,
    needs: Needs::Mirrors,
    build: &|setup| Box::new(WriteCaching::new(setup, Reads::AroundTheTurn)),
});

/// Reads that are sent, and their flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reads {
    /// No read goes to a drive in its turn.
    AroundTheTurn,
    /// Every read carries the flag, but none goes to a drive that is being written.
    Flagged,
}

/// NVRAM: a microsecond, no bound (the peak of a run is reported), everything cached.
pub(super) const NVRAM: WriteCacheConfig = WriteCacheConfig {
    capacity_bytes: u64::MAX,
    read_latency: Duration::from_micros(1),
    write_latency: Duration::from_micros(1),
    largest_write_bytes: u64::MAX,
    drain_depth: 32,
};

/// Share of a turn, at its end, in which nothing is sent to the drive any more, so that it
/// completes its commands before its turn is over: one in 16.
const MARGIN_SHARE: u64 = 16;

/// The rules.
struct WriteCaching {
    reads: Reads,
    write_cache: WriteCacheConfig,
    drain: TurnDrain,
}

/// Times at which pages cached for a drive may be drained: in its turn.
pub(super) struct TurnDrain {
    /// Maximum number of drives that are written at once.
    at_once: u32,
}

impl TurnDrain {
    pub(super) fn new(setup: &PolicySetup<'_>) -> Self {
        Self { at_once: setup.parities.max(1) }
    }

    /// Returns `now` if `drive` may be drained, or when to ask again.
    pub(super) fn from(&self, now: Instant, drive: DriveId, view: &View<'_>) -> Instant {
        if view.missing.contains(drive.0) {
            return now;
        }
        if let Some((start, end)) = view.coordinator.window(drive, now) {
            let last = start + end.since(start) / MARGIN_SHARE * (MARGIN_SHARE - 1);
            if now < start {
                return start;
            }
            if now >= last {
                return end;
            }
        }
        let others = view.queues.all().iter().enumerate();
        let counts = |other: usize| other != drive.index() && !view.missing.contains(other as u8);
        let written = others.filter(|&(other, queue)| counts(other) && queue.write_blocks > 0);
        let at_once = match view.coordinator.busy_drives() {
            Some(fewer) if !view.missing.is_empty() => self.at_once.min(fewer),
            _ => self.at_once,
        };
        match written.count() as u32 >= at_once {
            // Asked again when the last of them has answered.
            true => Instant::NEVER,
            false => now,
        }
    }
}

impl WriteCaching {
    fn new(setup: &PolicySetup<'_>, reads: Reads) -> Self {
        let write_cache = setup.settings.write_cache.over(NVRAM);
        Self { reads, write_cache, drain: TurnDrain::new(setup) }
    }
}

fn is_written(drive: DriveId, view: &View<'_>) -> bool {
    view.queues.of(drive).write_blocks > 0
}

impl Policy for WriteCaching {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT
    }

    fn choose_copy(
        &mut self,
        now: Instant,
        primary: DriveId,
        copies: u64,
        lba: Lba,
        view: &View<'_>,
    ) -> DriveId {
        let in_its_turn =
            |drive| is_written(drive, view) || view.coordinator.is_busy(drive, lba, now);
        members_of(copies)
            .min_by_key(|&drive| (in_its_turn(drive), drive != primary))
            .unwrap_or(primary)
    }

    fn first_attempt(
        &mut self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        view: &View<'_>,
    ) -> Attempt {
        // Commands sent to a drive late in its turn may outlast it.
        if is_written(drive, view) {
            return Attempt::Avoid;
        }
        match self.reads {
            Reads::Flagged => Attempt::Send(PlFlag::Predictable),
            Reads::AroundTheTurn if view.coordinator.is_busy(drive, lba, now) => Attempt::Avoid,
            Reads::AroundTheTurn => Attempt::Send(PlFlag::Off),
        }
    }

    fn reconstruct_flag(&self) -> PlFlag {
        match self.reads {
            Reads::Flagged => PlFlag::Predictable,
            Reads::AroundTheTurn => PlFlag::Off,
        }
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        least_busy(failures)
    }

    fn write_cache(&self) -> Option<WriteCacheConfig> {
        Some(self.write_cache)
    }

    fn may_drain_from(&mut self, now: Instant, drive: DriveId, view: &View<'_>) -> Instant {
        self.drain.from(now, drive, view)
    }
}
