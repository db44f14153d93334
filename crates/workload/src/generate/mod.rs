//! Random requests: fio's vocabulary, and presets after the IODA paper.

mod address;
mod arrivals;
mod engine;
mod parse;
mod phases;
mod preset;
mod room;
mod scatter;
mod sizes;
mod synthetic;
mod words;
mod zipf;

pub use address::HotPlaces;
pub use arrivals::Arrival;
pub use engine::Generator;
pub use parse::{parse_duration, parse_runtime, parse_size};
pub use phases::Phase;
pub use preset::{
    Bursts, MEAN_BURST, PRESET_ZIPF_THETA, Preset, PresetSource, WITHIN_BURST_RATIO, preset,
    presets,
};
pub use room::Room;
pub use synthetic::Synthetic;
pub use words::{BlockSizes, IoDepth, RandomDistribution, RateProcess, Rw, SizeRange};
pub use zipf::Zipf;
