//! The page of one request: its lanes as a drawing, its sentences, its chain.

use super::escape::text;
use super::tables::{section, table};
use crate::format::latency;
use crate::story::{Activity, Lane, Story, ticks};

/// Reads nothing; tells that the page is as it should be.
const SCRIPTS: [&str; 1] = [include_str!("../../assets/page/story.js")];

/// Measures of the drawing, in its own units.
const NAME: f64 = 110.0;
const PLOT: f64 = 1040.0;
const ROW: f64 = 22.0;
const TOP: f64 = 26.0;

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
    let words = |header: &str, rows: &[(String, Vec<String>)]| {
        let header = [header.to_owned(), String::new()];
        format!("<div class=\"words\">{}</div>", table(&header, rows))
    };
    let mut body = vec![
        format!(
            "<header>\n<h1>{}</h1>\n<dl class=\"facts\">\n{facts}</dl>\n</header>",
            text(&story.title)
        ),
        section("lanes", "Lanes", &legend(story), &drawing(story)),
        section("happened", "What happened", "", &words("after", &sentences)),
        section("chain", "What it waited for, one after the other", "", &words("for", &chain)),
    ];
    if !causes.is_empty() {
        let title = "By cause, as the run counts it";
        body.push(section("causes", title, "", &words("for", &causes)));
    }
    super::page(&story.title, &body.join("\n"), &story.lanes.len(), &SCRIPTS)
}

/// The colour of an activity, as the page's style sheet names it.
fn colour(activity: Activity) -> String {
    format!("var(--{})", activity.look().2)
}

fn legend(story: &Story) -> String {
    let entry = |activity: Activity| {
        format!(
            "<svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" \
             fill=\"{}\"/></svg> {}",
            colour(activity),
            text(activity.look().1)
        )
    };
    let entries: Vec<String> = story.activities().into_iter().map(entry).collect();
    let more = match story.dies_left_out {
        0 => String::new(),
        dies => format!(" And {dies} dies more."),
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
    format!(
        "<div class=\"scroll\"><svg id=\"story\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         role=\"img\" aria-label=\"Lanes of host, drives and dies\">\n{marks}{lanes}</svg></div>"
    )
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
            drawn += &format!(
                "<rect x=\"{from:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\">\
                 <title>{}</title></rect>\n",
                (until - from).max(1.5),
                ROW - 4.0,
                colour(activity),
                text(&label)
            );
        }
    }
    drawn
}
