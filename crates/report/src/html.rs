//! The report as one HTML page that needs no network.
//!
//! The tables are written here, so the page can be read without JavaScript. The plots are
//! drawn in the browser by uPlot from a JSON block; the page notes in `data-ready`, `data-error`
//! and `data-plots` of its root element whether and how many it drew.

mod escape;
mod fit;
mod lab;
mod numbers;
mod story;
mod survey;
mod sweep;
mod tables;
mod view;
mod windows;

use crate::layouts::layouts;
use crate::{Comparison, Finding, Weight, findings};
use escape::{script_json, text};
use serde::Serialize;

pub use fit::render as render_fit;
pub use lab::render as render_lab;
pub(crate) use numbers::nines;
pub use story::render as render_story;
pub use survey::render as render_survey;
pub use sweep::render as render_sweep;
pub use windows::render as render_windows;

const UPLOT_JS: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const UPLOT_CSS: &str = include_str!("../assets/uplot/uPlot.min.css");
const PAGE_CSS: &str = include_str!("../assets/page/page.css");
const FIGURES: &str = include_str!("../assets/page/figures.html");

/// Catches errors; runs before every other script.
const ERRORS_JS: &str = include_str!("../assets/page/errors.js");

/// The scripts of the page in the order in which they build on each other.
const PAGE_JS: [&str; 14] = [
    include_str!("../assets/page/theme.js"),
    include_str!("../assets/page/numbers.js"),
    include_str!("../assets/page/plot.js"),
    include_str!("../assets/page/elements.js"),
    include_str!("../assets/page/keys.js"),
    include_str!("../assets/page/captions.js"),
    include_str!("../assets/page/scroll.js"),
    include_str!("../assets/page/cdf.js"),
    include_str!("../assets/page/bars.js"),
    include_str!("../assets/page/causes.js"),
    include_str!("../assets/page/timeline.js"),
    include_str!("../assets/page/history.js"),
    include_str!("../assets/page/redraw.js"),
    include_str!("../assets/page/main.js"),
];

/// The browser refuses everything that is not in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The whole page.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let body = [
        header(comparison),
        tables::assertions(&comparison.assertions),
        tables::latency(comparison),
        tables::intervals(comparison),
        FIGURES.to_owned(),
        tables::busy(comparison),
        tables::causes(comparison),
        tables::costs(comparison),
        tables::claims(&comparison.claims),
        tables::drives(comparison),
        manifest(comparison),
    ]
    .join("\n");
    page(&comparison.title, &body, &view::of(comparison), &PAGE_JS)
}

/// A page with `body`; its scripts find `data` as JSON in the element of that name.
fn page(title: &str, body: &str, data: &impl Serialize, scripts: &[&str]) -> String {
    let title = text(title);
    let data = script_json(data);
    let scripts = scripts.join("\n");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{UPLOT_CSS}</style>\n<style>\n{PAGE_CSS}</style>\n\
         <script>\n{ERRORS_JS}</script>\n</head>\n<body>\n<main>\n{body}\n</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{UPLOT_JS}</script>\n\
         <script>\n(function () {{\n\"use strict\";\n{scripts}}})();\n</script>\n\
         </body>\n</html>\n"
    )
}

fn header(comparison: &Comparison) -> String {
    let manifest = &comparison.manifest;
    let facts = [
        ("Workload", &manifest.workload),
        ("Replayed", &manifest.replayed),
        ("Array", &manifest.array),
        ("Drive", &manifest.drive),
        ("Seed", &manifest.seed),
    ];
    let facts: String = facts
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", text(value)))
        .collect();
    let drives: String = layouts(&comparison.runs)
        .into_iter()
        .map(|(layout, runs)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", text(&runs.join(", ")), text(layout))
        })
        .collect();
    let notes: String = manifest
        .notes
        .iter()
        .map(|note| format!("<p class=\"note\">{}</p>\n", text(note)))
        .collect();
    let sentences = list(&findings(comparison));
    format!(
        "<header>\n<h1>{}</h1>\n{notes}<dl class=\"facts\">\n{facts}{drives}</dl>\n\
         {sentences}</header>\n{NO_SCRIPT}",
        text(&comparison.title)
    )
}

/// What a reader without JavaScript should know.
const NO_SCRIPT: &str =
    "<noscript><p class=\"warning\">The plots need JavaScript; the tables do not.</p></noscript>";

/// Sentences as a list.
fn list(findings: &[Finding]) -> String {
    let sentences: String = findings
        .iter()
        .map(|finding| match finding.weight {
            Weight::Result => format!("<li>{}</li>\n", text(&finding.text)),
            Weight::Warning => format!(
                "<li class=\"warning\"><strong>Warning.</strong> {}</li>\n",
                text(&finding.text)
            ),
        })
        .collect();
    format!("<ul class=\"findings\">\n{sentences}</ul>\n")
}

fn manifest(comparison: &Comparison) -> String {
    let manifest = &comparison.manifest;
    let mut rows = vec![
        ("ioda".to_owned(), manifest.ioda_version.clone()),
        ("command".to_owned(), manifest.command_line.clone()),
        ("seed".to_owned(), manifest.seed.clone()),
        ("workload".to_owned(), manifest.workload.clone()),
        ("replayed".to_owned(), manifest.replayed.clone()),
        ("drive".to_owned(), manifest.drive.clone()),
        ("array".to_owned(), manifest.array.clone()),
    ];
    rows.extend(manifest.workload_hash.iter().map(|h| ("workload hash".to_owned(), h.clone())));
    rows.extend(comparison.runs.iter().map(|run| {
        let speed = run.page_operations as f64 / run.wall_seconds.max(1e-9) / 1e6;
        let value = format!(
            "result hash {}; {} s simulated in {} s, {} page operations, {} million per second",
            run.result_hash,
            crate::format::three_digits(run.simulated_seconds),
            crate::format::three_digits(run.wall_seconds),
            crate::format::count(run.page_operations),
            crate::format::three_digits(speed),
        );
        (run.name().to_owned(), value)
    }));
    let rows: String = rows
        .iter()
        .map(|(name, value)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", text(name), text(value))
        })
        .collect();
    format!(
        "<section id=\"manifest\">\n<h2>How to run it again</h2>\n{}\
         <details><summary>The whole configuration</summary>\n<pre tabindex=\"0\">{}</pre></details>\n\
         </section>",
        tables::scroll(
            "How to run it again",
            &format!(
                "<table class=\"words\">{}\n{rows}</table>",
                tables::caption("How to run it again")
            )
        ),
        text(&manifest.configuration_toml)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = render(&sample::comparison());
        for reference in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(reference), "the page has {reference}");
        }
    }

    #[test]
    fn no_string_breaks_out() {
        let evil = "</script><script>alert(1)</script><!-- \"quoted\" & 'so'";
        let mut comparison = sample::comparison();
        let tags = |page: &str| page.matches("<script").count();
        let scripts = tags(&render(&comparison));
        comparison.title = evil.to_owned();
        comparison.manifest.configuration_toml = evil.to_owned();
        comparison.manifest.notes = vec![evil.to_owned()];
        comparison.runs[0].label = evil.to_owned();
        comparison.runs[0].causes[0].parts_us[0].0 = evil.to_owned();
        comparison.claims[0].statement = evil.to_owned();
        let page = render(&comparison);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(tags(&page), scripts);
    }

    #[test]
    fn six_runs_stay_below_a_megabyte() {
        let page = render(&sample::comparison());
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
    }
}
