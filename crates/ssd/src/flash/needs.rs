//! Needs of operations on their dies: how often their pages are sensed, and how that disturbs their
//! blocks.

use crate::config::Config;
use crate::counters::Counters;
use crate::dies::{DieArray, Need, Task};
use crate::ftl::Ftl;
use crate::retry::Retry;
use nvme::Untimed;
use units::Duration;

/// Machines that determine the need of an operation.
pub(super) struct Needs<'a> {
    pub(super) config: &'a Config,
    pub(super) ftl: &'a mut Ftl,
    pub(super) dies: &'a DieArray,
    pub(super) retry: Option<&'a mut Retry>,
    pub(super) counters: &'a mut Counters,
}

impl Needs<'_> {
    /// Need of an operation that is about to be queued. Its page counts as sensed.
    #[inline]
    pub(super) fn of(self, task: Task) -> Need {
        match (task, &self.config.cells) {
            (Task::Read { logical, .. }, cells) if cells.is_some() || self.retry.is_some() => {
                self.of_read(task, logical)
            }
            (Task::FlushUnit { page, .. }, Some(cells)) => {
                let program = match (self.config.collection.untimed, self.ftl.slc_at(page)) {
                    (Untimed::Writes, _) => Duration::ZERO,
                    (_, Some(slc)) => slc.page.program,
                    (_, None) => cells.program_time(page % self.ftl.shape().pages_per_block),
                };
                let transfers = self.ftl.programmed_with(page) / cells.blocks_per_page;
                Need { transfers, ..Need::of_die(program) }
            }
            _ => {
                if self.retry.is_some() {
                    self.ftl.count_sensing_of(task.sensed());
                }
                self.dies.times().need_of(task)
            }
        }
    }

    fn of_read(self, task: Task, logical: u32) -> Need {
        let pages_per_block = self.ftl.shape().pages_per_block;
        // A page that was never written costs what a written one costs.
        let written = self.ftl.lookup(logical);
        let page = written.unwrap_or(logical);
        let need = self.config.cells.as_ref().map_or_else(
            || self.dies.times().need_of(task),
            |cells| {
                let offset = page % pages_per_block;
                let slc = written.and_then(|page| self.ftl.slc_at(page));
                Need {
                    cells: slc.map_or_else(|| cells.read_time(offset), |slc| slc.page.read),
                    transfers: 1,
                    plane: cells.read_group_of(offset),
                    flash_page: page / cells.blocks_per_page,
                }
            },
        );
        let Some(retry) = self.retry else { return need };
        let erases = self.ftl.erase_counts()[(page / pages_per_block) as usize];
        let retries = retry.draw(erases, written.map_or(0, |page| self.ftl.sensings(page)));
        self.counters.read_retries += u64::from(retries);
        if let Some(page) = written {
            self.ftl.count_sensings(page, 1 + retries);
        }
        Need { cells: need.cells * u64::from(1 + retries), ..need }
    }
}
