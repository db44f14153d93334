//! The report for the terminal: plain text, readable without colour.
//!
//! Every table has one column per policy and one row per number, so six policies fit in a
//! hundred columns; more policies continue in further tables below.

mod causes;
mod claims;
mod costs;
mod fit;
mod intervals;
mod latency;
mod survey;
mod sweep;

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};

use crate::layouts::layouts;
use crate::{Comparison, FIRMWARE_MARK, Run, Weight, findings};

pub use fit::{curve as render_curve, render as render_fit};
pub use survey::{costs as render_costs, render as render_survey};
pub use sweep::render as render_sweep;

/// Policies side by side in one table.
const POLICIES_ABREAST: usize = 6;

/// Widest line where we choose where it breaks.
const WIDTH: u16 = 100;

/// What the rows of write amplification are.
const WAF: &str = "WAF, write amplification: pages of flash that the drives programmed, parity and copies included, \
    per page that the array wrote to them (WAF, drives) or that the host wrote to the array (WAF, array)";

/// The whole report as text.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let mut text = heading(comparison);
    for runs in comparison.runs.chunks(POLICIES_ABREAST) {
        let sections = [
            latency::reads(comparison, runs),
            latency::writes(comparison, runs),
            latency::of_hosts(runs),
            causes::render(runs),
            costs::busy(runs),
            costs::render(runs),
        ];
        for section in sections {
            push_section(&mut text, &section);
        }
    }
    for section in intervals::render(&comparison.runs) {
        push_section(&mut text, &section);
    }
    push_section(&mut text, &claims::render(&comparison.claims));
    push_section(&mut text, &footnotes(comparison));
    push_section(&mut text, &sentences(comparison));
    text
}

fn heading(comparison: &Comparison) -> String {
    let manifest = &comparison.manifest;
    let mut text = format!("{}\n", comparison.title);
    let lines = [
        ("workload", &manifest.workload),
        ("replayed", &manifest.replayed),
        ("drive", &manifest.drive),
        ("array", &manifest.array),
        ("seed", &manifest.seed),
    ];
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("  {name:<9} {value}\n");
    }
    for (layout, runs) in layouts(&comparison.runs) {
        text += &format!("  {:<9} {layout}\n", runs.join(", "));
    }
    for note in &manifest.notes {
        text += &format!("  note      {note}\n");
    }
    text
}

fn footnotes(comparison: &Comparison) -> String {
    let few = comparison
        .runs
        .iter()
        .flat_map(|run| run.read.percentiles.iter().chain(&run.write.percentiles))
        .any(crate::Percentile::has_few_samples);
    let mut text = String::new();
    if few {
        text += "~ fewer than 100 samples lie beyond this percentile\n";
    }
    text += &firmware_mark(comparison.runs.iter().map(Run::name));
    if comparison.runs.iter().any(|run| !run.drives.is_empty()) {
        text += &wrapped("", WAF);
    }
    text
}

/// The meaning of the mark for firmware, if one of `labels` has it.
fn firmware_mark<'a>(mut labels: impl Iterator<Item = &'a str>) -> String {
    match labels.any(|label| label.ends_with(FIRMWARE_MARK)) {
        true => {
            format!("{FIRMWARE_MARK} needs firmware that the drive on sale lacks: see the note\n")
        }
        false => String::new(),
    }
}

fn sentences(comparison: &Comparison) -> String {
    findings(comparison)
        .iter()
        .map(|finding| match finding.weight {
            Weight::Result => wrapped("* ", &finding.text),
            Weight::Warning => wrapped("! ", &finding.text),
        })
        .collect()
}

fn push_section(text: &mut String, section: &str) {
    if !section.is_empty() {
        text.push('\n');
        text.push_str(section);
    }
}

/// A table under a title, whose first column names the rows and whose others belong to `runs`.
fn by_policy(title: &str, runs: &[Run], rows: Vec<(String, Vec<String>)>) -> String {
    let names: Vec<&str> = runs.iter().map(Run::name).collect();
    by_name(title, &names, rows)
}

/// The same for columns of these names.
fn by_name(title: &str, names: &[&str], rows: Vec<(String, Vec<String>)>) -> String {
    let mut header = vec![String::new()];
    header.extend(names.iter().map(|&name| name.to_owned()));
    let mut table = plain(&header);
    for (name, cells) in rows {
        table.add_row(std::iter::once(name).chain(cells));
    }
    let widest = table.column_max_content_widths().into_iter().skip(1).max().unwrap_or(0);
    let left = u16::from(widest < 12);
    // Cells wide enough to part themselves need no further blank.
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((left, left));
    }
    titled(title, &table)
}

/// An empty table with rules only above and below the rows.
fn plain(header: &[String]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(comfy_table::presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table
}

/// The title above the table, without blanks at the ends of lines.
fn titled(title: &str, table: &Table) -> String {
    format!("{title}\n{}", lines(table))
}

/// The table without blanks at the ends of lines.
fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// `text` in lines of at most [`WIDTH`] characters, the first of which starts with `bullet`.
fn wrapped(bullet: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = bullet.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() > usize::from(WIDTH) {
            lines += line.trim_end();
            lines.push('\n');
            line = " ".repeat(bullet.len());
        }
        line += word;
        line.push(' ');
    }
    lines += line.trim_end();
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_six_policies() {
        insta::assert_snapshot!(render(&crate::sample::comparison()));
    }

    #[test]
    fn one_run_without_an_ideal_one() {
        let mut comparison = crate::sample::comparison();
        comparison.runs.truncate(1);
        comparison.claims.clear();
        insta::assert_snapshot!(render(&comparison));
    }

    #[test]
    fn six_policies_fit_in_a_hundred_columns() {
        for line in render(&crate::sample::comparison()).lines() {
            assert!(line.chars().count() <= usize::from(WIDTH), "{line}");
        }
    }

    #[test]
    fn an_empty_comparison_is_no_error() {
        assert!(render(&Comparison::default()).trim().is_empty());
    }
}
