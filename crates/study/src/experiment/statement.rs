//! Statements of papers: files that group claims by what a paper says, and settle those that do not
//! hold.

use crate::failure::Failure;
use crate::settings;
use crate::table;
use report::statements::{self, PaperStatements, StatementClaim, StatementVerdict};
use report::{Claim, Side};
use schemars::JsonSchema;
use serde::Deserialize;

/// The statements of this program, a file for each paper.
const BUILTIN: &[(&str, &str)] = &[
    ("ioda.toml", include_str!("../../experiments/statements/ioda.toml")),
    ("ttflash.toml", include_str!("../../experiments/statements/ttflash.toml")),
    ("degraded.toml", include_str!("../../experiments/statements/degraded.toml")),
    ("plmlight.toml", include_str!("../../experiments/statements/plmlight.toml")),
];

/// The statements of one paper.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Title of the paper.
    pub title: String,
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// One thing that a paper says.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Short and stable name.
    pub id: String,
    /// Section and figure of the paper.
    pub section: String,
    /// Words of the paper.
    pub words: String,
    /// The claims that say the same in numbers.
    pub claims: Vec<String>,
    /// Why it does not hold [default: it holds].
    pub settled: Option<Settled>,
}

/// Why a statement does not hold.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Settled {
    /// Ours is better than the paper's number.
    HoldsMore(Better),
    /// The paper lacks a quantity: `subject` has it, and the range that was tried.
    Missing(Shown),
    /// Numbers of the paper exclude each other: `subject` has them.
    Contradiction(Shown),
    /// The mechanism does not have this effect: `subject` names it.
    Refuted(Shown),
}

/// A number that is better than the paper's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Better {
    /// The direction in which numbers of the claims are better.
    pub better: Side,
    /// The reason, in sentences.
    pub because: String,
}

/// What claims show of a statement that does not hold.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The quantity, the numbers or the mechanism.
    pub subject: String,
    /// Claims that hold: where the statement is true.
    pub true_by: Vec<String>,
    /// Claims that do not hold: where it is false.
    pub false_by: Vec<String>,
    /// The reason, in sentences.
    pub because: String,
}

impl Settled {
    /// The verdict, if its claims show it.
    fn verdict(&self) -> StatementVerdict {
        match self {
            Self::HoldsMore(_) => StatementVerdict::HoldsMore,
            Self::Missing(_) => StatementVerdict::Missing,
            Self::Contradiction(_) => StatementVerdict::Contradiction,
            Self::Refuted(_) => StatementVerdict::Refuted,
        }
    }

    fn shown(&self) -> Option<&Shown> {
        match self {
            Self::HoldsMore(_) => None,
            Self::Missing(shown) | Self::Contradiction(shown) | Self::Refuted(shown) => Some(shown),
        }
    }

    fn because(&self) -> &str {
        match self {
            Self::HoldsMore(better) => &better.because,
            Self::Missing(shown) | Self::Contradiction(shown) | Self::Refuted(shown) => {
                &shown.because
            }
        }
    }

    /// Refuses a verdict without evidence.
    fn validate(&self) -> Result<(), String> {
        let name = self.verdict().name();
        if self.because().trim().is_empty() {
            return Err(format!("it is settled as {name}, but because is empty"));
        }
        let Some(Shown { subject, true_by, false_by, .. }) = self.shown() else { return Ok(()) };
        if subject.trim().is_empty() {
            return Err(format!("it is settled as {name}, but subject is empty"));
        }
        if true_by.is_empty() || false_by.is_empty() {
            return Err(format!(
                "it is settled as {name}, which needs claims that hold (true_by) and claims that do \
                 not (false_by)"
            ));
        }
        Ok(())
    }
}

