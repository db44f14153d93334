//! Opens the page in a headless Chromium and asks it whether every plot was drawn.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use crate::sample;
use ioda_report::{Comparison, WindowReport, html};
use std::time::Duration;
use testing::browser::Browser;

/// What tests do to a page begins 200 ms after its scripts and is done by then.
const HANDS: Duration = Duration::from_millis(300);
/// Plots of a page in which everything was recorded.
const ALL_PLOTS: usize = 14;

#[test]
fn every_plot_is_drawn() {
    let Some(mut browser) = Browser::lend() else { return };
    let comparison = sample::comparison();
    let page = opened(&mut browser, &comparison);
    assert_drawn(&page, ALL_PLOTS);
    for run in &comparison.runs {
        assert!(page.contains(&format!("</svg>{}</button>", run.policy)), "no {}", run.policy);
    }
}

#[test]
fn one_run_with_little_recorded_is_drawn() {
    let Some(mut browser) = Browser::lend() else { return };
    let mut comparison = sample::comparison();
    comparison.runs.truncate(1);
    let run = &mut comparison.runs[0];
    run.timeline = None;
    run.causes.clear();
    run.policy = "toString".to_owned();
    // Two panels of the distribution, busy members and two of cost remain.
    let page = opened(&mut browser, &comparison);
    assert_drawn(&page, 5);
    assert!(page.contains("<figure id=\"fig-history\" hidden"), "windows did not change");
}

#[test]
fn an_empty_comparison_is_no_error() {
    let Some(mut browser) = Browser::lend() else { return };
    assert_drawn(&opened(&mut browser, &Comparison::default()), 0);
}

#[test]
fn strings_stay_strings() {
    let Some(mut browser) = Browser::lend() else { return };
    let evil = "</script><script>document.documentElement.dataset.error='ran'</script><!--";
    let mut comparison = sample::comparison();
    comparison.title = evil.to_owned();
    comparison.manifest.configuration_toml = evil.to_owned();
    comparison.runs[0].label = evil.to_owned();
    for run in &mut comparison.runs {
        for split in &mut run.causes {
            split.parts_us[0].0 = evil.to_owned();
        }
    }
    comparison.claims[0].note = evil.to_owned();
    assert_drawn(&opened(&mut browser, &comparison), ALL_PLOTS);
}

#[test]
fn the_page_answers_the_pointer() {
    let Some(mut browser) = Browser::lend() else { return };
    // Sweeps over every plot, uses every choice, enlarges a stretch of time and hides a policy.
    let hand = "<script>setTimeout(() => {\
        const send = (target, type, x, y) => target.dispatchEvent(\
            new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, button: 0, movementX: 9 }));\
        const told = new Set();\
        const sweep = () => document.querySelectorAll('.plot').forEach((plot) => {\
            const over = plot.querySelector('.u-over');\
            const area = over.getBoundingClientRect();\
            send(over, 'mouseenter', area.left, area.top);\
            for (let i = 1; i < 40; i++) for (let j = 1; j < 40; j++) {\
                send(over, 'mousemove', area.left + area.width * i / 40, area.top + area.height * j / 40);\
                const tip = over.querySelector('.tip');\
                if (!tip.hidden && tip.textContent) { told.add(plot.id); break; }\
            }\
            send(over, 'mouseleave', 0, 0);\
        });\
        sweep();\
        const over = document.querySelector('#timeline-1-reads .u-over');\
        const area = over.getBoundingClientRect();\
        send(over, 'mousedown', area.left + 100, area.top + 50);\
        send(over, 'mousemove', area.left + 300, area.top + 50);\
        send(document, 'mouseup', area.left + 300, area.top + 50);\
        document.querySelectorAll('input').forEach((input) => input.click());\
        const select = document.querySelector('select');\
        select.value = 3;\
        select.dispatchEvent(new Event('change'));\
        document.querySelector('.legend button').click();\
        document.documentElement.dataset.told = told.size;\
        document.documentElement.dataset.hidden =\
            document.querySelectorAll('[aria-pressed=false]').length;\
    }, 200);</script></body>";
    let page = html::render(&sample::comparison()).replace("</body>", hand);
    let page = opened_page(&mut browser, &page);
    assert_drawn(&page, ALL_PLOTS);
    assert!(page.contains(&format!("data-told=\"{ALL_PLOTS}\"")), "{}", &page[..300]);
    // The policy is hidden in each of the five legends.
    assert!(page.contains("data-hidden=\"5\""), "{}", &page[..300]);
}

