//! The page of a survey: a reader chooses workload, statistic and policies.

use super::escape::text;
use super::numbers::{four_digits, nines};
use super::tables::{caption, scroll, section, table};
use crate::survey::{
    Direction, Statistic, Survey, SurveyPolicy, columns, drive_changes, quantile_curve,
};
use crate::{Latency, Run, format};
use serde::Serialize;

const FIGURES: &str = include_str!("../../assets/page/survey.html");

/// The scripts of the page in the order in which they build on each other.
const SCRIPTS: [&str; 10] = [
    include_str!("../../assets/page/theme.js"),
    include_str!("../../assets/page/numbers.js"),
    include_str!("../../assets/page/plot.js"),
    include_str!("../../assets/page/elements.js"),
    include_str!("../../assets/page/keys.js"),
    include_str!("../../assets/page/captions.js"),
    include_str!("../../assets/page/scroll.js"),
    include_str!("../../assets/page/cdf.js"),
    include_str!("../../assets/page/redraw.js"),
    include_str!("../../assets/page/survey.js"),
];

/// Points of each curve of a distribution; a curve has its last where half a request is left.
const CURVE_POINTS: u32 = 120;
/// What the static table of all workloads shows.
const OVERVIEW: Statistic = Statistic::Percentile(99.9);

/// What the scripts need of the document.
#[derive(Serialize)]
struct View {
    /// Names of the statistics, as `p99.9`.
    statistics: Vec<String>,
    /// The policies that could be run.
    policies: Vec<PolicyView>,
    /// Index of Ideal.
    ideal: Option<usize>,
    workloads: Vec<WorkloadView>,
}

#[derive(Serialize)]
struct PolicyView {
    name: String,
    label: String,
    summary: String,
    level: String,
}

#[derive(Serialize)]
struct WorkloadView {
    name: String,
    description: String,
    read: DirectionView,
    write: DirectionView,
}

/// Reads or writes of one workload.
#[derive(Serialize)]
struct DirectionView {
    /// Where the curves have their points, in nines.
    nines: Vec<f64>,
    /// One entry per policy; none if no run of it ended.
    policies: Vec<Option<LatencyView>>,
}

/// Numbers in the order of [`View::statistics`] and of [`DirectionView::nines`], in microseconds.
#[derive(Serialize)]
struct LatencyView {
    /// Seeds that ended.
    seeds: usize,
    median: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Whether fewer than 100 samples lie beyond.
    few: Vec<bool>,
    curve: Vec<f64>,
}

/// The whole page.
#[must_use]
pub fn render(survey: &Survey) -> String {
    let facts = [("Array", &survey.array), ("Drive", &survey.drive)];
    let facts: String = facts
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", text(value)))
        .collect();
    let note = |note: &String| format!("<p class=\"note\">{}</p>\n", text(note));
    let failure = |why: String| {
        format!("<li class=\"warning\"><strong>Failed.</strong> {}</li>\n", text(&why))
    };
    let refused =
        survey.policies.iter().filter(|policy| !policy.refused.is_empty()).map(|policy| {
            format!("<li>{} was not run: {}</li>\n", text(&policy.label), text(&policy.refused))
        });
    let remarks: String = refused.chain(survey.failures().map(failure)).collect();
    let remarks = match remarks.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"findings\">\n{remarks}</ul>\n"),
    };
    let body = [
        format!(
            "<header>\n<h1>{}</h1>\n{}<dl class=\"facts\">\n{facts}<div><dt>Seeds</dt><dd>{}</dd>\
             </div>\n</dl>\n{remarks}</header>\n{}",
            text(&survey.title),
            survey.notes.iter().map(note).collect::<String>(),
            text(&survey.seeds.join(", ")),
            super::NO_SCRIPT,
        ),
        FIGURES.to_owned(),
        overview(survey),
        costs(survey),
        policies(survey),
        workloads(survey),
        manifest(survey),
    ];
    super::page(&survey.title, &body.join("\n"), &view(survey), &SCRIPTS)
}

fn ran(survey: &Survey) -> Vec<&SurveyPolicy> {
    survey.policies.iter().filter(|policy| !policy.level.is_empty()).collect()
}

