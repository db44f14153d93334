//! Tukey's fence: whether a drive is much slower than its peers.

use units::Duration;

/// Maximum number of drives of an array.
const MOST_DRIVES: usize = 64;
/// Tukey's factor for values that are far out.
const FENCE: u64 = 2;

/// Running mean with `latency` added at a weight of an eighth. A mean of 0 has no samples; the
/// first sample becomes the mean.
pub(crate) const fn mean_with_first(mean_nanos: u64, latency: Duration) -> u64 {
    match mean_nanos {
        0 => latency.as_nanos(),
        mean => mean_with(mean, latency),
    }
}

/// Running mean with `latency` added, for a mean that has samples.
pub(crate) const fn mean_with(mean_nanos: u64, latency: Duration) -> u64 {
    mean_nanos - mean_nanos / 8 + latency.as_nanos() / 8
}

/// Whether the mean latency of one drive lies beyond the fence of its `peers`: their upper quartile
/// plus twice the interquartile range, and at least twice the upper quartile. Peers with a mean of
/// 0 do not count; with fewer than two peers the answer is `false`.
pub(crate) fn is_beyond(mean_nanos: u64, peers: impl Iterator<Item = u64>) -> bool {
    let mut means = [0; MOST_DRIVES];
    let mut count = 0;
    for (slot, mean) in means.iter_mut().zip(peers.filter(|&mean| mean > 0)) {
        *slot = mean;
        count += 1;
    }
    let peers = &mut means[..count];
    if peers.len() < 2 {
        return false;
    }
    peers.sort_unstable();
    let (low, high) = (peers[peers.len() / 4], peers[peers.len() - 1 - peers.len() / 4]);
    let fence = (high + FENCE * (high - low)).max(2 * high);
    mean_nanos > fence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_is_wide_where_peers_differ() {
        let beyond = |mean, peers: &[u64]| is_beyond(mean, peers.iter().copied());
        assert!(beyond(201, &[100, 100, 100]) && !beyond(200, &[100, 100, 100]));
        assert!(beyond(401, &[100, 200, 150]) && !beyond(400, &[100, 200, 150]));
        assert!(!beyond(1_000, &[100, 0, 0]), "one peer is no measure");
        assert!(beyond(1_000, &[100, 0, 90]));
        // The slowest of many peers does not hide another.
        assert!(beyond(201, &[100, 100, 100, 900, 100, 100, 100]));
    }

    #[test]
    fn a_mean_begins_with_the_first() {
        let micros = Duration::from_micros;
        let mean = mean_with_first(0, micros(80));
        assert_eq!(mean, 80_000);
        assert_eq!(mean_with_first(mean, micros(160)), 90_000);
    }
}
