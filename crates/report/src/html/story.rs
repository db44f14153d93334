//! The page of one request: its lanes as a drawing, its sentences, its chain.

use super::escape::text;
use super::tables::{scroll, section, table};
use crate::format::latency;
use crate::story::{Activity, Lane, Look, Pattern, Story, ticks};

/// Reads nothing; tells that the page is as it should be.
const SCRIPTS: [&str; 3] = [
    include_str!("../../assets/page/elements.js"),
    include_str!("../../assets/page/scroll.js"),
    include_str!("../../assets/page/story.js"),
];

/// Measures of the drawing, in its own units.
const NAME: f64 = 110.0;
const PLOT: f64 = 1040.0;
const ROW: f64 = 22.0;
const TOP: f64 = 26.0;
/// From one stripe to the next.
const STRIPE: f64 = 6.0;

/// The whole page.
#[must_use]
pub fn render(story: &Story) -> String {
    let facts: String = story
        .facts
        .iter()
        .map(|(name, value)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", text(name), text(value))
        })
        .collect();
    let row = |at: f64, what: &str| (latency(at), vec![text(what)]);
    let sentences: Vec<_> =
        story.sentences.iter().map(|told| row(told.at_us, &told.text)).collect();
    let mut chain: Vec<_> = story.chain.iter().map(|part| row(part.us, &part.name)).collect();
    chain.push(row(story.latency_us, "in all"));
    let causes: Vec<_> = story.causes.iter().map(|part| row(part.us, &part.name)).collect();
    let words = |name: &str, header: [&str; 2], rows: &[(String, Vec<String>)]| {
        format!("<div class=\"words\">{}</div>", table(name, &header.map(str::to_owned), rows))
    };
    let mut body = vec![
        format!(
            "<header>\n<h1>{}</h1>\n<dl class=\"facts\">\n{facts}</dl>\n</header>",
            text(&story.title)
        ),
        section("lanes", "Lanes", &legend(story), &drawing(story)),
        section(
            "happened",
            "What happened",
            "",
            &words("What happened", ["after", "what"], &sentences),
        ),
        section(
            "chain",
            "What it waited for, one after the other",
            "",
            &words("What it waited for", ["for", "what"], &chain),
        ),
    ];
    if !causes.is_empty() {
        let title = "By cause, as the run counts it";
        body.push(section("causes", title, "", &words(title, ["for", "cause"], &causes)));
    }
    super::page(&story.title, &body.join("\n"), &story.lanes.len(), &SCRIPTS)
}

/// A box in the colour and the pattern of an activity.
fn filled(activity: Activity, [x, y, width, height]: [f64; 4], inside: &str) -> String {
    let Look { colour, pattern, .. } = activity.look();
    // A busy window is nearly as pale as the paper.
    let edge = if activity == Activity::Window { " stroke=\"var(--blue)\"" } else { "" };
    let over = match pattern {
        Pattern::Plain => String::new(),
        Pattern::Striped => stripes([x, y, width, height]),
        Pattern::Dotted => format!(
            "<path d=\"M{:.1} {:.1}h{:.1}\" stroke=\"var(--paper)\" stroke-width=\"3\" \
             stroke-dasharray=\"3 4\"/>",
            x + 2.0,
            y + height / 2.0,
            (width - 3.0).max(0.0)
        ),
    };
    format!(
        "<g><rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\" \
         fill=\"var(--{colour})\"{edge}/>{over}{inside}</g>"
    )
}

/// Slanting lines that end at the sides of a box.
fn stripes([x, y, width, height]: [f64; 4]) -> String {
    let mut path = String::new();
    let mut from = x - height + STRIPE / 2.0;
    while from < x + width {
        let low = ((x - from) / height).max(0.0);
        let high = ((x + width - from) / height).min(1.0);
        if low < high {
            let at = |share: f64| (from + share * height, y + height * (1.0 - share));
            let ((x0, y0), (x1, y1)) = (at(low), at(high));
            path += &format!("M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}");
        }
        from += STRIPE;
    }
    format!("<path d=\"{path}\" stroke=\"var(--paper)\" stroke-width=\"2\"/>")
}

fn legend(story: &Story) -> String {
    let entry = |activity: Activity| {
        format!(
            "<span class=\"entry\"><svg width=\"20\" height=\"12\" aria-hidden=\"true\">{}</svg> \
             {}</span>",
            filled(activity, [0.5, 0.5, 19.0, 11.0], ""),
            text(activity.look().words)
        )
    };
    let entries: Vec<String> = story.activities().into_iter().map(entry).collect();
    let more = match story.dies_left_out {
        0 => String::new(),
        1 => " One die more is not drawn.".to_owned(),
        dies => format!(" {dies} dies more are not drawn."),
    };
    format!("{}.{more} Point at a stretch to read what it is.", entries.join(", "))
}

fn drawing(story: &Story) -> String {
    let (from, until) = story.drawn();
    let x = |us: f64| NAME + ((us - from) / (until - from) * PLOT).clamp(0.0, PLOT);
    let height = TOP + ROW * story.lanes.len() as f64 + 6.0;
    let marks: String = ticks(from, until, 10.0)
        .into_iter()
        .map(|tick| {
            let (at, time) = (x(tick), if tick == 0.0 { "0".to_owned() } else { latency(tick) });
            format!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"18\" y2=\"{height}\" \
                 stroke=\"var(--grid)\"/><text x=\"{at:.1}\" y=\"13\" font-size=\"12\" \
                 fill=\"var(--muted)\" text-anchor=\"middle\">{time}</text>\n"
            )
        })
        .collect();
    let lanes: String =
        story.lanes.iter().enumerate().map(|(row, lane)| drawn(lane, row, x)).collect();
    let width = NAME + PLOT + 30.0;
    let drawing = format!(
        "<svg id=\"story\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         aria-label=\"Lanes of host, drives and dies; what happened is told in words below\">\n\
         {marks}{lanes}</svg>"
    );
    scroll("Lanes", &drawing)
}

fn drawn(lane: &Lane, row: usize, x: impl Fn(f64) -> f64) -> String {
    let y = TOP + ROW * row as f64;
    let indent = if lane.nested { 14.0 } else { 0.0 };
    let mut drawn = format!(
        "<text x=\"{indent}\" y=\"{}\" font-size=\"13\" fill=\"var(--ink)\">{}</text>\n",
        y + 14.0,
        text(&lane.name)
    );
    for activity in Activity::ALL {
        for span in lane.spans.iter().filter(|span| span.activity == activity) {
            let (from, until) = (x(span.from_us), x(span.until_us));
            let label = format!(
                "{} ({}, from {} on)",
                span.label,
                latency(span.until_us - span.from_us),
                latency(span.from_us)
            );
            let area = [from, y, (until - from).max(1.5), ROW - 4.0];
            drawn += &filled(activity, area, &format!("<title>{}</title>", text(&label)));
            drawn.push('\n');
        }
    }
    drawn
}
