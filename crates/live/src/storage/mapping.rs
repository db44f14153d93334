//! Memory of a drive in memory: one anonymous mapping, changed by its owner only, whose pages
//! another thread may have the kernel populate meanwhile.

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Bytes in a huge page of the common processors (x86-64, AArch64 with pages of 4 KiB). Elsewhere
/// this is only the size of a piece.
pub(super) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed address space. It is unmapped when nobody has it any more.
#[derive(Debug)]
struct Mapping {
    /// What the kernel has mapped: up to two huge pages more than is used.
    mapped: NonNull<c_void>,
    mapped_bytes: usize,
    /// The first byte that is used, at the start of a huge page.
    start: NonNull<u8>,
    bytes: usize,
    /// How many of them were populated in advance.
    populated_bytes: AtomicU64,
}

// SAFETY: the mapping belongs to no thread, and every thread may unmap it.
#[allow(unsafe_code)]
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` gives nobody access to the bytes. Only `Region` does, which is not
// cloned and follows the rules of borrowing; `populate` does not change bytes (see there).
#[allow(unsafe_code)]
unsafe impl Sync for Mapping {}

impl Mapping {
    #[allow(unsafe_code)]
    fn new(bytes: usize) -> io::Result<Self> {
        let whole = bytes.checked_next_multiple_of(HUGE_PAGE_BYTES);
        let mapped_bytes = whole.and_then(|whole| whole.checked_add(HUGE_PAGE_BYTES));
        let mapped_bytes = mapped_bytes.ok_or(Errno::NOMEM)?;
        // Without a reservation of swap: a drive may be larger than the memory that it will need.
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: without an address (and without `FIXED`) the kernel chooses one that is free.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), mapped_bytes, protection, flags) }?;
        let mapped = NonNull::new(mapped).ok_or(Errno::NOMEM)?;
        let skip = mapped.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: fewer than `HUGE_PAGE_BYTES` are skipped, and as many more are mapped than used.
        let start = unsafe { mapped.cast::<u8>().add(skip) };
        let populated_bytes = AtomicU64::new(0);
        let mapping = Self { mapped, mapped_bytes, start, bytes, populated_bytes };
        // A page that is first touched by a write of a client is a small one, because the client
        // waits while it is zeroed. A kernel without huge pages refuses this, and needs it as
        // little.
        let _ = mapping.advise(0, bytes, Advice::LinuxNoHugepage);
        Ok(mapping)
    }

    /// Advises the kernel on some of the bytes.
    ///
    /// # Panics
    ///
    /// If they do not lie in the mapping.
    #[allow(unsafe_code)]
    fn advise(&self, offset: usize, length: usize, advice: Advice) -> Result<(), Errno> {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.bytes), "in the mapping");
        // SAFETY: the bytes lie in this mapping, as was just checked, so the sum does not leave it.
        let from = unsafe { self.start.add(offset) };
        // SAFETY: the bytes lie in this mapping, so nothing but it is concerned. Of the kinds of
        // advice that are used here, only `DontNeed` changes bytes, which `Region::reset` gives
        // while it has the region borrowed for a change.
        unsafe { madvise(from.as_ptr().cast(), length, advice) }
    }
}

impl Drop for Mapping {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: this is what `mmap_anonymous` gave, and nobody has a pointer into it: slices
        // borrow a `Region`, which holds this mapping, as does a `Populator` during its call.
        let unmapped = unsafe { munmap(self.mapped.as_ptr(), self.mapped_bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// The bytes of a mapping. There is one for each mapping, so borrowing it is borrowing them.
#[derive(Debug)]
pub(crate) struct Region(Arc<Mapping>);

impl Region {
    /// `bytes` of zeros, which take memory only where they are written.
    ///
    /// # Errors
    ///
    /// If the process may not have so much address space.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        Ok(Self(Arc::new(Mapping::new(bytes)?)))
    }

    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes from `start` on are mapped as long as `self` lives, and are
        // initialised: the kernel maps zeros. They change only by a borrow of the only `Region` of
        // this mapping for a change, which cannot be while it is borrowed here.
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr(), self.0.bytes) }
    }

    #[allow(unsafe_code)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; and no other slice of these bytes exists, because `self` is the
        // only `Region` of this mapping and is borrowed for a change.
        unsafe { std::slice::from_raw_parts_mut(self.0.start.as_ptr(), self.0.bytes) }
    }

    /// Makes bytes zero by giving their memory back. Both ends must be at pages.
    pub(super) fn reset(&mut self, offset: usize, length: usize) {
        if self.0.advise(offset, length, Advice::LinuxDontNeed).is_err() {
            // Locked memory, for instance, cannot be given back.
            self.bytes_mut()[offset..offset + length].fill(0);
        }
    }

    /// How many of the bytes a [`Populator`] has populated so far.
    pub(super) fn populated_bytes(&self) -> u64 {
        self.0.populated_bytes.load(Ordering::Relaxed)
    }

    /// What lets another thread populate the region while it lives.
    pub(super) fn populator(&self) -> Populator {
        Populator { mapping: Arc::downgrade(&self.0), next: 0 }
    }
}

/// Lets another thread take memory for a region before it is written, from its start on.
#[derive(Debug)]
pub(super) struct Populator {
    mapping: Weak<Mapping>,
    /// The first byte that is not populated.
    next: usize,
}

impl Populator {
    /// Takes memory for the next bytes of the region, at most a huge page. Gives whether there are
    /// more to come: not if the region is gone.
    ///
    /// This changes no byte, so it may run while the owner of the region writes: the kernel does
    /// what it does at the first write to a page, under the same locks, for pages that are not
    /// there, and skips those that are (`MADV_POPULATE_WRITE`, Linux 5.14). Touching the pages from
    /// here would not do: a byte that is read and written back may overwrite what the owner wrote
    /// in between.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory (`NOMEM`) or cannot populate (`INVAL`).
    pub(super) fn populate(&mut self) -> Result<bool, Errno> {
        let Some(mapping) = self.mapping.upgrade() else { return Ok(false) };
        let length = HUGE_PAGE_BYTES.min(mapping.bytes - self.next);
        // A kernel without huge pages refuses, and populates with small ones.
        let _ = mapping.advise(self.next, length, Advice::LinuxHugepage);
        match mapping.advise(self.next, length, Advice::LinuxPopulateWrite) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
            populated => populated?,
        }
        mapping.populated_bytes.fetch_add(length as u64, Ordering::Relaxed);
        self.next += length;
        Ok(self.next < mapping.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn populating_neither_zeroes_nor_loses_what_is_written_meanwhile() {
        const BYTES: usize = 8 * HUGE_PAGE_BYTES + 4096;
        let mut region = Region::new(BYTES).unwrap();
        let again = || region.populator();
        let populators: Vec<Populator> = (0..200).map(|_| again()).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Pieces that the writer is in the middle of, again and again.
                for mut populator in populators {
                    while !stop.load(Ordering::Relaxed) && populator.populate() == Ok(true) {
                        std::hint::spin_loop();
                    }
                }
            });
            let mut rng = units::Rng::stream(1, "populate");
            let mut model = vec![0u8; BYTES / 512];
            for round in 0..200_000u32 {
                let at = rng.below(model.len() as u64) as usize;
                model[at] = round as u8 | 1;
                region.bytes_mut()[at * 512..][..512].fill(model[at]);
                if round % 10_000 == 0 {
                    let piece = rng.below(8) as usize * HUGE_PAGE_BYTES;
                    region.reset(piece, HUGE_PAGE_BYTES);
                    model[piece / 512..(piece + HUGE_PAGE_BYTES) / 512].fill(0);
                }
            }
            stop.store(true, Ordering::Relaxed);
            for (chunk, expected) in region.bytes().chunks_exact(512).zip(&model) {
                assert!(chunk.iter().all(|byte| byte == expected));
            }
        });
    }

    #[test]
    fn a_region_that_is_gone_is_not_populated_and_too_much_is_refused() {
        let region = Region::new(100).unwrap();
        let mut populator = region.populator();
        assert_eq!(region.bytes().as_ptr().align_offset(HUGE_PAGE_BYTES), 0);
        if populator.populate() == Ok(false) {
            assert_eq!(region.populated_bytes(), 100);
        }
        drop(region);
        assert_eq!(populator.populate(), Ok(false));
        assert!(Region::new(usize::MAX).is_err() && Region::new(usize::MAX / 2).is_err());
    }
}
