//! Ratios with their intervals.

use super::{by_name, wrapped};
use crate::Run;
use crate::intervals::{self, Ratios};

/// Ratios side by side in one table: with their intervals they are wide.
const RATIOS_ABREAST: usize = 4;

/// A table for each run that others are compared with, and what is to be said of them.
pub(super) fn render(runs: &[Run]) -> Vec<String> {
    let mut sections = Vec::new();
    for Ratios { to, names, rows } in intervals::tables(runs) {
        for rows in rows.chunks(RATIOS_ABREAST) {
            let runs: Vec<&str> = rows.iter().map(|(run, _)| run.as_str()).collect();
            let lines = names.iter().enumerate().map(|(index, name)| {
                (name.clone(), rows.iter().map(|(_, cells)| cells[index].text()).collect())
            });
            let title =
                format!("Read latency as a multiple of that under {to}, with 95 % intervals");
            sections.push(by_name(&title, &runs, lines.collect()));
        }
    }
    let reasons = intervals::reasons(runs);
    if !reasons.is_empty() {
        sections.push(reasons.iter().map(|reason| wrapped("~ ", reason)).collect());
    }
    sections
}
