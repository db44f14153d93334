//! The end of a history: no more faults come, and the array must become idle and be right.

use super::constants::REST;
use super::disk::Faults;
use super::failure::{Done, Failure};
use super::history::Access;
use super::place::Row;
use super::powered::Fuse;
use super::world::World;
use std::collections::BTreeSet;
use units::Duration;

/// Sectors of a page.
const PAGE_SECTORS: u64 = 8;
/// Most pages of a read.
const READ_PAGES: u64 = 8;
/// Number of pages that are read though they were never written.
const SPARE_PAGES: u64 = 6;

impl World {
    /// Ends all faults, and checks that the array becomes idle and is right.
    pub(super) fn end(&mut self) -> Done {
        self.pending = None;
        self.calm = true;
        if self.array.is_none() {
            return Ok(());
        }
        self.tell(|| "nothing more goes wrong".into());
        self.heal()?;
        self.read_everything()?;
        if self.beyond {
            return Ok(());
        }
        self.compare_parity()?;
        self.restart()?;
        self.read_everything()
    }

    /// Replaces drives until all serve.
    fn heal(&mut self) -> Done {
        if let Some(array) = &mut self.array {
            array.fuse = Fuse::new(None);
            for bay in &mut array.bays {
                let dead = bay.disk.faults.dead;
                bay.disk.faults = Faults { dead, ..Faults::default() };
            }
        }
        let deadline = self.now() + REST;
        loop {
            let until = self.now() + Duration::from_secs(10);
            self.run(until)?;
            self.note_recorded();
            let Some(array) = &self.array else { return Ok(()) };
            let absent = array.volume.engine().array().absent();
            let refuses = array.volume.refuses_requests();
            let quiet = array.volume.is_quiet() && array.in_flight() == 0;
            if quiet && self.waiting.is_empty() && (self.lost() == 0 || self.beyond) {
                return Ok(());
            }
            if refuses && self.waiting.is_empty() {
                return Ok(());
            }
            if self.now() >= deadline {
                let waiting = self.waiting.len();
                let lost = self.lost();
                return Err(Failure::NoRest(format!(
                    "{waiting} requests are not answered, drives {lost:#b} are not serving"
                )));
            }
            for drive in self.drives().filter(|drive| absent >> drive.0 & 1 == 1) {
                self.replace(drive)?;
            }
        }
    }

    fn read_everything(&mut self) -> Done {
        let mut pages = self.pages_with_data().into_iter().peekable();
        while let Some(first) = pages.next() {
            let mut end = first + 1;
            while end < first + READ_PAGES && pages.next_if_eq(&end).is_some() {
                end += 1;
            }
            let sectors = (end - first) * PAGE_SECTORS;
            self.access(Access::Read, first * PAGE_SECTORS, sectors)?;
            let until = self.now() + Duration::from_secs(1);
            self.run(until)?;
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        Err(Failure::NoRest(format!("{} reads are not answered", self.waiting.len())))
    }

    /// Pages of the array that were written, or whose rows have content on any disk, and a few
    /// others: all pages that could be wrong.
    fn pages_with_data(&self) -> BTreeSet<u64> {
        let mut pages: BTreeSet<u64> =
            self.model.written().map(|sector| sector / PAGE_SECTORS).collect();
        let data = self.data_blocks();
        for (drive, bay) in self.drives().zip(self.array.iter().flat_map(|array| &array.bays)) {
            for block in bay.disk.blocks_with_data(data.clone()) {
                let row = Row::of_drive(&self.layout, drive, block - data.start);
                pages.extend(
                    row.iter().flat_map(|row| row.pages(&self.layout)).map(|(page, _)| page),
                );
            }
        }
        let mut rng = self.rng("spare pages", self.names.asked);
        let all = self.model.sectors() / PAGE_SECTORS;
        pages.extend((0..SPARE_PAGES).map(|_| rng.below(all)));
        pages
    }

    fn compare_parity(&mut self) -> Done {
        let Some(array) = &mut self.array else { return Ok(()) };
        array.volume.scrub(array.now, false);
        let until = self.now() + REST;
        self.run(until)?;
        let Some(array) = &self.array else { return Ok(()) };
        match array.volume.engine().plane().mismatches() {
            0 => Ok(()),
            mismatches => Err(Failure::Parity { mismatches }),
        }
    }
}