#[test]
fn windows_are_drawn_and_told() {
    let Some(mut browser) = Browser::lend() else { return };
    // Points at the middle of both plots, and hides a drive.
    let hand = "<script>setTimeout(() => {\
        const send = (target, type, x, y) => target.dispatchEvent(\
            new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, button: 0 }));\
        const told = [...document.querySelectorAll('.plot')].filter((plot) => {\
            const over = plot.querySelector('.u-over');\
            const area = over.getBoundingClientRect();\
            send(over, 'mouseenter', area.left, area.top);\
            send(over, 'mousemove', area.left + area.width / 2, area.top + area.height / 2);\
            const tip = over.querySelector('.tip');\
            return !tip.hidden && tip.textContent.includes('sim');\
        });\
        document.documentElement.dataset.told = told.length;\
        document.querySelector('.legend button').click();\
        document.documentElement.dataset.hidden =\
            document.querySelectorAll('[aria-pressed=false]').length;\
    }, 200);</script></body>";
    let page = html::render_windows(&sample::windows());
    let shown = opened_page(&mut browser, &page.replace("</body>", hand));
    assert_drawn(&shown, 2);
    assert!(shown.contains("data-told=\"2\""), "{}", &shown[..300]);
    // The drive is hidden in both legends.
    assert!(shown.contains("data-hidden=\"2\""), "{}", &shown[..300]);
    let empty = html::render_windows(&WindowReport::default());
    assert_drawn(&opened_page(&mut browser, &empty), 0);
}

/// Opens the survey with `address` after its name, and does `steps` to it.
fn surveyed(browser: &mut Browser, address: &str, steps: &str) -> String {
    let hand = format!(
        "<script>setTimeout(() => {{\
            const bars = () => [...document.querySelectorAll('#bars tbody tr')].map((row) =>\
                row.dataset.policy + ' ' + row.querySelector('.bar').style.width + ' ' + row.cells[2].textContent).join('; ');\
            const note = (key, value) => {{ document.documentElement.dataset[key] = value; }};\
            const set = (id, value) => {{\
                const select = document.getElementById(id);\
                select.value = value;\
                select.dispatchEvent(new Event('change'));\
            }};\
            note('before', bars());\
            {steps}\
            note('after', bars());\
            note('address', location.hash);\
        }}, 200);</script></body>"
    );
    let page = html::render_survey(&sample::survey()).replace("</body>", &hand);
    opened_at(browser, &page, address)
}

/// What the page noted under `key`.
pub(crate) fn noted<'a>(page: &'a str, key: &str) -> &'a str {
    let start = format!("data-{key}=\"");
    let at = page.find(&start).unwrap_or_else(|| panic!("no {key} in {}", &page[..600]));
    page[at + start.len()..].split('"').next().unwrap()
}

#[test]
fn another_workload_changes_the_bars_of_a_survey() {
    let Some(mut browser) = Browser::lend() else { return };
    let page = surveyed(&mut browser, "", "set('choose-workload', 'azure');");
    assert_drawn(&page, 2);
    let (before, after) = (noted(&page, "before"), noted(&page, "after"));
    // Row by row another latency, and another length of the bar where one seed failed.
    let rows = |bars: &str| -> Vec<(String, f64, String)> {
        let row = |row: &str| {
            let (policy, rest) = row.split_once(' ').unwrap();
            let (width, latency) = rest.split_once("% ").unwrap();
            (policy.to_owned(), width.parse().unwrap(), latency.to_owned())
        };
        bars.split("; ").map(row).collect()
    };
    let (before, after) = (rows(before), rows(after));
    assert_eq!((before[0].0.as_str(), before[0].2.as_str()), ("base", "46.5 ms"));
    assert_eq!((after[0].0.as_str(), after[0].2.as_str()), ("base", "27.9 ms"));
    assert!(before[0].1 > before[1].1 && before[1].1 > after[1].1, "{before:?} {after:?}");
    assert!((before[1].0 == "iod1") && before.len() == 6 && after.len() == 6);
    assert_eq!((noted(&page, "bars"), noted(&page, "address")), ("6", "#workload=azure"));
}

