//! Where a claim and its limit come from.

use super::check::Check;
use report::ClaimKind;
use schemars::JsonSchema;
use serde::Deserialize;

/// One claim.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Short and stable name.
    pub id: String,
    /// The claim in a sentence.
    pub statement: String,
    /// Who claims it: `article`, `ours`, or `evidence` for what shows why a statement does not hold.
    pub kind: ClaimKind,
    /// Where the article says it, such as `§4.2.1, Figure 5` [default: the experiment's figure].
    #[serde(default)]
    pub section: String,
    /// The article's words or number. A claim of ours has none.
    #[serde(default)]
    pub article: String,
    /// Where the limit comes from.
    pub limit: Limit,
    /// Limits that it had before, the oldest first.
    #[serde(default)]
    pub was: Vec<FormerLimit>,
    /// The workloads that it is about [default: all].
    #[serde(default)]
    pub workloads: Vec<String>,
    /// Workloads for which the claim must hold: each, most, almost all, their median or mean, or all
    /// of them together [default: each].
    #[serde(default)]
    pub over: Over,
    /// How it is checked.
    pub check: Check,
}

/// Where a limit comes from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Its source.
    pub from: LimitSource,
    /// The article's words, or our reason, which was written down before the run.
    pub because: String,
}

/// The source of a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSource {
    /// Words or figures of the article.
    Article,
    /// Raw data of the article's public artifact.
    Artifact,
    /// We.
    Ours,
}

/// A limit that was given up.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormerLimit {
    /// The limit, as `limits.txt` has it or in words.
    pub limit: String,
    /// Why it was changed.
    pub because: String,
}

/// What a claim must hold for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Each workload.
    #[default]
    Each,
    /// More than half of the workloads.
    Most,
    /// All workloads but one.
    AlmostAll,
    /// The median over the workloads, and over variants where a check is about those of each.
    Median,
    /// The mean over the workloads, of quotients where numbers are compared: what an article means
    /// by "on average".
    Mean,
    /// All workloads together: numbers are added up before they are compared, so that the workload
    /// with the largest numbers counts most.
    Total,
}

impl Over {
    /// Number of `workloads` for which a claim may fail.
    pub(super) fn most_failures(self, workloads: usize) -> usize {
        match self {
            Self::Each | Self::Median | Self::Mean | Self::Total => 0,
            Self::Most => workloads.saturating_sub(1) / 2,
            Self::AlmostAll => usize::from(workloads > 1),
        }
    }
}

impl Expectation {
    /// Refuses a claim that does not say where it and its limit come from.
    pub(super) fn check_pedigree(&self) -> Result<(), String> {
        let is_article = self.kind == ClaimKind::Article;
        if is_article && self.article.trim().is_empty() {
            return Err("it is the article's, but has no words of it; set article".to_owned());
        }
        if !is_article && !self.article.is_empty() {
            return Err("it is ours, but has words of an article; leave article out".to_owned());
        }
        if self.kind == ClaimKind::Ours && self.limit.from == LimitSource::Article {
            return Err("it is ours, so its limit cannot be the article's".to_owned());
        }
        if self.limit.because.trim().is_empty() {
            return Err("limit.because is empty; say where the limit comes from".to_owned());
        }
        match self.was.iter().find(|was| was.limit.is_empty() || was.because.is_empty()) {
            Some(_) => Err("a former limit lacks its value or the reason".to_owned()),
            None => Ok(()),
        }
    }

    /// Where it is said.
    pub(super) fn place<'a>(&'a self, figure: &'a str) -> &'a str {
        if self.section.is_empty() { figure } else { &self.section }
    }

    /// What it must be, in words.
    pub(super) fn limits(&self) -> String {
        let limits = self.check.limits();
        match self.over {
            Over::Each => limits,
            Over::Most => format!("{limits}, for more than half of the workloads"),
            Over::AlmostAll => format!("{limits}, for all workloads but one"),
            Over::Median => format!("{limits}, in the median"),
            Over::Mean => format!("{limits}, on average"),
            Over::Total => format!("{limits}, in total"),
        }
    }

    /// Where its limit comes from, in a sentence.
    pub(super) fn pedigree(&self) -> String {
        let Limit { from, because } = &self.limit;
        let mut text = match from {
            LimitSource::Article => format!("the article's: {because}"),
            LimitSource::Artifact => format!("the artifact's: {because}"),
            LimitSource::Ours => format!("ours: {because}"),
        };
        for FormerLimit { limit, because } in &self.was {
            text += &format!("; was {limit}, and changed because {because}");
        }
        text
    }
}
