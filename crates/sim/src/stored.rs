//! Histograms in stored results: the values that occur, with their counts.

/// Serializes a histogram of three significant digits as pairs of value and count. Its bounds are
/// those of the containing type.
pub(crate) mod histogram {
    use hdrhistogram::Histogram;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        histogram: &Histogram<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let steps: Vec<(u64, u64)> = histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect();
        (histogram.high(), steps).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let (high, steps) = <(u64, Vec<(u64, u64)>)>::deserialize(deserializer)?;
        let mut histogram = Histogram::new_with_bounds(1, high, 3).map_err(D::Error::custom)?;
        for (value, count) in steps {
            histogram.record_n(value, count).map_err(D::Error::custom)?;
        }
        Ok(histogram)
    }
}
