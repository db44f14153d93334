//! Ratios with their intervals, as rows of tables.

use crate::{LatencyRatio, Run, format};

/// The ratios to one run.
pub(crate) struct Ratios<'a> {
    /// The run.
    pub(crate) to: &'a str,
    /// The statistics, as `p99.9`.
    pub(crate) names: Vec<String>,
    /// The other runs by name, each with its ratio by statistic.
    pub(crate) rows: Vec<(String, Vec<Cell<'a>>)>,
}

/// A ratio, if there is one.
pub(crate) struct Cell<'a>(Option<&'a LatencyRatio>);

impl Cell<'_> {
    /// It with its interval, as `1.03 [0.99, 1.08]`; with a mark if it has none.
    pub(crate) fn text(&self) -> String {
        let Some(ratio) = self.0 else { return "-".to_owned() };
        let value = digits(ratio.ratio);
        match ratio.interval {
            Some((low, high)) => format!("{value} [{}, {}]", digits(low), digits(high)),
            None => format!("{value} ~"),
        }
    }
}

/// A ratio of about three significant digits; a small one has two, so that columns stay narrow.
fn digits(ratio: f64) -> String {
    match ratio {
        small if small < 0.01 => format!("{small:.4}"),
        small if small < 0.1 => format!("{small:.3}"),
        ratio => format::three_digits(ratio),
    }
}

/// One for each run that others of `runs` are compared with.
pub(crate) fn tables(runs: &[Run]) -> Vec<Ratios<'_>> {
    let ratios = || runs.iter().flat_map(|run| &run.ratios);
    let mut others: Vec<&str> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for ratio in ratios() {
        if !others.contains(&ratio.to.as_str()) {
            others.push(&ratio.to);
        }
        if !names.contains(&ratio.name()) {
            names.push(ratio.name());
        }
    }
    let table = |to| {
        let mut rows = Vec::new();
        for run in runs {
            let of = |name: &String| {
                Cell(run.ratios.iter().find(|ratio| ratio.to == to && ratio.name() == *name))
            };
            if run.ratios.iter().any(|ratio| ratio.to == to) {
                rows.push((run.name().to_owned(), names.iter().map(of).collect()));
            }
        }
        Ratios { to, names: names.clone(), rows }
    };
    others.into_iter().map(table).collect()
}

/// Why some ratios have no interval: each reason with the runs that it is about. Of each run the
/// first counts: if there is too little above one percentile, there is too little above the next.
pub(crate) fn reasons(runs: &[Run]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        if let Some(ratio) = run.ratios.iter().find(|ratio| !ratio.why_not.is_empty()) {
            match reasons.iter_mut().find(|(why, _)| *why == ratio.why_not) {
                Some((_, names)) => names.push(run.name()),
                None => reasons.push((&ratio.why_not, vec![run.name()])),
            }
        }
    }
    let sentence = |(why, names): (&str, Vec<&str>)| {
        format!("no interval, because {why} ({})", names.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(to: &str, percentile: Option<f64>, interval: Option<(f64, f64)>) -> LatencyRatio {
        let why_not = if interval.is_some() { "" } else { "the run is too short" };
        LatencyRatio {
            to: to.to_owned(),
            percentile,
            ratio: 1.03,
            interval,
            why_not: why_not.to_owned(),
        }
    }

    #[test]
    fn a_table_has_the_runs_that_are_compared_with_one() {
        let run = |label: &str, ratios| Run { label: label.to_owned(), ratios, ..Run::default() };
        let both = |to| vec![ratio(to, Some(99.9), Some((0.99, 1.08))), ratio(to, None, None)];
        let runs = [
            run("Base", both("Ideal")),
            run("IODA", [both("Ideal"), both("Base")].concat()),
            run("Ideal", both("Base")),
        ];
        let tables = tables(&runs);
        assert_eq!(tables.len(), 2);
        for (table, to, rows) in
            [(&tables[0], "Ideal", ["Base", "IODA"]), (&tables[1], "Base", ["IODA", "Ideal"])]
        {
            let names: Vec<&str> = table.rows.iter().map(|(run, _)| run.as_str()).collect();
            assert_eq!((table.to, names), (to, rows.to_vec()));
            assert_eq!(table.names, ["p99.9", "mean"]);
            for (_, cells) in &table.rows {
                let cells: Vec<String> = cells.iter().map(Cell::text).collect();
                assert_eq!(cells, ["1.03 [0.99, 1.08]", "1.03 ~"]);
            }
        }
        assert_eq!(
            reasons(&runs),
            ["no interval, because the run is too short (Base, IODA, Ideal)"]
        );
        assert!(super::tables(&[Run::default()]).is_empty());
        assert_eq!([0.00123, 0.0123, 0.123, 12.3].map(digits), ["0.0012", "0.012", "0.12", "12.3"]);
    }
}
