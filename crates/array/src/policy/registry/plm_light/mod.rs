//! PLM-light: predictable latency on drives that know nothing of it (Roy et al., "PLM-light:
//! Emulating Predictable Latency Mode in Regular SSDs", 2021).
//!
//! Time is divided into deterministic windows, in which the drives get reads and few writes, and
//! non-deterministic ones, in which they get the rest. Small writes wait in a fast drive (Optane)
//! until a non-deterministic window. Large writes go to the drives; too many of them end the
//! deterministic window early. Each class of hosts has a number of reads for each deterministic
//! window; further reads wait until the window is over. So nothing waits longer than a window,
//! whose end does not depend on anything that waits. Costs the fast drive, and the waits of low
//! classes.
//!
//! The policy is the write handling agent of the paper, which is located at the drives (§III-A).
//! The coordinator is a separate machine ([`Plmlc`]), beside the array or on another host.
//! `messages` sends it the traffic of each window, and keeps its counts.

mod allocation;
mod coordinator;
mod messages;
mod settings;

pub use allocation::{AllocationConfig, BaseRule, QosClass};
pub use coordinator::Plmlc;
pub use settings::{CoordinatorPlace, PlmLightSettings};

use crate::cache_config::WriteCacheConfig;
use crate::policy::{
    About, Asked, CoordinatorState, DriveChanges, Hooks, Needs, Policy, PolicyKind, PolicySetup,
    Tally, View, WindowUse,
};
use crate::request::RequestKind;
use alloc::boxed::Box;
use alloc::vec::Vec;
use messages::Messages;
use nvme::{Untimed, WindowCounts, WindowTraffic};
use units::{DriveId, Duration, Instant, KIB};

/// The policy.
pub(super) const PLM_LIGHT: PolicyKind = PolicyKind::new(&About {
    name: "plm-light",
    label: "PLM-light",
    summary: "windows for reads, counted by class; writes wait in a fast drive in between",
    source: "PLM-light (2021)",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Nothing,
    build: &|setup| Box::new(PlmLight::new(setup)),
});

/// The fast drive: an Optane drive takes about 10 µs; writes of more than 64 KiB bypass it
/// (§III-C).
const OPTANE: WriteCacheConfig = WriteCacheConfig {
    capacity_bytes: u64::MAX,
    read_latency: Duration::from_micros(10),
    write_latency: Duration::from_micros(10),
    largest_write_bytes: 64 * KIB,
    drain_depth: 32,
};

/// The current window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Window {
    Deterministic {
        start: Instant,
    },
    /// Ends when `pages` pages have left the write cache, but neither before its shortest nor after
    /// its longest time.
    NonDeterministic {
        start: Instant,
        pages: u64,
    },
}

/// The rules.
struct PlmLight {
    settings: PlmLightSettings,
    write_cache: WriteCacheConfig,
    messages: Messages,
    window: Window,
    /// Time at which the window ends, or is checked.
    due: Instant,
    /// Reads by class and writes that came in this deterministic window.
    reads: [u64; QosClass::COUNT],
    writes: u64,
    /// Rest of the counts of this window; `None` without limit.
    reads_left: Option<[u64; QosClass::COUNT]>,
    writes_left: Option<u64>,
    held_pages: u64,
    /// Reads that were not admitted.
    held_back: u64,
}

impl PlmLight {
    fn new(setup: &PolicySetup<'_>) -> Self {
        let settings = setup.settings.plm_light;
        Self {
            settings,
            write_cache: setup.settings.write_cache.over(OPTANE),
            messages: Messages::new(&settings),
            window: Window::Deterministic { start: Instant::ZERO },
            due: Instant::ZERO + settings.deterministic_window,
            reads: [0; QosClass::COUNT],
            writes: 0,
            reads_left: None,
            writes_left: None,
            held_pages: 0,
            held_back: 0,
        }
    }

    fn begin_deterministic(&mut self, now: Instant) {
        self.window = Window::Deterministic { start: now };
        self.due = now + self.settings.deterministic_window;
        self.reads = [0; QosClass::COUNT];
        self.writes = 0;
        let counts = self.messages.counts(now);
        self.reads_left = counts.map(|counts| counts.reads);
        self.writes_left = counts.map(|counts| counts.writes);
    }

