//! Injected media errors: a drive fails every n-th read.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nvme::{Command, CommandId, Opcode};
use units::DriveId;

/// Reads that fail although their drive works.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadErrors {
    /// For each drive with read errors: reads from one error to the next, and reads so far.
    drives: Vec<(DriveId, u64, u64)>,
    /// Reads in flight, to any drive.
    reads: BTreeSet<CommandId>,
}

impl ReadErrors {
    /// Makes every `every`-th read of the drive fail; 0 ends that.
    pub(crate) fn set(&mut self, drive: DriveId, every: u64) {
        self.drives.retain(|&(other, ..)| other != drive);
        if every > 0 {
            self.drives.push((drive, every, 0));
        }
    }

    /// Notes a command that goes to a drive.
    #[inline]
    pub(crate) fn submit(&mut self, command: &Command) {
        if !self.drives.is_empty() && command.opcode == Opcode::Read {
            self.reads.insert(command.id);
        }
    }

    /// Returns true if the completion of this command is to fail with a media error.
    #[inline]
    pub(crate) fn hits(&mut self, drive: DriveId, command: CommandId) -> bool {
        !self.reads.is_empty() && self.count_read(drive, command)
    }

    #[cold]
    fn count_read(&mut self, drive: DriveId, command: CommandId) -> bool {
        if !self.reads.remove(&command) {
            return false;
        }
        let mut drives = self.drives.iter_mut();
        let Some((_, every, reads)) = drives.find(|(other, ..)| *other == drive) else {
            return false;
        };
        *reads += 1;
        reads.is_multiple_of(*every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvme::PlFlag;
    use units::Lba;

    #[test]
    fn every_third_read_of_one_drive_fails() {
        let mut errors = ReadErrors::default();
        errors.set(DriveId(1), 3);
        let mut failed = Vec::new();
        for id in 0..8 {
            let id = CommandId(id);
            errors.submit(&Command {
                id,
                opcode: Opcode::Read,
                lba: Lba(0),
                blocks: 1,
                pl: PlFlag::Off,
            });
            assert!(id.0 != 7 || !errors.hits(DriveId(0), id), "another drive reads all");
            failed.extend(errors.hits(DriveId(1), id).then_some(id.0));
        }
        assert_eq!(failed, [2, 5]);
        errors.set(DriveId(1), 0);
        assert!(!errors.hits(DriveId(1), CommandId(8)));
    }
}
