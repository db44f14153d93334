//! A sweep for the terminal: a table per metric, or with two parameters one per metric and policy.

use super::{firmware_mark, plain, push_section, titled, wrapped};
use crate::sweep::{Cells, Missing, Spread, Sweep, SweepMetric, SweepPolicy};
use comfy_table::CellAlignment;

/// Columns of numbers side by side, without and with the range over the seeds.
const ABREAST: usize = 8;
const RANGES_ABREAST: usize = 3;

/// Points with remarks that are told.
const MOST_NOTES: usize = 8;

/// The whole sweep as text.
#[must_use]
pub fn render(sweep: &Sweep) -> String {
    let sweep = &sweep.cells();
    let mut text = heading(sweep);
    for metric in &sweep.metrics {
        let tables = match sweep.parameters.as_slice() {
            [rows] => one_parameter(sweep, metric, &rows.name),
            [_, _] => sweep
                .policies
                .iter()
                .flat_map(|policy| two_parameters(sweep, metric, policy))
                .collect(),
            _ => Vec::new(),
        };
        for table in tables {
            push_section(&mut text, &table);
        }
    }
    push_section(&mut text, &footnotes(sweep));
    text
}

fn heading(sweep: &Cells<'_>) -> String {
    let mut text = format!("{}\n", sweep.title);
    for (name, value) in &sweep.facts {
        text += &format!("  {name:<9} {value}\n");
    }
    for note in &sweep.notes {
        text += &wrapped("  note      ", note);
    }
    text
}

/// Values down, policies across.
fn one_parameter(sweep: &Cells<'_>, metric: &SweepMetric, parameter: &str) -> Vec<String> {
    let mut tables = Vec::new();
    for policies in sweep.policies.chunks(abreast(sweep, metric)) {
        let mut header = vec![parameter.to_owned()];
        header.extend(policies.iter().map(|policy| policy.label.clone()));
        let rows = values(sweep, 0).enumerate().map(|(index, value)| {
            let cells = policies.iter().map(|policy| cell(sweep, &[index], policy, metric));
            std::iter::once(value.to_owned()).chain(cells).collect()
        });
        tables.push(numbers(&metric.name, &header, rows.collect()));
    }
    tables
}

/// Values of the first parameter down, of the second across.
fn two_parameters(sweep: &Cells<'_>, metric: &SweepMetric, policy: &SweepPolicy) -> Vec<String> {
    let [down, across] = [0, 1].map(|which| sweep.parameters[which].name.as_str());
    let title = format!("{} under {}: {down} down, {across} across", metric.name, policy.label);
    let all: Vec<(usize, &str)> = values(sweep, 1).enumerate().collect();
    let mut tables = Vec::new();
    for columns in all.chunks(abreast(sweep, metric)) {
        let mut header = vec![String::new()];
        header.extend(columns.iter().map(|(_, value)| (*value).to_owned()));
        let rows = values(sweep, 0).enumerate().map(|(row, value)| {
            let cells =
                columns.iter().map(|&(column, _)| cell(sweep, &[row, column], policy, metric));
            std::iter::once(value.to_owned()).chain(cells).collect()
        });
        tables.push(numbers(&title, &header, rows.collect()));
    }
    tables
}

fn values(sweep: &Sweep, parameter: usize) -> impl Iterator<Item = &str> {
    sweep.parameters[parameter].values.iter().map(|value| value.text.as_str())
}

fn abreast(sweep: &Cells<'_>, metric: &SweepMetric) -> usize {
    let has_ranges = sweep.seeds.len() > 1 || sweep.has_intervals(&metric.name);
    if has_ranges { RANGES_ABREAST } else { ABREAST }
}

fn cell(
    sweep: &Cells<'_>,
    indices: &[usize],
    policy: &SweepPolicy,
    metric: &SweepMetric,
) -> String {
    let point = sweep.point(indices);
    let spread = sweep.spread(point, &policy.name, &metric.name);
    spread.map_or_else(
        || sweep.absent(point, &policy.name).to_owned(),
        |spread| {
            let mark = if sweep.is_idle(point, &policy.name) { "*" } else { "" };
            format!("{}{mark}", shown(metric, &spread))
        },
    )
}

/// The median, and the lowest and the highest where seeds differ; of one seed its interval.
fn shown(metric: &SweepMetric, spread: &Spread) -> String {
    let show = |value| metric.unit.show(value);
    let mark = if spread.few { "~" } else { "" };
    let median = format!("{}{mark}", show(spread.median));
    match spread.low == spread.high {
        true => median,
        false if spread.is_interval => {
            format!("{median} [{}, {}]", show(spread.low), show(spread.high))
        }
        false => format!("{median} ({} to {})", show(spread.low), show(spread.high)),
    }
}

fn numbers(title: &str, header: &[String], rows: Vec<Vec<String>>) -> String {
    let mut table = plain(header);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    titled(title, &table)
}

/// What the marks mean, what was left out, and what failed.
fn footnotes(sweep: &Cells<'_>) -> String {
    let mut text = String::new();
    if sweep.seeds.len() > 1 {
        text += "Medians over the seeds, with the lowest and the highest where these differ.\n";
    }
    if sweep.metrics.iter().any(|metric| sweep.has_intervals(&metric.name)) {
        text += "In brackets: where the number lies with 95 %, as the blocks of its run vary.\n";
    }
    if sweep.metrics.iter().any(|metric| sweep.has_few_samples(&metric.name)) {
        text += "~ fewer than 100 samples lie beyond this percentile with some seed\n";
    }
    text += &firmware_mark(sweep.policies.iter().map(|policy| policy.label.as_str()));
    if sweep.has_idle() {
        text += "* no collection took place with some seed, so the number is of idle drives\n";
    }
    for metric in &sweep.metrics {
        if let Some(meaning) = metric.meaning() {
            text += &wrapped("", &format!("{}: {meaning}", metric.name));
        }
    }
    for (missing, why, runs) in sweep.remarks() {
        let bullet = if missing == Missing::Failed { "! " } else { "- " };
        text += &wrapped(bullet, &format!("{}: {runs}: {why}", missing.name()));
    }
    text + &notes(sweep)
}

/// What is to be known about points, of which there may be many.
fn notes(sweep: &Cells<'_>) -> String {
    let all = || sweep.points.iter().enumerate().filter(|(_, point)| !point.notes.is_empty());
    let mut text = String::new();
    for (index, point) in all().take(MOST_NOTES) {
        let line = format!("{}: {}", sweep.point_in_words(index), point.notes.join(" "));
        text += &wrapped("  ", &line);
    }
    match all().count().saturating_sub(MOST_NOTES) {
        0 => text,
        more => text + &format!("  … and remarks on {more} more points on the page\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_of_one_parameter() {
        insta::assert_snapshot!(render(&crate::sample::sweep(1)));
    }

    #[test]
    fn the_sweep_of_two_parameters() {
        insta::assert_snapshot!(render(&crate::sample::sweep(2)));
    }

    #[test]
    fn an_empty_sweep_is_no_error() {
        assert!(render(&Sweep::default()).trim().is_empty());
    }
}
