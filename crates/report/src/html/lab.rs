//! The page of an experiment of the laboratory: bars against Ideal, percentiles, and what happened
//! second by second.

use super::escape::text;
use super::numbers::four_digits;
use super::tables::{self, scroll, section, table};
use crate::format;
use crate::lab::{LabApplication, LabExperiment, LabMeasured, PERCENTILES, Second, Unjudged};
use serde::Serialize;
use std::collections::BTreeMap;

/// The scripts of the page in the order in which they build on each other.
const SCRIPTS: [&str; 11] = [
    include_str!("../../assets/page/theme.js"),
    include_str!("../../assets/page/numbers.js"),
    include_str!("../../assets/page/plot.js"),
    include_str!("../../assets/page/elements.js"),
    include_str!("../../assets/page/keys.js"),
    include_str!("../../assets/page/captions.js"),
    include_str!("../../assets/page/scroll.js"),
    include_str!("../../assets/page/bars.js"),
    include_str!("../../assets/page/redraw.js"),
    include_str!("../../assets/page/lab.js"),
    include_str!("../../assets/page/lab-timeline.js"),
];

/// So many applications stand in one plot of bars: the names of more do not fit beneath it on a
/// small screen.
const GROUPS: usize = 4;

/// What the scripts need of the document.
#[derive(Serialize)]
struct View {
    systems: Vec<SystemView>,
    bars: Vec<BarsView>,
    percentiles: Vec<PercentilesView>,
    timelines: Vec<TimelineView>,
}

#[derive(Serialize)]
struct SystemView {
    policy: String,
    name: String,
}

/// A plot of bars: what each application takes on each system, as a multiple of the yardstick.
#[derive(Serialize)]
struct BarsView {
    id: String,
    what: &'static str,
    yardstick: String,
    /// Whether values are latencies in microseconds; else seconds.
    latency: bool,
    groups: Vec<GroupView>,
}

/// An application.
#[derive(Clone, Serialize)]
struct GroupView {
    name: String,
    /// One for each system.
    bars: Vec<Option<BarView>>,
}

#[derive(Clone, Copy, Serialize)]
struct BarView {
    value: f64,
    ratio: f64,
}

/// A plot of percentiles: for each system, the latencies in microseconds at `PERCENTILES`.
#[derive(Serialize)]
struct PercentilesView {
    id: String,
    /// Which application it is of.
    application: usize,
    what: String,
    curves: Vec<Option<[Option<f64>; PERCENTILES.len()]>>,
}

/// Both plots of an application over time.
#[derive(Serialize)]
struct TimelineView {
    id: String,
    name: String,
    systems: Vec<Option<SecondsView>>,
}

#[derive(Serialize)]
struct SecondsView {
    seconds: Vec<u64>,
    p99_us: Vec<Option<f64>>,
    operations: Vec<u64>,
    events: Vec<(u64, String)>,
}

/// A number of a run that is shown as bars.
struct Measure {
    id: &'static str,
    what: &'static str,
    latency: bool,
    of: fn(&LabMeasured) -> Option<f64>,
}

const MEASURES: [Measure; 2] = [
    Measure { id: "time", what: "run time", latency: false, of: |run| Some(run.seconds) },
    Measure {
        id: "mean",
        what: "mean latency of operations",
        latency: true,
        of: |run| run.mean_us,
    },
];

/// The whole page.
#[must_use]
pub fn render(experiment: &LabExperiment) -> String {
    let view = view(experiment);
    let body = [
        header(experiment),
        bars(experiment, &view),
        numbers(experiment),
        percentiles(experiment, &view),
        timelines(experiment, &view),
        tables::claims(&experiment.claims),
        unjudged(&experiment.unjudged),
    ];
    let body: Vec<String> = body.into_iter().filter(|part| !part.is_empty()).collect();
    super::page(&title(experiment), &body.join("\n"), &view, &SCRIPTS)
}

fn title(experiment: &LabExperiment) -> String {
    let LabExperiment { figure, title, .. } = experiment;
    [figure.as_str(), title.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(": ")
}

fn header(experiment: &LabExperiment) -> String {
    let fact = |(name, value): &(String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", text(name), text(value))
    };
    let facts: String = experiment.facts.iter().map(fact).collect();
    let failed: String = experiment
        .applications
        .iter()
        .flat_map(|one| one.runs.iter().map(move |run| (one, run)))
        .filter(|(_, run)| run.measured.is_none())
        .map(|(one, run)| {
            let (application, system) = (text(&one.name), text(&run.system));
            format!(
                "<li class=\"warning\"><strong>Failed.</strong> {application} under {system}</li>\n"
            )
        })
        .collect();
    let failed = match failed.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"findings\">\n{failed}</ul>\n"),
    };
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"note\">Programs on a Linux kernel in virtual time, which stands still while \
         they compute: what is measured is what drives, arrays and file systems do. md is Linux's own RAID-5 over four \
         drives of ours; the others are arrays of ours.</p>\n<dl class=\"facts\">\n{facts}</dl>\n{failed}</header>\n{}",
        text(&title(experiment)),
        super::NO_SCRIPT
    )
}

