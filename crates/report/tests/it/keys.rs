//! A comparison worked with keys only: every control and plot is reached in its order, one sees
//! where one is, and what a plot shows is read aloud.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::sample;
use ioda_report::html;
use testing::browser::{Browser, Lent};

/// Presses of Tab after which the end of a page must have been reached.
const MOST_TABS: usize = 200;

/// A comparison in a browser, and the folder that it lies in; none where there is no browser.
fn comparison() -> Option<(Lent, tempfile::TempDir)> {
    let mut browser = Browser::lend()?;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, html::render(&sample::comparison())).unwrap();
    browser.look(1280, false);
    browser.open(&format!("file://{}", file.display()));
    Some((browser, folder))
}

#[test]
fn every_control_and_plot_is_reached_with_keys() {
    let Some((mut browser, _folder)) = comparison() else { return };
    // One radio button of a group is a stop, and arrows go on from there.
    let stops = browser.ask(
        "(() => { const all = [...document.querySelectorAll('button, select, summary, input:checked, [tabindex=\"0\"]')]\
         .filter((node) => node.checkVisibility()); all.forEach((node, i) => { node.dataset.stop = i; });\
         return all.length; })()",
    );
    let stops = usize::try_from(stops.as_u64().unwrap()).unwrap();
    assert!((40..MOST_TABS).contains(&stops), "{stops} stops");
    for stop in 0..stops {
        browser.press("Tab");
        let at = browser.ask(
            "(() => { const node = document.activeElement, style = getComputedStyle(node);\
             return [node.dataset.stop ?? node.outerHTML.slice(0, 80), style.outlineStyle, style.outlineWidth].join(' '); })()",
        );
        assert_eq!(at, format!("{stop} solid 2px"), "stop {stop} of {stops}");
    }
}

#[test]
fn arrows_move_through_a_plot_and_what_they_meet_is_read_aloud() {
    let Some((mut browser, _folder)) = comparison() else { return };
    let plots = browser.ask("[...document.querySelectorAll('.plot')].map((plot) => plot.id)");
    let plots = plots.as_array().unwrap().clone();
    assert!(plots.len() > 10);
    let said = |browser: &mut Browser, plot: &str| {
        let said =
            browser.ask(&format!("document.querySelector('#{plot} [role=status]').textContent"));
        said.as_str().unwrap().to_owned()
    };
    let mut silent = Vec::new();
    for plot in plots.iter().map(|plot| plot.as_str().unwrap()) {
        browser.ask(&format!("document.querySelector('#{plot} .uplot').focus()"));
        // Some plots answer where something was drawn only.
        let mut heard = false;
        for key in
            ["ArrowUp", "Home", "ArrowRight", "ArrowRight", "ArrowDown"].iter().cycle().take(30)
        {
            browser.press(key);
            heard |= !said(&mut browser, plot).is_empty();
        }
        browser.press("Escape");
        assert_eq!(said(&mut browser, plot), "", "{plot} after Escape");
        if !heard {
            silent.push(plot);
        }
    }
    // Dots and bands lie where they lie: a key may pass them by.
    silent.retain(|plot| !plot.starts_with("timeline"));
    assert!(silent.is_empty(), "{silent:?} say nothing");
    // Keys enlarge a stretch of time in all plots of the same time.
    let span = "(() => { const labels = [...window.canvasTexts].filter(([canvas]) => canvas.closest('#timeline-0-lanes'))\
        .flatMap(([, texts]) => texts.map((text) => text.text)).filter((text) => text.endsWith(' s'));\
        return parseFloat(labels.at(-1)) - parseFloat(labels[0]); })()";
    let before = browser.ask(span).as_f64().unwrap();
    browser.ask("document.querySelector('#timeline-0-reads .uplot').focus()");
    browser.press("+");
    browser.press("+");
    let after = browser.ask(&format!("new Promise((done) => setTimeout(() => done({span}), 0))"));
    assert!(after.as_f64().unwrap() < before / 2.0, "{before} to {after}");
}
