//! Measured curves: percentiles of reads and writes of a drive at several loads.

use crate::failure::Failure;

/// Percentiles of a curve.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// Fewest loads of a curve that a fit can use.
const FEWEST_LOADS: usize = 3;
/// Factor by which the median write of a saturated load exceeds that of the lowest load.
const SATURATED_FACTOR: f64 = 20.0;
/// Most times by which the 90th percentile of writes exceeds their median where all wait for a full
/// queue.
const SATURATED_SPREAD: f64 = 3.0;

/// Most times by which the median write of the highest load exceeds that of a saturated one.
const SATURATED_GROWTH: f64 = 1.3;

/// Latencies at [`PERCENTILES`] in µs; `None` where a percentile is not known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Quantiles(pub [Option<f64>; PERCENTILES.len()]);

/// One load of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeasuredLoad {
    /// Writes that were offered per second, those of the probe not included.
    pub writes_per_second: f64,
    /// Writes that ended per second, those of the probe included; `None` if that is not known.
    pub achieved_per_second: Option<f64>,
    /// Latencies of reads.
    pub reads: Quantiles,
    /// Latencies of writes.
    pub writes: Quantiles,
}

/// A curve: loads in ascending order.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasuredCurve {
    loads: Vec<MeasuredLoad>,
}

/// Writes per second that a drive takes in at most, as far as a curve says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saturation {
    /// Writes per second of the highest load that did not saturate the drive.
    pub above: f64,
    /// Estimate; `None` if no load saturated the drive, or latencies do not give it.
    pub estimate: Option<f64>,
}

impl MeasuredCurve {
    /// A curve of at least three loads.
    ///
    /// # Errors
    ///
    /// If loads are too few or appear twice, if a percentile is below a lower one, or if the first
    /// percentile is missing.
    pub fn new(mut loads: Vec<MeasuredLoad>) -> Result<Self, Failure> {
        if loads.len() < FEWEST_LOADS {
            return Err(Failure::data(format!(
                "the measurement has {} loads; a fit needs at least {FEWEST_LOADS}, from a tenth of \
                 the drive's limit to its limit",
                loads.len()
            )));
        }
        loads.sort_by(|a, b| a.writes_per_second.total_cmp(&b.writes_per_second));
        for pair in loads.windows(2) {
            if pair[0].writes_per_second == pair[1].writes_per_second {
                return Err(Failure::data(format!(
                    "the load of {} writes per second appears twice; keep one of both",
                    pair[0].writes_per_second
                )));
            }
        }
        for load in &loads {
            load.reads.check(load.writes_per_second, "read")?;
            load.writes.check(load.writes_per_second, "write")?;
        }
        Ok(Self { loads })
    }

    /// Reads a table of comma-separated values: a header, then one line per load.
    ///
    /// Columns are `writes_per_second`, `achieved_per_second` (optional) and latencies in µs such
    /// as `read_p50` and `write_p99.9`.
    ///
    /// # Errors
    ///
    /// One sentence with the line and the column that cannot be used.
    pub fn from_csv(text: &str) -> Result<Self, Failure> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let Some((_, header)) = lines.next() else {
            return Err(Failure::data("the table of percentiles is empty"));
        };
        let columns = header.split(',').map(|word| Column::named(word.trim()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        if !columns.contains(&Column::Load) {
            return Err(Failure::data(
                "the table of percentiles lacks the column writes_per_second",
            ));
        }
        let loads = lines.map(|(index, line)| Self::load_of_line(&columns, index + 1, line));
        Self::new(loads.collect::<Result<_, _>>()?)
    }

    fn load_of_line(
        columns: &[Column],
        number: usize,
        line: &str,
    ) -> Result<MeasuredLoad, Failure> {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != columns.len() {
            return Err(Failure::data(format!(
                "line {number} has {} cells, but the header has {}",
                cells.len(),
                columns.len()
            )));
        }
        let mut load = MeasuredLoad {
            writes_per_second: 0.0,
            achieved_per_second: None,
            reads: Quantiles::default(),
            writes: Quantiles::default(),
        };
        for (column, cell) in columns.iter().zip(cells) {
            if cell.is_empty() && *column != Column::Load {
                continue;
            }
            let value = cell.parse::<f64>().ok().filter(|value| *value > 0.0 && value.is_finite());
            let Some(value) = value else {
                return Err(Failure::data(format!(
                    "`{cell}` in line {number} must be a number above 0"
                )));
            };
            match *column {
                Column::Load => load.writes_per_second = value,
                Column::Achieved => load.achieved_per_second = Some(value),
                Column::Read(index) => load.reads.0[index] = Some(value),
                Column::Write(index) => load.writes.0[index] = Some(value),
            }
        }
        Ok(load)
    }

    /// The loads, in ascending order.
    #[must_use]
    pub fn loads(&self) -> &[MeasuredLoad] {
        &self.loads
    }

    /// The loads in writes per second, for messages.
    #[must_use]
    pub fn loads_in_words(&self) -> String {
        let loads = self.loads.iter().map(|load| load.writes_per_second.to_string());
        loads.collect::<Vec<_>>().join(", ")
    }

    /// The same curve with the loads alone whose index `keeps`.
    ///
    /// # Errors
    ///
    /// If fewer than three are left.
    pub fn filtered(&self, keeps: impl Fn(usize) -> bool) -> Result<Self, Failure> {
        let loads = self.loads.iter().enumerate().filter(|(index, _)| keeps(*index));
        Self::new(loads.map(|(_, load)| *load).collect())
    }

    /// Whether a load saturated the drive: less ended than was offered, or all writes waited for a
    /// full queue, which no higher load makes longer.
    #[must_use]
    pub fn is_saturated(&self, load: &MeasuredLoad, probe_writes_per_second: f64) -> bool {
        if let Some(achieved) = load.achieved_per_second {
            return achieved < 0.97 * (load.writes_per_second + probe_writes_per_second);
        }
        let median = load.writes.0[0].unwrap_or(0.0);
        let lowest = self.loads[0].writes.0[0].unwrap_or(median);
        let spread = load.writes.0[1].unwrap_or(f64::MAX) / median;
        let highest = self.loads[self.loads.len() - 1].writes.0[0].unwrap_or(median);
        median > SATURATED_FACTOR * lowest
            && spread < SATURATED_SPREAD
            && highest < SATURATED_GROWTH * median
    }

    /// Writes per second at saturation. A closed loop of `in_flight` writes gives it by Little's
    /// law, unless the load says how many ended.
    #[must_use]
    pub fn saturation(&self, in_flight: f64, probe_writes_per_second: f64) -> Saturation {
        let offered = |load: &MeasuredLoad| load.writes_per_second + probe_writes_per_second;
        let saturated = |load: &&MeasuredLoad| self.is_saturated(load, probe_writes_per_second);
        let above = self.loads.iter().filter(|load| !saturated(load)).map(offered);
        let above = above.fold(0.0, f64::max);
        let estimate = self.loads.iter().find(saturated).and_then(|load| {
            let by_latency = in_flight * 1e6 / load.writes.mean().unwrap_or(1.0);
            let is_possible = by_latency > above && by_latency < offered(load);
            load.achieved_per_second.or_else(|| is_possible.then_some(by_latency))
        });
        Saturation { above, estimate }
    }
}

impl Quantiles {
    fn check(&self, load: f64, what: &str) -> Result<(), Failure> {
        if self.0[0].is_none() {
            return Err(Failure::data(format!(
                "the load of {load} writes per second lacks {what}_p50"
            )));
        }
        let known: Vec<f64> = self.0.iter().flatten().copied().collect();
        if let Some(pair) = known.windows(2).find(|pair| pair[0] > pair[1]) {
            return Err(Failure::data(format!(
                "the load of {load} writes per second has a {what} percentile of {} us above a \
                 higher one of {} us",
                pair[0], pair[1]
            )));
        }
        Ok(())
    }

