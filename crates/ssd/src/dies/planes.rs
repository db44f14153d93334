//! Planes that sense and send pages for the host independently of the other planes of their die. A
//! group of planes that reads together counts as one plane here.
//!
//! Knows: the read in service on each plane, and the flash page in its register. Does not know:
//! other work of the die; while it programs, gathers or erases, no plane reads.

use crate::config::Config;
use crate::dies::DieArray;
use crate::dies::answers::StepEnd;
use crate::dies::die::{State, Step};
use crate::dies::ledger::{Spent, Work};
use crate::dies::ops::{Op, Task};
use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// No flash page.
const NO_PAGE: u32 = u32::MAX;

/// A read in service on a plane.
#[derive(Clone, Copy, Debug)]
struct PlaneRead {
    task: Task,
    step: Step,
    /// Wait of the read so far, by kind of work.
    waited: Spent,
    /// The channel's ledger when the read began to wait for the channel.
    channel_before: Spent,
    /// Time to sense; zero if the register had the page already.
    cells: Duration,
}

/// The planes of a drive whose planes read on their own.
#[derive(Clone, Debug)]
pub(super) struct PlaneReads {
    /// Planes of a die.
    planes: u32,
    reads: Vec<Option<PlaneRead>>,
    /// The flash page whose data is in the register of each plane.
    registers: Vec<u32>,
    /// Number of planes of each die that read.
    busy: Vec<u32>,
}

impl PlaneReads {
    pub(super) fn new(config: &Config) -> Option<Self> {
        let cells = config.cells.filter(|cells| cells.read_groups > 1)?;
        let (dies, planes) = (config.geometry.dies() as usize, cells.read_groups as usize);
        Some(Self {
            planes: cells.read_groups,
            reads: vec![None; dies * planes],
            registers: vec![NO_PAGE; dies * planes],
            busy: vec![0; dies],
        })
    }

    /// Planes of the drive.
    pub(super) fn len(&self) -> usize {
        self.reads.len()
    }

    /// Reads in service on the planes of a die.
    pub(super) fn tasks(&self, die: u32) -> impl Iterator<Item = Task> + '_ {
        let first = (die * self.planes) as usize;
        self.reads[first..first + self.planes as usize].iter().flatten().map(|read| read.task)
    }
}

impl DieArray {
    /// The die of a source of deadlines, which is a die or a plane that reads on its own.
    #[inline]
    pub(crate) fn die_of_source(&self, source: u32) -> u32 {
        match &self.planes {
            Some(planes) if source >= self.len() => (source - self.len()) / planes.planes,
            _ => source,
        }
    }

    /// Whether planes read on their own.
    #[inline]
    pub(crate) fn has_plane_reads(&self) -> bool {
        self.planes.is_some()
    }

    /// Whether planes of a die read on their own now.
    #[inline]
    pub(crate) fn is_reading(&self, die: u32) -> bool {
        self.planes.as_ref().is_some_and(|planes| planes.busy[die as usize] > 0)
    }

    /// Time left to the reads on the planes of a die, without waits for the channel.
    pub(super) fn plane_reads_left(&self, now: Instant, die: u32) -> Duration {
        let Some(planes) = &self.planes else { return Duration::ZERO };
        let first = self.len() + die * planes.planes;
        let dues = (first..first + planes.planes).map(|source| self.deadlines.get(source as usize));
        let ends = dues.filter(|&due| due != Instant::NEVER).map(|due| due.since(now));
        let rest = self.times.transfer * u64::from(planes.busy[die as usize]);
        ends.max().unwrap_or_default() + rest
    }

    /// Forgets the pages in the registers of a die, because other work needs the registers.
    #[inline]
    pub(super) fn forget_registers(&mut self, die: u32) {
        if let Some(planes) = &mut self.planes {
            let first = (die * planes.planes) as usize;
            planes.registers[first..first + planes.planes as usize].fill(NO_PAGE);
        }
    }