fn view(experiment: &LabExperiment) -> View {
    let systems = experiment
        .systems
        .iter()
        .map(|one| SystemView { policy: one.name.clone(), name: one.label.clone() })
        .collect();
    View {
        systems,
        bars: MEASURES.iter().flat_map(|measure| bars_of(experiment, measure)).collect(),
        percentiles: experiment
            .applications
            .iter()
            .enumerate()
            .flat_map(|(index, one)| percentiles_of(experiment, index, one))
            .collect(),
        timelines: experiment
            .applications
            .iter()
            .enumerate()
            .filter_map(|(index, one)| timeline_of(experiment, index, one))
            .collect(),
    }
}

/// The plots of one measure; none if no application has it on the yardstick.
fn bars_of(experiment: &LabExperiment, measure: &Measure) -> Vec<BarsView> {
    let Some(yardstick) = experiment.yardstick() else { return Vec::new() };
    let value = |one: &LabApplication, system| one.measured(system).and_then(measure.of);
    let group = |one: &LabApplication| {
        let of = value(one, yardstick).filter(|of| *of > 0.0)?;
        let bar = |system| {
            let value = value(one, system)?;
            Some(BarView { value: four_digits(value), ratio: four_digits(value / of) })
        };
        let bars = (0..experiment.systems.len()).map(bar).collect();
        Some(GroupView { name: one.name.clone(), bars })
    };
    let groups: Vec<GroupView> = experiment.applications.iter().filter_map(group).collect();
    let plot = |(index, groups): (usize, &[GroupView])| BarsView {
        id: format!("plot-{}-{index}", measure.id),
        what: measure.what,
        yardstick: experiment.systems[yardstick].label.clone(),
        latency: measure.latency,
        groups: groups.to_vec(),
    };
    groups.chunks(GROUPS).enumerate().map(plot).collect()
}

type Percentiles = Option<BTreeMap<String, f64>>;

/// What a plot of percentiles is of.
struct PlotKind {
    id: &'static str,
    /// In words, with the application.
    what: String,
    of: fn(&LabMeasured) -> &Percentiles,
}

/// The two plots of percentiles of an application.
fn kinds(one: &LabApplication) -> [PlotKind; 2] {
    let mut operations =
        one.runs.iter().filter_map(|run| run.measured.as_ref()?.operation.as_deref());
    let operation = operations.next().unwrap_or("operation");
    let own = format!("{}: {operation}", one.name);
    let array = format!("{}: read of the array", one.name);
    [
        PlotKind { id: "own", what: own, of: |run| &run.percentiles_us },
        PlotKind { id: "array", what: array, of: |run| &run.array.percentiles_us },
    ]
}

fn percentiles_of(
    experiment: &LabExperiment,
    index: usize,
    one: &LabApplication,
) -> Vec<PercentilesView> {
    let plot = |PlotKind { id, what, of }: PlotKind| {
        let curve = |system| {
            let all = of(one.measured(system)?).as_ref()?;
            Some(PERCENTILES.map(|name| all.get(name).map(|us| four_digits(*us))))
        };
        let curves: Vec<_> = (0..experiment.systems.len()).map(curve).collect();
        let is_there = curves.iter().any(Option::is_some);
        let id = format!("plot-{id}-{index}");
        is_there.then_some(PercentilesView { id, application: index, what, curves })
    };
    kinds(one).into_iter().filter_map(plot).collect()
}

fn timeline_of(
    experiment: &LabExperiment,
    index: usize,
    one: &LabApplication,
) -> Option<TimelineView> {
    let seconds = |system| {
        let all = one.measured(system)?.seconds_of_it();
        let event = |second: &Second| Some((second.second, second.event.clone()?));
        (!all.is_empty()).then(|| SecondsView {
            seconds: all.iter().map(|second| second.second).collect(),
            p99_us: all.iter().map(|second| second.p99_us.map(four_digits)).collect(),
            operations: all.iter().map(|second| second.operations).collect(),
            events: all.iter().filter_map(event).collect(),
        })
    };
    let systems: Vec<_> = (0..experiment.systems.len()).map(seconds).collect();
    let is_there = systems.iter().any(Option::is_some);
    is_there.then(|| TimelineView { id: format!("time-{index}"), name: one.name.clone(), systems })
}