impl Statement {
    /// The names of all claims that it needs.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        let shown = self.settled.as_ref().and_then(Settled::shown);
        let evidence =
            shown.into_iter().flat_map(|shown| shown.true_by.iter().chain(&shown.false_by));
        self.claims.iter().chain(evidence).map(String::as_str)
    }

    fn validate(&self) -> Result<(), String> {
        if self.words.trim().is_empty() {
            return Err("it has no words of the paper".to_owned());
        }
        if self.claims.is_empty() {
            return Err("it has no claims".to_owned());
        }
        self.settled.as_ref().map_or(Ok(()), Settled::validate)
    }

    /// Its verdict; `None` if a claim of it was not judged.
    fn judge(&self, claims: &[Claim]) -> Option<report::statements::Statement> {
        let find = |id: &String| claims.iter().find(|claim| claim.id == *id);
        let all = |ids: &[String]| ids.iter().map(find).collect::<Option<Vec<&Claim>>>();
        let own = all(&self.claims)?;
        let holds = own.iter().all(|claim| claim.holds);
        let mut judged = report::statements::Statement {
            id: self.id.clone(),
            section: self.section.clone(),
            words: self.words.clone(),
            verdict: if holds { StatementVerdict::Holds } else { StatementVerdict::Open },
            claims: own.iter().map(|claim| beside(claim)).collect(),
            ..report::statements::Statement::default()
        };
        let (Some(settled), false) = (&self.settled, holds) else { return Some(judged) };
        let is_shown = match settled {
            Settled::HoldsMore(Better { better, .. }) => {
                own.iter().all(|claim| claim.holds || claim.misses == Some(*better))
            }
            Settled::Missing(shown) | Settled::Contradiction(shown) | Settled::Refuted(shown) => {
                let (true_by, false_by) = (all(&shown.true_by)?, all(&shown.false_by)?);
                judged.subject.clone_from(&shown.subject);
                let evidence = true_by.iter().chain(&false_by);
                let evidence = evidence.filter(|claim| !self.claims.contains(&claim.id));
                judged.evidence = evidence.map(|claim| beside(claim)).collect();
                true_by.iter().all(|claim| claim.holds) && false_by.iter().all(|claim| !claim.holds)
            }
        };
        settled.because().clone_into(&mut judged.because);
        if is_shown {
            judged.verdict = settled.verdict();
        }
        Some(judged)
    }
}

/// A claim as statements show it.
fn beside(claim: &Claim) -> StatementClaim {
    StatementClaim {
        id: claim.id.clone(),
        limit: claim.limits.clone(),
        ours: claim.ours.clone(),
        holds: claim.holds,
    }
}

/// The statements of `papers` of which all claims were judged.
pub fn judge(papers: &[Paper], claims: &[Claim]) -> Vec<PaperStatements> {
    let of = |paper: &Paper| PaperStatements {
        title: paper.title.clone(),
        statements: paper.statements.iter().filter_map(|one| one.judge(claims)).collect(),
    };
    papers.iter().map(of).filter(|paper| !paper.statements.is_empty()).collect()
}

/// Whether a claim holds, or what it does is settled: it belongs to a statement with a verdict, or
/// is its evidence.
pub fn is_settled(papers: &[PaperStatements], claim: &Claim) -> bool {
    let statements = papers.iter().flat_map(|paper| &paper.statements);
    let mut settled = statements.filter(|one| one.verdict != StatementVerdict::Open);
    let is_same = |beside: &StatementClaim| beside.id == claim.id;
    claim.holds
        || settled.any(|one| one.claims.iter().any(is_same) || one.evidence.iter().any(is_same))
}

/// Names of statements that hold although a reason is given why they do not.
fn settled_in_vain<'a>(papers: &'a [Paper], judged: &[PaperStatements]) -> Vec<&'a str> {
    let judged = || judged.iter().flat_map(|paper| &paper.statements);
    let holds =
        |id: &str| judged().any(|one| one.id == id && one.verdict == StatementVerdict::Holds);
    let settled = papers.iter().flat_map(|paper| &paper.statements);
    let settled = settled.filter(|one| one.settled.is_some() && holds(&one.id));
    settled.map(|one| one.id.as_str()).collect()
}

/// The number of statements with each verdict for a terminal. Names of statements follow that are
/// open, and of those that hold although a reason is given why they do not.
pub fn render(papers: &[Paper], judged: &[PaperStatements]) -> String {
    if judged.is_empty() {
        return String::new();
    }
    let heading: Vec<String> = statements::heading().into_iter().map(str::to_owned).collect();
    let mut text = format!("\n{}", table::numbers(&heading, &statements::rows(judged)));
    let all = judged.iter().flat_map(|paper| &paper.statements);
    let open = all.filter(|one| one.verdict == StatementVerdict::Open);
    let open: Vec<&str> = open.map(|one| one.id.as_str()).collect();
    if !open.is_empty() {
        text += &format!("\nopen: {}\n", open.join(", "));
    }
    let in_vain = settled_in_vain(papers, judged);
    if !in_vain.is_empty() {
        text += &format!("\nhold, so settled in vain: {}\n", in_vain.join(", "));
    }
    text
}

