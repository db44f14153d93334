//! Statements of papers and their verdicts, for a terminal and as a page in Markdown.

use crate::{markdown, wrap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict on a statement.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StatementVerdict {
    /// All its claims hold.
    Holds,
    /// Ours is better than the paper's number, in the direction that the paper calls better.
    HoldsMore,
    /// A quantity that the paper does not give decides: the statement is true at one end of a range
    /// and false at the other.
    Missing,
    /// The paper's numbers exclude each other.
    Contradiction,
    /// The mechanism that the paper names does not have this effect: shown with and without it.
    Refuted,
    /// Nothing is shown yet.
    #[default]
    Open,
}

impl StatementVerdict {
    /// All verdicts, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::Holds,
        Self::HoldsMore,
        Self::Missing,
        Self::Contradiction,
        Self::Refuted,
        Self::Open,
    ];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsMore => "holds more",
            Self::Missing => "missing",
            Self::Contradiction => "contradiction",
            Self::Refuted => "refuted",
            Self::Open => "open",
        }
    }
}

/// A claim beside its statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementClaim {
    /// Name of the claim.
    pub id: String,
    /// Limits of the claim, in words.
    pub limit: String,
    /// Our number.
    pub ours: String,
    /// Whether the claim holds.
    pub holds: bool,
}

/// One thing that a paper says, and its verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// Short and stable name.
    pub id: String,
    /// Section and figure of the paper.
    pub section: String,
    /// Words of the paper.
    pub words: String,
    /// The verdict.
    pub verdict: StatementVerdict,
    /// The claims that say the same in numbers.
    pub claims: Vec<StatementClaim>,
    /// The claims that show why it does not hold; empty for a statement that holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<StatementClaim>,
    /// The quantity that the paper lacks, the numbers that exclude each other, or the mechanism;
    /// empty for a statement that holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// The reason, in sentences; empty for a statement that holds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// The statements of one paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperStatements {
    /// Title of the paper.
    pub title: String,
    /// Its statements.
    pub statements: Vec<Statement>,
}

impl PaperStatements {
    /// Number of statements with a verdict.
    #[must_use]
    pub fn count(&self, verdict: StatementVerdict) -> usize {
        self.statements.iter().filter(|statement| statement.verdict == verdict).count()
    }
}

/// The heading of [`rows`].
#[must_use]
pub fn heading() -> Vec<&'static str> {
    let verdicts = StatementVerdict::ALL.map(StatementVerdict::name);
    ["paper", "statements"].into_iter().chain(verdicts).collect()
}

/// A row per paper and one for all: the number of statements, and of those with each verdict.
#[must_use]
pub fn rows(papers: &[PaperStatements]) -> Vec<Vec<String>> {
    let row = |title: &str, papers: &[PaperStatements]| -> Vec<String> {
        let all: usize = papers.iter().map(|paper| paper.statements.len()).sum();
        let of = |verdict| papers.iter().map(|paper| paper.count(verdict)).sum();
        let each: [usize; 6] = StatementVerdict::ALL.map(of);
        let numbers = std::iter::once(all).chain(each).map(|number| number.to_string());
        std::iter::once(title.to_owned()).chain(numbers).collect()
    };
    let one = |paper: &PaperStatements| row(&paper.title, std::slice::from_ref(paper));
    let mut rows: Vec<Vec<String>> = papers.iter().map(one).collect();
    if papers.len() > 1 {
        rows.push(row("all", papers));
    }
    rows
}

/// Columns of [`page`].
const COLUMNS: usize = 120;
/// Characters of a number and its limit that are short enough for [`page`]; others are in the JSON.
const SHORT: usize = 24;
/// Claims that an entry names of those that miss, and of those that meet.
const MOST: usize = 4;

/// What stands above the table of [`page`].
const OPENING: &str = "\
# Statements of the papers

A statement is one thing that a paper says. Claims say the same in numbers, with limits that were fixed before the run,
and `ioda reproduce` judges them. A statement holds if all its claims hold. Every other statement has a verdict and the
claims that show it:

- **holds more**: ours is better than the paper's number, in the paper's direction.
- **missing**: the paper lacks a quantity. The statement is true at one end of the range that was tried, and false at
  the other.
- **contradiction**: numbers of the paper exclude each other. Where one is true, the other is false.
- **refuted**: runs with and without the mechanism show that it does not have this effect.
- **open**: nothing is shown yet.

`ioda reproduce --list` lists the claims, and `experiments/limits.txt` their limits. Applications are in
`docs/laboratory.md`. `ioda reproduce --statements docs/claims.md` writes this page.

";

/// What stands above the table of [`laboratory_page`].
const OPENING_OF_LABORATORY: &str = "\
# Statements about applications

