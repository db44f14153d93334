//! Pages at every size and in both colour schemes: nothing overlaps, overflows or is cut off
//! without a hint, and nothing is missing for those who hear a page. `IODA_PAGE_PICTURES=folder`
//! keeps a picture of each.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use crate::sample;
use ioda_report::{AskedLoad, Band, Comparison, Finding, Weight, WindowCurve, WindowReport, html};
use std::path::Path;
use testing::browser::{Browser, WIDTHS};

/// Waits until what follows from a change is drawn.
const NEXT_TASK: &str = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))";

/// Opens `page` at every size and shows it in both schemes.
fn look_at(browser: &mut Browser, folder: &Path, name: &str, page: &str) {
    let file = folder.join(format!("{name}.html"));
    std::fs::write(&file, page).unwrap();
    for width in WIDTHS {
        for is_dark in [false, true] {
            let scheme = if is_dark { "dark" } else { "light" };
            browser.look(width, is_dark);
            if is_dark {
                // A page that is open takes the other colours.
                browser.ask(NEXT_TASK);
            } else {
                browser.open(&format!("file://{}", file.display()));
            }
            browser.keep_picture(&format!("{name}-{width}-{scheme}.png"));
            // What is folded away is part of the page.
            browser
                .ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
            browser.ask(NEXT_TASK);
            let faults = browser.layout_faults();
            assert!(faults.is_empty(), "{name} at {width} px, {scheme}: {faults:#?}");
            let faults = browser.access_faults();
            assert!(faults.is_empty(), "{name} at {width} px, {scheme}: {faults:#?}");
        }
    }
}

#[test]
fn a_comparison_fits_at_every_size() {
    let Some(mut browser) = Browser::lend() else { return };
    let folder = tempfile::tempdir().unwrap();
    look_at(&mut browser, folder.path(), "comparison", &html::render(&sample::comparison()));
    look_at(&mut browser, folder.path(), "crowded", &html::render(&crowded()));
}

#[test]
fn the_other_pages_fit_at_every_size() {
    let Some(mut browser) = Browser::lend() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pages = [
        ("survey", html::render_survey(&sample::survey())),
        ("windows", html::render_windows(&sample::windows())),
        ("six-drives", html::render_windows(&six_drives())),
        ("story", html::render_story(&sample::story())),
        ("curves", html::render_sweep(&sample::sweep(1))),
        ("maps", html::render_sweep(&sample::sweep(2))),
        ("lab", html::render_lab(&sample::lab())),
    ];
    for (name, page) in pages {
        look_at(&mut browser, folder.path(), name, &page);
    }
}

