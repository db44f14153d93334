//! Names that people mistype.

use std::fmt;

/// Least similarity, 0 to 1, of a name that is worth suggesting.
const SIMILAR: f64 = 0.7;

/// The candidate that is most like `given`, if any is.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&given, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// A name that nothing has.
#[derive(Debug)]
pub struct Unknown {
    what: &'static str,
    given: String,
    candidates: Vec<String>,
}

impl Unknown {
    /// `given` is no `what`; `candidates` are.
    pub fn new<'a>(
        what: &'static str,
        given: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let candidates = candidates.into_iter().map(str::to_owned).collect();
        Self { what, given: given.to_owned(), candidates }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, given, candidates } = self;
        write!(f, "there is no {what} \"{given}\"")?;
        if let Some(nearest) = nearest(given, candidates.iter().map(String::as_str)) {
            write!(f, "; did you mean \"{nearest}\"?")?;
        }
        write!(f, " (known: {})", candidates.join(", "))
    }
}

impl std::error::Error for Unknown {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        let names = ["azure", "tpcc", "msnfs"];
        assert_eq!(nearest("tpc", names), Some("tpcc"));
        assert_eq!(nearest("AZURE", names), Some("azure"));
        assert_eq!(nearest("xyz", names), None);
        assert_eq!(
            Unknown::new("workload", "msnf", names).to_string(),
            "there is no workload \"msnf\"; did you mean \"msnfs\"? (known: azure, tpcc, msnfs)"
        );
    }
}
