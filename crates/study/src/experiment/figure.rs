//! What a figure shows, as tables, and what became of its claims.

use super::number::Number;
use super::{Experiment, Results, SMOKE, Series};
use crate::describe;
use crate::failure::Failure;
use crate::table;
use report::{Claim, ClaimKind};
use sim::Plan;

/// More series than this are rows, because so many columns do not fit on a terminal.
const MOST_COLUMNS: usize = 8;

/// The tables of `experiment` and its `claims`.
pub fn figure(
    experiment: &Experiment,
    results: &Results<'_>,
    claims: &[Claim],
) -> Result<String, Failure> {
    let seeds = experiment.seeds_in_title();
    let mut text = format!("{}: {}{seeds}\n", experiment.figure, experiment.title);
    if results.are_smoke() {
        text += &table::paragraph(SMOKE, 2);
    }
    text.push('\n');
    let workloads = experiment.tables();
    let metrics: Vec<Number> = experiment.shows.iter().map(|text| text.value).collect();
    let series = experiment.series();
    let labels: Vec<&str> = series.iter().map(|one| one.label.as_str()).collect();
    text += &tables(&workloads, &metrics, &labels, |workload, metric, one| {
        let value = series.get(one).and_then(|one| results.value(workload, one, metric));
        value.map_or("-".into(), |value| metric.show(value))
    });
    text += &systems(experiment, results)?;
    text += &verdicts(claims);
    text.push('\n');
    Ok(text)
}

/// What became of `claims`.
pub(super) fn verdicts(claims: &[Claim]) -> String {
    let mut text = String::new();
    for claim in claims {
        let verdict = claim.verdict();
        text += &format!("\n{}: {verdict}\n  claim    {}\n", claim.id, claim.statement);
        text += &match claim.kind {
            ClaimKind::Article => format!("  article  {} ({})\n", claim.article, claim.figure),
            ClaimKind::Ours => "  article  says nothing about it; the claim is ours\n".to_owned(),
            ClaimKind::Evidence => "  article  evidence for a verdict on a statement\n".to_owned(),
        };
        text += &format!("  limit    {}\n  here     {}\n", claim.limit, claim.ours);
        if !claim.note.is_empty() {
            text += &format!("  note     {}\n", claim.note);
        }
    }
    text
}

/// What each series was run on, where they differ: a base without the parity of the others must not
/// pass for one with it. Workloads do not change it.
fn systems(experiment: &Experiment, results: &Results<'_>) -> Result<String, Failure> {
    if experiment.variants.is_empty() {
        return Ok(String::new());
    }
    let series = experiment.series();
    let of = |one| Some((one, results.plan_and_run(0, one)?.0));
    let (series, plans): (Vec<&Series>, Vec<&Plan>) = series.iter().filter_map(of).unzip();
    let layouts = describe::layouts(&plans)?;
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for common in [layouts.drive, layouts.array].into_iter().filter(|text| !text.is_empty()) {
        lines.push((common, vec!["all"]));
    }
    for (one, own) in series.iter().zip(layouts.each).filter(|(_, own)| !own.is_empty()) {
        match lines.iter_mut().find(|(text, _)| *text == own) {
            Some((_, names)) => names.push(&one.label),
            None => lines.push((own, vec![&one.label])),
        }
    }
    let line = |(text, names): (String, Vec<&str>)| format!("  {}: {text}\n", names.join(", "));
    Ok(format!("\nruns on\n{}", lines.into_iter().map(line).collect::<String>()))
}

/// One workload is one table of metrics by series; several are one table for each metric. Many
/// series are rows instead, in one table for each workload.
fn tables(
    workloads: &[&str],
    metrics: &[Number],
    series: &[&str],
    cell: impl Fn(usize, Number, usize) -> String,
) -> String {
    let line = |first: String, cells: Vec<String>| -> Vec<String> {
        std::iter::once(first).chain(cells).collect()
    };
    let header = |first: String| line(first, table::header(series));
    let row = |first: String, workload: usize, metric: Number| {
        line(first, (0..series.len()).map(|one| cell(workload, metric, one)).collect())
    };
    let all: Vec<String> = if series.len() > MOST_COLUMNS {
        let table = |(workload, name): (usize, &&str)| {
            let names = metrics.iter().map(Number::to_string).collect();
            let of = |(one, label): (usize, &&str)| {
                let cells = metrics.iter().map(|&metric| cell(workload, metric, one));
                line((*label).to_owned(), cells.collect())
            };
            let rows: Vec<Vec<String>> = series.iter().enumerate().map(of).collect();
            table::numbers(&line((*name).to_owned(), names), &rows)
        };
        workloads.iter().enumerate().map(table).collect()
    } else if let [only] = workloads {
        let rows: Vec<Vec<String>> =
            metrics.iter().map(|&metric| row(metric.to_string(), 0, metric)).collect();
        vec![table::numbers(&header((*only).to_owned()), &rows)]
    } else {
        let table = |&metric: &Number| {
            let of = |(workload, name): (usize, &&str)| row((*name).to_owned(), workload, metric);
            let rows: Vec<Vec<String>> = workloads.iter().enumerate().map(of).collect();
            table::numbers(&header(metric.to_string()), &rows)
        };
        metrics.iter().map(table).collect()
    };
    all.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables as words, without rules; each cell says what it is of.
    fn words(workloads: &[&str], series: &[&str]) -> Vec<Vec<String>> {
        let metrics: Vec<Number> =
            ["waf", "busy1"].into_iter().map(|text| text.parse().unwrap()).collect();
        let cell = |workload, metric: Number, one| format!("{workload}{metric}{one}");
        tables(workloads, &metrics, series, cell)
            .lines()
            .filter(|line| !line.contains('─'))
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn few_series_are_columns() {
        assert_eq!(
            words(&["tpcc"], &["a", "b"]),
            [
                vec!["tpcc", "a", "b"],
                vec!["waf", "0waf0", "0waf1"],
                vec!["busy1", "0busy10", "0busy11"]
            ]
        );
        let two = words(&["tpcc", "azure"], &["a", "b"]);
        assert_eq!(two[0], ["waf", "a", "b"]);
        assert_eq!(two[2], ["azure", "1waf0", "1waf1"]);
        assert_eq!(two[4], ["busy1", "a", "b"]);
    }

    #[test]
    fn many_series_are_rows() {
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let tables = words(&["tpcc", "azure"], &many);
        assert_eq!(tables[0], ["tpcc", "waf", "busy1"]);
        assert_eq!(tables[9], ["i", "0waf8", "0busy18"]);
        assert_eq!(tables[11], ["azure", "waf", "busy1"]);
        assert_eq!(tables.len(), 2 * 10 + 1);
    }
}
