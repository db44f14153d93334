//! Check that a drive in an array can keep the window contract under a load: pure arithmetic.
//!
//! A window must be long enough for one collection, which cannot be interrupted, and short enough
//! that the space lasts until the next one ([`nvme::WindowParameters::safe_window`]). A window
//! between the two keeps the contract for one cycle, from rest. To keep it for ever, the drive must
//! also give back in each window the bytes that are written in a cycle.

use crate::config::Config;
use crate::placement::RESERVE_SHARE;
use crate::sustained::Turns;
use nvme::{ArrayDescription, WindowParameters, buffered_bytes};
use units::Duration;

/// Largest share of the flash that is suggested as over-provisioning.
const SPARE_MOST: f64 = 0.5;

/// Requirement that is judged: an array, its guards and a load on each of its drives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Promise {
    /// The array; its number of parities is the number of drives that may be busy at once.
    pub array: ArrayDescription,
    /// Guard at both ends of each window.
    pub guard: Duration,
    /// Bytes per second that are written to each drive, parity included. Above zero.
    pub load_bytes_per_second: f64,
    /// Window to judge; `None` to look for the best.
    pub window: Option<Duration>,
}

/// Verdict on a requirement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// The requirement can be met for ever: the windows give back all that is written.
    Holds,
    /// The requirement can be met from rest, for a burst of at most `lasts`. At the upper bound of
    /// windows the burst lasts a cycle, below it longer, less the part of a window that is too
    /// short for another collection.
    Bursts {
        /// Time for which the usable space lasts while windows give back as much as they can in
        /// steady state.
        lasts: Duration,
    },
    /// The requirement cannot be met even for one cycle.
    Fails(Reason),
}

/// Reason why a requirement cannot be met for one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A window that is short enough for the space is too short for one collection.
    NoWindow,
    /// The window to judge is too short for one collection.
    TooShort,
    /// With the window to judge, space runs out before the cycle is over.
    TooLong,
}

/// Changes that would make a requirement feasible that is not, each of them alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Advice {
    /// Widest array that is feasible; `None` if it would have fewer than `k + 2` drives.
    pub width: Option<u32>,
    /// Highest load in bytes per second that is feasible; zero if no load is.
    pub load_bytes_per_second: f64,
    /// Share of `S_p` that must be usable; `None` if that is more than all of it.
    pub usable_share: Option<f64>,
    /// Share of the flash that must be over-provisioned; `None` if that is more than half. A little
    /// more than is needed, because victims would also be emptier then.
    pub over_provisioning: Option<f64>,
    /// Number of drives that must be able to be busy at once; `None` if one more is not enough.
    pub busy_drives: Option<u32>,
}

/// Judgement of a requirement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlook {
    /// The requirement.
    pub promise: Promise,
    /// The lower bound: one collection that cannot be interrupted, and the guards.
    pub shortest: Duration,
    /// The paper's upper bound, without guards; `None` if the formula sets no bound.
    pub article: Option<Duration>,
    /// The upper bound with [`Config::likely_parameters`], guards included.
    pub longest: Duration,
    /// Window that the verdict is about: the window to judge, or the one between the bounds that
    /// sustains the highest rate. `None` if there is no such window.
    pub window: Option<Duration>,
    /// Bytes per second that can be written for ever with that window; zero without one.
    pub sustainable_bytes_per_second: f64,
    /// The same for a drive that also flushes its write buffer in its windows.
    pub quiet: QuietOutlook,
    /// The verdict.
    pub verdict: Verdict,
    /// Ratio of the load to the rate that the flash can take in; `None` unless it is above 1. A
    /// host that waits for its writes cannot send that much, and its bound could be longer by about
    /// this factor. A host that does not wait uses up space as fast as it sends, whatever the dies
    /// program.
    pub beyond_flash: Option<f64>,
}

