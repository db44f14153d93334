//! Tables in Markdown.

/// A table with the cells of its rows as they are.
pub(crate) fn table(heading: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(heading.len()));
    let rows = rows.iter().map(|cells| line(cells));
    std::iter::once(line(heading)).chain(std::iter::once(rule)).chain(rows).collect()
}