    /// About the mean, by straight lines between the percentiles.
    fn mean(&self) -> Option<f64> {
        let [p50, p90, p99, ..] = self.0;
        let (p50, p90, p99) = (p50?, p90?, p99?);
        Some(0.45 * p50 + 0.4 * (p50 + p90) / 2.0 + 0.09 * (p90 + p99) / 2.0 + 0.01 * p99)
    }
}

/// A column of a table of percentiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Load,
    Achieved,
    Read(usize),
    Write(usize),
}

impl Column {
    fn named(name: &str) -> Result<Self, Failure> {
        let quantile = |of: &str| {
            let percentile = name.strip_prefix(of)?.parse::<f64>().ok()?;
            PERCENTILES.iter().position(|known| *known == percentile)
        };
        match name {
            "writes_per_second" => Ok(Self::Load),
            "achieved_per_second" => Ok(Self::Achieved),
            _ => quantile("read_p")
                .map(Self::Read)
                .or_else(|| quantile("write_p").map(Self::Write))
                .ok_or_else(|| {
                    Failure::data(format!(
                        "the column `{name}` is not known; use writes_per_second, \
                         achieved_per_second, and read_p and write_p with 50, 90, 99, 99.9, 99.99 \
                         or 99.999"
                    ))
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "writes_per_second,read_p50,read_p99.9,write_p50,write_p90,write_p99\n\
                         30000,73,472,11,12,14\n10000,64,393,11,12,14\n80000,899,3070,3377,3712,4039\n";

    #[test]
    fn loads_are_sorted_and_the_last_is_saturated() {
        let curve = MeasuredCurve::from_csv(TABLE).unwrap();
        let [first, second, last] = curve.loads() else { panic!("{curve:?}") };
        assert_eq!((first.writes_per_second, second.reads.0[3]), (10_000.0, Some(472.0)));
        assert!(curve.is_saturated(last, 5_000.0) && !curve.is_saturated(second, 5_000.0));
        let saturation = curve.saturation(384.0, 5_000.0);
        assert_eq!(saturation.above, 35_000.0);
        // 384 writes in flight of 3.4 ms each are more than were offered.
        assert_eq!(saturation.estimate, None);
        let slower = MeasuredCurve::from_csv(&TABLE.replace("3377,3712,4039", "5377,5712,6039"));
        let estimate = slower.unwrap().saturation(384.0, 5_000.0).estimate.unwrap();
        assert!((65_000.0..75_000.0).contains(&estimate), "{estimate}");
    }

    #[test]
    fn tables_that_cannot_be_used_are_refused_in_one_sentence() {
        let refused = |text: &str| MeasuredCurve::from_csv(text).unwrap_err().to_string();
        assert!(refused("").contains("empty"));
        assert!(refused("read_p50\n1\n").contains("lacks the column writes_per_second"));
        assert!(refused("writes_per_second,read_p75\n").contains("`read_p75` is not known"));
        assert!(refused(&TABLE.replace(",14\n10000", "\n10000")).contains("line 2 has 5 cells"));
        assert!(refused(&TABLE.replace("393", "-1")).contains("`-1` in line 3"));
        assert!(refused(&TABLE.replace("393", "12")).contains("above a higher one of 12 us"));
        assert!(refused(&TABLE.replace("30000", "10000")).contains("appears twice"));
        let two: Vec<&str> = TABLE.lines().take(3).collect();
        assert!(refused(&two.join("\n")).contains("has 2 loads"));
    }
}
