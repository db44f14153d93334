//! Sensings of each block since it was erased: each disturbs the data in it.

use crate::config::Config;
use crate::ftl::shape::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// Limit of the count of sensings of a block: far more than flash stands.
pub(super) const SENSINGS_MAX: u32 = 1 << 30;

/// Sensings of each block; empty for a drive without read disturb.
#[derive(Clone, Debug)]
pub(super) struct Sensings(Vec<u32>);

impl Sensings {
    pub(super) fn new(config: &Config, shape: &Shape) -> Self {
        let counts = config.retry.is_some_and(|retry| retry.counts_reads());
        Self(vec![0; if counts { (shape.dies * shape.blocks_per_die) as usize } else { 0 }])
    }

    /// Sensings of each block; empty if they are not counted.
    pub(super) fn counts(&self) -> &[u32] {
        &self.0
    }

    /// Sensings of the block that `page` is in.
    #[inline]
    pub(super) fn of(&self, page: u32, shape: &Shape) -> u32 {
        if self.0.is_empty() { 0 } else { self.0[(page / shape.pages_per_block) as usize] }
    }

    /// Counts `times` sensings of a page.
    #[inline]
    pub(super) fn add(&mut self, page: u32, times: u32, shape: &Shape) {
        if !self.0.is_empty() {
            let count = &mut self.0[(page / shape.pages_per_block) as usize];
            *count = (*count + times).min(SENSINGS_MAX - 1);
        }
    }

    /// Sets the count of an erased block to zero.
    pub(super) fn forget(&mut self, block: usize) {
        if let Some(count) = self.0.get_mut(block) {
            *count = 0;
        }
    }

    /// Replaces the counts, if this drive counts sensings.
    pub(super) fn set(&mut self, counts: Vec<u32>) {
        if !self.0.is_empty() {
            self.0 = counts;
        }
    }
}
