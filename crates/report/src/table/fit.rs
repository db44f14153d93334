//! Measured and modelled loads of a drive, for the terminal.

use super::{lines, plain};
use crate::fit::{
    BUFFERED_US, ComparedLoad, ComparedPercentile, CurveReport, FitReport, PercentileError,
};
use crate::format::three_digits;
use comfy_table::CellAlignment;

/// The whole fit as text.
#[must_use]
pub fn render(report: &FitReport) -> String {
    format!(
        "{}, fitted to a measurement from {}\n  typical factor between model and measurement {:.2}, \
         after {} modelled curves\n\n{}\n{}",
        report.drive,
        report.like,
        report.typical_factor,
        report.evaluations,
        parameters(report),
        curve(&report.curve),
    )
}

fn parameters(report: &FitReport) -> String {
    let header = ["parameter", "before", "fitted", "as good as that", ""].map(str::to_owned);
    let rows = report.parameters.iter().map(|parameter| {
        let with_unit = |value: f64| format!("{} {}", three_digits(value), parameter.unit);
        vec![
            parameter.key.clone(),
            with_unit(parameter.before),
            with_unit(parameter.best),
            parameter.interval(),
            (if parameter.is_pinned() { "" } else { "left open" }).to_owned(),
        ]
    });
    numbers(&header, rows.collect(), 1..3)
}

/// Measured and modelled percentiles of each load as text.
#[must_use]
pub fn curve(curve: &CurveReport) -> String {
    let names = ["writes/s", "", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];
    let mut rows = Vec::new();
    for load in &curve.loads {
        let mut name = load_name(load);
        for (what, latencies) in [("reads", &load.reads), ("writes", &load.writes)] {
            let mut row = vec![std::mem::take(&mut name), what.to_owned()];
            row.extend(latencies.iter().map(cell));
            rows.push(row);
        }
    }
    let mut name = "error".to_owned();
    for (what, errors) in [("reads", &curve.read_errors), ("writes", &curve.write_errors)] {
        let mut row = vec![std::mem::take(&mut name), what.to_owned()];
        row.extend(errors.iter().map(error));
        rows.push(row);
    }
    let table = numbers(&names.map(str::to_owned), rows, 2..8);
    let saturation = curve.measured_saturation_per_second.map_or_else(
        || "saturation is not known from the measurement".to_owned(),
        |rate| {
            format!(
                "saturation: measured {:.0}, model {:.0} writes per second",
                rate, curve.model_saturation_per_second
            )
        },
    );
    format!(
        "{table}  Measured / modelled latencies in us. * saturated; + predicted, the fit did not \
         know this load.\n  Errors: the larger latency divided by the smaller, median of the loads \
         below saturation / largest of all.\n  Writes below {BUFFERED_US} us count as equal.\n  \
         {saturation}\n"
    )
}

fn load_name(load: &ComparedLoad) -> String {
    let saturated = if load.saturated { "*" } else { "" };
    let predicted = if load.fitted { "" } else { "+" };
    format!("{:.0}{saturated}{predicted}", load.writes_per_second)
}

fn cell(latency: &ComparedPercentile) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    format!("{}/{}", number(latency.measured_us), number(latency.model_us))
}

fn error(of: &PercentileError) -> String {
    let factor = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    format!("{}/{}", factor(of.median_below_saturation), factor(of.largest))
}

fn numbers(header: &[String], rows: Vec<Vec<String>>, columns: std::ops::Range<usize>) -> String {
    let mut table = plain(header);
    table.add_rows(rows);
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines(&table)
}
