//! How a drive behaves in time: emulated, or as its storage does.

use nvme::{CollectionReport, CollectionRight, Command, DriveStatus};
use ssd::Ssd;
use units::Instant;

/// The half of a drive that says when, while its storage keeps what.
#[derive(Debug)]
pub enum Model {
    /// The model that was measured in the simulator: commands take as long as it says.
    Emulated(Box<Ssd>),
    /// A drive that takes as long as it takes, and that says nothing about its collections.
    Plain,
}

impl Model {
    /// Whether the drive is emulated.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        matches!(self, Self::Emulated(_))
    }

    pub(crate) fn handle_command(&mut self, now: Instant, command: &Command) {
        if let Self::Emulated(ssd) = self {
            ssd.handle_command(now, command);
        }
    }

    pub(crate) fn set_right(&mut self, now: Instant, right: CollectionRight) {
        if let Self::Emulated(ssd) = self {
            ssd.set_right(now, right);
        }
    }

    /// What the drive says when it is asked. A plain drive has no such log page: it is taken for one
    /// that never needs to collect.
    pub(crate) fn status(&self) -> DriveStatus {
        match self {
            Self::Emulated(ssd) => ssd.status(),
            Self::Plain => DriveStatus {
                headroom_pages: u64::MAX,
                due: false,
                must_collect: false,
                collecting: false,
            },
        }
    }

    pub(crate) fn report(&self) -> CollectionReport {
        match self {
            Self::Emulated(ssd) => ssd.collection_report(),
            Self::Plain => CollectionReport::default(),
        }
    }
}
