//! Redundant array of independent NAND: parity within the drive, and what it makes tolerant of
//! collection (TTFLASH §4.2 to §4.5 and §7).
//!
//! What is mapped on flash is consistent at every moment: the parity of a stripe is the sum of its
//! pages. A stripe that leaves the write buffer is programmed beside what it replaces and mapped as
//! a whole when its last page is there (`flush.rs`); meanwhile any of its old pages can be computed
//! from the others (`rebuild.rs`). A stripe that is being computed is not mapped anew before that is
//! done.

mod config;
mod evict;
mod flush;
mod layout;
mod order;
mod rebuild;
mod rotate;
mod wear;

pub use config::{RainConfig, Rotation};
pub(crate) use rebuild::{COMPUTED, NO_REBUILD};

use crate::config::Config;
use crate::device::Ssd;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use flush::{Delayed, StripeFlush};
use layout::Layout;
use order::StripeOrder;
use rebuild::{Computing, Rebuild};
use units::Slab;

/// The stripes of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Rain {
    pub(crate) config: RainConfig,
    pub(crate) layout: Layout,
    /// Stripes with dirty pages in the write buffer.
    order: StripeOrder,
    /// The group that was flushed last; the next one has its turn.
    turn: u32,
    flushes: Slab<StripeFlush>,
    /// Stripes that are being flushed, and their flush.
    flushing: BTreeMap<u32, u32>,
    /// Programs that wait until their die is free of collections, by die.
    delayed: Vec<VecDeque<Delayed>>,
    rebuilds: Slab<Rebuild>,
    /// Stripes of which pages are being computed, and how many.
    rebuilding: BTreeMap<u32, u32>,
    /// Pages whose parts are all there; the time to compute them is constant.
    computing: VecDeque<Computing>,
    /// Dies of each group that a collection holds.
    collecting: Vec<u32>,
    /// Erases of each die.
    wear: Vec<u32>,
    /// Erases of each group.
    group_wear: Vec<u64>,
    /// Stripes on their way from one group to another.
    exchanging: u32,
    /// Of each group, the row in which the next stripe to exchange with is looked for.
    partner_rows: Vec<u32>,
}

impl Rain {
    /// The stripes of a drive as it leaves the factory.
    pub(crate) fn new(drive: &Config, config: RainConfig) -> Self {
        let layout = Layout::new(drive, config.width);
        Self {
            config,
            order: StripeOrder::new(layout.groups, layout.data()),
            turn: 0,
            flushes: Slab::new(),
            flushing: BTreeMap::new(),
            delayed: vec![VecDeque::new(); drive.geometry.dies() as usize],
            rebuilds: Slab::new(),
            rebuilding: BTreeMap::new(),
            computing: VecDeque::new(),
            collecting: vec![0; layout.groups as usize],
            wear: vec![0; drive.geometry.dies() as usize],
            group_wear: vec![0; layout.groups as usize],
            exchanging: 0,
            partner_rows: vec![0; layout.groups as usize],
            layout,
        }
    }
}

impl Ssd {
    /// Stripes that the drive keeps within itself; 0 without RAIN.
    #[must_use]
    pub fn rain_stripes(&self) -> u32 {
        self.rain.as_ref().map_or(0, |rain| rain.layout.stripes())
    }

    /// Stripes that are away from their static place.
    #[must_use]
    pub fn moved_rain_stripes(&self) -> usize {
        self.rain.as_ref().map_or(0, |rain| rain.layout.moved())
    }

    /// The flash pages of a stripe, parity included, that were ever written. They add up to zero.
    pub fn rain_stripe_pages(&self, stripe: u32) -> impl Iterator<Item = u32> + '_ {
        let layout = self.rain.as_ref().map(|rain| &rain.layout);
        layout.into_iter().flat_map(move |layout| {
            (0..layout.width).filter_map(move |slot| self.ftl.mapped(layout.page(stripe, slot)))
        })
    }
}
