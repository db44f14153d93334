//! Requests by chance: fio's vocabulary and presets after the IODA paper.

mod address;
mod arrivals;
mod engine;
mod parse;
mod preset;
mod scatter;
mod sizes;
mod synthetic;
mod zipf;

pub use arrivals::Arrival;
pub use engine::Generator;
pub use parse::{parse_duration, parse_size};
pub use preset::{MEAN_BURST, PRESET_ZIPF_THETA, Preset, WITHIN_BURST_RATIO, preset, presets};
pub use synthetic::{BlockSizes, RandomDistribution, RateProcess, Rw, Synthetic};
pub use zipf::Zipf;
