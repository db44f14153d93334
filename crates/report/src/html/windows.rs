//! The page of `ioda plan`: windows over the width of the array and over the load.

use super::escape::text;
use super::tables::{section, table};
use crate::{WindowCurve, WindowReport};
use serde::Serialize;

const FIGURES: &str = include_str!("../../assets/page/windows.html");

/// The scripts of the page in the order in which they build on each other.
const SCRIPTS: [&str; 9] = [
    include_str!("../../assets/page/theme.js"),
    include_str!("../../assets/page/numbers.js"),
    include_str!("../../assets/page/plot.js"),
    include_str!("../../assets/page/elements.js"),
    include_str!("../../assets/page/keys.js"),
    include_str!("../../assets/page/captions.js"),
    include_str!("../../assets/page/scroll.js"),
    include_str!("../../assets/page/redraw.js"),
    include_str!("../../assets/page/windows.js"),
];

/// What the plots need of the document.
#[derive(Serialize)]
struct View<'a> {
    by_width: &'a [WindowCurve],
    by_load: &'a [WindowCurve],
}

/// The whole page.
#[must_use]
pub fn render(report: &WindowReport) -> String {
    let view = View { by_width: &report.by_width, by_load: &report.by_load };
    let rows: Vec<(String, Vec<String>)> = report
        .rows
        .iter()
        .filter_map(|row| {
            let (name, cells) = row.split_first()?;
            Some((name.clone(), cells.iter().map(|cell| text(cell)).collect()))
        })
        .collect();
    let notes = text(&report.notes.join(" "));
    let body = [
        format!(
            "<header>\n<h1>{}</h1>\n{}</header>\n{}",
            text(&report.title),
            super::list(&report.findings),
            super::NO_SCRIPT
        ),
        FIGURES.to_owned(),
        section("numbers", "The numbers", &notes, &table("The numbers", &report.header, &rows)),
        format!(
            "<section id=\"manifest\">\n<h2>How to plan it again</h2>\n\
             <p>ioda {}: <code>{}</code></p>\n</section>",
            text(&report.ioda_version),
            text(&report.command_line)
        ),
    ];
    super::page(&report.title, &body.join("\n"), &view, &SCRIPTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn nothing_is_loaded_and_no_string_breaks_out() {
        let evil = "</script><script>alert(1)</script><!-- \"quoted\" & 'so'";
        let mut report = sample::windows();
        let scripts = render(&report).matches("<script").count();
        report.title = evil.to_owned();
        report.command_line = evil.to_owned();
        report.findings[0].text = evil.to_owned();
        report.by_width[0].name = evil.to_owned();
        report.header[1] = evil.to_owned();
        report.rows[0] = vec![evil.to_owned(), evil.to_owned()];
        report.notes = vec![evil.to_owned()];
        let page = render(&report);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("<script").count(), scripts);
        for reference in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(reference), "the page has {reference}");
        }
    }
}
