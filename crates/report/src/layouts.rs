//! What the drives of each run are, where not all runs have the same.

use crate::Run;

/// Each layout once, with the names of the runs that have it; empty if all are the same.
pub(crate) fn layouts(runs: &[Run]) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs.iter().filter(|run| !run.layout.is_empty()) {
        match found.iter_mut().find(|(layout, _)| *layout == run.layout) {
            Some((_, names)) => names.push(run.name()),
            None => found.push((&run.layout, vec![run.name()])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_is_told_once() {
        let run = |label: &str, layout: &str| Run {
            label: label.to_owned(),
            layout: layout.to_owned(),
            ..Run::default()
        };
        assert!(layouts(&[run("a", ""), run("b", "")]).is_empty());
        let runs = [run("a", "plain"), run("b", "RAIN"), run("c", "plain")];
        assert_eq!(layouts(&runs), [("plain", vec!["a", "c"]), ("RAIN", vec!["b"])]);
    }
}
