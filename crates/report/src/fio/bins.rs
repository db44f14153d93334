//! Latencies in the bins of fio's histogram.
//!
//! Each power of two of nanoseconds has 64 bins (`stat.c` of fio, `plat_val_to_idx`). The steps of
//! a run's histogram have a thousandth of their value and never cross a bound of a bin, so counts
//! are exact.

/// Latencies in ns, ascending, and the number of requests that took as long.
pub type Steps = Vec<(u64, u64)>;

/// Bits of a latency that tell bins of the same power of two apart.
const BITS: u32 = 6;
/// Powers of two that have bins of their own. Longer latencies are in the last bin.
const GROUPS: u64 = 29;
/// Bins of one power of two.
const BINS: u64 = 1 << BITS;

/// The number of the bin of a latency.
fn number(nanos: u64) -> u64 {
    let bits = u64::BITS - nanos.leading_zeros();
    match bits.checked_sub(BITS + 1) {
        None | Some(0) => nanos,
        Some(dropped) => {
            let place = (nanos >> dropped) & (BINS - 1);
            ((u64::from(dropped) + 1) * BINS + place).min(GROUPS * BINS - 1)
        }
    }
}

/// The latency in ns by which fio names a bin: its middle.
fn name_ns(number: u64) -> u64 {
    match (number / BINS).checked_sub(1) {
        None | Some(0) => number,
        Some(dropped) => ((BINS + number % BINS) << dropped) + (1 << dropped >> 1),
    }
}

/// The bins that hold a request, ascending: name in ns, and number of requests.
pub(super) fn of(steps: &[(u64, u64)]) -> Steps {
    let mut bins: Steps = Vec::new();
    for &(nanos, count) in steps {
        let name = name_ns(number(nanos));
        match bins.last_mut() {
            Some(last) if last.0 == name => last.1 += count,
            _ => bins.push((name, count)),
        }
    }
    bins
}

/// The latency in ns that `percentile` per cent of `steps` do not exceed.
pub(super) fn percentile_ns(steps: &[(u64, u64)], percentile: f64) -> u64 {
    let all: u64 = steps.iter().map(|step| step.1).sum();
    let rank = ((percentile / 100.0 * all as f64).ceil() as u64).clamp(1, all.max(1));
    let mut below = 0;
    let found = steps.iter().find(|step| {
        below += step.1;
        below >= rank
    });
    found.map_or(0, |step| step.0)
}

/// The standard deviation of `steps` in ns.
pub(super) fn deviation_ns(steps: &[(u64, u64)], mean_ns: f64) -> f64 {
    let all: u64 = steps.iter().map(|step| step.1).sum();
    let squares =
        steps.iter().map(|&(nanos, count)| (nanos as f64 - mean_ns).powi(2) * count as f64);
    (squares.sum::<f64>() / all.max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies and the bins that fio 3.33 printed for them.
    #[test]
    fn bins_are_those_of_fio() {
        for (nanos, name) in [
            (0, 0),
            (1, 1),
            (127, 127),
            (128, 129),
            (611, 612),
            (615, 612),
            (616, 620),
            (23_355, 23_424),
            (55_323, 55_552),
            (193_619, 193_536),
            (6_672_119, 6_651_904),
            (7_979_023, 7_962_624),
            (17_179_869_183, 17_112_760_320),
            (3_600_000_000_000, 17_112_760_320),
            (u64::MAX, 17_112_760_320),
        ] {
            assert_eq!(name_ns(number(nanos)), name, "{nanos} ns");
        }
    }

    #[test]
    fn a_name_is_in_its_own_bin_and_names_grow() {
        let names: Vec<u64> = (0..GROUPS * BINS).map(name_ns).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        assert!(names.iter().zip(0..).all(|(&name, bin)| number(name) == bin));
    }

    #[test]
    fn requests_of_one_bin_are_counted_together() {
        let steps = [(608, 1), (615, 2), (616, 4), (20_000_000_000, 8), (30_000_000_000, 16)];
        assert_eq!(of(&steps), [(612, 3), (620, 4), (17_112_760_320, 24)]);
    }

    #[test]
    fn percentiles_and_deviation_are_those_of_the_requests() {
        let steps = [(100, 90), (200, 9), (1_000, 1)];
        let found =
            [1.0, 90.0, 90.1, 99.0, 99.9].map(|percentile| percentile_ns(&steps, percentile));
        assert_eq!(found, [100, 100, 200, 200, 1_000]);
        assert_eq!(percentile_ns(&[], 50.0), 0);
        assert!((deviation_ns(&[(100, 1), (300, 1)], 200.0) - 100.0).abs() < 1e-9);
    }
}
