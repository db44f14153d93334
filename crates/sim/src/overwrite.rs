//! Drives that have served a load before the run: workload-dependent preconditioning, as in SNIA's
//! Performance Test Specification.
//!
//! Knows: rounds of writes through the layout of the array, and the test that drives have settled.
//! Does not know: time, policies. The rounds take no simulated time.

use crate::plan::{Plan, PlanError};
use array::{Layout, MemberSet};
use ssd::Ssd;
use units::DriveId;
use workload::{Op, Request, WorkloadError};

/// Divisor: in a round, each drive is written `1 / PARTS` of its logical pages, on average.
const PARTS: u64 = 4;
/// Most rounds; drives that have not settled by then are used as they are.
const ROUNDS_MOST: u32 = 40;
/// Number of successive calm rounds that end the preparation.
const CALM_ROUNDS: u32 = 2;
/// Relative change of write amplification, from round to round, up to which a round is calm.
const CALM_WITHIN: f64 = 0.01;
/// Most requests of a round. It ends rounds of a load that hardly writes.
const REQUESTS_MOST: u64 = 1 << 26;
/// Most pages of a drive that are collected before they are written.
const BATCH_PAGES: u64 = 1 << 20;

/// Pages of writes that are not carried out yet.
struct Batch {
    layout: Layout,
    page_bytes: u64,
    /// Pages, by drive.
    pages: Vec<Vec<u32>>,
    /// Number of pages of a drive after which the batch is written.
    enough: usize,
}

impl Batch {
    /// Adds the pages that `request` writes to each drive, parity included. Returns true if a drive
    /// has enough.
    fn add(&mut self, request: &Request) -> bool {
        let first = request.offset_bytes / self.page_bytes;
        let pages = request.end_bytes().div_ceil(self.page_bytes) - first;
        let mut is_full = false;
        for segment in self.layout.segments(first, pages) {
            let mut members = MemberSet::from_bits(self.layout.parity_mask(segment.stripe));
            for chunk in segment.first_chunk..segment.first_chunk + segment.chunks {
                members.insert(self.layout.member_of(segment.stripe, chunk).0);
            }
            for member in members.iter().map(DriveId) {
                let pages = &mut self.pages[member.index()];
                for row in segment.first_row..segment.first_row + segment.rows {
                    pages.push(self.layout.lba(segment.stripe, row, member).0 as u32);
                }
                is_full |= pages.len() >= self.enough;
            }
        }
        is_full
    }

    /// Writes the collected pages on up to `threads` threads.
    fn write(&mut self, drives: &mut [Ssd], threads: usize) {
        let each = drives.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            for (drives, pages) in drives.chunks_mut(each).zip(self.pages.chunks_mut(each)) {
                scope.spawn(move || {
                    for (drive, pages) in drives.iter_mut().zip(pages) {
                        drive.overwrite(pages);
                        pages.clear();
                    }
                });
            }
        });
    }
}

/// State of the drives after a round.
#[derive(Clone, Copy)]
struct Steadiness {
    write_amplification: f64,
    free_share: f64,
}

impl Steadiness {
    fn of(drives: &[Ssd]) -> Self {
        let mean = |of: fn(&Ssd) -> f64| drives.iter().map(of).sum::<f64>() / drives.len() as f64;
        Self {
            write_amplification: mean(|drive| drive.counters().write_amplification()),
            free_share: mean(Ssd::free_share),
        }
    }

    /// Returns true if the changes since `before` are chance: write amplification is calm, and free
    /// space has changed by less than one of `blocks` blocks (or lines).
    fn is_calm(self, before: Self, blocks: u32) -> bool {
        let amplified = self.write_amplification / before.write_amplification - 1.0;
        let freed = (self.free_share - before.free_share) * f64::from(blocks);
        amplified.abs() < CALM_WITHIN && freed.abs() < 1.0
    }
}

/// Overwrites `drives` with the writes of `requests` until write amplification and free space have
/// settled. Returns false if `is_stopped` ended it earlier.
pub(crate) fn overwrite(
    plan: &Plan,
    drives: &mut [Ssd],
    mut requests: impl Iterator<Item = Result<Request, WorkloadError>>,
    threads: usize,
    is_stopped: impl Fn() -> bool,
) -> Result<bool, PlanError> {
    let page_bytes = u64::from(plan.drive.geometry.page_bytes);
    let drive_pages = plan.drive.logical_pages() / PARTS;
    let round_pages = drives.len() as u64 * drive_pages;
    let mut batch = Batch {
        layout: plan.layout()?,
        page_bytes,
        pages: vec![Vec::new(); drives.len()],
        enough: (drive_pages / PARTS).clamp(1, BATCH_PAGES) as usize,
    };
    let mut before: Option<Steadiness> = None;
    let mut calm = 0;
    let written = |drives: &[Ssd]| -> u64 {
        drives.iter().map(|drive| drive.counters().host_programs_pages).sum()
    };
    for _ in 0..ROUNDS_MOST {
        drives.iter_mut().for_each(Ssd::reset_counters);
        let mut left = REQUESTS_MOST;
        while left > 0 && written(drives) < round_pages {
            if is_stopped() {
                return Ok(false);
            }
            while left > 0 {
                left -= 1;
                let Some(request) = requests.next().transpose()? else {
                    left = 0;
                    break;
                };
                if request.op == Op::Write && request.size_bytes > 0 && batch.add(&request) {
                    break;
                }
            }
            batch.write(drives, threads);
        }
        let now = Steadiness::of(drives);
        let blocks = plan.drive.geometry.blocks_per_die();
        let is_calm = before.is_some_and(|before| now.is_calm(before, blocks));
        calm = if is_calm { calm + 1 } else { 0 };
        before = Some(now);
        if calm >= CALM_ROUNDS || left == 0 {
            break;
        }
    }
    drives.iter_mut().for_each(Ssd::reset_counters);
    Ok(true)
}
