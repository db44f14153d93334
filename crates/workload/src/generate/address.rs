//! Addresses of requests.

use super::scatter::Scatter;
use super::zipf::Zipf;
use crate::Op;
use std::sync::Arc;
use units::{KIB, MIB, Rng};

/// Grain of skewed addresses in the presets: a hot extent.
pub(super) const EXTENT: u64 = MIB;
/// The alignment of the presets.
const ALIGNMENT: u64 = 4 * KIB;

/// Most draws for a place that is hot, or one that is not; beyond that, there is no such place.
const MOST_DRAWS: u32 = 1000;

/// Places with a fixed share of the requests, whatever the other rules for addresses: the chunks of
/// a hot drive, for example.
#[derive(Clone, PartialEq, Debug)]
pub struct HotPlaces {
    /// Share of the requests that begin at these places, 0 to 1.
    pub share: f64,
    /// Size of a place.
    pub grain_bytes: u64,
    /// Whether each place is hot, from address 0 on. The pattern repeats.
    pub is_hot: Arc<[bool]>,
}

impl HotPlaces {
    fn has(&self, offset: u64) -> bool {
        let place = offset / self.grain_bytes % self.is_hot.len() as u64;
        self.is_hot[place as usize]
    }
}

/// Rule for the addresses of requests, as offsets below a footprint.
#[derive(Clone, Debug)]
pub(super) enum Addresses {
    /// One request after the other, reads and writes apart, starting again at the end.
    Sequential { size: u64, next_read: u64, next_write: u64 },
    /// Blocks of the request's own size, with equal probability.
    Uniform { size: u64 },
    /// Any multiple of `grain` bytes at which the request fits, with equal probability.
    UniformOn { size: u64, grain: u64 },
    /// Blocks of `block` bytes, ranked by Zipf's law and scattered.
    Zipf { zipf: Zipf, scatter: Scatter, block: u64, size: u64 },
    /// Blocks ranked by fio's power curve instead, where a share `h` of the blocks gets `1 - h` of
    /// the requests.
    Pareto { blocks: u64, power: f64, scatter: Scatter, block: u64, size: u64 },
    /// Extents of 1 MiB ranked by Zipf's law and scattered, uniform inside on 4 KiB.
    HotExtents { zipf: Zipf, scatter: Scatter, size: u64 },
    /// Another rule, but with a fixed share of the requests at hot places and the rest at others.
    Hot { others: Box<Self>, bound: u64, places: HotPlaces },
    /// Another rule, except that a share of the writes begin where the write before ended. `bound`
    /// is that share as the bound of a 64-bit draw.
    Runs { others: Box<Self>, bound: u64, next_write: u64, size: u64 },
}

impl Addresses {
    /// Hot extents over `size` bytes, which is at least one 4 KiB page.
    pub(super) fn hot_extents(size: u64, theta: f64, rng: &mut Rng) -> Self {
        let extents = size.div_ceil(EXTENT);
        Self::HotExtents {
            zipf: Zipf::new(extents, theta),
            scatter: Scatter::new(extents, rng),
            size,
        }
    }

    /// This rule, but a `share` of the writes begin where the write before ended.
    pub(super) fn with_runs(self, share: f64, size: u64) -> Self {
        match bound(share) {
            None => self,
            Some(bound) => Self::Runs { others: Box::new(self), bound, next_write: 0, size },
        }
    }

    /// This rule, but hot places get their share of the requests.
    pub(super) fn with_hot_places(self, places: Option<&HotPlaces>) -> Self {
        match places {
            None => self,
            Some(places) => Self::Hot {
                others: Box::new(self),
                bound: bound(places.share).unwrap_or(0),
                places: places.clone(),
            },
        }
    }

    /// Draws the offset of a request of `bytes`. The request ends within the footprint if it fits
    /// at all.
    #[inline]
    pub(super) fn draw(&mut self, op: Op, bytes: u64, rng: &mut Rng) -> u64 {
        match self {
            Self::Sequential { size, next_read, next_write } => {
                let next = match op {
                    Op::Read => next_read,
                    Op::Write => next_write,
                };
                if next.saturating_add(bytes) > *size {
                    *next = 0;
                }
                let offset = *next;
                *next += bytes;
                offset
            }
            Self::Runs { others, bound, next_write, size } => {
                if op == Op::Read {
                    return others.draw(op, bytes, rng);
                }
                let goes_on = rng.next_u64() <= *bound;
                let offset = match goes_on && next_write.saturating_add(bytes) <= *size {
                    true => *next_write,
                    false => others.draw(op, bytes, rng),
                };
                *next_write = offset + bytes;
                offset
            }
            Self::Hot { others, bound, places } => {
                let is_hot = rng.next_u64() < *bound;
                let mut offset = others.draw(op, bytes, rng);
                for _ in 1..MOST_DRAWS {
                    if places.has(offset) == is_hot {
                        break;
                    }
                    offset = others.draw(op, bytes, rng);
                }
                offset
            }
            Self::Uniform { size } => rng.below((*size / bytes).max(1)) * bytes,
            Self::UniformOn { size, grain } => {
                rng.below(size.saturating_sub(bytes) / *grain + 1) * *grain
            }
            Self::Zipf { zipf, scatter, block, size } => {
                let offset = scatter.place(zipf.draw(rng)) * *block;
                offset.min(size.saturating_sub(bytes))
            }
            Self::Pareto { blocks, power, scatter, block, size } => {
                // u^power, by logarithms that are the same on every machine.
                let draw = libm::exp(*power * libm::log(1.0 - rng.unit_f64()));
                let rank = ((draw * *blocks as f64) as u64).min(*blocks - 1);
                (scatter.place(rank) * *block).min(size.saturating_sub(bytes))
            }
            Self::HotExtents { zipf, scatter, size } => {
                let extent = scatter.place(zipf.draw(rng)) * EXTENT;
                let inside = rng.below(EXTENT / ALIGNMENT) * ALIGNMENT;
                let last = size.saturating_sub(bytes);
                (extent + inside).min(last - last % ALIGNMENT)
            }
        }
    }
}

/// Bound of a 64-bit draw that is met with probability `share`, 0 to 1; `None` for 0.
pub(super) fn bound(share: f64) -> Option<u64> {
    (share > 0.0).then_some((share * 2f64.powi(64)) as u64)
}
