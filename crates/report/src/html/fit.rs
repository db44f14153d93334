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
    let loads = &report.curve.loads;
    let decades = Decades::of(loads);
    let plots: String =
        decades.map_or_else(String::new, |d| loads.iter().map(|load| plots(load, d)).collect());
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
            "Latency over percentiles, one pair of plots per load: reads on the left, writes on the \
             right. Dots are measured, the line is modelled. All plots have one scale.",
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
            let number = |value: f64| match parameter.unit.as_str() {
                "us" => format!("{} {unit}", format::three_digits(value)),
                _ => format!("{} {unit}", format::count(value as u64)),
            };
            let cells =
                vec![number(parameter.before), number(parameter.best), parameter.interval()];
            (parameter.key.clone(), cells)
        })
        .collect();
    table("Parameters", &header, &rows)
}

/// Exponents of 10 µs at the lower and the upper end of all plots: 3 stands for 1 ms.
#[derive(Clone, Copy)]
struct Decades {
    least: f64,
    most: f64,
}

impl Decades {
    /// The ends that hold all latencies of `loads`; `None` if there are no latencies.
    fn of(loads: &[ComparedLoad]) -> Option<Self> {
        let latencies = loads.iter().flat_map(|load| load.reads.iter().chain(&load.writes));
        let values = latencies.flat_map(|entry| [entry.measured_us, entry.model_us]).flatten();
        let exponents = || values.clone().filter(|us| *us > 0.0).map(f64::log10);
        let least = exponents().reduce(f64::min)?.floor();
        let most = exponents().reduce(f64::max)?.ceil().max(least + 1.0);
        Some(Self { least, most })
    }

    fn y(self, us: f64) -> f64 {
        8.0 + HEIGHT * (self.most - us.max(1e-3).log10()) / (self.most - self.least)
    }

    /// Lines of the powers of 10 and their labels.
    fn grid(self) -> String {
        let mut grid = String::new();
        let mut decade = self.least;
        while decade <= self.most {
            let us = 10f64.powf(decade);
            let label = match decade {
                ..3.0 => format!("{us} µs"),
                3.0..6.0 => format!("{} ms", us / 1e3),
                _ => format!("{} s", us / 1e6),
            };
            let at = self.y(us);
            grid += &format!(
                "<path d=\"M{MARGIN} {at:.1}h{WIDTH}\" stroke=\"currentColor\" \
                 stroke-opacity=\".2\"/><text x=\"{:.0}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{label}</text>",
                MARGIN - 4.0,
                at + 4.0,
            );
            decade += 1.0;
        }
        grid
    }
}

fn plots(load: &ComparedLoad, decades: Decades) -> String {
    format!(
        "<h3>{}</h3>\n<div class=\"scroll\">{}{}</div>\n",
        load_name(load),
        plot("reads", &load.reads, decades),
        plot("writes", &load.writes, decades)
    )
}

/// A plot of latency over the number of nines, both axes logarithmic.
fn plot(what: &str, latencies: &[ComparedPercentile], decades: Decades) -> String {
    let step = WIDTH / (latencies.len().max(2) - 1) as f64;
    let x = |index: usize| MARGIN + step * index as f64;
    let mut grid = decades.grid();
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
            Some(format!("{:.1},{:.1}", x(index), decades.y(entry.model_us?)))
        })
        .collect();
    let measured: String = points
        .filter_map(|(index, entry)| {
            let at = decades.y(entry.measured_us?);
            Some(format!("<circle cx=\"{:.1}\" cy=\"{at:.1}\" r=\"3.5\"/>", x(index)))
        })
        .collect();
    format!(
        "<svg width=\"{:.0}\" height=\"{:.0}\" role=\"img\" aria-label=\"{what}\" \
         fill=\"currentColor\" font-size=\"11\">{grid}<text x=\"{:.0}\" y=\"20\">{what}</text>\
         <polyline points=\"{}\" fill=\"none\" \
         stroke=\"currentColor\" stroke-width=\"1.5\"/>{measured}</svg>",
        WIDTH + MARGIN * 2.0,
        HEIGHT + 32.0,
        MARGIN + 4.0,
        model.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::Decades;

    #[test]
    fn lines_of_a_plot_are_labelled_by_powers_of_10() {
        let grid = Decades { least: 1.0, most: 6.0 }.grid();
        let labels = grid.split("</text>").filter_map(|part| part.rsplit('>').next());
        let labels: Vec<&str> = labels.filter(|label| !label.is_empty()).collect();
        assert_eq!(labels, ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
    }
}
