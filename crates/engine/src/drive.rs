//! A drive behind the engine: the source of its timing.

use crate::model::{Completed, Ssd};
use alloc::boxed::Box;
use array::policy::PolicyKind;
use nvme::{CollectionReport, CollectionRight, DriveStatus};
use units::{Instant, Observe, Unobserved};

/// Timing behaviour of a drive. The data plane decides where its bytes are.
#[derive(Debug)]
pub enum Drive<O: Observe = Unobserved> {
    /// Commands take as long as the drive model says.
    Emulated(Box<Ssd<O>>),
    /// Commands take as long as the storage behind the drive takes. The drive reports no
    /// collections.
    Plain,
    /// The driver carries every command and brings its completion
    /// ([`Engine::handle_completion`](crate::Engine::handle_completion)): a drive on the network,
    /// or one that a test plays.
    Remote,
}

impl<O: Observe> Drive<O> {
    /// An emulated drive.
    #[must_use]
    pub fn emulated(ssd: Ssd<O>) -> Self {
        Self::Emulated(Box::new(ssd))
    }

    /// The same drive with another observer ([`Ssd::observed`]).
    #[must_use]
    pub fn observed<O2: Observe>(self) -> Drive<O2> {
        match self {
            Self::Emulated(ssd) => Drive::Emulated(Box::new(ssd.observed())),
            Self::Plain => Drive::Plain,
            Self::Remote => Drive::Remote,
        }
    }

    /// The drive model; `None` for other drives.
    #[must_use]
    pub fn ssd(&self) -> Option<&Ssd<O>> {
        match self {
            Self::Emulated(ssd) => Some(ssd),
            Self::Plain | Self::Remote => None,
        }
    }

    /// The drive model, to be changed.
    pub fn ssd_mut(&mut self) -> Option<&mut Ssd<O>> {
        match self {
            Self::Emulated(ssd) => Some(ssd),
            Self::Plain | Self::Remote => None,
        }
    }

    /// Returns true if a drive model answers commands.
    #[must_use]
    pub const fn is_emulated(&self) -> bool {
        matches!(self, Self::Emulated(_))
    }

    #[inline]
    pub(crate) fn next_deadline(&self) -> Instant {
        self.ssd().map_or(Instant::NEVER, Ssd::next_deadline)
    }

    #[inline]
    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        if let Some(ssd) = self.ssd_mut() {
            ssd.handle_deadline(now);
        }
    }

    #[inline]
    pub(crate) fn poll_completion(&mut self) -> Option<Completed> {
        self.ssd_mut()?.poll_completion()
    }

    /// Sets whether the model may defer copies ([`Ssd::set_deferred_copies`]).
    pub(crate) fn set_deferred_copies(&mut self, on: bool) {
        if let Some(ssd) = self.ssd_mut() {
            ssd.set_deferred_copies(on);
        }
    }

    /// Lets the model apply its deferred copies before `now` ([`Ssd::catch_up`]).
    pub(crate) fn catch_up(&mut self, now: Instant) {
        if let Some(ssd) = self.ssd_mut() {
            ssd.catch_up(now);
        }
    }

    pub(crate) fn set_right(&mut self, now: Instant, right: CollectionRight) {
        if let Some(ssd) = self.ssd_mut() {
            ssd.set_right(now, right);
        }
    }

    /// Adapts the model to the policy: some policies need drives whose programs, erases or
    /// collections take no time.
    pub(crate) fn suit(&mut self, policy: PolicyKind) {
        if let Some(ssd) = self.ssd_mut() {
            ssd.set_untimed(policy.about().untimed);
            ssd.set_window_scope(policy.about().windows.scope());
        }
    }

    /// Status of the drive; `None` if the driver has to ask it. A plain drive has no status log
    /// page: it counts as a drive that never needs to collect.
    pub(crate) fn status(&self) -> Option<DriveStatus> {
        match self {
            Self::Emulated(ssd) => Some(ssd.status()),
            Self::Plain => Some(DriveStatus {
                headroom_pages: u64::MAX,
                due: false,
                must_collect: false,
                collecting: false,
            }),
            Self::Remote => None,
        }
    }

    pub(crate) fn report(&self) -> CollectionReport {
        self.ssd().map_or_else(CollectionReport::default, Ssd::collection_report)
    }
}
