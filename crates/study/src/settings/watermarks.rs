//! Watermarks of a drive whose spare space changes.

use units::Ratio;

/// `watermark` as the same share of the spare space, when that changes `from` one size `to`
/// another.
pub(super) fn in_proportion(watermark: Ratio, (from, to): (Ratio, Ratio)) -> Ratio {
    if from == to || from == Ratio::ZERO {
        return watermark;
    }
    let parts = u64::from(watermark.parts_per_million()) * u64::from(to.parts_per_million())
        / u64::from(from.parts_per_million());
    Ratio::from_parts_per_million(u32::try_from(parts).unwrap_or(u32::MAX))
}
