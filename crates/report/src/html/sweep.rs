//! The page of a sweep: curves over one parameter, heat maps over two.
//!
//! A heat map is a table whose cells have colours, so it needs no script and is read aloud as what
//! it is. Curves stand beside a table of the same numbers.

use super::escape::text;
use super::numbers::four_digits;
use super::tables::{scroll, section, table};
use crate::sweep::{Cells, Missing, Scale, Spread, Sweep, SweepMetric, SweepPolicy, Unit};
use serde::Serialize;

/// What a reader should know about the pictures.
const CURVES: &str = include_str!("../../assets/page/sweep.html");

/// The scripts of the page in the order in which they build on each other.
const SCRIPTS: [&str; 8] = [
    include_str!("../../assets/page/theme.js"),
    include_str!("../../assets/page/numbers.js"),
    include_str!("../../assets/page/plot.js"),
    include_str!("../../assets/page/elements.js"),
    include_str!("../../assets/page/keys.js"),
    include_str!("../../assets/page/scroll.js"),
    include_str!("../../assets/page/redraw.js"),
    include_str!("../../assets/page/sweep.js"),
];

/// From low to high: dark blue to yellow, ever lighter, so that it is also told apart by lightness
/// alone. Cells have their colours in both themes.
const COLOURS: [[f64; 3]; 5] = [
    [0.0, 34.0, 78.0],
    [67.0, 78.0, 108.0],
    [125.0, 124.0, 120.0],
    [188.0, 175.0, 111.0],
    [254.0, 232.0, 56.0],
];
/// Relative luminance above which black is read better than white: their contrasts are equal there.
const BLACK_FROM: f64 = 0.179;
/// Values are spread by their logarithms if the largest is more than so many times the smallest.
const LOGARITHMIC_FROM: f64 = 10.0;
/// Steps of the legend of a heat map.
const LEGEND_STEPS: u32 = 16;

/// What the scripts need of the document; no figures if there is more than one parameter.
#[derive(Serialize)]
struct View {
    parameter: String,
    logarithmic: bool,
    /// Texts and places of the values.
    values: Vec<(String, f64)>,
    policies: Vec<PolicyView>,
    figures: Vec<FigureView>,
    seeds: usize,
}

#[derive(Serialize)]
struct PolicyView {
    policy: String,
    name: String,
}

#[derive(Serialize)]
struct FigureView {
    id: String,
    metric: String,
    unit: Unit,
    /// For each policy one entry for each value; none where nothing was measured.
    curves: Vec<Vec<Option<Spread>>>,
}

/// The whole page.
#[must_use]
pub fn render(sweep: &Sweep) -> String {
    let sweep = &sweep.cells();
    let mut body = vec![header(sweep)];
    body.extend(sweep.metrics.iter().enumerate().map(|(index, metric)| {
        match sweep.parameters.as_slice() {
            [_] => curves(sweep, index, metric),
            [_, _] => heat_maps(sweep, index, metric),
            _ => String::new(),
        }
    }));
    body.push(points(sweep));
    body.push(manifest(sweep));
    super::page(&sweep.title, &body.join("\n"), &view(sweep), &SCRIPTS)
}

fn header(sweep: &Cells<'_>) -> String {
    let fact = |(name, value): &(String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", text(name), text(value))
    };
    let facts: String = sweep.facts.iter().map(fact).collect();
    let remark = |(missing, why, runs): (Missing, String, String)| {
        let (class, what) = match missing {
            Missing::Failed => (" class=\"warning\"", "<strong>Failed.</strong>"),
            Missing::Overloaded => ("", "Overloaded:"),
            Missing::NotRun => ("", "Not run:"),
        };
        format!("<li{class}>{what} {}: {}</li>\n", text(&runs), text(&why))
    };
    let notes =
        sweep.notes.iter().map(|note| format!("<li class=\"warning\">{}</li>\n", text(note)));
    let remarks: String = notes.chain(sweep.remarks().into_iter().map(remark)).collect();
    let remarks = match remarks.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"findings\">\n{remarks}</ul>\n"),
    };
    let no_script = if sweep.parameters.len() == 1 { super::NO_SCRIPT } else { "" };
    format!(
        "<header>\n<h1>{}</h1>\n<dl class=\"facts\">\n{facts}</dl>\n{remarks}</header>\n{no_script}",
        text(&sweep.title)
    )
}

