//! One number of several seeds: the median, and how far the seeds lie apart.

use crate::document::Latency;

/// A statistic of a latency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A percentile, in per cent: 99.9 for p99.9.
    Percentile(f64),
    /// The largest.
    Max,
}

impl Statistic {
    /// The statistics that a survey shows.
    pub const SHOWN: [Self; 9] = [
        Self::Mean,
        Self::Percentile(50.0),
        Self::Percentile(90.0),
        Self::Percentile(95.0),
        Self::Percentile(99.0),
        Self::Percentile(99.5),
        Self::Percentile(99.9),
        Self::Percentile(99.99),
        Self::Max,
    ];

    /// The name, as `p99.9`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Percentile(percentile) => crate::format::percentile(percentile),
            Self::Max => "max".to_owned(),
        }
    }

    /// Its value in microseconds and whether too few samples lie beyond it; none if `latency` has
    /// no samples or lacks the percentile.
    #[must_use]
    pub fn of(self, latency: &Latency) -> Option<(f64, bool)> {
        if latency.count == 0 {
            return None;
        }
        match self {
            Self::Mean => Some((latency.mean_us, false)),
            Self::Max => Some((latency.max_us, true)),
            Self::Percentile(percentile) => {
                latency.at(percentile).map(|entry| (entry.value_us, entry.has_few_samples()))
            }
        }
    }

    /// Where it lies in a run with a confidence of 95 %, if that is known.
    fn interval(self, latency: &Latency) -> Option<(f64, f64)> {
        match self {
            Self::Percentile(percentile) => latency.at(percentile)?.interval_us,
            Self::Mean | Self::Max => None,
        }
    }
}

/// One statistic over several seeds, or the interval of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The median in microseconds; of an even number of seeds the mean of the two in the middle.
    pub median_us: f64,
    /// The lowest in microseconds; of one seed the lower end of its interval, if that is known.
    pub low_us: f64,
    /// The highest in microseconds; of one seed the upper end.
    pub high_us: f64,
    /// Whether these are the ends of an interval.
    pub is_interval: bool,
    /// How many seeds there are, at least 1.
    pub seeds: usize,
    /// Whether fewer than 100 samples lie beyond it with some seed.
    pub has_few_samples: bool,
}

impl Spread {
    /// The spread of `statistic` over `latencies`, one per seed; none if none has it.
    pub fn of<'a>(
        latencies: impl Iterator<Item = &'a Latency>,
        statistic: Statistic,
    ) -> Option<Self> {
        let with_interval = |latency: &Latency| {
            let (value, few) = statistic.of(latency)?;
            Some((value, (few, statistic.interval(latency))))
        };
        let (mut values, others): (Vec<f64>, Vec<_>) = latencies.filter_map(with_interval).unzip();
        let (few, intervals): (Vec<bool>, Vec<_>) = others.into_iter().unzip();
        values.sort_by(f64::total_cmp);
        let interval = match intervals.as_slice() {
            [one] => *one,
            _ => None,
        };
        let (low_us, high_us) = interval.unwrap_or((*values.first()?, *values.last()?));
        Some(Self {
            low_us,
            high_us,
            is_interval: interval.is_some(),
            seeds: values.len(),
            median_us: median(&values)?,
            has_few_samples: few.contains(&true),
        })
    }

    /// Half the distance from the lowest to the highest, in per cent of the median; none of a
    /// single seed without an interval, which says nothing about it.
    #[must_use]
    pub fn half_width_percent(&self) -> Option<f64> {
        let is_known = (self.seeds > 1 || self.is_interval) && self.median_us > 0.0;
        is_known.then(|| 50.0 * (self.high_us - self.low_us) / self.median_us)
    }
}

/// The median of ascending values.
pub(crate) fn median(ascending: &[f64]) -> Option<f64> {
    let middle = ascending.len() / 2;
    let upper = *ascending.get(middle)?;
    Some(match ascending.len() % 2 {
        0 => f64::midpoint(ascending[middle - 1], upper),
        _ => upper,
    })
}