fn view(survey: &Survey) -> View {
    let policies = ran(survey);
    View {
        statistics: Statistic::SHOWN.map(Statistic::name).to_vec(),
        ideal: policies.iter().position(|policy| Survey::is_ideal(policy)),
        policies: policies
            .iter()
            .map(|policy| PolicyView {
                name: policy.name.clone(),
                label: policy.label.clone(),
                summary: policy.summary.clone(),
                level: policy.level.clone(),
            })
            .collect(),
        workloads: survey
            .workloads
            .iter()
            .map(|workload| WorkloadView {
                name: workload.name.clone(),
                description: workload.description.clone(),
                read: direction(survey, &policies, &workload.name, Direction::Read),
                write: direction(survey, &policies, &workload.name, Direction::Write),
            })
            .collect(),
    }
}

fn direction(
    survey: &Survey,
    policies: &[&SurveyPolicy],
    workload: &str,
    direction: Direction,
) -> DirectionView {
    let seeds = |policy: &SurveyPolicy| -> Vec<&Latency> {
        let runs: Vec<&Run> = survey.measured(&policy.name, workload).collect();
        runs.into_iter().map(|run| direction.of(run)).filter(|own| own.count > 0).collect()
    };
    // All policies have the same requests; a seed may have a few reads more than another.
    let fewest = policies.iter().flat_map(|policy| seeds(policy)).map(|own| own.count).min();
    let last = fewest.map_or(0.0, |count| nines(1.0, count));
    let at = |point: u32| last * f64::from(point) / f64::from(CURVE_POINTS);
    let places: Vec<f64> = match fewest {
        Some(_) => (0..=CURVE_POINTS).map(|point| (at(point) * 1e4).round() / 1e4).collect(),
        None => Vec::new(),
    };
    let latency = |policy: &&SurveyPolicy| {
        let seeds = seeds(policy);
        let spreads: Vec<_> = Statistic::SHOWN
            .into_iter()
            .map(|statistic| survey.spread(&policy.name, workload, direction, statistic))
            .collect::<Option<_>>()?;
        let numbers = |number: fn(&crate::survey::Spread) -> f64| {
            spreads.iter().map(|spread| four_digits(number(spread))).collect()
        };
        Some(LatencyView {
            seeds: seeds.len(),
            median: numbers(|spread| spread.median_us),
            low: numbers(|spread| spread.low_us),
            high: numbers(|spread| spread.high_us),
            few: spreads.iter().map(|spread| spread.has_few_samples).collect(),
            curve: quantile_curve(&seeds, &places).into_iter().map(four_digits).collect(),
        })
    };
    DirectionView { policies: policies.iter().map(latency).collect(), nines: places }
}

/// One statistic of all workloads, as a multiple of Ideal.
fn overview(survey: &Survey) -> String {
    let mut header = vec!["policy".to_owned()];
    header.extend(survey.workloads.iter().map(|workload| workload.name.clone()));
    header.push("all".to_owned());
    let rows: Vec<(String, Vec<String>)> = ran(survey)
        .iter()
        .map(|policy| {
            let ratio = |ratio: Option<f64>| ratio.map_or("–".to_owned(), format::ratio);
            let mut cells: Vec<String> = survey
                .workloads
                .iter()
                .map(|workload| {
                    let read = Direction::Read;
                    ratio(survey.of_ideal(&policy.name, &workload.name, read, OVERVIEW))
                })
                .collect();
            cells.push(ratio(survey.over_workloads(&policy.name, OVERVIEW).map(|over| over.0)));
            (policy.label.clone(), cells)
        })
        .collect();
    let explanation = format!(
        "Read latency at {} as a multiple of that of Ideal, medians over the seeds; the last \
         column is the geometric mean over the workloads.",
        OVERVIEW.name()
    );
    section(
        "overview",
        "All workloads at a glance",
        &explanation,
        &table("All workloads at a glance", &header, &rows),
    )
}

