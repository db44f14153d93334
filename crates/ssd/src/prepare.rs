//! Preparation before a run and the state after it: steady state, and the state that is saved while
//! a drive is off.

use crate::aged::AgedBlocks;
use crate::codec::StateError;
use crate::config::Config;
use crate::counters::Counters;
use crate::device::Ssd;
use crate::ftl::Placements;
use crate::precondition::{Preconditioned, Rounds};
use crate::state;
use alloc::vec::Vec;
use units::Observe;

impl Ssd {
    /// Restores a drive from a state that [`Ssd::state`] has returned.
    ///
    /// # Errors
    ///
    /// If the bytes are no such state, or the state of another drive. Every number is checked.
    pub fn restore(config: Config, state: &[u8]) -> Result<Self, StateError> {
        let mut drive = Self::new(config).map_err(StateError::Config)?;
        if drive.placement.layout().is_some() {
            return Err(StateError::Rain);
        }
        let ftl = state::decode(drive.flash.config(), state)?;
        drive.flash.set_ftl(ftl);
        Ok(drive)
    }
}

impl<O: Observe> Ssd<O> {
    /// Fills the drive in order and overwrites it at random until write amplification is stable,
    /// all in no time. Counters start at zero afterwards.
    ///
    /// # Panics
    ///
    /// If commands are in flight.
    pub fn precondition(&mut self, seed: u64) -> Preconditioned {
        assert_eq!(self.commands_in_flight(), 0, "preconditioning a drive in use");
        // With RAIN the parity pages follow, one of each stripe.
        for page in 0..self.flash.shape().stored_pages {
            let die = self.placement.bound_die(page, &self.flash);
            self.flash.write_untimed(page, die);
        }
        let mut rounds = Rounds::new(self.flash.shape().logical_pages, seed);
        while rounds.go_on() {
            *self.flash.counters_mut() = Counters::default();
            for page in rounds.next_round() {
                self.overwrite_page(page);
            }
            rounds.end_round(self.counters());
        }
        self.flash.align();
        self.flash.seed_retries(seed);
        self.reset_counters();
        rounds.result()
    }

    /// Puts a factory-new drive into the state that [`Ssd::precondition`] would bring it to, in one
    /// pass over its pages: the way for large drives.
    ///
    /// # Panics
    ///
    /// If commands are in flight.
    pub fn age(&mut self, seed: u64) {
        assert_eq!(self.commands_in_flight(), 0, "aging a drive in use");
        let layout = self.placement.layout();
        let mut placements = Placements::new(self.flash.shape().stored_pages);
        let mut blocks = AgedBlocks::new(self.flash.ftl(), layout, seed);
        while let Some(block) = blocks.next() {
            self.flash.place_block(block, blocks.image(), &mut placements);
        }
        self.flash.enter(&placements);
        self.flash.seed_retries(seed);
        self.reset_counters();
    }

    /// Writes logical pages in no time, in this order, and collects when due, without windows.
    /// Counters include this work.
    ///
    /// # Panics
    ///
    /// If commands are in flight, or a page is beyond the last.
    pub fn overwrite(&mut self, pages: &[u32]) {
        assert_eq!(self.commands_in_flight(), 0, "overwriting a drive in use");
        pages.iter().for_each(|&page| self.overwrite_page(page));
        self.flash.align();
    }

    /// Writes a logical page, and with RAIN its parity, in no time.
    fn overwrite_page(&mut self, page: u32) {
        let Self { placement, flash, .. } = self;
        flash.write_untimed(page, placement.bound_die(page, flash));
        flash.counters_mut().host_programs_pages += 1;
        if let Some(layout) = placement.layout() {
            let parity = layout.parity_of(page);
            flash.write_untimed(parity, placement.bound_die(parity, flash));
            flash.counters_mut().parity_programs_pages += 1;
        }
    }

    /// Collects in no time up to the free space that busy windows keep, which is more than drives
    /// without windows keep. Counters do not include this work.
    ///
    /// # Panics
    ///
    /// If commands are in flight.
    pub fn restore_free_space(&mut self) {
        assert_eq!(self.commands_in_flight(), 0, "preparing a drive in use");
        self.flash.restore_instantly();
        self.reset_counters();
    }

    /// Lets collections and flushes under way end, in the drive's own time, which may be ahead of
    /// the host's afterwards. For a drive that is about to be switched off.
    ///
    /// # Panics
    ///
    /// If commands are in flight.
    pub fn settle(&mut self) {
        assert_eq!(self.commands_in_flight(), 0, "a drive in use does not settle");
        while !self.is_settled() {
            let due = self.next_deadline();
            self.handle_deadline(due);
        }
    }

    /// Whether no collection or flush moves pages.
    fn is_settled(&self) -> bool {
        self.flash.collects_nothing() && self.placement.flushes_nothing()
    }

    /// State of the flash for [`Ssd::restore`]: the place of every logical page, the free blocks,
    /// and the erases of each block. Totals, rights to collect, the backlog of copies to check, and
    /// pages that are only in the write buffer are not part of it.
    ///
    /// # Errors
    ///
    /// If the drive has parity of its own.
    ///
    /// # Panics
    ///
    /// If the drive is in use: call [`Ssd::settle`] first.
    pub fn state(&self) -> Result<Vec<u8>, StateError> {
        if self.placement.layout().is_some() {
            return Err(StateError::Rain);
        }
        assert!(
            self.commands_in_flight() == 0 && self.is_settled(),
            "the state of a drive in use changes"
        );
        Ok(state::encode(self.flash.config(), self.flash.ftl()))
    }
}
