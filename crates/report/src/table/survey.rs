//! A survey for the terminal: one table per workload, one over all of them, and the costs.

use super::{firmware_mark, plain, push_section, titled, wrapped};
use crate::format;
use crate::survey::{Direction, PolicyCosts, Statistic, Survey, SurveyPolicy, drive_changes};
use comfy_table::CellAlignment;

/// What the tables of latency show.
const SHOWN: [Statistic; 2] = [Statistic::Percentile(99.0), Statistic::Percentile(99.9)];

/// The whole survey as text.
#[must_use]
pub fn render(survey: &Survey) -> String {
    let mut text = heading(survey);
    for workload in &survey.workloads {
        let title = format!("{}: {}", workload.name, workload.description);
        push_section(&mut text, &latency(survey, &workload.name, &title));
        for note in &workload.notes {
            text += &wrapped("  ", note);
        }
    }
    push_section(&mut text, &over_workloads(survey));
    push_section(&mut text, &costs(survey));
    push_section(&mut text, &footnotes(survey));
    text
}

fn heading(survey: &Survey) -> String {
    let seeds = survey.seeds.join(", ");
    let lines = [("drive", &survey.drive), ("array", &survey.array), ("seeds", &seeds)];
    let mut text = format!("{}\n", survey.title);
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("  {name:<9} {value}\n");
    }
    for note in &survey.notes {
        text += &format!("  note      {note}\n");
    }
    text
}

/// The policies that could be run.
fn ran(survey: &Survey) -> impl Iterator<Item = &SurveyPolicy> {
    survey.policies.iter().filter(|policy| !policy.level.is_empty())
}

/// Read latency of each policy under one workload.
fn latency(survey: &Survey, workload: &str, title: &str) -> String {
    let mut header = vec!["policy".to_owned()];
    for statistic in SHOWN {
        header.extend([statistic.name(), "spread".to_owned(), "× Ideal".to_owned()]);
    }
    let rows: Vec<Vec<String>> =
        ran(survey)
            .map(|policy| {
                let mut row = vec![policy.label.clone()];
                for statistic in SHOWN {
                    let read = Direction::Read;
                    let spread = survey.spread(&policy.name, workload, read, statistic);
                    let ratio = survey.of_ideal(&policy.name, workload, read, statistic);
                    row.push(spread.map_or("-".to_owned(), |spread| {
                        let mark = if spread.has_few_samples { "~" } else { "" };
                        format!("{}{mark}", format::latency(spread.median_us))
                    }));
                    let half_width = spread.and_then(|spread| spread.half_width_percent());
                    row.push(half_width.map_or("-".to_owned(), |percent| {
                        format!("± {}", format::percent(percent))
                    }));
                    row.push(ratio.map_or("-".to_owned(), format::ratio));
                }
                row
            })
            .collect();
    numbers(title, &header, rows, 0)
}

/// The ratio to Ideal over all workloads, and the largest.
fn over_workloads(survey: &Survey) -> String {
    if survey.workloads.len() < 2 {
        return String::new();
    }
    let mut header = vec!["policy".to_owned()];
    for statistic in SHOWN {
        header.extend([statistic.name(), "worst".to_owned()]);
    }
    let rows: Vec<Vec<String>> = ran(survey)
        .filter_map(|policy| {
            let mut row = vec![policy.label.clone()];
            for statistic in SHOWN {
                let (mean, largest) = survey.over_workloads(&policy.name, statistic)?;
                row.extend([mean, largest].map(format::ratio));
            }
            Some(row)
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let title = "Read latency, × Ideal: geometric mean over the workloads, and the worst of them";
    numbers(title, &header, rows, 0)
}

/// What each policy costs.
#[must_use]
pub fn costs(survey: &Survey) -> String {
    let columns = crate::survey::columns(&survey.costs);
    let mut header = vec!["policy".to_owned()];
    header.extend(columns.iter().map(|column| column.name.clone()));
    header.push("changes of the drives".to_owned());
    let row = |costs: &PolicyCosts| {
        let mut row = vec![label(survey, &costs.policy)];
        row.extend(columns.iter().map(|column| column.cell(costs)));
        row.push(drive_changes(costs).to_owned());
        row
    };
    let rows: Vec<Vec<String>> = survey.costs.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = numbers("What each policy costs", &header, rows, 1);
    for column in &columns {
        text += &wrapped("  ", &format!("{}: {}", column.name, column.meaning));
    }
    text
}

fn label(survey: &Survey, name: &str) -> String {
    let policy = survey.policies.iter().find(|policy| policy.name == name);
    policy.map_or_else(|| name.to_owned(), |policy| policy.label.clone())
}

/// A table of one column of names, numbers, and `words` columns of words.
fn numbers(title: &str, header: &[String], rows: Vec<Vec<String>>, words: usize) -> String {
    let mut table = plain(header);
    table.add_rows(rows);
    let of_numbers = header.len() - 1 - words;
    for column in table.column_iter_mut().skip(1).take(of_numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    titled(title, &table)
}

/// What the marks mean, what was left out, and what failed.
fn footnotes(survey: &Survey) -> String {
    let mut text = String::new();
    if survey.seeds.len() > 1 {
        text += "Latencies are medians over the seeds; spread: half the distance from the lowest to \
                 the highest.\n";
    }
    let shown = || {
        ran(survey).flat_map(|policy| {
            survey.workloads.iter().flat_map(move |workload| {
                let read = Direction::Read;
                SHOWN.into_iter().filter_map(move |statistic| {
                    survey.spread(&policy.name, &workload.name, read, statistic)
                })
            })
        })
    };
    if shown().any(|spread| spread.is_interval) {
        text += "Spread: half the interval in which a percentile lies with 95 %, as the blocks of its run \
                 vary.\n";
    }
    if shown().any(|spread| spread.has_few_samples) {
        text += "~ fewer than 100 samples lie beyond this percentile with some seed\n";
    }
    text += &firmware_mark(survey.policies.iter().map(|policy| policy.label.as_str()));
    for policy in survey.policies.iter().filter(|policy| !policy.refused.is_empty()) {
        text += &wrapped("- ", &format!("{} was not run: {}", policy.label, policy.refused));
    }
    let standard = survey.policies.first().map(|first| first.level.clone());
    for policy in ran(survey) {
        if Some(&policy.level) != standard.as_ref() {
            let line = format!("{} ran on {} of the same drives", policy.label, policy.level);
            text += &wrapped("- ", &line);
        }
    }
    for failure in survey.failures() {
        text += &wrapped("! ", &format!("failed: {failure}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_survey_of_an_invented_array() {
        insta::assert_snapshot!(render(&crate::sample::survey()));
    }

    #[test]
    fn an_empty_survey_is_no_error() {
        assert!(render(&Survey::default()).trim().is_empty());
    }
}
