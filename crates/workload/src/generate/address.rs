//! Where requests go.

use super::scatter::Scatter;
use super::zipf::Zipf;
use crate::Op;
use std::sync::Arc;
use units::{KIB, MIB, Rng};

/// The grain of skewed addresses in the presets: a hot extent.
pub(super) const EXTENT: u64 = MIB;
/// The alignment of the presets.
const ALIGNMENT: u64 = 4 * KIB;

/// Draws until a place is hot, or is not: with more, there is no such place.
const MOST_DRAWS: u32 = 1000;

/// Places that get a share of the requests of their own, whatever else decides where these go: the
/// chunks of a hot drive, say.
#[derive(Clone, PartialEq, Debug)]
pub struct HotPlaces {
    /// The share of the requests that begin there, 0 to 1.
    pub share: f64,
    /// The size of a place.
    pub grain_bytes: u64,
    /// Which places are hot, from address 0 on and again from there at the end.
    pub is_hot: Arc<[bool]>,
}

impl HotPlaces {
    fn has(&self, offset: u64) -> bool {
        let place = offset / self.grain_bytes % self.is_hot.len() as u64;
        self.is_hot[place as usize]
    }
}

/// Where requests go, as offsets below a footprint.
#[derive(Clone, Debug)]
pub(super) enum Addresses {
    /// One request behind the other, reads and writes apart, from the start again at the end.
    Sequential { size: u64, next_read: u64, next_write: u64 },
    /// Blocks of the request's own size, all alike.
    Uniform { size: u64 },
    /// Any multiple of `grain` bytes at which the request fits, all alike.
    UniformOn { size: u64, grain: u64 },
    /// Blocks of `block` bytes, ranked by Zipf's law and scattered.
    Zipf { zipf: Zipf, scatter: Scatter, block: u64, size: u64 },
    /// The same with fio's power curve, where a share `h` of the blocks gets `1 - h` of requests.
    Pareto { blocks: u64, power: f64, scatter: Scatter, block: u64, size: u64 },
    /// Extents of 1 MiB ranked by Zipf's law and scattered, uniform inside on 4 KiB.
    HotExtents { zipf: Zipf, scatter: Scatter, size: u64 },
    /// The others, but a share of them at hot places and the rest at others.
    Hot { others: Box<Self>, bound: u64, places: HotPlaces },
    /// The others, but of writes so many (as the bound of a 64-bit draw) begin where the one before
    /// ended.
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

    /// The same, but a `share` of the writes go on where the one before ended.
    pub(super) fn with_runs(self, share: f64, size: u64) -> Self {
        match bound(share) {
            None => self,
            Some(bound) => Self::Runs { others: Box::new(self), bound, next_write: 0, size },
        }
    }

    /// The same, but hot places get their share of the requests.
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

    /// Draws the offset of a request of `bytes`, so that it ends within the footprint if it fits
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

/// The bound of a 64-bit draw that is met with probability `share`, 0 to 1.
pub(super) fn bound(share: f64) -> Option<u64> {
    (share > 0.0).then_some((share * 2f64.powi(64)) as u64)
}
