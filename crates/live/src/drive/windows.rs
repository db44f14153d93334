//! Predictable latency mode: what the model is told of windows, in which window the drive is, and
//! what happens in them that hosts want to know.
//!
//! With the settings of an array the schedule decides. Without them hosts choose windows by hand:
//! in the deterministic one the drive collects only where it must, in the other one whenever it is
//! due.

use super::device::Device;
use super::report::{self, Limits};
use nvme::target::{IoOperation, IoRequest, WindowOrder};
use nvme::wire::{Estimates, WindowState, window_event};
use nvme::{ArrayDescription, CollectionRight, WindowSchedule, WindowScope};
use units::{Duration, Instant};

/// How often the drive looks whether something is nearly used up, while a host wants to know.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Who decides on windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Mode {
    /// There are none.
    #[default]
    Off,
    /// The host, by hand.
    ByHand(WindowState),
    /// The schedule of an array.
    Array(WindowSchedule),
}

/// What was done in the deterministic window that the drive is in, or was in last.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    since: Instant,
    /// In units of 4 KiB.
    reads: u64,
    written_bytes: u64,
    /// Events that were told in this window.
    told: u16,
}

/// The windows of a drive.
#[derive(Debug, Default)]
pub(super) struct Windows {
    order: Option<WindowOrder>,
    mode: Mode,
    /// The end of a window that was open when the schedule was changed.
    open_until: Instant,
    was: WindowState,
    spent: Spent,
    /// Collections outside of windows, as far as they were told.
    excursions: u64,
    look_at: Instant,
}

impl Windows {
    /// Windows as a host wants them.
    pub(super) fn set(&mut self, now: Instant, order: WindowOrder, device: &mut Device) {
        self.order = Some(order);
        let Some(ssd) = device.model_mut() else { return };
        let settings = order.config.ioda;
        let mode = match (order.enabled, settings) {
            (false, _) => Mode::Off,
            (true, Some(settings)) => {
                let window = settings.busy_time_window.unwrap_or_else(|| {
                    report::chosen_window(ssd.config(), settings.array(), settings.guard)
                });
                Mode::Array(settings.schedule(window))
            }
            // Thresholds may be changed without a change of the window.
            (true, None) => match self.mode {
                Mode::ByHand(window) => Mode::ByHand(window),
                Mode::Off | Mode::Array(_) => Mode::ByHand(WindowState::NonDeterministic),
            },
        };
        self.open_until = match (self.mode, mode) {
            (Mode::Array(old), Mode::Array(_)) => {
                let open = old.window_at(now).map_or(Instant::ZERO, |(_, end)| end);
                open.max(self.open_until)
            }
            _ => Instant::ZERO,
        };
        let scope = settings.map_or(WindowScope::Collections, |settings| settings.scope);
        ssd.handle_deadline(now);
        ssd.set_window_scope(scope);
        ssd.set_right(now, right(mode));
        self.mode = mode;
        self.excursions = ssd.counters().contract_violations;
        self.look_at = now;
        tracing::info!(?mode, ?scope, "windows are set");
    }

    /// A host goes into a window by hand.
    pub(super) fn select(&mut self, now: Instant, window: WindowState, device: &mut Device) {
        if let Mode::ByHand(_) = self.mode {
            self.mode = Mode::ByHand(window);
            self.spent = Spent { since: now, ..Spent::default() };
            if let Some(ssd) = device.model_mut() {
                ssd.set_right(now, right(self.mode));
            }
            tracing::debug!(?window, "a host has chosen a window");
        }
    }

    /// A command that hosts give.
    pub(super) const fn count(&mut self, request: &IoRequest) {
        match request.operation {
            IoOperation::Read(_) => self.spent.reads += request.bytes as u64 / 4096,
            IoOperation::Write(_) => self.spent.written_bytes += request.bytes as u64,
            _ => {}
        }
    }

    /// In which window the drive is.
    pub(super) fn state(&self, now: Instant) -> WindowState {
        match self.mode {
            Mode::Off => WindowState::Off,
            Mode::ByHand(window) => window,
            Mode::Array(schedule) => {
                let is_open = now < self.open_until || schedule.window_at(now).is_some();
                if is_open { WindowState::NonDeterministic } else { WindowState::Deterministic }
            }
        }
    }

    /// The array that the drive was told about.
    pub(super) fn array(&self) -> Option<ArrayDescription> {
        Some(self.order?.config.ioda?.array())
    }

    /// TW: that of the host or of the drive; none before it was told about an array.
    pub(super) fn busy_time_window(&self, config: &ssd::Config) -> Option<Duration> {
        let settings = self.order?.config.ioda?;
        Some(
            settings
                .busy_time_window
                .unwrap_or_else(|| report::chosen_window(config, settings.array(), settings.guard)),
        )
    }