/// Judgement of a drive that does all work in windows, including the flush of the write buffer
/// (`docs/quiet.md`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuietOutlook {
    /// Bytes of write buffer that each drive needs; zero without a window.
    pub buffer_bytes: f64,
    /// The share of each window that the flush takes.
    pub flush_share: f64,
    /// Bytes per second that can be written for ever; zero without a window.
    pub sustainable_bytes_per_second: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl Config {
    /// Judges a requirement for a drive that does all its work in its windows. `judge` gives the
    /// verdict for a rate that can be written for ever.
    fn quiet_outlook(
        &self,
        promise: Promise,
        window: Option<Duration>,
        judge: impl Fn(f64) -> Verdict,
    ) -> QuietOutlook {
        let Promise { array, guard, load_bytes_per_second: load, .. } = promise;
        let programmed = self.program_bytes_per_second() / array.windows_per_cycle();
        let sustainable = window.map_or(0.0, |window| {
            Turns { drive: self, array, window, guard, flushes: true }.sustained()
        });
        QuietOutlook {
            buffer_bytes: window
                .map_or(0.0, |window| self.quiet_buffer_bytes(array, load, guard, window)),
            flush_share: load / programmed,
            sustainable_bytes_per_second: sustainable,
            verdict: judge(sustainable),
        }
    }

    /// Bytes of write buffer that `load` bytes per second need if the buffer is flushed in windows
    /// only (`docs/quiet.md`, "What a buffer must hold").
    #[must_use]
    pub fn quiet_buffer_bytes(
        &self,
        array: ArrayDescription,
        load_bytes_per_second: f64,
        guard: Duration,
        window: Duration,
    ) -> f64 {
        let held = buffered_bytes(array, load_bytes_per_second, guard, window);
        // The drive keeps a part of the buffer free for writes that arrive when it is nearly full.
        held / (1.0 - 1.0 / f64::from(RESERVE_SHARE))
    }

    /// Bytes per second that each drive can be written for ever without breaking the contract with
    /// this window, under uniform random overwrites. A load with more skew may do worse.
    ///
    /// Only whole collections count, so this is a sawtooth over the window.
    #[must_use]
    pub fn sustainable_bytes_per_second(
        &self,
        array: ArrayDescription,
        window: Duration,
        guard: Duration,
    ) -> f64 {
        Turns { drive: self, array, window, guard, flushes: false }.sustained()
    }

    /// Bytes per second that each drive can be written while its windows restore free space: the
    /// bytes that they give back from victims with the share [`Config::full_valid_ratio`] of valid
    /// pages.
    #[must_use]
    pub fn restored_bytes_per_second(
        &self,
        array: ArrayDescription,
        window: Duration,
        guard: Duration,
    ) -> f64 {
        let open = window.saturating_sub(guard * 2);
        let cycle = window.as_secs_f64() * array.windows_per_cycle();
        self.reclaimed_bytes_per_window(open, self.full_valid_ratio()) / cycle
    }

    /// The shortest window: one collection that cannot be interrupted, and the guards.
    #[must_use]
    pub fn shortest_window(&self, guard: Duration) -> Duration {
        self.likely_unit_time() + guard * 2
    }

    /// Terms of the window formula, where `B_gc` is at most the rate that victims of the steady
    /// state give back. With fuller victims than `R_v` says, the bound would be too long otherwise.
    #[must_use]
    pub fn likely_parameters(&self) -> WindowParameters {
        let unit = self.unit_time(self.full_valid_ratio());
        let reclaimed = self.reclaimed_bytes_per_window(unit, self.full_valid_ratio());
        let terms = self.window_parameters();
        let likely = reclaimed / unit.as_secs_f64();
        WindowParameters {
            collection_bytes_per_second: terms.collection_bytes_per_second.min(likely),
            ..terms
        }
    }

    /// Pages programmed per page that the host writes, in steady state under uniform random
    /// overwrites.
    #[must_use]
    pub fn steady_write_amplification(&self) -> f64 {
        1.0 / (1.0 - self.steady_valid_ratio())
    }

    /// Judges a requirement.
    #[must_use]
    pub fn outlook(&self, promise: Promise) -> Outlook {
        let Promise { array, guard, load_bytes_per_second: load, window: asked } = promise;
        let terms = self.likely_parameters();
        let (shortest, longest) =
            (self.shortest_window(guard), terms.safe_window(array, load, guard));
        let problem = match asked {
            Some(window) if window < shortest => Some(Reason::TooShort),
            _ if longest < shortest => Some(Reason::NoWindow),
            Some(window) if window > longest => Some(Reason::TooLong),
            _ => None,
        };
        let turns = Turns { drive: self, array, window: longest, guard, flushes: false };
        let best = (shortest <= longest).then(|| turns.best_window(shortest));
        let window = asked.or(best);
        let sustainable = window.map_or(0.0, |window| Turns { window, ..turns }.sustained());
        let judge = |sustainable| match problem {
            Some(reason) => Verdict::Fails(reason),
            None if load <= sustainable => Verdict::Holds,
            None => {
                let seconds = terms.usable_bytes() / (load - sustainable);
                Verdict::Bursts { lasts: Duration::from_nanos((seconds * 1e9) as u64) }
            }
        };
        let flash = self.program_bytes_per_second();
        Outlook {
            promise,
            shortest,
            article: self.window_parameters().longest_window(array, load),
            longest,
            window,
            sustainable_bytes_per_second: sustainable,
            quiet: self.quiet_outlook(promise, window, judge),
            verdict: judge(sustainable),
            beyond_flash: (load > flash).then_some(load / flash),
        }
    }

    /// Changes that would make the requirement feasible for one cycle, with the shortest window or
    /// with the window to judge if that is longer.
    #[must_use]
    pub fn advice(&self, promise: Promise) -> Advice {
        let Promise { array, guard, load_bytes_per_second: load, window } = promise;
        let terms = self.likely_parameters();
        let window = window.unwrap_or(Duration::ZERO).max(self.shortest_window(guard));
        let needed = |array| terms.needed_bytes(array, load, guard, window);
        let fits = |array| needed(array) <= terms.usable_bytes();
        let least = array.busy_drives() + 2;
        let share = needed(array) / terms.over_provisioned_bytes;
        let over_provisioning = share / terms.usable_share * terms.over_provisioned_bytes
            / self.geometry.raw_bytes() as f64;
        let more = ArrayDescription { parities: array.busy_drives() + 1, ..array };
        Advice {
            width: (least..array.width)
                .rev()
                .find(|&width| fits(ArrayDescription { width, ..array })),
            load_bytes_per_second: terms.highest_load(array, guard, window),
            usable_share: (share <= 1.0).then_some(share),
            over_provisioning: (over_provisioning <= SPARE_MOST).then_some(over_provisioning),
            busy_drives: (array.width > least && fits(more)).then_some(more.parities),
        }
    }
}