fn view(sweep: &Cells<'_>) -> View {
    let mut view = View {
        parameter: String::new(),
        logarithmic: false,
        values: Vec::new(),
        policies: sweep
            .policies
            .iter()
            .map(|policy| PolicyView { policy: policy.name.clone(), name: policy.label.clone() })
            .collect(),
        figures: Vec::new(),
        seeds: sweep.seeds.len(),
    };
    if let [parameter] = sweep.parameters.as_slice() {
        view.parameter = parameter.name.clone();
        view.logarithmic = parameter.scale == Scale::Logarithmic;
        view.values =
            parameter.values.iter().map(|value| (value.text.clone(), value.position)).collect();
        let figure = |(index, metric): (usize, &SweepMetric)| FigureView {
            id: plot_id(index),
            metric: metric.name.clone(),
            unit: metric.unit,
            curves: sweep.policies.iter().map(|policy| curve(sweep, policy, metric)).collect(),
        };
        view.figures = sweep.metrics.iter().enumerate().map(figure).collect();
    }
    view
}

fn plot_id(index: usize) -> String {
    format!("plot-{index}")
}

fn curve(sweep: &Cells<'_>, policy: &SweepPolicy, metric: &SweepMetric) -> Vec<Option<Spread>> {
    let spread = |point| sweep.spread(point, &policy.name, &metric.name);
    let rounded = |spread: Spread| Spread {
        median: four_digits(spread.median),
        low: four_digits(spread.low),
        high: four_digits(spread.high),
        ..spread
    };
    (0..sweep.points.len()).map(|point| spread(point).map(rounded)).collect()
}

/// One metric over one parameter: a plot, and the table of its numbers.
fn curves(sweep: &Cells<'_>, index: usize, metric: &SweepMetric) -> String {
    let parameter = &sweep.parameters[0];
    let mut header = vec![parameter.name.clone()];
    header.extend(sweep.policies.iter().map(|policy| policy.label.clone()));
    let rows: Vec<(String, Vec<String>)> = parameter
        .values
        .iter()
        .enumerate()
        .map(|(point, value)| {
            let cell = |policy: &SweepPolicy| {
                sweep.spread(point, &policy.name, &metric.name).map_or_else(
                    || sweep.absent(point, &policy.name).to_owned(),
                    |spread| {
                        let cell = cell(metric, &spread);
                        match sweep.is_idle(point, &policy.name) {
                            true => format!("<span class=\"idle\">{cell}</span>"),
                            false => cell,
                        }
                    },
                )
            };
            (value.text.clone(), sweep.policies.iter().map(cell).collect())
        })
        .collect();
    let content = format!(
        "<figure>\n<div class=\"legend\" id=\"legend-{index}\"></div>\n\
         <div class=\"plot\" id=\"{}\"></div>\n{CURVES}</figure>\n{}",
        plot_id(index),
        table(&format!("{} by {}", metric.name, parameter.name), &header, &rows)
    );
    let title = format!("{} by {}", text(&metric.name), text(&parameter.name));
    section(&format!("metric-{index}"), &title, &meaning(sweep, metric), &content)
}

/// The median, a mark, and below it the range over the seeds where these differ; of one seed its
/// interval.
fn cell(metric: &SweepMetric, spread: &Spread) -> String {
    let show = |value| text(&metric.unit.show(value));
    let median = match spread.few {
        true => format!("<span class=\"few\">{}</span>", show(spread.median)),
        false => show(spread.median),
    };
    match spread.low == spread.high {
        true => median,
        false if spread.is_interval => format!(
            "{median}<span class=\"ratio\">[{}, {}]</span>",
            show(spread.low),
            show(spread.high)
        ),
        false => format!(
            "{median}<span class=\"ratio\">{} to {}</span>",
            show(spread.low),
            show(spread.high)
        ),
    }
}

/// What stands in the cells.
fn meaning(sweep: &Cells<'_>, metric: &SweepMetric) -> String {
    let mut sentences = Vec::new();
    if let Some(meaning) = metric.meaning() {
        sentences.push(format!("This is {meaning}."));
    }
    if sweep.seeds.len() > 1 {
        sentences.push(format!(
            "Medians over {} seeds, with the lowest and the highest where these differ.",
            sweep.seeds.len()
        ));
    }
    if sweep.has_intervals(&metric.name) {
        sentences.push(
            "In brackets: where the number lies with a confidence of 95 %, as the blocks of its run vary."
                .to_owned(),
        );
    }
    if sweep.has_few_samples(&metric.name) {
        sentences.push("A mark (~): fewer than 100 samples lie beyond the percentile.".to_owned());
    }
    if sweep.has_idle() {
        sentences.push(
            "A mark (*): no collection took place with some seed, so the number is of idle drives."
                .to_owned(),
        );
    }
    sentences.join(" ")
}

