//! Opens the page of an experiment of the laboratory in a headless Chromium.

use crate::chromium::{assert_drawn, noted, opened_page};
use crate::sample;
use ioda_report::{html, lab::LabExperiment};
use testing::browser::Browser;

/// Two plots of run times, two of means, of which one application has none; percentiles of six
/// applications and of the array under each, less one; and two over time.
const ALL_PLOTS: usize = 2 + 2 + 5 + 6 + 2;

#[test]
fn bars_percentiles_and_seconds_are_drawn_and_told() {
    let Some(mut browser) = Browser::lend() else { return };
    // Points at places of each plot until something is said, and notes it.
    let hand = "<script>setTimeout(() => {\
        const send = (target, type, x, y) => target.dispatchEvent(\
            new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, button: 0 }));\
        const note = (key, value) => { document.documentElement.dataset[key] = value; };\
        const all = [...document.querySelectorAll('.plot')].map((plot) => {\
            const over = plot.querySelector('.u-over');\
            const area = over.getBoundingClientRect();\
            send(over, 'mouseenter', area.left, area.top);\
            const told = [];\
            for (let i = 0; i <= 60; i++) {\
                send(over, 'mousemove', area.left + (area.width - 2) * i / 60 + 1, area.top + area.height / 2);\
                const tip = over.querySelector('.tip');\
                if (!tip.hidden) told.push(tip.textContent);\
            }\
            return [plot.id, told];\
        });\
        const of = (id) => all.find(([name]) => name === id)[1].join(' | ');\
        note('silent', all.filter(([, told]) => !told.length).map(([id]) => id).join(' '));\
        note('time', of('plot-time-0'));\
        note('own', of('plot-own-0'));\
        note('rate', of('time-5-rate'));\
        note('named', document.querySelectorAll('.uplot[role=img][aria-label]').length);\
    }, 200);</script></body>";
    let page = html::render_lab(&sample::lab());
    let shown = opened_page(&mut browser, &page.replace("</body>", hand));
    assert_drawn(&shown, ALL_PLOTS);
    assert_eq!(noted(&shown, "silent"), "", "plots that say nothing");
    assert_eq!(noted(&shown, "named"), ALL_PLOTS.to_string());
    let time = noted(&shown, "time");
    assert!(time.contains("fileserver under md: 20.0 s, 2.00 × Ideal"), "{time}");
    let own = noted(&shown, "own");
    assert!(own.contains("p50md: 360 µs") && own.contains("Ideal: 90.0 µs"), "{own}");
    let rate = noted(&shown, "rate");
    assert!(rate.contains("second 10md: 450, drive 2 fails"), "{rate}");
    assert!(rate.contains("second 11md: 0"), "{rate}");
    // A legend for each of the two figures of bars, for percentiles and for seconds.
    assert_eq!(shown.matches("</svg>IODA</span>").count(), 4);
}

#[test]
fn what_was_not_measured_is_not_drawn() {
    let Some(mut browser) = Browser::lend() else { return };
    assert_drawn(&opened_page(&mut browser, &html::render_lab(&LabExperiment::default())), 0);
    let mut nothing = sample::lab();
    for run in nothing.applications.iter_mut().flat_map(|one| &mut one.runs) {
        run.measured = None;
    }
    assert_drawn(&opened_page(&mut browser, &html::render_lab(&nothing)), 0);
    // One application on one system, without latencies.
    let mut little = sample::lab();
    little.systems.truncate(1);
    little.applications.truncate(1);
    little.applications[0].runs.truncate(1);
    if let Some(measured) = &mut little.applications[0].runs[0].measured {
        (measured.mean_us, measured.percentiles_us, measured.array.percentiles_us) =
            (None, None, None);
    }
    assert_drawn(&opened_page(&mut browser, &html::render_lab(&little)), 1);
}
