//! What came of it, as text.

use super::trial::{Failed, Shortest};
use super::work::Sum;
use crate::table;
use array::Level;
use sim::torture::{Coverage, Demands, Event, State};
use std::fmt::Write;

/// All that is printed.
pub(super) struct Shown {
    /// What was done.
    pub(super) title: String,
    pub(super) sum: Sum,
    /// How long it took.
    pub(super) seconds: f64,
    /// Levels of which everything that is possible should have been met; none if that is not asked.
    pub(super) levels: Vec<Level>,
    pub(super) demands: Demands,
    /// The one history that is to be told.
    pub(super) story: Option<Vec<String>>,
    /// The first failure.
    pub(super) shortest: Option<Shortest>,
}

impl Shown {
    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(story) = &self.story {
            text.extend(story.iter().map(|line| format!("{line}\n")));
            text += "\n";
        }
        text += &self.totals();
        text += "\nEvents by the state of the array that they met:\n\n";
        text += &coverage(&self.sum.coverage);
        if !self.levels.is_empty() {
            let never = self.never_met();
            let never: Vec<String> =
                never.iter().map(|(event, state)| pair(*event, *state)).collect();
            text += "\n";
            text += &match never.is_empty() {
                true => "every pair that is possible was met\n".to_owned(),
                false => {
                    table::paragraph(&format!("possible, but never met: {}", never.join("; ")), 0)
                }
            };
        }
        text += &self.failures();
        text
    }

    fn totals(&self) -> String {
        let Sum { histories, counts, .. } = &self.sum;
        let rows = [
            ("histories", *histories),
            ("requests", counts.requests),
            ("power cuts", counts.cuts),
            ("power cuts on copies of the disks", counts.looks),
            ("faults of drives", counts.faults),
            ("orders", counts.orders),
            ("sectors compared", counts.sectors),
            ("journal records replayed", counts.replayed),
            ("power cuts during the creation", counts.cut_creations),
            ("power cuts while a drive was formatted", counts.cut_formats),
            ("rebuilds that went on after a start", counts.resumed),
            ("drives that were taken back", counts.returned),
            ("histories failed", self.failures_count()),
        ];
        let rows: Vec<Vec<String>> = rows
            .into_iter()
            .map(|(what, count)| vec![what.to_owned(), count.to_string()])
            .collect();
        let mut text = format!("{}\n\n", self.title);
        text += &table::numbers(&table::header(&["", "count"]), &rows);
        // A fact about this machine: writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nin {:.1} s, {:.1} histories per second",
            self.seconds,
            *histories as f64 / self.seconds
        );
        text
    }

    pub(super) fn failures_count(&self) -> u64 {
        self.sum.failed.iter().map(|failed| 1 + failed.more).sum()
    }

    pub(super) fn never_met(&self) -> Vec<(Event, State)> {
        self.sum.coverage.never_met(&self.levels)
    }

    fn failures(&self) -> String {
        let mut text = String::new();
        for failed in &self.sum.failed {
            let Failed { subject, wrong, more, .. } = failed;
            let shape = subject.history().shape;
            let more = match more {
                0 => String::new(),
                more => format!(" (and at {more} later commands)"),
            };
            text += &format!("\n{subject} ({shape}): {wrong}{more}\n");
            text += &format!("  repeat with: {}\n", subject.repeat(self.demands));
        }
        if let Some(Shortest { subject, steps_before, steps, story }) = &self.shortest {
            text += &format!("\n{subject}, {steps} of {steps_before} steps:\n");
            text.extend(story.iter().map(|line| format!("  {line}\n")));
        }
        text
    }
}

pub(super) fn pairs() -> impl Iterator<Item = (Event, State)> {
    Event::ALL.into_iter().flat_map(|event| State::ALL.map(|state| (event, state)))
}

fn pair(event: Event, state: State) -> String {
    format!("{} while {}", event.name(), state.name())
}

fn coverage(coverage: &Coverage) -> String {
    let mut header = vec![String::new()];
    header.extend(State::ALL.map(|state| state.name().to_owned()));
    let rows: Vec<Vec<String>> = Event::ALL
        .into_iter()
        .map(|event| {
            let cells = State::ALL.map(|state| match coverage.met(event, state) {
                0 => "-".to_owned(),
                met => met.to_string(),
            });
            [event.name().to_owned()].into_iter().chain(cells).collect()
        })
        .collect();
    table::numbers(&header, &rows)
}
