//! What was found, as text.

use super::Found;
use super::hunt::{Hunt, Run};
use std::collections::BTreeSet;
use std::fmt::Write;
use study::table;

/// All that is printed.
pub(super) struct Shown {
    pub(super) hunt: Hunt,
    /// What came of each bug, in the order of the hunt.
    pub(super) found: Vec<Found>,
    /// How long it took.
    pub(super) seconds: f64,
}

/// What stands for a number of histories that there is not.
const NEVER: &str = "never";

impl Shown {
    /// What was done, in a line.
    pub(super) fn title(&self) -> String {
        let Hunt { most, steps, .. } = self.hunt;
        format!(
            "planted bugs: histories of {steps} steps until each is found, at most {most} from each seed"
        )
    }

    /// Seeds of histories that fail without a bug as well.
    pub(super) fn fail_anyway(&self) -> BTreeSet<u64> {
        let runs = self.found.iter().flat_map(|found| &found.runs);
        runs.flat_map(|run| run.fail_anyway.iter().copied()).collect()
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let mut header = table::header(&["bug", "kind"]);
        let runs = 0..super::RUNS;
        header.extend(runs.map(|run| format!("seed {}", self.hunt.seed(run))));
        header.extend(table::header(&["median", "processor s"]));
        let rows: Vec<Vec<String>> = self.found.iter().map(row).collect();
        let mut text = format!("{}\n\n", self.title());
        text += &table::numbers_between(&header, &rows, 2, 0);
        let all = self.found.len();
        let count = self.found.iter().filter(|found| found.median().is_some()).count();
        // A fact about this machine: writing to a string cannot fail.
        let _ = writeln!(text, "\n{count} of {all} found in the median, in {:.1} s", self.seconds);
        for seed in self.fail_anyway() {
            text += &format!(
                "\nThe history of seed {seed} fails without a bug as well, and says nothing of any.\n"
            );
        }
        for found in self.found.iter().filter(|found| found.median().is_none()) {
            let about = found.bug.about();
            let why = match found.reached() {
                0 => "No history reached it.".to_owned(),
                reached => format!("It was reached {reached} times and not noticed."),
            };
            text += "\n";
            text += &table::paragraph(&format!("{}: {} {why}", about.name, about.sentence), 0);
        }
        text
    }
}

fn row(found: &Found) -> Vec<String> {
    let about = found.bug.about();
    let cell = |run: &Run| match (run.needed, run.reached) {
        (Some(needed), _) => needed.to_string(),
        (None, 0) => "not reached".to_owned(),
        (None, _) => NEVER.to_owned(),
    };
    let mut row = vec![about.name.to_owned(), about.kind.name().to_owned()];
    row.extend(found.runs.iter().map(cell));
    row.push(found.median().map_or_else(|| NEVER.to_owned(), |median| median.to_string()));
    row.push(format!("{:.1}", found.processor_seconds()));
    row
}
