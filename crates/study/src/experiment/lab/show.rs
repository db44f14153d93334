//! Tables for people.

use super::Experiment;
use crate::experiment::figure::verdicts;
use crate::experiment::number::Number;
use crate::metric::three_digits;
use crate::table;
use report::lab::{LabApplication, LabExperiment, LabMeasured, Second, Unjudged};

/// What one of our policies is compared with.
const RATIOS: [(&str, &str, &str); 2] =
    [("ioda", "base", "IODA / Base"), ("ioda", "ideal", "IODA / Ideal")];

/// The tables of `experiment` and what became of its claims.
pub fn text(experiment: &Experiment, judged: &LabExperiment) -> String {
    let mut text = format!("{}: {}\n\n", judged.figure, judged.title);
    let numbers: Vec<Number> = experiment.shows.iter().map(|text| text.value).collect();
    let tables: Vec<String> =
        judged.applications.iter().map(|one| application(judged, one, &numbers)).collect();
    text += &tables.join("\n");
    text += &events(judged);
    text += &verdicts(&judged.claims);
    for Unjudged { id, why } in &judged.unjudged {
        text += &format!("\n{id}: cannot be judged: {why}\n");
    }
    text.push('\n');
    text
}

/// One application: a row for each number, a column for each system, and the ratios.
fn application(judged: &LabExperiment, one: &LabApplication, numbers: &[Number]) -> String {
    let value = |system: usize, number: Number| match number {
        Number::Laboratory(number) => number.of(one.measured(system)?),
        Number::Run(_) | Number::Plan(_) => None,
    };
    let ratios: Vec<(usize, usize, &str)> = RATIOS
        .into_iter()
        .filter_map(|(of, to, title)| Some((judged.system(of)?, judged.system(to)?, title)))
        .collect();
    let mut header = vec![one.name.clone()];
    header.extend(judged.systems.iter().map(|system| system.label.clone()));
    header.extend(ratios.iter().map(|(.., title)| (*title).to_owned()));
    let mut rows = Vec::new();
    for &number in numbers {
        let values: Vec<Option<f64>> =
            (0..judged.systems.len()).map(|system| value(system, number)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![number.to_string()];
        row.extend(
            values.iter().map(|value| value.map_or("-".to_owned(), |value| number.show(value))),
        );
        row.extend(ratios.iter().map(|&(of, to, _)| {
            let ratio = values[of].zip(values[to]).filter(|(_, to)| *to > 0.0);
            ratio.map_or("-".to_owned(), |(of, to)| three_digits(of / to))
        }));
        rows.push(row);
    }
    if rows.is_empty() {
        return format!("{}: no run has ended well\n", one.name);
    }
    table::numbers(&header, &rows)
}

/// What was done to the arrays, and when.
fn events(judged: &LabExperiment) -> String {
    let mut text = String::new();
    for one in &judged.applications {
        for (system, measured) in judged.systems.iter().zip(&one.runs) {
            let seconds = measured.measured.iter().flat_map(LabMeasured::seconds_of_it);
            let told =
                |second: &Second| Some(format!("{} s {}", second.second, second.event.as_ref()?));
            let told: Vec<String> = seconds.filter_map(told).collect();
            if !told.is_empty() {
                text += &format!("\n{} under {}: {}\n", one.name, system.label, told.join(", "));
            }
        }
    }
    text
}