/// The statements of this program.
///
/// # Errors
///
/// If a statement lacks claims, or a verdict lacks evidence.
pub fn builtin() -> Result<Vec<Paper>, Failure> {
    BUILTIN.iter().map(|(name, text)| parse(text, name)).collect()
}

fn parse(text: &str, name: &str) -> Result<Paper, Failure> {
    let paper: Paper = settings::parse(text, name)?;
    for statement in &paper.statements {
        statement
            .validate()
            .map_err(|why| Failure::usage(format!("{name}: statement {}: {why}", statement.id)))?;
    }
    Ok(paper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::lab;
    use report::ClaimKind;

    const ONE: &str = "title='A paper'\n[[statements]]\nid='s'\nsection='§1'\nwords='\"faster\"'\n\
        claims=['a']\n";

    fn claim(id: &str, holds: bool, misses: Option<Side>) -> Claim {
        Claim { id: id.to_owned(), holds, misses, ..Claim::default() }
    }

    fn verdict(settled: &str, claims: &[Claim]) -> Option<StatementVerdict> {
        let paper = parse(&format!("{ONE}{settled}"), "x.toml").unwrap();
        let judged = judge(&[paper], claims);
        judged.first().map(|paper| paper.statements[0].verdict)
    }

    #[test]
    fn a_statement_holds_if_its_claims_do() {
        assert_eq!(verdict("", &[claim("a", true, None)]), Some(StatementVerdict::Holds));
        assert_eq!(verdict("", &[claim("a", false, None)]), Some(StatementVerdict::Open));
        assert_eq!(verdict("", &[claim("b", true, None)]), None);
    }

    #[test]
    fn more_than_published_is_more_in_the_published_direction_only() {
        let more = "settled.holds-more={better='higher',because='it is.'}";
        let missed = |side| verdict(more, &[claim("a", false, side)]);
        assert_eq!(missed(Some(Side::Higher)), Some(StatementVerdict::HoldsMore));
        assert_eq!(missed(Some(Side::Lower)), Some(StatementVerdict::Open));
        assert_eq!(missed(None), Some(StatementVerdict::Open));
    }

    #[test]
    fn a_verdict_needs_evidence_on_both_sides() {
        let shown =
            "settled.missing={subject='the load',true_by=['b'],false_by=['c'],because='so.'}";
        let with = |b, c| {
            verdict(shown, &[claim("a", false, None), claim("b", b, None), claim("c", c, None)])
        };
        assert_eq!(with(true, false), Some(StatementVerdict::Missing));
        assert_eq!(with(true, true), Some(StatementVerdict::Open));
        assert_eq!(with(false, false), Some(StatementVerdict::Open));
        let refused =
            |settled: &str| parse(&format!("{ONE}{settled}"), "x.toml").unwrap_err().to_string();
        for (settled, wanted) in [
            (
                "settled.missing={subject='l',true_by=[],false_by=['c'],because='s'}",
                "needs claims that",
            ),
            (
                "settled.refuted={subject='',true_by=['b'],false_by=['c'],because='s'}",
                "subject is empty",
            ),
            ("settled.holds-more={better='higher',because=' '}", "because is empty"),
        ] {
            let error = refused(settled);
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn each_claim_of_a_paper_belongs_to_one_statement() {
        let experiments = super::super::builtin().unwrap();
        let of_laboratory = lab::builtin().unwrap();
        let others = of_laboratory.iter().flat_map(|experiment| &experiment.claims);
        let claims: Vec<_> = experiments.iter().flat_map(|one| &one.claims).chain(others).collect();
        let papers = builtin().unwrap();
        let statements = || papers.iter().flat_map(|paper| &paper.statements);
        for statement in statements() {
            for id in statement.needs() {
                let is_there = claims.iter().any(|claim| claim.id == id);
                assert!(is_there, "statement {}: there is no claim {id}", statement.id);
            }
        }
        for claim in claims {
            let says = |one: &&Statement| one.claims.contains(&claim.id);
            let shows = |one: &Statement| one.needs().any(|id| id == claim.id);
            let expected = match claim.kind {
                ClaimKind::Article => statements().filter(says).count() == 1,
                ClaimKind::Evidence => statements().any(shows),
                ClaimKind::Ours => statements().filter(says).count() == 0,
            };
            assert!(expected, "claim {} belongs to one statement, or shows one", claim.id);
        }
        let mut ids: Vec<&str> = statements().map(|statement| statement.id.as_str()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "statements have names of their own");
    }
}
