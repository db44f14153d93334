//! The journeys of requests in `ARCHITECTURE.md` name functions that exist.

use super::crates;
use std::fs;

/// The file and the function of a row such as ``| 1 | `a/src/b.rs` | `c` | does this |``.
fn hop(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    cells.next()?.parse::<u32>().ok()?;
    let mut name = || cells.next()?.strip_prefix('`')?.strip_suffix('`');
    Some((name()?, name()?))
}

#[test]
fn every_hop_is_a_function() {
    let text = fs::read_to_string(crates().join("../ARCHITECTURE.md")).unwrap();
    let hops: Vec<_> = text.lines().filter_map(hop).collect();
    assert!(hops.len() >= 40, "{} hops", hops.len());
    for (file, function) in hops {
        let code = fs::read_to_string(crates().join(file)).unwrap_or_default();
        let is_there = ["(", "<"].iter().any(|end| code.contains(&format!("fn {function}{end}")));
        assert!(is_there, "{file} has no function {function}");
    }
}
