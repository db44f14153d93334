//! Turns of the dies of each range in taking host pages.

use crate::config::{Allocation, Config};
use crate::ftl::shape::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// The dies of one drive in the order of host writes.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Dies range by range: one die of every channel, then the next die of each.
    order: Vec<u32>,
    /// Dies of a range.
    dies_per_range: u32,
    /// Position of the die whose turn it is, in each range.
    positions: Vec<u32>,
    /// Whether the number of a host page determines its die, without RAIN.
    is_static: bool,
}

impl Turns {
    pub(super) fn new(config: &Config, shape: &Shape) -> Self {
        let mut order: Vec<u32> = (0..shape.dies)
            .map(|i| (i % shape.channels) * shape.chips_per_channel + i / shape.channels)
            .collect();
        order.sort_by_key(|&die| shape.range_of_die(die));
        Self {
            order,
            dies_per_range: shape.ranges.dies,
            positions: vec![0; shape.ranges.count as usize],
            is_static: config.allocation == Allocation::Static && config.rain.is_none(),
        }
    }

    /// Die that a logical page is bound to; `None` if numbers of pages do not determine dies.
    #[inline]
    pub(super) fn bound_die(&self, logical: u32) -> Option<u32> {
        self.is_static.then(|| self.order[logical as usize % self.order.len()])
    }

    /// The dies of a range, in the order of host writes.
    pub(super) fn dies_of_range(&self, range: u32) -> &[u32] {
        let dies = self.dies_per_range as usize;
        &self.order[range as usize * dies..][..dies]
    }

    /// The die of a range whose turn it is to take a host page.
    #[inline]
    pub(super) fn current(&self, range: u32) -> u32 {
        let position = self.positions[range as usize];
        self.order[(range * self.dies_per_range + position) as usize]
    }

    /// Returns [`Turns::current`], and passes the turn to the next die.
    #[inline]
    pub(super) fn take(&mut self, range: u32) -> u32 {
        let die = self.current(range);
        let position = &mut self.positions[range as usize];
        *position = if *position + 1 == self.dies_per_range { 0 } else { *position + 1 };
        die
    }

    /// Position of the die whose turn it is, in each range.
    pub(super) fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Sets the positions, each below the number of dies of a range.
    pub(super) fn set_positions(&mut self, positions: Vec<u32>) {
        self.positions = positions;
    }
}
