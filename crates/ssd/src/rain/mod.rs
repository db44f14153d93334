//! Redundant array of independent NAND: parity within the drive, for reads and flushes that
//! tolerate collection (TTFLASH §4.2 to §4.5 and §7).
//!
//! Mapped pages are consistent at every moment: the parity of a stripe is the exclusive or of its
//! pages. A stripe that leaves the write buffer is programmed beside the old one, and mapped as a
//! whole when its last page is programmed (`flush.rs`). Until then any of its old pages can be
//! reconstructed from the others (`reconstruct.rs`). A stripe is not mapped anew while one of its
//! pages is being reconstructed.

mod choose;
mod config;
mod flush;
mod layout;
mod order;
mod reconstruct;
mod stripes;
mod wear;

pub(crate) use config::WIDTH_MAX;
pub use config::{RainConfig, Rotation};
pub(crate) use layout::Layout;
pub(crate) use reconstruct::ByStripe;

use crate::config::Config;
use crate::dies::{self, Task};
use crate::flash::Flash;
use crate::link::HostLink;
use crate::placement::{Buffer, Location};
use alloc::vec::Vec;
use choose::Chooser;
use nvme::Delays;
use reconstruct::Reconstructions;
use stripes::Stripes;
use units::{Instant, Observe};
use wear::WearLeveling;

/// Writes of a drive with RAIN.
#[derive(Clone, Debug)]
pub(crate) struct Striped {
    buffer: Buffer,
    stripes: Stripes,
    chooser: Chooser,
    reconstructions: Reconstructions,
    wear: WearLeveling,
}

impl Striped {
    /// The stripes of a drive as it leaves the factory.
    pub(crate) fn new(drive: &Config, config: RainConfig, buffer: Buffer) -> Self {
        let stripes = Stripes::new(drive, config.width);
        let (groups, data) = (stripes.layout.groups.count, stripes.layout.data());
        Self {
            chooser: Chooser::new(groups, data, buffer.capacity()),
            reconstructions: Reconstructions::new(&config),
            wear: WearLeveling::new(groups, config.wear_leveling),
            stripes,
            buffer,
        }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Places of stripes.
    pub(crate) fn layout(&self) -> &Layout {
        &self.stripes.layout
    }

    /// Time at which the buffer answers a command or a page has been reconstructed.
    #[inline]
    pub(crate) fn next_due(&self) -> Instant {
        self.buffer.next_answer().min(self.reconstructions.next_due())
    }

    /// Handles what is due first.
    pub(crate) fn end_due(&mut self, now: Instant, link: &mut HostLink) {
        if self.buffer.next_answer() == now {
            self.buffer.end_answer(now, link);
        } else {
            self.reconstructions.end(now, link);
        }
    }

    /// Marks those of `pages` that are reconstructed instead of read from their die; logical page
    /// `first` is the first of them. Returns whether any is.
    pub(crate) fn mark_reconstructed<O: Observe>(
        &self,
        now: Instant,
        first: u32,
        pages: &mut [Location],
        flash: &Flash<O>,
    ) -> bool {
        self.reconstructions.mark(now, first, pages, &self.stripes, flash)
    }

    /// Whether a read of this page alone would be reconstructed if its die collected.
    pub(crate) fn would_reconstruct<O: Observe>(
        &self,
        now: Instant,
        logical: u32,
        flash: &Flash<O>,
    ) -> bool {
        self.reconstructions.would_reconstruct(now, logical, &self.stripes, flash)
    }

    /// Begins to reconstruct the marked `pages` of a command. Returns the reconstructions by
    /// stripe.
    pub(crate) fn begin_reconstructions<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        pages: &[Location],
        flash: &mut Flash<O>,
        link: &HostLink,
    ) -> ByStripe {
        self.reconstructions.begin(now, command, pages, &self.stripes, flash, link)
    }

    /// Counts a page that has been read for a reconstruction.
    pub(crate) fn add_to_reconstruction<O: Observe>(
        &mut self,
        now: Instant,
        (reconstruction, page): (u32, u32),
        delays: Delays,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        let done = self.reconstructions.add(now, reconstruction, page, delays, flash, link);
        if let Some(stripe) = done {
            self.map_if_programmed(now, stripe, flash, link);
        }
    }

    /// Ends an operation of the drive's own. The caller continues the die, and after a program the
    /// flush.
    pub(crate) fn end_task<O: Observe>(
        &mut self,
        now: Instant,
        die: u32,
        task: Task,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        match task {
            Task::StripeRead { reconstruction, page } => {
                flash.counters_mut().rebuild_reads_pages += 1;
                let delays = flash.dies().delays_of_read(die);
                self.add_to_reconstruction(now, (reconstruction, page), delays, flash, link);
            }
            Task::ParityRead { flush, .. } => self.end_parity_read(now, flush, flash),
            Task::StripeProgram { flush, page, .. } => {
                self.end_program(now, die, (flush, page), flash, link);
            }
            other => unreachable!("{other:?} is no work of stripes"),
        }
    }

    /// Flash pages that are allocated and not mapped yet.
    pub(crate) fn pages_in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        self.stripes.pages_in_flight()
    }

    /// Commands whose pages are reconstructed, once for each page.
    pub(crate) fn commands<O: Observe>(&self, flash: &Flash<O>) -> impl Iterator<Item = u32> {
        let mut read_for: Vec<u32> =
            dies::tasks(flash.dies()).filter_map(reconstruction_of).collect();
        read_for.sort_unstable();
        read_for.dedup();
        self.reconstructions.commands(read_for)
    }

    /// Checks that programs, stripes and the buffer agree.
    pub(crate) fn check_invariants<O: Observe>(&self, flash: &Flash<O>) {
        self.buffer.check_invariants();
        self.reconstructions.check_invariants();
        let mut programs = alloc::vec![0; flash.dies().len() as usize];
        for (die, task) in dies::tasks(flash.dies()) {
            programs[die as usize] += u32::from(matches!(task, Task::StripeProgram { .. }));
        }
        for (&programs, die) in programs.iter().zip(0..) {
            assert_eq!(programs, self.stripes.programs(die), "programs of die {die}");
        }
    }
}

fn reconstruction_of((_, task): (u32, Task)) -> Option<u32> {
    match task {
        Task::SharedRead { reconstruction, .. } | Task::StripeRead { reconstruction, .. } => {
            Some(reconstruction)
        }
        _ => None,
    }
}
