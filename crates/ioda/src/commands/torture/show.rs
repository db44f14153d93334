//! What came of it, as text.

use super::document::Added;
use super::state::Kept;
use super::trial::{Failed, Shortest};
use super::work::{Part, Sum};
use array::Level;
use sim::torture::{ArrayState, Coverage, Demands, Event, Transition};
use std::fmt::Write;
use study::table;

/// All that is printed.
pub(super) struct Shown {
    /// What was done.
    pub(super) title: String,
    pub(super) sum: Sum,
    /// Histories of this run.
    pub(super) histories: u64,
    /// How long it took.
    pub(super) seconds: f64,
    /// Levels of which everything that is possible should have been met; none if that is not asked.
    pub(super) levels: Vec<Level>,
    pub(super) demands: Demands,
    /// The one history that is to be told.
    pub(super) story: Option<Vec<String>>,
    /// The first failure.
    pub(super) shortest: Option<Shortest>,
    /// Failures of earlier runs.
    pub(super) failures_before: Vec<Kept>,
    /// The file in which counts are added up, the runs that have added to it, and its next seed.
    pub(super) state: Option<(String, u64, u64)>,
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
        text += &coverage(&self.sum.total().coverage);
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
        text += "\nTransitions within arrays, starts on copies of the disks included:\n\n";
        text += &self.transitions();
        if !self.levels.is_empty() {
            let never: Vec<&str> = self.never_made().into_iter().map(Transition::name).collect();
            text += "\n";
            text += &match never.is_empty() {
                true => "every transition that is possible was made\n".to_owned(),
                false => {
                    table::paragraph(&format!("possible, but never made: {}", never.join("; ")), 0)
                }
            };
        }
        text += &self.failures();
        text
    }

    fn transitions(&self) -> String {
        let total = self.sum.total();
        let rows: Vec<Vec<String>> = Transition::ALL
            .into_iter()
            .map(|transition| {
                let made = total.coverage.made(transition);
                let share = 100.0 * made.histories as f64 / total.histories.max(1) as f64;
                vec![transition.name().to_owned(), made.times.to_string(), format!("{share:.1} %")]
            })
            .collect();
        table::numbers(&table::header(&["", "times", "of histories"]), &rows)
    }

    /// A row for each level that was met.
    fn levels(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .levels_met()
            .map(|(level, part)| {
                vec![
                    level.name().to_owned(),
                    part.histories.to_string(),
                    part.steps.to_string(),
                    format!("{:.1}", part.processor.as_secs_f64()),
                ]
            })
            .collect();
        table::numbers(&table::header(&["", "histories", "steps", "processor seconds"]), &rows)
    }

    pub(super) fn levels_met(&self) -> impl Iterator<Item = (Level, &Part)> {
        let parts = Level::ALL.into_iter().map(|level| (level, self.sum.part(level)));
        parts.filter(|(_, part)| part.histories > 0)
    }

    pub(super) fn added(&self) -> Option<Added> {
        let (file, runs, next_seed) = self.state.clone()?;
        Some(Added { file, runs, next_seed })
    }

    fn totals(&self) -> String {
        let Part { histories, steps, counts, .. } = self.sum.total();
        let rows = [
            ("histories", histories),
            ("steps", steps),
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
            self.histories as f64 / self.seconds
        );
        if let Some((file, runs, next)) = &self.state {
            let _ = writeln!(text, "added up in {file} by {runs} runs; the next seed is {next}");
        }
        text += "\n";
        text += &self.levels();
        text
    }

    pub(super) fn failures_count(&self) -> u64 {
        let before = self.failures_before.len() as u64;
        before + self.sum.failed.iter().map(|failed| 1 + failed.more).sum::<u64>()
    }

    pub(super) fn never_made(&self) -> Vec<Transition> {
        self.sum.total().coverage.never_made(&self.levels)
    }

    pub(super) fn never_met(&self) -> Vec<(Event, ArrayState)> {
        self.sum.total().coverage.never_met(&self.levels)
    }

    fn failures(&self) -> String {
        let mut text = String::new();
        for Kept { history, array, failure, repeat } in &self.failures_before {
            text += &format!("\n{history} ({array}), in an earlier run: {failure}\n");
            text += &format!("  repeat with: {repeat}\n");
        }
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

pub(super) fn pairs() -> impl Iterator<Item = (Event, ArrayState)> {
    Event::ALL.into_iter().flat_map(|event| ArrayState::ALL.map(|state| (event, state)))
}

fn pair(event: Event, state: ArrayState) -> String {
    format!("{} while {}", event.name(), state.name())
}

fn coverage(coverage: &Coverage) -> String {
    let mut header = vec![String::new()];
    header.extend(ArrayState::ALL.map(|state| state.name().to_owned()));
    let rows: Vec<Vec<String>> = Event::ALL
        .into_iter()
        .map(|event| {
            let cells = ArrayState::ALL.map(|state| match coverage.met(event, state) {
                0 => "-".to_owned(),
                met => met.to_string(),
            });
            [event.name().to_owned()].into_iter().chain(cells).collect()
        })
        .collect();
    table::numbers(&header, &rows)
}