/// The latency in microseconds at each of `nines` (3 for p99.9), the median over `latencies`, one
/// per seed; zero where there are none. A distribution is a stair: between two of its points the
/// share of the lower one takes the latency of the upper one.
#[must_use]
pub fn quantile_curve(latencies: &[&Latency], nines: &[f64]) -> Vec<f64> {
    let curves: Vec<Vec<(f64, f64)>> = latencies
        .iter()
        .map(|latency| {
            let nines = |share| crate::html::nines(share, latency.count);
            latency.cdf.iter().map(|&(share, us)| (nines(share), us)).collect()
        })
        .collect();
    let at = |wanted: f64| {
        let mut values: Vec<f64> =
            curves.iter().filter_map(|curve| height(curve, wanted)).collect();
        values.sort_by(f64::total_cmp);
        median(&values).unwrap_or(0.0)
    };
    nines.iter().map(|&wanted| at(wanted)).collect()
}

/// The height of an ascending stair at `x`: that of the first point that reaches it, or of the
/// last.
fn height(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    // 0.99 has almost exactly two nines.
    let next = curve.partition_point(|point| point.0 < x - 1e-9);
    curve.get(next).or(curve.last()).map(|point| point.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Percentile;

    fn latency(us: f64, samples_beyond: u64) -> Latency {
        let p99 = Percentile { percentile: 99.0, value_us: us, samples_beyond, interval_us: None };
        Latency {
            count: 1000,
            mean_us: us / 2.0,
            max_us: us * 10.0,
            percentiles: vec![p99],
            cdf: vec![(0.5, us / 2.0), (0.99, us), (1.0, us * 10.0)],
            ..Latency::default()
        }
    }

    #[test]
    fn the_median_is_that_of_the_seeds() {
        let seeds = [latency(30.0, 500), latency(10.0, 500), latency(26.0, 5)];
        let p99 = Statistic::Percentile(99.0);
        let three = Spread::of(seeds.iter(), p99).unwrap();
        assert_eq!((three.low_us, three.median_us, three.high_us), (10.0, 26.0, 30.0));
        assert!(three.has_few_samples);
        let two = Spread::of(seeds[..2].iter(), p99).unwrap();
        assert_eq!((two.median_us, two.half_width_percent()), (20.0, Some(50.0)));
        let one = Spread::of(seeds[..1].iter(), p99).unwrap();
        assert_eq!((one.seeds, one.half_width_percent()), (1, None));
        assert!(!two.has_few_samples && !two.is_interval);
        // One seed is as sure as its blocks say; several are as far apart as they are.
        let mut sure = latency(10.0, 500);
        sure.percentiles[0].interval_us = Some((8.0, 12.0));
        let one = Spread::of([sure.clone()].iter(), p99).unwrap();
        assert_eq!((one.low_us, one.high_us, one.half_width_percent()), (8.0, 12.0, Some(20.0)));
        let two = Spread::of([sure, latency(30.0, 500)].iter(), p99).unwrap();
        assert_eq!((two.low_us, two.high_us, two.is_interval), (10.0, 30.0, false));
        assert_eq!(Spread::of(seeds.iter(), Statistic::Percentile(99.9)), None);
        assert_eq!(Spread::of([].into_iter(), Statistic::Mean), None);
        assert_eq!(Spread::of([Latency::default()].iter(), Statistic::Mean), None);
    }

    #[test]
    fn curves_are_stairs_through_the_points_and_lie_between_the_seeds() {
        let (low, high) = (latency(10.0, 500), latency(30.0, 500));
        let curve = quantile_curve(&[&low], &[0.0, 2.0, 9.0]);
        assert_eq!((curve[0], curve[2]), (5.0, 100.0));
        assert!((curve[1] - 10.0).abs() < 1e-9);
        // Nobody took what lies between two points: a share of p95 took what p99 took.
        assert_eq!(quantile_curve(&[&low], &[0.31, 1.3, 2.1]), [10.0, 10.0, 100.0]);
        let both = quantile_curve(&[&low, &high], &[2.0]);
        assert!((both[0] - 20.0).abs() < 1e-9);
        assert_eq!(quantile_curve(&[], &[1.0, 2.0]), [0.0, 0.0]);
    }
}
