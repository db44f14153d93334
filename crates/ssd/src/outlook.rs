//! Whether a drive in an array can keep the window contract under a load: pure arithmetic.
//!
//! A window must be long enough for one collection, which cannot be interrupted, and short enough
//! that the space lasts until the next one ([`nvme::WindowParameters::safe_window`]). Between the
//! two it keeps the contract for one cycle, from rest. To keep it for ever, the drive must also
//! give back in each window what is written in a cycle.

use crate::config::Config;
use crate::placement::RESERVE_SHARE;
use crate::sustained::Turns;
use nvme::{ArrayDescription, WindowParameters, buffered_bytes};
use units::Duration;

/// The largest share of the flash that anybody would over-provision.
const SPARE_MOST: f64 = 0.5;

/// What is to be promised: an array, its guards and a load on each of its drives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Promise {
    /// The array; its parities are the drives that may be busy at once.
    pub array: ArrayDescription,
    /// Guard at both ends of each window.
    pub guard: Duration,
    /// Bytes per second that are written to each drive, parity included. Above zero.
    pub load_bytes_per_second: f64,
    /// The window to judge; none to look for the best.
    pub window: Option<Duration>,
}

/// Whether the promise can be kept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// For ever: the drive gives back in its windows what is written.
    Holds,
    /// From rest, for a burst that lasts no longer than this: at the upper bound a cycle, below it
    /// longer, less what a collection that does not fit whole leaves unused of a window.
    Bursts {
        /// How long the usable space lasts while windows give back what they can in steady state.
        lasts: Duration,
    },
    /// Not even for one cycle.
    Fails(Reason),
}

/// Why a promise cannot be kept for one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A window that is short enough for the space is too short for one collection.
    NoWindow,
    /// The window that was to be judged is too short for one collection.
    TooShort,
    /// In the window that was to be judged, space runs out before the cycle is over.
    TooLong,
}

/// What would make a promise possible that fails: each of them alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Advice {
    /// The widest array, if a narrower one of at least `k + 2` drives will do.
    pub width: Option<u32>,
    /// The highest load in bytes per second; zero if there is none.
    pub load_bytes_per_second: f64,
    /// The share of `S_p` that must be usable, if it is no more than all of it.
    pub usable_share: Option<f64>,
    /// The share of the flash that must be over-provisioned, if half of it will do. Victims would
    /// also be emptier then, so this is a little more than is needed.
    pub over_provisioning: Option<f64>,
    /// The drives that must be able to be busy at once, if one more will do.
    pub busy_drives: Option<u32>,
}

/// What there is to say about a promise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlook {
    /// What is to be promised.
    pub promise: Promise,
    /// The lower bound: one collection that cannot be interrupted, and the guards.
    pub shortest: Duration,
    /// The article's upper bound, without guards; none where the formula sets none.
    pub article: Option<Duration>,
    /// The upper bound with [`Config::likely_parameters`], guards included.
    pub longest: Duration,
    /// The window of which the verdict speaks: the one to judge, or that between the bounds which
    /// sustains the highest rate. None if there is none.
    pub window: Option<Duration>,
    /// Bytes per second that can be written for ever with that window; zero if there is none.
    pub sustainable_bytes_per_second: f64,
    /// The same if the drive flushes its write buffer in its windows as well.
    pub quiet: QuietOutlook,
    /// The verdict.
    pub verdict: Verdict,
    /// How many times the load is more than the flash can take in, if it is. A host that waits for
    /// its writes cannot send that much; for it the bound could be longer by about this factor. One
    /// that does not wait takes up space as fast as it sends, whatever the dies program.
    pub beyond_flash: Option<f64>,
}

/// What it takes to do all work in windows, the flush of the write buffer as well
/// (`docs/quiet.md`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuietOutlook {
    /// Bytes of write buffer that each drive needs; zero if there is no window.
    pub buffer_bytes: f64,
    /// The share of each window that the flush takes.
    pub flush_share: f64,
    /// Bytes per second that can be written for ever; zero if there is no window.
    pub sustainable_bytes_per_second: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl Config {
    /// What a promise takes if the drive does all its work in its windows. `judge` says what
    /// becomes of the load if so much can be written for ever.
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
        // The drive keeps some of it free for writes that come when it is nearly full.
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

    /// Bytes per second that each drive can be written while its windows restore free space: what
    /// they give back from victims that have [`Config::full_valid_ratio`] of their pages valid.
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

    /// The terms of the window formula, with no more for `B_gc` than victims of the steady state
    /// give back. Where these are fuller than `R_v` says, the bound would be too long.
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

    /// Judges a promise.
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

    /// What would make the promise possible for one cycle with the shortest window, or with the
    /// one to judge if that is longer.
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