/// A plot with its heading.
fn plot(id: &str, heading: &str) -> String {
    format!("<div><h4>{}</h4><div class=\"plot\" id=\"{id}\"></div></div>\n", text(heading))
}

/// A legend of all systems.
const LEGEND: &str = "<div class=\"legend\"></div>\n";

fn bars(experiment: &LabExperiment, view: &View) -> String {
    let Some(yardstick) = experiment.yardstick().map(|index| &experiment.systems[index].label)
    else {
        return String::new();
    };
    let figures: String = MEASURES
        .iter()
        .filter_map(|measure| {
            let plots: String = view
                .bars
                .iter()
                .filter(|one| one.what == measure.what)
                .map(|one| format!("<div class=\"plot\" id=\"{}\"></div>\n", one.id))
                .collect();
            (!plots.is_empty()).then(|| {
                format!(
                    "<figure>\n<h3>{}, as a multiple of {}'s</h3>\n{LEGEND}<div class=\"pair\">\n{plots}</div>\n\
                     <figcaption>A group for each application. The line is {}; less is better. The axis is logarithmic.\
                     </figcaption>\n</figure>\n",
                    capital(measure.what),
                    text(yardstick),
                    text(yardstick)
                )
            })
        })
        .collect();
    match figures.is_empty() {
        true => String::new(),
        false => section(
            "bars",
            "How good each system is",
            "Times are of the laboratory's clock and repeat exactly.",
            &figures,
        ),
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn percentiles(experiment: &LabExperiment, view: &View) -> String {
    if view.percentiles.is_empty() {
        return String::new();
    }
    // A row for each application.
    let rows: String = view
        .percentiles
        .chunk_by(|one, other| one.application == other.application)
        .map(|row| {
            let plots: String = row.iter().map(|one| plot(&one.id, &one.what)).collect();
            format!("<div class=\"pair\">\n{plots}</div>\n")
        })
        .collect();
    let content = format!(
        "<figure>\n<h3>Operations of each application, and reads of the array</h3>\n{LEGEND}{rows}\
         <figcaption>A line for each system, on a logarithmic axis. \
         Point at a plot to read the numbers, or reach it with Tab and move with the arrow keys; the table below has all \
         of them.</figcaption>\n</figure>\n{}",
        percentile_table(experiment)
    );
    section(
        "percentiles",
        "Latency by percentile",
        "Of the operations of each application, where they were timed, and of the reads that the array was sent meanwhile. \
         Of md these are the reads of its four drives.",
        &content,
    )
}

fn percentile_table(experiment: &LabExperiment) -> String {
    let mut header = vec!["of".to_owned(), "system".to_owned()];
    header.extend(PERCENTILES.map(|name| format!("p{name}")));
    let mut rows = Vec::new();
    for one in &experiment.applications {
        for PlotKind { what, of, .. } in kinds(one) {
            for (index, system) in experiment.systems.iter().enumerate() {
                let Some(all) = one.measured(index).and_then(|run| of(run).as_ref()) else {
                    continue;
                };
                let mut cells = vec![text(&system.label)];
                cells.extend(PERCENTILES.map(|name| {
                    all.get(name).map_or_else(|| "–".to_owned(), |us| format::latency(*us))
                }));
                rows.push((what.clone(), cells));
            }
        }
    }
    table("Latency by percentile", &header, &rows)
}

/// Everything else that was measured, run by run.
fn numbers(experiment: &LabExperiment) -> String {
    let header = ["application", "system", "run time", "operations", "per second", "mean"];
    let of_array = ["array reads", "array writes", "mean array read"];
    let header: Vec<String> = header.into_iter().chain(of_array).map(str::to_owned).collect();
    let dash = || "–".to_owned();
    let mut rows = Vec::new();
    for one in &experiment.applications {
        for (index, system) in experiment.systems.iter().enumerate() {
            let Some(run) = one.measured(index) else { continue };
            let cells = vec![
                text(&system.label),
                format::latency(run.seconds * 1e6),
                format::count(run.operations),
                run.operations_per_second.map_or_else(dash, format::three_digits),
                run.mean_us.map_or_else(dash, format::latency),
                format::count(run.array.reads),
                format::count(run.array.writes),
                run.array.mean_us.map_or_else(dash, format::latency),
            ];
            rows.push((one.name.clone(), cells));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    section(
        "numbers",
        "What was measured",
        "The mean is of the operations of the application, where they were timed. The array's reads and writes are those \
         that it was sent; of md those of its four drives.",
        &table("What was measured", &header, &rows),
    )
}

fn timelines(experiment: &LabExperiment, view: &View) -> String {
    if view.timelines.is_empty() {
        return String::new();
    }
    let figure = |one: &TimelineView| {
        let (id, name) = (&one.id, text(&one.name));
        let latency = plot(&format!("{id}-p99"), "p99 of each second");
        let rate = plot(&format!("{id}-rate"), "Operations in each second");
        format!(
            "<figure>\n<h3>{name}</h3>\n{LEGEND}{latency}{rate}<figcaption>Upright lines are what was done to an array, in the \
             colour of that system; the table below says what. A gap is a second without operations. Drag across to \
             enlarge a stretch and double-click to see all of it again, or press + and -.</figcaption>\n</figure>\n{}",
            events(experiment, one)
        )
    };
    let figures: String = view.timelines.iter().map(figure).collect();
    section(
        "timeline",
        "Second by second",
        "Of the operations of the application, by the laboratory's clock.",
        &figures,
    )
}

fn events(experiment: &LabExperiment, timeline: &TimelineView) -> String {
    let name = format!("What was done, {}", timeline.name);
    let mut rows = String::new();
    for (system, seconds) in experiment.systems.iter().zip(&timeline.systems) {
        for (second, event) in seconds.iter().flat_map(|seconds| &seconds.events) {
            let (label, event) = (text(&system.label), text(event));
            rows += &format!(
                "<tr><th scope=\"row\">{label}</th><td>{second} s</td><td>{event}</td></tr>\n"
            );
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = ["system", "second", "what was done"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .concat();
    scroll(
        &name,
        &format!(
            "<table class=\"words\">{}\n<thead><tr>{header}</tr></thead>\n<tbody>{rows}</tbody></table>",
            tables::caption(&name)
        ),
    )
}

fn unjudged(unjudged: &[Unjudged]) -> String {
    if unjudged.is_empty() {
        return String::new();
    }
    let line = |one: &Unjudged| format!("<li>{}: {}</li>\n", text(&one.id), text(&one.why));
    let lines: String = unjudged.iter().map(line).collect();
    section(
        "unjudged",
        "Claims that cannot be judged",
        "A run that they need has failed, or has no such number.",
        &format!("<ul>\n{lines}</ul>\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn bars_are_multiples_of_ideal() {
        let view = view(&sample::lab());
        let time: Vec<&BarsView> = view.bars.iter().filter(|one| !one.latency).collect();
        assert_eq!((time.len(), time[0].groups.len(), time[1].groups.len()), (2, 4, 2));
        let GroupView { name, bars } = &time[0].groups[0];
        assert_eq!((name.as_str(), time[0].yardstick.as_str()), ("fileserver", "Ideal"));
        let ratios: Vec<f64> = bars.iter().map(|bar| bar.unwrap().ratio).collect();
        assert_eq!(ratios, [2.0, 1.8, 1.05, 1.0, 0.95]);
        // One run failed, and one application was not timed.
        assert!(time[1].groups[0].bars[1].is_none());
        assert_eq!(view.bars.iter().filter(|one| one.latency).count(), 2);
    }

    #[test]
    fn every_number_is_in_a_table() {
        let page = render(&sample::lab());
        for part in
            ["fileserver: read", "read of the array", "p99.99", "what was done", "drive 2 fails"]
        {
            assert!(page.contains(part), "no {part}");
        }
        assert!(page.contains("<strong>Failed.</strong> videoserver under base"));
        assert!(page.contains("9a-later: no run of videoserver under Base"));
    }

    #[test]
    fn no_string_breaks_out() {
        let evil = "</script><script>alert(1)</script><!-- \"quoted\" & 'so'";
        let tags = |page: &str| page.matches("<script").count();
        let mut experiment = sample::lab();
        let scripts = tags(&render(&experiment));
        experiment.title = evil.to_owned();
        experiment.systems[0].label = evil.to_owned();
        experiment.applications[0].name = evil.to_owned();
        experiment.unjudged[0].why = evil.to_owned();
        for run in &mut experiment.applications[5].runs {
            let measured = run.measured.as_mut().unwrap();
            measured.operation = Some(evil.to_owned());
            measured.timeline.as_mut().unwrap()[1].event = Some(evil.to_owned());
        }
        let page = render(&experiment);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(tags(&page), scripts);
    }

    #[test]
    fn an_empty_experiment_is_no_error() {
        let page = render(&LabExperiment::default());
        assert!(!page.contains("<section"), "there is nothing to tell");
    }
}