/// The colours of one metric, the same for all policies.
struct Shades {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Shades {
    fn of(sweep: &Cells<'_>, metric: &SweepMetric) -> Option<Self> {
        // Idle drives would have most of the colours.
        let medians = || {
            sweep.policies.iter().flat_map(|policy| {
                (0..sweep.points.len())
                    .filter(|&point| !sweep.is_idle(point, &policy.name))
                    .filter_map(|point| sweep.spread(point, &policy.name, &metric.name))
                    .map(|spread| spread.median)
            })
        };
        let low = medians().reduce(f64::min)?;
        let high = medians().reduce(f64::max)?;
        Some(Self { low, high, logarithmic: low > 0.0 && high > LOGARITHMIC_FROM * low })
    }

    /// Where `value` is between the lowest, 0, and the highest, 1.
    fn share(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.logarithmic { value.ln() } else { value };
        let span = scaled(self.high) - scaled(self.low);
        if span > 0.0 { ((scaled(value) - scaled(self.low)) / span).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The colour at `share`, and the colour of text on it.
fn colours(share: f64) -> (String, &'static str) {
    let place = share * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let part = place - below as f64;
    let channel = |index: usize| {
        let (from, to) = (COLOURS[below][index], COLOURS[below + 1][index]);
        (from + part * (to - from)).round()
    };
    let channels = [channel(0), channel(1), channel(2)];
    let [red, green, blue] = channels.map(|channel| channel as u8);
    let on = if luminance(channels) > BLACK_FROM { "#000000" } else { "#ffffff" };
    (format!("#{red:02x}{green:02x}{blue:02x}"), on)
}

/// Relative luminance of a colour, as WCAG defines it.
fn luminance(channels: [f64; 3]) -> f64 {
    let linear = channels.map(|channel| {
        let share = channel / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

/// One metric over two parameters: a coloured table for each policy.
fn heat_maps(sweep: &Cells<'_>, index: usize, metric: &SweepMetric) -> String {
    let [down, across] = [0, 1].map(|which| text(&sweep.parameters[which].name));
    let title = format!("{} by {down} and {across}", text(&metric.name));
    let shades = Shades::of(sweep, metric);
    let shades = shades.as_ref();
    if shades.is_none() && !sweep.has_metric(&metric.name) {
        let nothing = "<p class=\"missing\">No run has this metric.</p>";
        return section(&format!("metric-{index}"), &title, "", nothing);
    }
    let maps: String =
        sweep.policies.iter().map(|policy| heat_map(sweep, metric, policy, shades)).collect();
    let legend = shades.map_or_else(String::new, |shades| legend(metric, shades));
    let content = format!("{legend}<div class=\"heat-maps\">\n{maps}</div>\n");
    let explanation = format!(
        "{down} down, {across} across; colours mean the same under all policies. {}",
        meaning(sweep, metric)
    );
    section(&format!("metric-{index}"), &title, &explanation, &content)
}

fn heat_map(
    sweep: &Cells<'_>,
    metric: &SweepMetric,
    policy: &SweepPolicy,
    shades: Option<&Shades>,
) -> String {
    let [down, across] = [&sweep.parameters[0], &sweep.parameters[1]];
    let heads: String = across
        .values
        .iter()
        .map(|value| format!("<th scope=\"col\">{}</th>", text(&value.text)))
        .collect();
    let rows: String = down
        .values
        .iter()
        .enumerate()
        .map(|(row, value)| {
            let cells: String = (0..across.values.len())
                .map(|column| {
                    let point = sweep.point(&[row, column]);
                    let spread = sweep.spread(point, &policy.name, &metric.name);
                    let Some(spread) = spread else {
                        let why = sweep.absent(point, &policy.name);
                        return format!("<td class=\"none\">{why}</td>");
                    };
                    let shades = shades.filter(|_| !sweep.is_idle(point, &policy.name));
                    let Some(shades) = shades else {
                        return format!("<td class=\"idle\">{}</td>", cell(metric, &spread));
                    };
                    let (fill, on) = colours(shades.share(spread.median));
                    format!(
                        "<td style=\"background:{fill};color:{on}\">{}</td>",
                        cell(metric, &spread)
                    )
                })
                .collect();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", text(&value.text))
        })
        .collect();
    let map = format!(
        "<table class=\"heat\"><caption>{}</caption>\n\
         <thead><tr><th scope=\"col\">{} \\ {}</th>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table>",
        text(&policy.label),
        text(&down.name),
        text(&across.name)
    );
    let name = format!("{} under {}", metric.name, policy.label);
    format!("<div>{}</div>\n", scroll(&name, &map))
}

/// The colours from the lowest value to the highest.
fn legend(metric: &SweepMetric, shades: &Shades) -> String {
    let steps: String = (0..LEGEND_STEPS)
        .map(|step| {
            let (fill, _) = colours(f64::from(step) / f64::from(LEGEND_STEPS - 1));
            format!("<i style=\"background:{fill}\"></i>")
        })
        .collect();
    let scale = if shades.logarithmic { ", logarithmic" } else { "" };
    format!(
        "<p class=\"shades\">{} <span aria-hidden=\"true\">{steps}</span> {}{scale}</p>\n",
        text(&metric.unit.show(shades.low)),
        text(&metric.unit.show(shades.high))
    )
}

/// What is to be known about each point.
fn points(sweep: &Cells<'_>) -> String {
    let with_notes = sweep.points.iter().enumerate().filter(|(_, point)| !point.notes.is_empty());
    let rows: Vec<(String, Vec<String>)> = with_notes
        .map(|(index, point)| (sweep.point_in_words(index), vec![text(&point.notes.join(" "))]))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let notes = table("Remarks on points", &["point".to_owned(), "remarks".to_owned()], &rows);
    let content = format!(
        "<details><summary>Remarks on {} of {} points</summary>\n\
         <div class=\"words\">{notes}</div></details>\n",
        rows.len(),
        sweep.points.len()
    );
    section("points", "What is to be known", "Under the first seed.", &content)
}

fn manifest(sweep: &Cells<'_>) -> String {
    format!(
        "<section id=\"manifest\">\n<h2>How to run it again</h2>\n\
         <p>ioda {}: <code>{}</code></p>\n\
         <details><summary>The whole configuration</summary>\n<pre tabindex=\"0\">{}</pre></details>\n</section>",
        text(&sweep.ioda_version),
        text(&sweep.command_line),
        text(&sweep.configuration_toml)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn nothing_is_loaded_and_no_string_breaks_out() {
        let evil = "</script><script>alert(1)</script><!-- \"quoted\" & 'so'";
        for parameters in [1, 2] {
            let mut sweep = sample::sweep(parameters);
            let scripts = render(&sweep).matches("<script").count();
            sweep.title = evil.to_owned();
            sweep.command_line = evil.to_owned();
            sweep.policies[0].label = evil.to_owned();
            sweep.metrics[0].name = evil.to_owned();
            sweep.facts[0].1 = evil.to_owned();
            sweep.points[0].notes = vec![evil.to_owned()];
            for parameter in &mut sweep.parameters {
                parameter.name = evil.to_owned();
                parameter.values[0].text = evil.to_owned();
            }
            let page = render(&sweep);
            assert!(!page.contains("alert(1)</script>"));
            assert_eq!(page.matches("<script").count(), scripts);
            for reference in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
                assert!(!page.contains(reference), "the page has {reference}");
            }
        }
    }

    #[test]
    fn every_number_is_in_a_table() {
        let sweep = sample::sweep(1);
        let page = render(&sweep);
        let spread = sweep.cells().spread(0, "ioda", "read.p99.9").unwrap();
        let shown =
            format!("<span class=\"few\">{}</span>", Unit::Microseconds.show(spread.median));
        assert!(page.contains(&shown), "{shown}");
        assert_eq!(page.matches("<table").count(), 2 + 1, "two metrics and the points");
        let maps = render(&sample::sweep(2));
        assert_eq!(maps.matches("<table class=\"heat\"").count(), 2 * 2);
        assert_eq!(maps.matches("<td class=\"none\">").count(), 2 * 2 * 5);
        assert_eq!(maps.matches("<td style=").count(), 2 * 2 * 10);
    }

    #[test]
    fn text_on_every_colour_can_be_read_and_lightness_rises() {
        let channels = |colour: &str| {
            [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()))
        };
        let mut before = -1.0;
        for step in 0..=100 {
            let (fill, on) = colours(f64::from(step) / 100.0);
            let [back, front] = [&fill[..], on].map(|colour| luminance(channels(colour)));
            let contrast = (back.max(front) + 0.05) / (back.min(front) + 0.05);
            assert!(contrast >= 4.5, "{fill} under {on}: {contrast}");
            assert!(back > before, "{fill} is not lighter than the colour before");
            before = back;
        }
    }

    #[test]
    fn shades_go_from_the_lowest_to_the_highest() {
        let sweep = sample::sweep(2);
        let shades = Shades::of(&sweep.cells(), &sweep.metrics[0]).unwrap();
        assert!(shades.logarithmic);
        assert_eq!((shades.share(shades.low), shades.share(shades.high)), (0.0, 1.0));
        let middle = shades.share((shades.low * shades.high).sqrt());
        assert!((middle - 0.5).abs() < 1e-9, "{middle}");
        let one = Shades { low: 3.0, high: 3.0, logarithmic: false };
        assert_eq!(one.share(3.0), 0.0);
    }
}
