//! Makes the data of the plots small: fewer digits, fewer points, joined bands.

use std::collections::BTreeMap;

use crate::{Band, TimelinePoint};

/// Steps into which the nines axis is divided; a plot has fewer pixels than that.
const CDF_STEPS: f64 = 400.0;

/// `value` with four significant digits: more than a plot can show.
pub(super) fn four_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// A time in milliseconds, to the microsecond; one in seconds, to the millisecond.
pub(super) fn microseconds(ms: f64) -> f64 {
    if ms.is_finite() { (ms * 1e3).round() / 1e3 } else { 0.0 }
}

/// Nines of a fraction: 0.999 has three. The last request of `count` has no nines of its own; it
/// is put where half a request is left.
pub(crate) fn nines(fraction: f64, count: u64) -> f64 {
    let least = 0.5 / count.max(1) as f64;
    -(1.0 - fraction).max(least).log10()
}

/// The distribution function as (nines, latency in microseconds) with no two points closer than
/// a pixel; the first and the last point stay.
pub(super) fn thin_cdf(cdf: &[(f64, f64)], count: u64) -> Vec<(f64, f64)> {
    let step = nines(1.0, count) / CDF_STEPS;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (i, &(fraction, us)) in cdf.iter().enumerate() {
        let point = ((nines(fraction, count) * 1e4).round() / 1e4, four_digits(us));
        let far = kept.last().is_none_or(|last| point.0 - last.0 >= step);
        if far || i + 1 == cdf.len() {
            kept.push(point);
        }
    }
    kept
}

/// At most `limit` points: the slowest half of them, because they are what one looks for, and an
/// even sample of the rest. In order of time.
pub(super) fn thin_points(points: &[TimelinePoint], limit: usize) -> Vec<&TimelinePoint> {
    let mut kept: Vec<&TimelinePoint> = points.iter().collect();
    if kept.len() > limit {
        kept.sort_by(|a, b| b.latency_us.total_cmp(&a.latency_us));
        let rest = kept.split_off(limit / 2);
        let wanted = limit - kept.len();
        kept.extend((0..wanted).map(|i| rest[i * rest.len() / wanted]));
    }
    kept.sort_by(|a, b| a.t_ms.total_cmp(&b.t_ms));
    kept
}

/// A line of steps, (time, value) in order of time from 0 to `end`: of those that begin in the same
/// of `stretches` stretches, the first, the lowest, the highest and the last.
pub(super) fn thin_steps(steps: &[(f64, f64)], end: f64, stretches: usize) -> Vec<(f64, f64)> {
    let stretch = |step: &(f64, f64)| (step.0 / end.max(1e-9) * stretches as f64) as usize;
    let mut kept = Vec::new();
    for group in steps.chunk_by(|a, b| stretch(a) == stretch(b)) {
        let of = |worse: fn(f64, f64) -> bool| {
            (1..group.len())
                .fold(0, |best, i| if worse(group[best].1, group[i].1) { i } else { best })
        };
        let mut chosen = [0, of(|a, b| a > b), of(|a, b| a < b), group.len() - 1].to_vec();
        chosen.sort_unstable();
        chosen.dedup();
        kept.extend(chosen.into_iter().map(|i| group[i]));
    }
    kept
}

/// The worst of the steps that begin in the same of `stretches` stretches, from where the first of
/// them begins.
pub(super) fn worst_steps(steps: &[(f64, f64)], end: f64, stretches: usize) -> Vec<(f64, f64)> {
    let stretch = |step: &(f64, f64)| (step.0 / end.max(1e-9) * stretches as f64) as usize;
    steps
        .chunk_by(|a, b| stretch(a) == stretch(b))
        .map(|group| (group[0].0, group.iter().map(|step| step.1).fold(0.0, f64::max)))
        .collect()
}

/// The bands of each drive with those joined that touch, overlap or lie closer than `gap_ms`.
pub(super) fn joined_bands(bands: &[Band], gap_ms: f64) -> Vec<(u32, f64, f64)> {
    let mut by_drive: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for band in bands {
        by_drive.entry(band.drive).or_default().push((band.start_ms, band.end_ms));
    }
    let mut joined = Vec::new();
    for (drive, mut spans) in by_drive {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut open: Option<(f64, f64)> = None;
        for (start, end) in spans {
            open = match open {
                Some((first, last)) if start <= last + gap_ms => Some((first, last.max(end))),
                Some((first, last)) => {
                    joined.push((drive, microseconds(first), microseconds(last)));
                    Some((start, end))
                }
                None => Some((start, end)),
            };
        }
        joined.extend(open.map(|(first, last)| (drive, microseconds(first), microseconds(last))));
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_four_digits() {
        assert_eq!(four_digits(12_345.6), 12_350.0);
        assert_eq!(four_digits(0.012_345), 0.012_35);
        assert_eq!(four_digits(f64::NAN), 0.0);
    }

    #[test]
    fn bands_that_touch_become_one() {
        let band = |drive, start_ms, end_ms| Band { drive, start_ms, end_ms };
        let bands = [band(1, 5.0, 6.0), band(0, 3.0, 4.0), band(0, 1.0, 3.5), band(0, 9.0, 10.0)];
        let joined = joined_bands(&bands, 0.0);
        assert_eq!(joined, [(0, 1.0, 4.0), (0, 9.0, 10.0), (1, 5.0, 6.0)]);
    }

    #[test]
    fn thinning_keeps_the_slowest() {
        let points: Vec<TimelinePoint> = (0..1_000)
            .map(|i| TimelinePoint {
                t_ms: f64::from(i),
                latency_us: f64::from(i * 7 % 1_000),
                dominant_cause: String::new(),
            })
            .collect();
        let kept = thin_points(&points, 100);
        assert_eq!(kept.len(), 100);
        assert!(kept.iter().any(|p| p.latency_us == 999.0));
        assert!(kept.is_sorted_by(|a, b| a.t_ms < b.t_ms));
    }

    #[test]
    fn thin_steps_keep_the_extremes_of_each_stretch() {
        let steps: Vec<(f64, f64)> =
            (0..1_000).map(|i| (f64::from(i), f64::from(i * 7 % 1_000))).collect();
        let kept = thin_steps(&steps, 1_000.0, 10);
        assert!((20..=40).contains(&kept.len()), "{}", kept.len());
        assert!(kept.iter().any(|step| step.1 == 999.0) && kept.contains(&(0.0, 0.0)));
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thin_steps(&steps[..3], 1_000.0, 1_000), steps[..3]);
        assert!(thin_steps(&[], 0.0, 10).is_empty());
        assert_eq!(worst_steps(&steps[..150], 300.0, 3), [(0.0, 693.0), (100.0, 994.0)]);
    }

    #[test]
    fn the_last_request_lies_on_the_axis() {
        assert!((nines(0.999, 1_000_000) - 3.0).abs() < 1e-9);
        assert!(nines(1.0, 1_000) < 3.31);
        let cdf = [(0.0, 1.0), (0.000_01, 1.0), (1.0, 9.0)];
        assert_eq!(thin_cdf(&cdf, 10).last(), Some(&(1.301, 9.0)));
    }
}
