//! Numbers that others have published, each beside ours.

use crate::markdown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published numbers of one figure beside ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedTable {
    /// The figure.
    pub figure: String,
    /// The source of the published numbers.
    pub source: String,
    /// The series: policies, or variants.
    pub series: Vec<String>,
    /// One row for each workload and metric.
    pub rows: Vec<PublishedRow>,
}

/// A metric under one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    /// The workload.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// One pair for each series; null where nothing was published or measured.
    pub cells: Vec<Option<PublishedPair>>,
}

/// Our number and the published one. Latencies are in microseconds, other numbers in the unit of
/// their metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedPair {
    /// Our number.
    pub ours: f64,
    /// The published number.
    pub published: f64,
    /// Both with their units, ours first.
    pub text: String,
}

impl PublishedTable {
    /// The heading of [`PublishedTable::lines`].
    #[must_use]
    pub fn heading(&self) -> Vec<String> {
        let names = ["workload", "metric"].into_iter().map(str::to_owned);
        names.chain(self.series.iter().cloned()).collect()
    }

    /// The rows as text: in each cell our number, a stroke, and the published one.
    #[must_use]
    pub fn lines(&self) -> Vec<Vec<String>> {
        let cell = |cell: &Option<PublishedPair>| match cell {
            Some(pair) => pair.text.clone(),
            None => "-".to_owned(),
        };
        let line = |row: &PublishedRow| {
            let names = [row.workload.clone(), row.metric.clone()];
            names.into_iter().chain(row.cells.iter().map(cell)).collect()
        };
        self.rows.iter().map(line).collect()
    }
}

/// All tables as a page in Markdown.
#[must_use]
pub fn page(tables: &[PublishedTable]) -> String {
    let mut text = "# Published numbers beside ours\n".to_owned();
    for table in tables {
        text += &format!("\n## {}\n\nOurs / {}.\n\n", table.figure, table.source);
        text += &markdown::table(&table.heading(), &table.lines());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_ours_beside_the_published_number() {
        let pair = PublishedPair { ours: 1.0, published: 2.0, text: "1us / 2us".to_owned() };
        let table = PublishedTable {
            figure: "Figure 6".to_owned(),
            source: "the artifact".to_owned(),
            series: vec!["Base".to_owned(), "IODA".to_owned()],
            rows: vec![PublishedRow {
                workload: "azure".to_owned(),
                metric: "read.p99".to_owned(),
                cells: vec![Some(pair), None],
            }],
        };
        let page = page(&[table]);
        assert!(page.contains("\n## Figure 6\n\nOurs / the artifact.\n\n"), "{page}");
        assert!(page.ends_with(
            "| workload | metric | Base | IODA |\n|---|---|---|---|\n\
             | azure | read.p99 | 1us / 2us | - |\n"
        ));
    }
}