`ioda reproduce lab` judges the statements of the papers about applications. `docs/claims.md` says what a verdict is, and
`docs/laboratory.md` has the runs. `ioda reproduce lab --statements docs/laboratory-claims.md` writes this page.

";

/// Statements and verdicts as a page in Markdown: a table of counts, and an entry for each statement
/// that does not hold.
#[must_use]
pub fn page(papers: &[PaperStatements]) -> String {
    OPENING.to_owned() + &body(papers)
}

/// The same of statements that the laboratory shows.
#[must_use]
pub fn laboratory_page(papers: &[PaperStatements]) -> String {
    OPENING_OF_LABORATORY.to_owned() + &body(papers)
}

fn body(papers: &[PaperStatements]) -> String {
    let mut text = String::new();
    let heading: Vec<String> = heading().into_iter().map(str::to_owned).collect();
    text += &markdown::table(&heading, &rows(papers));
    for paper in papers {
        let mut settled =
            paper.statements.iter().filter(|one| one.verdict != StatementVerdict::Holds).peekable();
        if settled.peek().is_some() {
            text += &format!("\n## {}\n\n", paper.title);
        }
        text.extend(settled.map(entry));
    }
    text
}

/// One statement that does not hold.
fn entry(statement: &Statement) -> String {
    let Statement { id, section, verdict, claims, evidence, subject, because, .. } = statement;
    let claim = |StatementClaim { id, limit, ours, .. }: &StatementClaim| {
        let number = ours.split(" [").next().unwrap_or_default();
        match number.len() <= SHORT && limit.len() <= SHORT {
            true => format!("`{id}` ({number}, asked: {limit})"),
            false => format!("`{id}`"),
        }
    };
    let failed = claims.iter().filter(|claim| !claim.holds);
    let (shown, more): (Vec<_>, Vec<_>) = evidence.iter().partition(|claim| claim.holds);
    let is_new = |one: &&StatementClaim| claims.iter().all(|claim| claim.id != one.id);
    let list = |claims: &[&StatementClaim]| {
        let few = if claims.len() > MOST { &claims[..MOST - 1] } else { claims };
        let mut names: Vec<String> = few.iter().map(|one| claim(one)).collect();
        if few.len() < claims.len() {
            names.push(format!("{} more", claims.len() - few.len()));
        }
        names.join(", ")
    };
    let not: Vec<&StatementClaim> = failed.chain(more.into_iter().filter(is_new)).collect();
    let mut text = format!("**{id}** ({section}), {}", verdict.name());
    if !subject.is_empty() {
        text += &format!(": *{subject}*");
    }
    text += &format!(". Misses: {}", list(&not));
    if !shown.is_empty() {
        text += &format!("; meets: {}", list(&shown));
    }
    text += &format!(". {because}");
    wrap::wrapped("- ", text.trim_end(), 2, COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper(verdicts: &[StatementVerdict]) -> PaperStatements {
        let statement = |(number, &verdict): (usize, &StatementVerdict)| Statement {
            id: format!("statement-{number}"),
            words: "\"faster\"".to_owned(),
            section: "§1".to_owned(),
            verdict,
            subject: "the load".to_owned(),
            because: "The paper does not give it.".to_owned(),
            claims: vec![StatementClaim {
                id: "a-claim".to_owned(),
                limit: "at most 2 times".to_owned(),
                ours: "3 ×".to_owned(),
                holds: verdict == StatementVerdict::Holds,
            }],
            ..Statement::default()
        };
        let statements = verdicts.iter().enumerate().map(statement).collect();
        PaperStatements { title: "A paper".to_owned(), statements }
    }

    #[test]
    fn papers_are_counted_by_verdict_and_together() {
        use StatementVerdict::{Holds, Missing, Open};
        let papers = [paper(&[Holds, Missing]), paper(&[Holds, Open])];
        let rows = rows(&papers);
        assert_eq!(rows[0], ["A paper", "2", "1", "0", "1", "0", "0", "0"]);
        assert_eq!(rows[2], ["all", "4", "2", "0", "1", "0", "0", "1"]);
        assert_eq!(super::rows(&papers[..1]).len(), 1);
    }

    #[test]
    fn a_page_explains_what_does_not_hold() {
        use StatementVerdict::{Holds, Missing};
        let page = page(&[paper(&[Holds, Missing])]);
        let entry = "- **statement-1** (§1), missing: *the load*. Misses: `a-claim` (3 ×, asked: at most 2 \
            times). The paper does not give it.";
        let words: Vec<&str> = page.split_whitespace().collect();
        assert!(words.join(" ").ends_with(entry), "{page}");
        assert!(!page.contains("statement-0"));
        assert!(page.lines().all(|line| line.chars().count() <= COLUMNS));
    }
}