    /// The schedule in force.
    pub(super) const fn schedule(&self) -> Option<WindowSchedule> {
        match self.mode {
            Mode::Array(schedule) => Some(schedule),
            Mode::Off | Mode::ByHand(_) => None,
        }
    }

    /// What is left of the deterministic window; of time and reads nothing, if the drive is not in
    /// it.
    pub(super) fn estimates(&self, now: Instant, limits: &Limits, headroom: u64) -> Estimates {
        if self.state(now) != WindowState::Deterministic {
            return Estimates { reads: 0, writes: headroom, time_ms: 0 };
        }
        let left = match self.mode {
            Mode::Array(schedule) => {
                let opens = schedule.next_busy_start(now).as_nanos();
                opens.saturating_sub(schedule.guard.as_nanos()).saturating_sub(now.as_nanos())
            }
            Mode::ByHand(_) | Mode::Off => {
                let most = Duration::from_millis(limits.typicals.time_max_ms);
                most.saturating_sub(now.since(self.spent.since)).as_nanos()
            }
        };
        Estimates {
            reads: limits.typicals.reads.saturating_sub(self.spent.reads),
            writes: headroom,
            time_ms: left / 1_000_000,
        }
    }

    /// When [`Windows::watch`] wants to be called if nothing else happens.
    pub(super) fn next_deadline(&self) -> Instant {
        let is_by_hand = self.mode == Mode::ByHand(WindowState::Deterministic);
        let wants = |order: &WindowOrder| order.config.events != 0;
        let is_on = self.mode != Mode::Off;
        match is_by_hand || (is_on && self.order.as_ref().is_some_and(wants)) {
            true => self.look_at,
            false => Instant::NEVER,
        }
    }

    /// What happened in windows since it was called last, as bits of [`window_event`].
    pub(super) fn watch(&mut self, now: Instant, device: &mut Device) -> u16 {
        if self.mode == Mode::Off {
            return 0;
        }
        let Some(ssd) = device.model() else { return 0 };
        let mut happened = 0;
        let excursions = ssd.counters().contract_violations;
        if excursions > std::mem::replace(&mut self.excursions, excursions) {
            happened |= window_event::LEFT_EXCURSION;
        }
        let state = self.state(now);
        let was = std::mem::replace(&mut self.was, state);
        if state == WindowState::Deterministic && was != state {
            self.spent = Spent { since: now, ..Spent::default() };
        }
        if now >= self.look_at && state == WindowState::Deterministic {
            let limits = report::limits(ssd, self);
            let left = self.estimates(now, &limits, ssd.status().headroom_pages);
            happened |= self.warnings(&left);
            if let Mode::ByHand(_) = self.mode
                && self.is_used_up(now, &limits)
            {
                happened |= window_event::LEFT_EXCEEDED;
            }
        }
        if now >= self.look_at {
            self.look_at = now + LOOK_EVERY;
        }
        let left = window_event::LEFT_EXCEEDED | window_event::LEFT_EXCURSION;
        if happened & left != 0 && self.mode == Mode::ByHand(WindowState::Deterministic) {
            self.select(now, WindowState::NonDeterministic, device);
        }
        happened
    }

    /// What is nearly used up and was not told in this window.
    fn warnings(&mut self, left: &Estimates) -> u16 {
        let Some(WindowOrder { config, .. }) = &self.order else { return 0 };
        let mut warnings = 0;
        for (left, threshold, event) in [
            (left.reads, config.reads_threshold, window_event::READS_WARNING),
            (left.writes, config.writes_threshold, window_event::WRITES_WARNING),
            (left.time_ms, config.time_threshold_ms, window_event::TIME_WARNING),
        ] {
            if left < threshold {
                warnings |= event & config.events;
            }
        }
        let new = warnings & !self.spent.told;
        self.spent.told |= new;
        new
    }

    /// Whether the drive has done in this window what it typically can.
    fn is_used_up(&self, now: Instant, limits: &Limits) -> bool {
        let typicals = &limits.typicals;
        let written = self.spent.written_bytes / limits.page_bytes;
        now.since(self.spent.since) >= Duration::from_millis(typicals.time_max_ms)
            || self.spent.reads > typicals.reads
            || written > typicals.writes
    }
}

/// What a model is told.
fn right(mode: Mode) -> CollectionRight {
    match mode {
        Mode::Array(schedule) => CollectionRight::Windows(schedule),
        // In the past, so that none may begin; where it must, it does all the same.
        Mode::ByHand(WindowState::Deterministic) => CollectionRight::Lease { until: Instant::ZERO },
        Mode::Off | Mode::ByHand(_) => CollectionRight::Always,
    }
}