/// The plan of six drives, as `ioda plan` makes it: long names, long sentences, many columns.
fn six_drives() -> WindowReport {
    let drives = ["sim", "oc-ssd-simulator", "femu-artifact", "970-pro", "p4600", "sn260"];
    let loads = ["burst", "norm", "20dwpd"];
    let mut report = sample::windows();
    let curves = |curves: &[WindowCurve]| -> Vec<WindowCurve> {
        let named = drives.iter().zip(curves.iter().cycle()).zip(1..);
        named
            .map(|((name, curve), factor)| WindowCurve {
                name: (*name).to_owned(),
                points: curve.points.iter().map(|&(at, ms)| (at, ms * f64::from(factor))).collect(),
                asked: loads
                    .iter()
                    .zip([4.0, 9.0, 20.0])
                    .map(|(name, at)| AskedLoad { name: (*name).to_owned(), at })
                    .collect(),
                ..curve.clone()
            })
            .collect()
    };
    report.title = format!("Busy windows of {}", drives.join(", "));
    (report.by_width, report.by_load) = (curves(&report.by_width), curves(&report.by_load));
    report.findings = drives
        .iter()
        .flat_map(|drive| loads.iter().map(move |load| (drive, load)))
        .map(|(drive, load)| Finding {
            weight: Weight::Warning,
            text: format!(
                "{drive}, {load}: fails: what is written in a cycle of 12,345 ms is more than one window of \
                 2,057 ms reclaims; a longer window, fewer drives or a load below 12.3 MB/s would do"
            ),
        })
        .collect();
    report.header = std::iter::once("per drive").chain(drives).map(str::to_owned).collect();
    let row = |name: &str| {
        let cells = drives.iter().map(|_| "1,234.5 [1,235]".to_owned());
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    report.rows = ["T_gc likely, steady state", "over-provisioned GiB (S_p)", "TW_burst ms"]
        .map(row)
        .to_vec();
    report
}

/// Twelve policies with long names on twenty drives, with reads that took no time.
fn crowded() -> Comparison {
    let mut comparison = sample::comparison();
    let more: Vec<_> = comparison.runs.iter().cycle().take(6).cloned().collect();
    comparison.runs.extend(more);
    for (i, run) in comparison.runs.iter_mut().enumerate() {
        run.label = format!("{} with a long name {i}", run.policy);
        run.busy_sub_ios_per_stripe_read.extend([1; 16]);
        run.read.cdf.insert(0, (0.2, 0.0));
        if let Some(timeline) = &mut run.timeline {
            timeline.windows.push(Band { drive: 19, start_ms: 10_100.0, end_ms: 10_200.0 });
        }
    }
    comparison
}

#[test]
fn reads_that_took_no_time_are_told_and_have_their_place() {
    let Some(mut browser) = Browser::lend() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut said = |comparison: &Comparison| {
        let file = folder.path().join("page.html");
        std::fs::write(&file, html::render(comparison)).unwrap();
        browser.look(1280, false);
        browser.open(&format!("file://{}", file.display()));
        let words = browser.ask("(({ hidden, innerText }) => (hidden ? '' : innerText))(document.querySelector('[data-tell=instant]'))");
        let marks = browser.ask(
            "[...window.canvasTexts].filter(([canvas]) => canvas.closest('#plot-cdf'))\
             .flatMap(([, texts]) => texts.map((text) => text.text)).includes('0')",
        );
        (words.as_str().unwrap().to_owned(), marks.as_bool().unwrap())
    };
    assert_eq!(said(&sample::comparison()), (String::new(), false));
    let mut comparison = sample::comparison();
    comparison.runs[3].read.cdf.insert(0, (0.25, 0.0));
    let (words, is_on_axis) = said(&comparison);
    assert!(words.starts_with("Reads of 0 µs: IOD3 25.0 %. Such a read asked no drive"), "{words}");
    assert!(is_on_axis, "no place on the axis");
    // Too few of them to be seen: they are told, and the axis does not begin with them.
    comparison.runs[3].read.cdf[0].0 = 0.000_01;
    let (words, is_on_axis) = said(&comparison);
    assert!(words.contains("IOD3 less than 0.02 %") && !is_on_axis, "{words}");
}

#[test]
fn captions_say_what_is_drawn() {
    let Some(mut browser) = Browser::lend() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut told = |comparison: &Comparison| {
        let file = folder.path().join("page.html");
        std::fs::write(&file, html::render(comparison)).unwrap();
        browser.look(1280, false);
        browser.open(&format!("file://{}", file.display()));
        let shown = browser.ask(
            "[...document.querySelectorAll('figure:not([hidden]) [data-tell]')]\
             .filter((one) => !one.hidden).map((one) => one.dataset.tell).join(' ')",
        );
        shown.as_str().unwrap().to_owned()
    };
    let mut comparison = sample::comparison();
    let all = told(&comparison);
    for key in ["cdf-rings", "ratio-hollow", "busy-zero", "lanes-windows", "lanes-both"] {
        assert!(all.contains(key), "{key} in {all}");
    }
    for key in ["history-window", "history-p99", "history-free", "cause-hatching"] {
        assert!(all.contains(key), "{key} in {all}");
    }
    // Without windows and with enough samples the captions have less to say.
    for run in &mut comparison.runs {
        run.windows.clear();
        run.read.percentiles.iter_mut().for_each(|p| p.samples_beyond = 1_000);
        run.timeline.as_mut().unwrap().windows.clear();
    }
    let less = told(&comparison);
    for key in ["cdf-rings", "ratio-hollow", "lanes-windows", "lanes-both", "history-window"] {
        assert!(!less.contains(key), "{key} in {less}");
    }
    assert!(less.contains("lanes-collections") && less.contains("history-free"), "{less}");
}

#[test]
fn faults_of_a_page_are_found() {
    let Some(mut browser) = Browser::lend() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let bad = "<!doctype html><html data-ready=true><body><h3>late</h3>\
        <div style='width: 3000px'>wide</div><div class=scroll style='overflow-x: auto; width: 90px'>\
        <table style='width: 200px'><tr><th>a<td>b</table></div>\
        <div style='position: absolute; top: 300px; color: #999'>one</div>\
        <div style='position: absolute; top: 302px'>two</div>\
        <svg width=100 height=20 role=img><text x=5 y=12>left</text><text x=12 y=12>right</text></svg>\
        <canvas width=100 height=50></canvas><input>\
        <script>const c = document.querySelector('canvas').getContext('2d');\
        c.fillText('three', 5, 20); c.fillText('four', 9, 20); c.fillText('beyond', 90, 40);</script>";
    std::fs::write(&file, bad).unwrap();
    browser.look(420, false);
    browser.open(&format!("file://{}", file.display()));
    let faults = browser.layout_faults().join("\n");
    for expected in [
        "the page is 30",
        "is wider than the page",
        "does not say so",
        "\\\"one\\\" and \\\"two\\\" overlap",
        "\\\"left\\\" and \\\"right\\\" overlap",
        "\\\"three\\\" and \\\"four\\\" overlap",
        "\\\"beyond\\\" is cut off",
    ] {
        assert!(faults.contains(expected), "{expected} in {faults}");
    }
    let faults = browser.access_faults().join("\n");
    for expected in [
        "no language",
        "skips a level",
        "no caption",
        "no scope",
        "canvas \\\"\\\" has no words",
        "has no name",
        "has no label",
        "has a contrast of 2.8",
    ] {
        assert!(faults.contains(expected), "{expected} in {faults}");
    }
}
