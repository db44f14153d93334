//! From the requests of a trace to the requests of an array: cut, repeat, re-rate, resize, fold,
//! fit, in this order, with everything counted that is dropped or moved.

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

/// What is done to a trace before an array sees it. The default changes nothing but folds all
/// devices into one address space and wraps that into the capacity.
#[derive(Clone, PartialEq, Debug)]
pub struct Transform {
    /// Which part of the trace is used.
    pub cut: Cut,
    /// How many times that part is played, at least 1. Each pass begins one mean interval after
    /// the last request of the pass before it, at the same addresses.
    pub repeat: u64,
    /// How many times faster requests come: intervals are divided by it. Above 0 and at most a
    /// million.
    pub speed: f64,
    /// How requests change their size.
    pub resize: Resize,
    /// How several devices become one address space.
    pub fold: Fold,
    /// How addresses are brought into the capacity.
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
    /// Checks every option against its limits; `capacity_bytes` is what the array holds.
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

    /// What is done, in one stable line for reports.
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