#[test]
fn every_choice_of_a_survey_is_kept_in_its_address() {
    let Some(mut browser) = Browser::lend() else { return };
    let steps = "set('choose-statistic', 'p50');\
        document.querySelectorAll('#choices input:not(:checked)').forEach((input) => input.click());\
        document.querySelector('#policy-checks input[value=iod1]').click();";
    let page = surveyed(&mut browser, "", steps);
    assert_drawn(&page, 2);
    let address = "#statistic=p50&amp;direction=write&amp;unit=latency&amp;scale=linear&amp;\
        order=value&amp;policies=base%2Ciod2%2Ciod3%2Cioda%2Cideal";
    assert_eq!(noted(&page, "address"), address);
    let shown = noted(&page, "after").to_owned();
    assert_eq!((shown.matches("; ").count(), shown.contains("iod1")), (4, false), "{shown}");
    // Whoever is given the address sees the same, and going back in it goes back on the page.
    let back = "location.hash = '#workload=azure'; window.dispatchEvent(new Event('hashchange'));";
    let again = surveyed(&mut browser, &address.replace("&amp;", "&"), back);
    assert_eq!(noted(&again, "before"), shown);
    let after = noted(&again, "after");
    assert!(after.starts_with("base ") && after.contains("% 27.9 ms; iod1 "), "{after}");
    // Nonsense in an address is ignored.
    let odd = surveyed(&mut browser, "#workload=none&statistic=p1&policies=nobody", "");
    assert_drawn(&odd, 0);
    assert_eq!(noted(&odd, "bars"), "0");
}

#[test]
fn a_survey_can_be_worked_with_keys_and_read_aloud() {
    let Some(mut browser) = Browser::lend() else { return };
    // Everything that can be chosen is a control with a label; bars are rows of a table with
    // header.
    let steps = "const controls = [...document.querySelectorAll('#survey select, #survey input, #survey button')];\
        note('unlabelled', controls.filter((c) => !(c.labels?.length || c.textContent.trim())).length);\
        note('unreachable', controls.filter((c) => c.tabIndex < 0).length);\
        note('controls', controls.length);\
        note('rows', document.querySelectorAll('#bars tbody th[scope=row]').length);\
        note('said', document.getElementById('shown').textContent);";
    let page = surveyed(&mut browser, "", steps);
    assert_eq!((noted(&page, "unlabelled"), noted(&page, "unreachable")), ("0", "0"));
    assert_eq!((noted(&page, "controls"), noted(&page, "rows")), ("18", "6"));
    assert!(noted(&page, "said").starts_with("p99.9 of reads under tpcc"));
    let empty = html::render_survey(&ioda_report::survey::Survey::default());
    assert_drawn(&opened_page(&mut browser, &empty), 0);
}

pub(crate) fn assert_drawn(page: &str, plots: usize) {
    let end = page.find("<head>").unwrap();
    let root = &page[..end];
    assert!(!root.contains("data-error"), "{root}");
    assert!(root.contains("data-ready=\"true\""), "{root}");
    let expected = format!("data-plots=\"{plots}\"");
    assert!(root.contains(&expected) || (plots == 0 && !root.contains("data-plots")), "{root}");
    assert!(!page.contains("data-marks=\"0\""), "a plot is empty");
}

/// The page of a comparison after its scripts ran.
fn opened(browser: &mut Browser, comparison: &Comparison) -> String {
    opened_page(browser, &html::render(comparison))
}

pub(crate) fn opened_page(browser: &mut Browser, content: &str) -> String {
    opened_at(browser, content, "")
}

/// The same, opened at a fragment of its address.
fn opened_at(browser: &mut Browser, content: &str, fragment: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, content).unwrap();
    browser.look(1280, false);
    browser.open(&format!("file://{}{fragment}", page.display()));
    browser.document(HANDS)
}

#[test]
fn the_life_of_a_request_is_drawn() {
    let Some(mut browser) = Browser::lend() else { return };
    let page = opened_page(&mut browser, &html::render_story(&sample::story()));
    assert_drawn(&page, 1);
    assert!(page.contains("data-lanes=\"3\""), "{}", &page[..300]);
    assert_eq!(page.matches("<title>").count(), 1 + 4, "one for the page, one for each stretch");
}
