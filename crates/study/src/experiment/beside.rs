//! Published numbers of an experiment beside ours.

use super::number::Number;
use super::published::Published;
use super::series::Series;
use super::{Experiment, Results};
use crate::table;
use report::published::{PublishedPair, PublishedRow, PublishedTable};

/// The published numbers of `experiment` beside its `results`.
pub fn tables(experiment: &Experiment, results: &Results<'_>) -> Vec<PublishedTable> {
    experiment.published.iter().map(|published| table(experiment, published, results)).collect()
}

fn table(experiment: &Experiment, published: &Published, results: &Results<'_>) -> PublishedTable {
    let is_in = |one: &Series| {
        published.numbers.values().any(|numbers| numbers.keys().any(|name| one.is_called(name)))
    };
    let series: Vec<Series> = experiment.series().into_iter().filter(is_in).collect();
    let mut rows = Vec::new();
    for (index, workload) in experiment.tables().into_iter().enumerate() {
        let Some(numbers) = published.numbers.get(workload) else { continue };
        for (place, metric) in published.metrics.iter().map(|text| text.value).enumerate() {
            let cell = |one: &Series| {
                let (_, numbers) = numbers.iter().find(|(name, _)| one.is_called(name))?;
                pair(metric, results.value(index, one, metric)?, *numbers.get(place)?)
            };
            rows.push(PublishedRow {
                workload: workload.to_owned(),
                metric: metric.to_string(),
                cells: series.iter().map(cell).collect(),
            });
        }
    }
    PublishedTable {
        figure: format!("{}: {}", experiment.figure, experiment.title),
        source: published.source.clone(),
        series: series.into_iter().map(|one| one.label).collect(),
        rows,
    }
}

/// Our number, which is in nanoseconds if it is a latency, and the published one.
fn pair(metric: Number, ours: f64, published: f64) -> Option<PublishedPair> {
    let unit = if metric.is_latency() { 1e3 } else { 1.0 };
    let text = format!("{} / {}", metric.show(ours), metric.show(published * unit));
    Some(PublishedPair { ours: ours / unit, published, text })
}

/// The tables for a terminal.
pub fn render(tables: &[PublishedTable]) -> String {
    let one = |table: &PublishedTable| {
        let numbers = table::numbers(&table.heading(), &table.lines());
        format!("{}, ours / {}\n\n{numbers}\n", table.figure, table.source)
    };
    tables.iter().map(one).collect()
}
