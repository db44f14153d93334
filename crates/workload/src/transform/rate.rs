//! Factors on time and size.

use crate::error::OptionError;
use crate::{Op, Request};
use units::Instant;

/// The grain of resized requests: the smallest sector.
const GRAIN: u64 = 512;
/// The longest request, as in the readers.
const LONGEST: u64 = 1 << 30;

/// Change of the sizes of requests: multiplied, rounded to the nearest 512 bytes, at least 512
/// bytes and at most 1 GiB. A factor of 1 leaves every size unchanged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Resize {
    /// The factor for reads, above 0 and at most 1024.
    pub read: f64,
    /// The factor for writes, above 0 and at most 1024.
    pub write: f64,
}

impl Default for Resize {
    fn default() -> Self {
        Self { read: 1.0, write: 1.0 }
    }
}

impl Resize {
    /// The new size of `request` in bytes.
    pub(super) fn apply(&self, request: &Request) -> u64 {
        let factor = match request.op {
            Op::Read => self.read,
            Op::Write => self.write,
        };
        if factor == 1.0 {
            return request.size_bytes;
        }
        let grains = (request.size_bytes as f64 * factor / GRAIN as f64 + 0.5) as u64;
        (grains.max(1).saturating_mul(GRAIN)).min(LONGEST)
    }
}

/// `at` divided by `speed`.
pub(super) fn speed_up(at: Instant, speed: f64) -> Instant {
    if speed == 1.0 {
        return at;
    }
    // Division by a constant never changes the order of two times.
    Instant::from_nanos((at.as_nanos() as f64 / speed) as u64)
}

/// Reads a factor such as `8`, `0.5` or `8x`.
pub fn parse_factor(text: &str) -> Result<f64, OptionError> {
    let number = text.trim().strip_suffix(['x', 'X']).unwrap_or(text.trim());
    match number.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err(OptionError::NotUnderstood {
            option: "factor",
            value: text.to_owned(),
            expected: "a number above 0 such as 8, 0.5 or 8x",
        }),
    }
}

pub(super) fn check_factor(
    option: &'static str,
    factor: f64,
    limit: f64,
) -> Result<(), OptionError> {
    if factor > 0.0 && factor <= limit {
        return Ok(());
    }
    Err(OptionError::OutOfRange {
        option,
        value: factor.to_string(),
        limit: format!("above 0 and at most {limit}"),
    })
}