    /// Begins a read on a free plane of a die: the first at the front of the queue for such a
    /// plane.
    pub(crate) fn begin_plane_read(&mut self, now: Instant, die: u32) -> Option<Task> {
        let planes = self.planes.as_mut()?;
        let first = die * planes.planes;
        let target = &mut self.dies[die as usize];
        let suits = |op: &Op| planes.reads[(first + op.need.plane) as usize].is_none();
        let op = target.queue.take_read(&mut self.ops, suits)?;
        let entry = self.ops.get(op);
        let (task, need, before) = (entry.task, entry.need, entry.before);
        self.held_up -= u32::from(entry.held_up);
        self.ops.release(op);
        target.state = State::Reading;
        target.ledger.switch(now, Some(Work::HostRead));
        self.deadlines.set(die as usize, Instant::NEVER);
        let mut waited = Spent::ZERO;
        waited.add_between(&before, target.ledger.spent());
        let plane = first + need.plane;
        // Without a transfer, a read from the register would take no time, and a closed-loop host
        // would run for ever.
        let is_there = planes.registers[plane as usize] == need.flash_page;
        let sensed = is_there && !self.times.transfer.is_zero();
        let cells = if sensed { Duration::ZERO } else { need.cells };
        planes.registers[plane as usize] = need.flash_page;
        planes.busy[die as usize] += 1;
        planes.reads[plane as usize] =
            Some(PlaneRead { task, step: Step::Sense, waited, channel_before: Spent::ZERO, cells });
        if sensed {
            self.request_channel_for_plane(now, plane);
        } else {
            self.set_plane_deadline(plane, now + cells);
        }
        Some(task)
    }

    fn set_plane_deadline(&mut self, plane: u32, due: Instant) {
        self.deadlines.set((self.len() + plane) as usize, due);
    }

    fn plane_read(&mut self, plane: u32) -> &mut PlaneRead {
        let reads = self.planes.as_mut().map(|planes| &mut planes.reads[plane as usize]);
        match reads {
            Some(Some(read)) => read,
            _ => unreachable!("plane {plane} has a deadline but no read"),
        }
    }

    fn channel_of_plane(&self, plane: u32) -> usize {
        self.channel_of(self.die_of_source(self.len() + plane)) as usize
    }

    /// Ends the current step of a plane.
    pub(super) fn end_plane_step(&mut self, now: Instant, plane: u32) -> StepEnd {
        let transfers = !self.times.transfer.is_zero();
        if self.plane_read(plane).step == Step::Sense && transfers {
            self.request_channel_for_plane(now, plane);
            return StepEnd::Continues;
        }
        let die = self.die_of_source(self.len() + plane);
        if transfers {
            self.release_channel(now, die);
        }
        let PlaneRead { task, waited, cells, .. } = *self.plane_read(plane);
        self.set_plane_deadline(plane, Instant::NEVER);
        if let Some(planes) = &mut self.planes {
            planes.reads[plane as usize] = None;
            planes.busy[die as usize] -= 1;
        }
        // The die answers for the delays of the read, so they are copied to it.
        let target = &mut self.dies[die as usize];
        (target.waited, target.cells) = (waited, cells);
        StepEnd::Finished(task)
    }

    fn request_channel_for_plane(&mut self, now: Instant, plane: u32) {
        let number = self.channel_of_plane(plane);
        if !self.channels[number].busy {
            self.begin_plane_transfer(now, plane);
            return;
        }
        let before = self.channels[number].ledger.read(now);
        let read = self.plane_read(plane);
        (read.step, read.channel_before) = (Step::WaitChannel, before);
        let source = self.len() + plane;
        self.channels[number].waiting.push_back(source);
        self.set_plane_deadline(plane, Instant::NEVER);
    }

    /// Gives the channel to a plane that has waited for it.
    pub(super) fn end_channel_wait_of_plane(&mut self, now: Instant, plane: u32) {
        self.begin_plane_transfer(now, plane);
        let after = *self.channels[self.channel_of_plane(plane)].ledger.spent();
        let read = self.plane_read(plane);
        let before = read.channel_before;
        read.waited.add_between(&before, &after);
    }

    fn begin_plane_transfer(&mut self, now: Instant, plane: u32) {
        self.plane_read(plane).step = Step::Transfer;
        let number = self.channel_of_plane(plane);
        self.channels[number].busy = true;
        self.channels[number].ledger.switch(now, Some(Work::HostRead));
        self.set_plane_deadline(plane, now + self.times.transfer);
    }

    /// Number of planes behind a channel whose read is in `step`.
    pub(super) fn planes_in(&self, step: Step, channel: u32) -> usize {
        let Some(planes) = &self.planes else { return 0 };
        let reads = planes.reads.iter().zip(0..);
        let here = reads.filter(|&(_, plane)| self.channel_of_plane(plane) == channel as usize);
        here.filter(|(read, _)| read.is_some_and(|read| read.step == step)).count()
    }
}
