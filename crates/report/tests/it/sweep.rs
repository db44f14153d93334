//! Opens the page of a sweep in a headless Chromium.

use crate::chromium::{assert_drawn, noted, opened_page};
use crate::sample;
use ioda_report::{html, sweep::Sweep};
use testing::browser::Browser;

#[test]
fn curves_are_drawn_and_told() {
    let Some(mut browser) = Browser::lend() else { return };
    // Points at the middle of each plot, and notes what is said there.
    let hand = "<script>setTimeout(() => {\
        const send = (target, type, x, y) => target.dispatchEvent(\
            new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, button: 0 }));\
        const told = [...document.querySelectorAll('.plot')].map((plot) => {\
            const over = plot.querySelector('.u-over');\
            const area = over.getBoundingClientRect();\
            send(over, 'mouseenter', area.right - 40, area.top);\
            send(over, 'mousemove', area.right - 40, area.top + area.height / 2);\
            return over.querySelector('.tip').textContent;\
        });\
        const note = (key, value) => { document.documentElement.dataset[key] = value; };\
        note('told', told.join(' | '));\
        note('named', document.querySelectorAll('.uplot[role=img][aria-label]').length);\
    }, 200);</script></body>";
    let page = html::render_sweep(&sample::sweep(1));
    let shown = opened_page(&mut browser, &page.replace("</body>", hand));
    assert_drawn(&shown, 2);
    let told = noted(&shown, "told");
    assert!(told.starts_with("width 16Base: 108 ms ~IODA: 2.83 ms ~ ("), "{told}");
    assert_eq!(noted(&shown, "named"), "2");
    assert_eq!(shown.matches("</svg>IODA</span>").count(), 2, "a legend for each plot");
}

#[test]
fn heat_maps_need_no_drawing() {
    let Some(mut browser) = Browser::lend() else { return };
    let hand = "<script>setTimeout(() => {\
        const cells = [...document.querySelectorAll('.heat td')];\
        const note = (key, value) => { document.documentElement.dataset[key] = value; };\
        const shade = (cell) => getComputedStyle(cell).backgroundColor;\
        note('cells', cells.length);\
        note('shades', new Set(cells.map(shade)).size);\
        note('heads', document.querySelectorAll('.heat th[scope]').length);\
    }, 200);</script></body>";
    let page = html::render_sweep(&sample::sweep(2));
    let shown = opened_page(&mut browser, &page.replace("</body>", hand));
    assert_drawn(&shown, 0);
    assert_eq!(noted(&shown, "cells"), "60", "two metrics, two policies, fifteen points");
    assert!(noted(&shown, "shades").parse::<u32>().is_ok_and(|shades| shades > 20));
    // In each of four maps a corner, five columns and three rows have names.
    assert_eq!(noted(&shown, "heads"), "36");
}

#[test]
fn an_empty_sweep_is_no_error() {
    let Some(mut browser) = Browser::lend() else { return };
    assert_drawn(&opened_page(&mut browser, &html::render_sweep(&Sweep::default())), 0);
    let mut nothing = sample::sweep(1);
    nothing.runs.clear();
    assert_drawn(&opened_page(&mut browser, &html::render_sweep(&nothing)), 0);
}
