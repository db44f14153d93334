//! Right of a drive to collect: always, in windows, or until a time that the host has set.

use alloc::vec;
use alloc::vec::Vec;
use nvme::{CollectionRight, WindowScope};
use units::Instant;

/// Rights to collect the ranges of logical blocks of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    right: CollectionRight,
    /// Work that is done in windows only.
    scope: WindowScope,
    /// End of the window of each range that was open when windows changed.
    open_until: Vec<Instant>,
    next_window: Instant,
}

impl Rights {
    pub(crate) fn new(ranges: u32) -> Self {
        Self {
            right: CollectionRight::Always,
            scope: WindowScope::default(),
            open_until: vec![Instant::ZERO; ranges as usize],
            next_window: Instant::NEVER,
        }
    }

    pub(crate) fn right(&self) -> CollectionRight {
        self.right
    }

    /// The work that is kept to windows.
    #[inline]
    pub(crate) fn scope(&self) -> WindowScope {
        self.scope
    }

    pub(crate) fn set_scope(&mut self, scope: WindowScope) {
        self.scope = scope;
    }

    /// Time at which the next busy window opens.
    #[inline]
    pub(crate) fn next_window(&self) -> Instant {
        self.next_window
    }

    /// Sets when the drive may collect. A busy window that is open stays open until its end, so
    /// that the host can change windows while collections run.
    pub(crate) fn set(&mut self, now: Instant, right: CollectionRight) {
        if let (CollectionRight::Windows(open), CollectionRight::Windows(_)) = (&self.right, right)
        {
            for (open_until, turns) in self.open_until.iter_mut().zip(0..) {
                if let Some(until) = open.delayed(turns).busy_until(now) {
                    *open_until = until.max(*open_until);
                }
            }
        } else {
            self.open_until.fill(Instant::ZERO);
        }
        self.right = right;
        self.schedule(now);
    }

    /// Sets the deadline of the next busy window.
    pub(crate) fn schedule(&mut self, now: Instant) {
        let ranges = 0..self.open_until.len() as u32;
        self.next_window =
            ranges.map(|range| self.right.next_start(now, range)).min().unwrap_or(Instant::NEVER);
    }

    /// Time until which a collection that starts at `now` in a range of logical blocks may run;
    /// `None` if none may start.
    pub(crate) fn allowed_until(&self, now: Instant, range: u32) -> Option<Instant> {
        let carried = self.open_until[range as usize];
        let until = self.right.until(now, range);
        if now < carried { until.max(Some(carried)) } else { until }
    }

    /// The ranges whose windows are open at `now`, and until when.
    pub(crate) fn open_windows(&self, now: Instant) -> impl Iterator<Item = (u32, Instant)> + '_ {
        let ranges = 0..self.open_until.len() as u32;
        ranges.filter_map(move |range| {
            let until = self.allowed_until(now, range)?;
            matches!(self.right, CollectionRight::Windows(_)).then_some((range, until))
        })
    }
}
