//! Numbers that others have published about an experiment.

use super::number::Number;
use crate::values::names::Unknown;
use crate::values::quantity::Text;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Numbers that others have published about an experiment. No claim rests on them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The source of the numbers.
    pub source: String,
    /// The metrics, in the order of the numbers.
    pub metrics: Vec<Text<Number>>,
    /// The numbers of each workload, by series, one for each metric: latencies in microseconds,
    /// others in the unit of the metric.
    pub numbers: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

impl Published {
    /// Refuses numbers of other workloads than `tables` and other series than those called `names`.
    pub(super) fn check<'a>(
        &self,
        tables: &[&str],
        names: impl Iterator<Item = &'a str> + Clone,
        is_series: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        for (workload, by_series) in &self.numbers {
            if !tables.contains(&workload.as_str()) {
                let unknown = Unknown::new("workload", workload, tables.iter().copied());
                return Err(format!("published numbers: {unknown}"));
            }
            for (name, numbers) in by_series {
                if !is_series(name) {
                    let unknown = Unknown::new("series", name, names);
                    return Err(format!("published numbers: {unknown}"));
                }
                if numbers.len() != self.metrics.len() {
                    return Err(format!(
                        "published numbers: {workload} under {name} has {}, but there are {} metrics",
                        numbers.len(),
                        self.metrics.len()
                    ));
                }
            }
        }
        Ok(())
    }
}