    fn end_deterministic(&mut self, now: Instant, start: Instant) {
        // A window that ended early saw less traffic than a whole one.
        let whole = self.settings.deterministic_window.as_nanos();
        let length = now.since(start).as_nanos().clamp(1, whole);
        let in_whole = |count: u64| count * whole / length;
        // Windows shorter than an eighth are ignored: too few samples.
        if length * 8 >= whole {
            self.messages.tell(now, self.reads.map(in_whole), in_whole(self.writes));
        }
        self.window = Window::NonDeterministic { start: now, pages: self.held_pages };
        self.due = now + self.settings.shortest_drain;
    }

    /// Begins a deterministic window if this one has drained its pages, or has lasted too long.
    fn end_drain_if_over(&mut self, now: Instant) {
        let Window::NonDeterministic { start, pages } = self.window else { return };
        let longest = start + self.settings.longest_drain;
        if now >= longest || (pages == 0 && now >= start + self.settings.shortest_drain) {
            self.begin_deterministic(now);
        } else if self.due <= now {
            self.due = longest;
        }
    }
}

impl Policy for PlmLight {
    fn hooks(&self) -> Hooks {
        let own = Hooks::ADMITS | Hooks::DEADLINE;
        if self.messages.are_remote() { own | Hooks::COORDINATED } else { own }
    }

    fn write_cache(&self) -> Option<WriteCacheConfig> {
        Some(self.write_cache)
    }

    fn may_drain_from(&mut self, now: Instant, _: DriveId, _: &View<'_>) -> Instant {
        match self.window {
            // The array asks again when the window has ended.
            Window::Deterministic { .. } => Instant::NEVER,
            Window::NonDeterministic { .. } => now,
        }
    }

    fn write_cache_changed(&mut self, now: Instant, held_pages: u64) {
        let left = self.held_pages.saturating_sub(held_pages);
        self.held_pages = held_pages;
        if let Window::NonDeterministic { pages, .. } = &mut self.window {
            *pages = pages.saturating_sub(left).min(held_pages);
            self.end_drain_if_over(now);
        }
    }

    fn admits(&mut self, now: Instant, asked: &Asked) -> bool {
        let Window::Deterministic { start } = self.window else { return true };
        match asked.kind {
            RequestKind::Read => {
                let class = QosClass::of_host(asked.host) as usize;
                self.reads[class] += 1;
                let Some(left) = &mut self.reads_left else { return true };
                let admitted = left[class] > 0;
                left[class] = left[class].saturating_sub(1);
                self.held_back += u64::from(!admitted);
                admitted
            }
            RequestKind::Write => {
                self.writes += 1;
                // Small writes do not go to the drives now.
                if asked.size_bytes > self.write_cache.largest_write_bytes
                    && let Some(left) = &mut self.writes_left
                {
                    match left.checked_sub(1) {
                        Some(less) => *left = less,
                        None => self.end_deterministic(now, start),
                    }
                }
                true
            }
            RequestKind::Deallocate => true,
        }
    }

    fn releases(&mut self, _: Instant) -> bool {
        matches!(self.window, Window::NonDeterministic { .. })
    }

    fn coordinator(&self) -> Option<CoordinatorState> {
        self.messages.state()
    }

    fn coordinated_window(&self) -> Duration {
        self.settings.deterministic_window
    }

    fn poll_traffic(&mut self) -> Option<WindowTraffic> {
        self.messages.poll_traffic()
    }

    fn set_counts(&mut self, counts: &WindowCounts) -> bool {
        self.messages.set_counts(counts)
    }

    fn tallies(&self) -> Vec<Tally> {
        self.messages.tallies(self.held_back)
    }

    fn next_deadline(&self) -> Instant {
        self.due
    }

    fn handle_deadline(&mut self, now: Instant) {
        match self.window {
            Window::Deterministic { start } => self.end_deterministic(now, start),
            Window::NonDeterministic { .. } => self.end_drain_if_over(now),
        }
    }
}

#[cfg(test)]
mod tests;
