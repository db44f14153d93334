//! A cache of SLC blocks in configuration files: `[drive.slc_cache]`.

use crate::failure::Failure;
use crate::values::quantity::{Span, Text, exact_duration};
use crate::values::words::Overflow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{PageTime, SlcCacheConfig, SlcOverflow};
use units::Duration;

/// Blocks that are programmed with one bit in a cell first, and folded into ordinary ones later:
/// `[drive.slc_cache]`, for drives with cells. A block is one of each die here, or a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlcSettings {
    /// Sensing a page of such a block.
    pub read: Option<Text<Span>>,
    /// Programming it, on all planes.
    pub program: Option<Text<Span>>,
    /// Most blocks of a die in this mode at a time; 0 for no cache.
    pub most_blocks: Option<u32>,
    /// Blocks of a die that are kept for the cache, however full the drive is.
    pub fixed_blocks: Option<u32>,
    /// The drive folds when the host has sent nothing for this long [default: 100ms].
    pub fold_after: Option<Text<Span>>,
    /// It folds under load as well while fewer blocks than this could still be opened in this mode.
    pub low_blocks: Option<u32>,
    /// Writes that find the cache full: bypass it, or wait [default: bypass].
    pub overflow: Option<Text<Overflow>>,
}

/// What is used where nothing else is said.
const USUAL: SlcCacheConfig = SlcCacheConfig {
    page: PageTime { read: Duration::ZERO, program: Duration::ZERO },
    most_blocks: 0,
    fixed_blocks: 0,
    fold_after: Duration::from_millis(100),
    low_blocks: 0,
    overflow: SlcOverflow::Bypass,
};

impl SlcSettings {
    /// Everything about `slc`, spelt out.
    pub fn full(slc: &SlcCacheConfig) -> Self {
        let span = |duration| exact_duration(duration).parse().ok();
        Self {
            read: span(slc.page.read),
            program: span(slc.page.program),
            most_blocks: Some(slc.most_blocks),
            fixed_blocks: Some(slc.fixed_blocks),
            fold_after: span(slc.fold_after),
            low_blocks: Some(slc.low_blocks),
            overflow: Overflow(slc.overflow).to_string().parse().ok(),
        }
    }

    /// The cache that these settings describe, of a drive that had `base`.
    pub fn build(&self, base: Option<SlcCacheConfig>) -> Result<Option<SlcCacheConfig>, Failure> {
        let has_base = base.is_some();
        let base = base.unwrap_or(USUAL);
        let span =
            |given: &Option<Text<Span>>, before| given.as_ref().map_or(before, |text| text.value.0);
        let overflow = self.overflow.as_ref().map_or(base.overflow, |text| text.value.0);
        let slc = SlcCacheConfig {
            page: PageTime {
                read: span(&self.read, base.page.read),
                program: span(&self.program, base.page.program),
            },
            most_blocks: self.most_blocks.unwrap_or(base.most_blocks),
            fixed_blocks: self.fixed_blocks.unwrap_or(base.fixed_blocks),
            fold_after: span(&self.fold_after, base.fold_after),
            low_blocks: self.low_blocks.unwrap_or(base.low_blocks),
            overflow,
        };
        if self.most_blocks.is_none() && !has_base && *self != Self::default() {
            return Err(Failure::usage(
                "slc_cache.most_blocks is missing; say how many blocks of a die may be in SLC mode",
            ));
        }
        Ok((slc.most_blocks > 0).then_some(slc))
    }
}
