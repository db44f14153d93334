//! Injected misbehaviour: drives that collect and program at any time, and do not report it.

use crate::model::Ssd;
use alloc::vec::Vec;
use nvme::{CollectionRight, Command, PlFlag, WindowScope};
use units::{DriveId, Instant, Observe};

/// Drives that ignore the host's windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Liars {
    /// Each such drive with the right that the host gave it last.
    drives: Vec<(DriveId, CollectionRight)>,
}

impl Liars {
    /// Makes the drive ignore its windows.
    pub(crate) fn begin<O: Observe>(&mut self, now: Instant, drive: DriveId, ssd: &mut Ssd<O>) {
        if self.told(drive).is_none() {
            self.drives.push((drive, ssd.right()));
            ssd.set_window_scope(WindowScope::Collections);
            ssd.set_right(now, CollectionRight::Always);
        }
    }

    /// Makes the drive keep to its windows again; `scope` says which work they hold back.
    pub(crate) fn end<O: Observe>(
        &mut self,
        now: Instant,
        drive: DriveId,
        scope: WindowScope,
        ssd: &mut Ssd<O>,
    ) {
        if let Some(&mut right) = self.told(drive) {
            self.forget(drive);
            ssd.set_window_scope(scope);
            ssd.set_right(now, right);
        }
    }

    /// Removes a drive that was replaced.
    pub(crate) fn forget(&mut self, drive: DriveId) {
        self.drives.retain(|&(liar, _)| liar != drive);
    }

    /// Right that the host gave the drive last; `None` if the drive keeps to its windows.
    #[inline]
    pub(crate) fn told(&mut self, drive: DriveId) -> Option<&mut CollectionRight> {
        self.drives.iter_mut().find(|(liar, _)| *liar == drive).map(|(_, right)| right)
    }

    /// Returns the command without its PL flag if the drive ignores windows.
    #[inline]
    pub(crate) fn taken(&mut self, drive: DriveId, command: Command) -> Command {
        match self.told(drive) {
            Some(_) => Command { pl: PlFlag::Off, ..command },
            None => command,
        }
    }
}
