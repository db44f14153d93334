//! The page of `ioda fit`: measured and modelled curves side by side, errors, parameters.

use super::escape::text;
use super::tables::{section, table};
use crate::fit::{ComparedLoad, ComparedPercentile, FitReport};
use crate::format;
use serde::Serialize;

/// Size of a plot in pixels, without its margins.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 160.0;
const MARGIN: f64 = 44.0;

/// The page draws nothing in the browser.
#[derive(Serialize)]
struct NoView {}

/// The whole page.
#[must_use]
pub fn render(report: &FitReport) -> String {
    let plots: String = report.curve.loads.iter().map(plots).collect();
    let body = [
        format!(
            "<header>\n<h1>{} as it was measured and as it is modelled</h1>\n<p>The typical factor \
             between model and measurement is {:.2}. The search began with {} and modelled {} \
             curves.</p>\n</header>",
            text(&report.drive),
            report.typical_factor,
            text(&report.like),
            report.evaluations
        ),
        section(
            "curves",
            "Curves",
            "Latency over percentiles, one pair of plots per load: dots are measured, the line is \
             modelled.",
            &plots,
        ),
        section(
            "errors",
            "Errors",
            "Modelled divided by measured latency. 1.00 is no error; below 1 the model is too fast.",
            &errors(report),
        ),
        section(
            "parameters",
            "Parameters",
            "Values that the search set. The measurement does not tell values inside the interval \
             from the best one; an open side means that it says nothing there.",
            &parameters(report),
        ),
        format!(
            "<section id=\"manifest\">\n<h2>How to fit it again</h2>\n<p>ioda {}: \
             <code>{}</code></p>\n</section>",
            text(&report.ioda_version),
            text(&report.command_line)
        ),
    ];
    super::page(&report.drive, &body.join("\n"), &NoView {}, &[])
}

fn load_name(load: &ComparedLoad) -> String {
    let saturated = if load.saturated { ", saturated" } else { "" };
    let predicted = if load.fitted { "" } else { ", predicted" };
    format!("{} writes/s{saturated}{predicted}", format::count(load.writes_per_second as u64))
}

fn errors(report: &FitReport) -> String {
    let loads = &report.curve.loads;
    let percentiles = loads.first().map_or(&[][..], |load| &load.reads);
    let mut header = vec!["load".to_owned()];
    for what in ["read", "write"] {
        header.extend(
            percentiles
                .iter()
                .map(|entry| format!("{what} {}", format::percentile(entry.percentile))),
        );
    }
    let rows: Vec<(String, Vec<String>)> = loads
        .iter()
        .map(|load| {
            let cells = load.reads.iter().chain(&load.writes);
            let cells = cells.map(|entry| {
                entry.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
            });
            (load_name(load), cells.collect())
        })
        .collect();
    table("Errors", &header, &rows)
}

fn parameters(report: &FitReport) -> String {
    let header = ["parameter", "before", "fitted", "interval"].map(str::to_owned);
    let rows: Vec<(String, Vec<String>)> = report
        .parameters
        .iter()
        .map(|parameter| {
            let unit = text(&parameter.unit);
            let number = |value: f64| format!("{} {unit}", format::three_digits(value));
            let cells =
                vec![number(parameter.before), number(parameter.best), parameter.interval()];
            (parameter.key.clone(), cells)
        })
        .collect();
    table("Parameters", &header, &rows)
}

fn plots(load: &ComparedLoad) -> String {
    format!(
        "<h3>{}</h3>\n<div class=\"scroll\">{}{}</div>\n",
        load_name(load),
        plot("reads", &load.reads),
        plot("writes", &load.writes)
    )
}

/// A plot of latency over the number of nines, both axes logarithmic.
fn plot(what: &str, latencies: &[ComparedPercentile]) -> String {
    let values = latencies.iter().flat_map(|entry| [entry.measured_us, entry.model_us]);
    let values: Vec<f64> = values.flatten().filter(|value| *value > 0.0).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min).log10().floor();
    let most = values.iter().copied().fold(1.0, f64::max).log10().ceil().max(least + 1.0);
    if !least.is_finite() {
        return String::new();
    }
    let step = WIDTH / (latencies.len().max(2) - 1) as f64;
    let x = |index: usize| MARGIN + step * index as f64;
    let y = |us: f64| 8.0 + HEIGHT * (most - us.log10()) / (most - least);
    let mut grid = String::new();
    let mut decade = least;
    while decade <= most {
        let (at, value) = (y(10f64.powf(decade)), 10f64.powf(decade));
        grid += &format!(
            "<path d=\"M{MARGIN} {at:.1}h{WIDTH}\" stroke=\"currentColor\" stroke-opacity=\".2\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            MARGIN - 4.0,
            at + 4.0,
            format::latency(value).replace(".0", "").replace(".00", "")
        );
        decade += 1.0;
    }
    for (index, entry) in latencies.iter().enumerate() {
        grid += &format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            x(index),
            HEIGHT + 24.0,
            format::percentile(entry.percentile)
        );
    }
    let points = latencies.iter().enumerate();
    let model: Vec<String> = points
        .clone()
        .filter_map(|(index, entry)| {
            Some(format!("{:.1},{:.1}", x(index), y(entry.model_us?.max(1e-3))))
        })
        .collect();
    let measured: String = points
        .filter_map(|(index, entry)| {
            let at = y(entry.measured_us?.max(1e-3));
            Some(format!("<circle cx=\"{:.1}\" cy=\"{at:.1}\" r=\"3.5\"/>", x(index)))
        })
        .collect();
    format!(
        "<svg width=\"{:.0}\" height=\"{:.0}\" role=\"img\" aria-label=\"{what}\" \
         fill=\"currentColor\" font-size=\"11\">{grid}<text x=\"{:.0}\" y=\"20\" \
         text-anchor=\"end\">{what}</text><polyline points=\"{}\" fill=\"none\" \
         stroke=\"currentColor\" stroke-width=\"1.5\"/>{measured}</svg>",
        WIDTH + MARGIN * 2.0,
        HEIGHT + 32.0,
        MARGIN + WIDTH,
        model.join(" ")
    )
}
