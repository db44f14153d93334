//! The colours of the pages, computed: series stand out from the paper, and from each other for
//! every kind of colour vision; where more is told apart than there are colours, something else
//! differs.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeMap;
use testing::browser::Browser;
use testing::colour::{Colour, Vision};

const CSS: &str = include_str!("../../assets/page/page.css");
const THEME: &str = include_str!("../../assets/page/theme.js");

/// WCAG 2.2, 1.4.11: what one must see to understand a picture; and 1.4.3: words.
const LEAST_CONTRAST: f64 = 3.0;
const LEAST_CONTRAST_OF_WORDS: f64 = 4.5;
/// CIEDE2000 between any two series that differ in their colour only.
const LEAST_DISTANCE: f64 = 12.0;

/// Colours of series and causes.
const SERIES: [&str; 9] =
    ["vermillion", "purple", "orange", "blue", "green", "sky", "brown", "grey", "ink"];
/// Colours of words.
const WORDS: [&str; 5] = ["ink", "muted", "link", "alarm", "good"];

/// The colours of the light and of the dark scheme by their names.
fn schemes() -> [(&'static str, BTreeMap<&'static str, Colour>); 2] {
    let (light, rest) = CSS.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (dark, _) = rest.split_once("* { box-sizing").unwrap();
    let read = |block: &'static str| {
        let entries = block.split(';').filter_map(|entry| {
            let (name, value) = entry.rsplit_once("--")?.1.split_once(':')?;
            Some((name, Colour::from_hex(value.trim())?))
        });
        entries.collect::<BTreeMap<_, _>>()
    };
    [("light", read(light)), ("dark", read(dark))]
}

#[test]
fn series_and_words_stand_out_from_the_paper() {
    for (scheme, colours) in schemes() {
        let paper = colours["paper"];
        for name in SERIES {
            let contrast = colours[name].contrast(paper);
            assert!(contrast >= LEAST_CONTRAST, "{scheme} {name}: {contrast:.2}");
        }
        for name in WORDS {
            for ground in ["paper", "panel"] {
                let contrast = colours[name].contrast(colours[ground]);
                assert!(
                    contrast >= LEAST_CONTRAST_OF_WORDS,
                    "{scheme} {name} on {ground}: {contrast:.2}"
                );
            }
        }
        // Collections and the outlines of windows stand on lanes.
        for (name, ground) in [("vermillion", "panel"), ("blue", "panel"), ("vermillion", "band")] {
            let contrast = colours[name].contrast(colours[ground]);
            assert!(contrast >= LEAST_CONTRAST, "{scheme} {name} on {ground}: {contrast:.2}");
        }
    }
}

#[test]
fn any_two_series_can_be_told_apart_by_everybody() {
    for (scheme, colours) in schemes() {
        for vision in Vision::ALL {
            let pairs = SERIES
                .iter()
                .enumerate()
                .flat_map(|(i, a)| SERIES[..i].iter().map(move |b| (*a, *b)));
            let distances = pairs.map(|(a, b)| (colours[a].distance(colours[b], vision), a, b));
            let (distance, a, b) = distances.min_by(|x, y| x.0.total_cmp(&y.0)).unwrap();
            println!("{scheme} {vision:?}: {distance:.1} between {a} and {b}");
            assert!(
                distance >= LEAST_DISTANCE,
                "{scheme} {vision:?}: {distance:.1} between {a} and {b}"
            );
        }
    }
}

#[test]
fn causes_of_one_colour_differ_in_their_pattern() {
    let table = THEME.split_once("const CAUSE_LOOKS = [").unwrap().1.split_once("];").unwrap().0;
    let looks: Vec<(&str, &str)> = table
        .lines()
        .filter_map(|line| {
            let mut words = line.trim().strip_prefix('[')?.split('"').skip(1).step_by(2);
            words.next()?;
            Some((words.next()?, words.next()?))
        })
        .collect();
    assert_eq!(looks.len(), 13);
    for (i, look) in looks.iter().enumerate() {
        assert!(SERIES.contains(&look.0), "{look:?}");
        assert!(!looks[..i].contains(look), "two causes look like {look:?}");
    }
}

#[test]
fn policies_of_one_colour_differ_in_their_dashes() {
    let Some(mut browser) = Browser::lend() else { return };
    let styles = browser.ask(&format!(
        "(() => {{ {THEME}\n const names = ['base', 'iod1', 'iod2', 'iod3', 'ioda', 'ideal', 'ioda',\
         ...Array.from({{ length: 33 }}, (_, i) => 'other ' + i)];\
         const runs = names.map((policy) => ({{ policy }})); assignStyles(runs);\
         return runs.map((run) => [run.style.color, run.style.dash.join(' ')]); }})()"
    ));
    let styles = styles.as_array().unwrap();
    assert_eq!(styles.len(), 40);
    for (i, style) in styles.iter().enumerate() {
        assert!(SERIES.contains(&style[0].as_str().unwrap()), "{style}");
        assert!(!styles[..i].contains(style), "policy {i} looks like another: {style}");
    }
}
