//! Plain tables for the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};

/// A table with a rule below its header; the first column is text, the others are numbers.
pub fn numbers(header: &[String], rows: &[Vec<String>]) -> String {
    numbers_between(header, rows, 1, 0)
}

/// The same with so many columns of text before and after the numbers.
pub fn numbers_between(
    header: &[String],
    rows: &[Vec<String>],
    before: usize,
    after: usize,
) -> String {
    let mut table = plain(header, rows);
    let columns = header.len().saturating_sub(before + after);
    for column in table.column_iter_mut().skip(before).take(columns) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines(&table)
}

fn plain(header: &[String], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(comfy_table::presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table.add_rows(rows);
    table
}

/// The lines without blanks at their ends.
fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Text wrapped to a hundred characters, indented by `indent` and its later lines by twice that.
pub fn paragraph(text: &str, indent: usize) -> String {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let length = lines.last().map_or(0, |line| line.chars().count());
        if length + word.chars().count() >= 100 {
            lines.push(" ".repeat(indent * 2));
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
            line.push(' ');
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Strings from string slices, for headers.
pub fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
