//! Durations of the steps of page operations on the dies of a drive.

use crate::config::Config;
use crate::dies::ops::{Need, Task};
use nvme::Untimed;
use units::Duration;

/// Durations of the steps of page operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) read: Duration,
    pub(crate) program: Duration,
    pub(crate) erase: Duration,
    pub(crate) blocks_per_erase: u32,
    pub(crate) transfer: Duration,
    /// Time of one data move of a program: a page, or a flash page of many logical blocks.
    pub(crate) transfer_in: Duration,
    /// The time for which copying a page holds its channel.
    pub(crate) copy_transfer: Duration,
    /// Time to sense a page and move it out.
    pub(crate) read_service: Duration,
    /// Time to move a page in and program it; with several bits in a cell, the longest time of a
    /// program.
    pub(crate) program_service: Duration,
    /// Time that copying the pages of one program holds the channel.
    pub(crate) moved: Duration,
}

impl Times {
    pub(crate) fn new(config: &Config) -> Self {
        let timing = &config.timing;
        let (read, program, per_page, per_program) = match &config.cells {
            None => (timing.read, timing.program, 1, 1),
            Some(cells) => {
                let unit = u64::from(cells.unit_pages());
                (
                    cells.longest_read(),
                    cells.longest_program(),
                    u64::from(cells.blocks_per_page),
                    unit,
                )
            }
        };
        let times = Self {
            read,
            program,
            erase: timing.erase,
            blocks_per_erase: timing.blocks_per_erase,
            transfer: timing.transfer,
            transfer_in: timing.transfer * per_page,
            copy_transfer: config.copy_transfer(),
            read_service: read + timing.transfer,
            program_service: program + timing.transfer * per_program,
            moved: timing.transfer * per_program * 2,
        };
        match config.collection.untimed {
            Untimed::Nothing | Untimed::Collections => times,
            Untimed::Writes => times.of_reads_only(),
        }
    }

    /// These times if changes of flash took no time.
    fn of_reads_only(self) -> Self {
        let none = Duration::ZERO;
        let (program, erase, transfer_in) = (none, none, none);
        let (copy_transfer, program_service, moved) = (none, none, none);
        Self { program, erase, transfer_in, copy_transfer, program_service, moved, ..self }
    }

    /// Need of an operation on a die that works on one page at a time.
    #[inline]
    pub(crate) fn need_of(&self, task: Task) -> Need {
        match task {
            Task::Hold { .. } => Need::of_die(Duration::ZERO),
            task if task.is_read() => Need::of_die(self.read),
            _ => Need::of_die(self.program),
        }
    }

    #[inline]
    pub(super) fn service_of(&self, task: Task, need: Need) -> Duration {
        match task {
            Task::Hold { .. } => Duration::ZERO,
            task if task.is_read() => need.cells + self.transfer,
            Task::FlushUnit { .. } => need.cells + self.transfer_in * u64::from(need.transfers),
            _ => need.cells + self.transfer_in,
        }
    }
}
