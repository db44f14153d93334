//! Injected lies: drives that collect and program whenever they like, and say nothing of it.

use crate::model::Ssd;
use alloc::vec::Vec;
use nvme::{CollectionRight, Command, PlFlag, WindowScope};
use units::{DriveId, Instant, Observe};

/// Drives that do not keep to what the host has told them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Liars {
    /// Each with what it was told last.
    drives: Vec<(DriveId, CollectionRight)>,
}

impl Liars {
    /// From now on the drive ignores its windows.
    pub(crate) fn begin<O: Observe>(&mut self, now: Instant, drive: DriveId, ssd: &mut Ssd<O>) {
        if self.told(drive).is_none() {
            self.drives.push((drive, ssd.right()));
            ssd.set_window_scope(WindowScope::Collections);
            ssd.set_right(now, CollectionRight::Always);
        }
    }

    /// From now on it keeps to them, and does in them only what `scope` says.
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

    /// Another drive is in its place.
    pub(crate) fn forget(&mut self, drive: DriveId) {
        self.drives.retain(|&(liar, _)| liar != drive);
    }

    /// What the drive was told last, if it is a liar.
    #[inline]
    pub(crate) fn told(&mut self, drive: DriveId) -> Option<&mut CollectionRight> {
        self.drives.iter_mut().find(|(liar, _)| *liar == drive).map(|(_, right)| right)
    }

    /// The command as the drive takes it: it does not look at the flag.
    #[inline]
    pub(crate) fn taken(&mut self, drive: DriveId, command: Command) -> Command {
        match self.told(drive) {
            Some(_) => Command { pl: PlFlag::Off, ..command },
            None => command,
        }
    }
}
