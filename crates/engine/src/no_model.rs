//! Stand-in for the drive model when the crate is built without the feature `model`.
//!
//! No value of [`Ssd`] exists, so each method is a `match` without arms: the compiler removes the
//! calls, and one source of the engine serves both builds.

use core::convert::Infallible;
use core::marker::PhantomData;
use nvme::{CollectionReport, CollectionRight, Command, Completion, DriveStatus};
use nvme::{Untimed, WindowScope};
use units::{Instant, Observe, Ratio, Unobserved};

/// A drive model in a build without one: no value of it exists.
#[derive(Clone, Copy, Debug)]
pub struct Ssd<O: Observe = Unobserved> {
    none: Infallible,
    observer: PhantomData<O>,
}

/// A completion of a drive model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Completed {
    pub(crate) at: Instant,
    pub(crate) completion: Completion,
}

/// An event of a drive model.
pub(crate) type DriveEvent = Infallible;

impl<O: Observe> Ssd<O> {
    pub(crate) fn observed<O2: Observe>(self) -> Ssd<O2> {
        match self.none {}
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        match self.none {}
    }

    pub(crate) fn handle_deadline(&mut self, _: Instant) {
        match self.none {}
    }

    pub(crate) fn handle_command(&mut self, _: Instant, _: &Command) {
        match self.none {}
    }

    pub(crate) fn poll_completion(&mut self) -> Option<Completed> {
        match self.none {}
    }

    pub(crate) fn right(&self) -> CollectionRight {
        match self.none {}
    }

    pub(crate) fn set_right(&mut self, _: Instant, _: CollectionRight) {
        match self.none {}
    }

    pub(crate) fn set_untimed(&mut self, _: Untimed) {
        match self.none {}
    }

    pub(crate) fn set_window_scope(&mut self, _: WindowScope) {
        match self.none {}
    }

    pub(crate) fn set_deferred_copies(&mut self, _: bool) {
        match self.none {}
    }

    pub(crate) fn catch_up(&mut self, _: Instant) {
        match self.none {}
    }

    pub(crate) fn set_slowness(&mut self, _: u32) {
        match self.none {}
    }

    pub(crate) fn set_added_retries(&mut self, _: Ratio) {
        match self.none {}
    }

    pub(crate) fn status(&self) -> DriveStatus {
        match self.none {}
    }

    pub(crate) fn collection_report(&self) -> CollectionReport {
        match self.none {}
    }

    pub(crate) fn drain_events(&mut self, _: impl FnMut(Instant, DriveEvent)) {
        match self.none {}
    }

    pub(crate) fn each_event(&self, _: impl FnMut(Instant, &DriveEvent)) {
        match self.none {}
    }

    pub(crate) fn check_invariants(&self) {
        match self.none {}
    }
}
