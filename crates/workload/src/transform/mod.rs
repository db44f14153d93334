//! From the requests of a trace to the requests of an array: cut, repeat, re-rate, resize, fold,
//! fit, in this order. Dropped and moved requests are counted.

mod cut;
mod fit;
mod fold;
mod pipeline;
mod rate;
mod replayed;

pub use cut::Cut;
pub use fit::Fit;
pub use fold::Fold;
pub use pipeline::Transformed;
pub use rate::{Resize, parse_factor};
pub use replayed::{DropReason, Replayed};

use crate::error::OptionError;
use crate::statistics::PAGE_BYTES;

/// Changes of a trace for an array. The default only folds all devices into one address space and
/// wraps it into the capacity.
#[derive(Clone, PartialEq, Debug)]
pub struct Transform {
    /// Part of the trace that is used.
    pub cut: Cut,
    /// Number of times that this part is played, at least 1. Each pass begins one mean interval
    /// after the last request of the pass before, at the same addresses.
    pub repeat: u64,
    /// Factor by which requests come faster: intervals are divided by it. Above 0 and at most a
    /// million.
    pub speed: f64,
    /// Change of the sizes of requests.
    pub resize: Resize,
    /// Rule that maps several devices to one address space.
    pub fold: Fold,
    /// Rule that maps addresses into the capacity.
    pub fit: Fit,
}

impl Default for Transform {
    fn default() -> Self {
        Self {
            cut: Cut::default(),
            repeat: 1,
            speed: 1.0,
            resize: Resize::default(),
            fold: Fold::default(),
            fit: Fit::default(),
        }
    }
}

impl Transform {
    /// Checks every option against its limits; `capacity_bytes` is the capacity of the array.
    pub fn check(&self, capacity_bytes: u64) -> Result<(), OptionError> {
        if !(PAGE_BYTES..=1 << 60).contains(&capacity_bytes) {
            return Err(OptionError::OutOfRange {
                option: "capacity",
                value: format!("{capacity_bytes} bytes"),
                limit: "between 4096 and 2^60 bytes".to_owned(),
            });
        }
        if self.repeat == 0 || self.repeat > 1_000_000 {
            return Err(OptionError::OutOfRange {
                option: "repeat",
                value: self.repeat.to_string(),
                limit: "between 1 and 1000000".to_owned(),
            });
        }
        rate::check_factor("speed", self.speed, 1e6)?;
        rate::check_factor("resize of reads", self.resize.read, 1024.0)?;
        rate::check_factor("resize of writes", self.resize.write, 1024.0)?;
        self.cut.check()
    }

    /// The changes in one stable line for reports.
    #[must_use]
    pub fn description(&self) -> String {
        let mut parts = Vec::new();
        if let Some(cut) = self.cut.description() {
            parts.push(cut);
        }
        if self.repeat != 1 {
            parts.push(format!("repeated {} times", self.repeat));
        }
        if self.speed != 1.0 {
            parts.push(format!("{} times as fast", self.speed));
        }
        if self.resize.read != 1.0 {
            parts.push(format!("reads {} times as large", self.resize.read));
        }
        if self.resize.write != 1.0 {
            parts.push(format!("writes {} times as large", self.resize.write));
        }
        parts.push(format!("devices folded by {}", self.fold));
        parts.push(format!("addresses fitted by {}", self.fit));
        parts.join(", ")
    }
}