fn costs(survey: &Survey) -> String {
    let columns = columns(&survey.costs);
    let mut header = vec!["policy".to_owned()];
    header.extend(columns.iter().map(|column| column.name.clone()));
    header.push("changes of the drives".to_owned());
    let label = |name: &str| {
        let policy = survey.policies.iter().find(|policy| policy.name == name);
        policy.map_or_else(|| name.to_owned(), |policy| policy.label.clone())
    };
    let rows: Vec<(String, Vec<String>)> = survey
        .costs
        .iter()
        .map(|costs| {
            let mut cells: Vec<String> =
                columns.iter().map(|column| text(&column.cell(costs))).collect();
            cells.push(format!("<span class=\"phrase\">{}</span>", text(drive_changes(costs))));
            (label(&costs.policy), cells)
        })
        .collect();
    let meanings: String = columns
        .iter()
        .map(|column| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", text(&column.name), column.meaning)
        })
        .collect();
    let content = format!(
        "{}<dl class=\"facts\">\n{meanings}</dl>\n",
        table("What each policy costs", &header, &rows)
    );
    let explanation = "Totals over all workloads and seeds. Processor time was measured on the \
                       machine of the survey; everything else is simulated and repeats exactly.";
    section("costs", "What each policy costs", explanation, &content)
}

fn policies(survey: &Survey) -> String {
    let rows: String = survey
        .policies
        .iter()
        .map(|policy| {
            let level = if policy.level.is_empty() { "not run" } else { &policy.level };
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                text(&policy.label),
                text(&policy.summary),
                text(&policy.source),
                text(level),
            )
        })
        .collect();
    let content = words("The policies", &["policy", "what it does", "source", "ran on"], &rows);
    section("policies", "The policies", "What each does, and where it comes from.", &content)
}

fn workloads(survey: &Survey) -> String {
    let rows: String = survey
        .workloads
        .iter()
        .map(|workload| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                text(&workload.name),
                text(&workload.description),
                format::count(workload.requests),
                text(&workload.notes.join(" ")),
            )
        })
        .collect();
    let content = words("The workloads", &["workload", "what it is", "requests", "rate"], &rows);
    let explanation = "Every policy gets the same requests at the same times.";
    section("workloads", "The workloads", explanation, &content)
}

/// A table of words whose `rows` are markup.
fn words(name: &str, header: &[&str], rows: &str) -> String {
    let header: String =
        header.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    scroll(
        name,
        &format!(
            "<table class=\"words\">{}\n<thead><tr>{header}</tr></thead>\n\
             <tbody>\n{rows}</tbody></table>",
            caption(name)
        ),
    )
}

fn manifest(survey: &Survey) -> String {
    format!(
        "<section id=\"manifest\">\n<h2>How to run it again</h2>\n\
         <p>ioda {}: <code>{}</code></p>\n\
         <details><summary>The whole configuration</summary>\n<pre tabindex=\"0\">{}</pre></details>\n</section>",
        text(&survey.ioda_version),
        text(&survey.command_line),
        text(&survey.configuration_toml)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn nothing_is_loaded_and_no_string_breaks_out() {
        let evil = "</script><script>alert(1)</script><!-- \"quoted\" & 'so'";
        let mut survey = sample::survey();
        let scripts = render(&survey).matches("<script").count();
        survey.title = evil.to_owned();
        survey.command_line = evil.to_owned();
        survey.policies[0].label = evil.to_owned();
        survey.policies[1].summary = evil.to_owned();
        survey.policies[6].refused = evil.to_owned();
        survey.workloads[0].notes = vec![evil.to_owned()];
        survey.costs[0].drive_changes = evil.to_owned();
        let page = render(&survey);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("<script").count(), scripts);
        for reference in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(reference), "the page has {reference}");
        }
    }

    #[test]
    fn the_view_has_every_policy_that_ran_under_every_workload() {
        let view = view(&sample::survey());
        assert_eq!((view.policies.len(), view.workloads.len(), view.ideal), (6, 2, Some(5)));
        for workload in &view.workloads {
            for direction in [&workload.read, &workload.write] {
                for latency in direction.policies.iter().flatten() {
                    assert_eq!(latency.median.len(), view.statistics.len());
                    assert_eq!(latency.curve.len(), direction.nines.len());
                    assert!(latency.curve.is_sorted(), "{:?}", latency.curve);
                }
                assert_eq!(direction.policies.iter().flatten().count(), 6);
            }
        }
    }
}
