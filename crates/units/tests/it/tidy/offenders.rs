//! Types that exceed a limit today. The lists of offenders may only become shorter.

use std::collections::BTreeSet;

/// Records: every field is a number or a text that is independent of the others. The number of
/// fields is that of the columns of a document or a table.
pub(super) const RECORDS: &[(&str, &str)] =
    &[("array", "Counters"), ("live", "Status"), ("ssd", "Counters"), ("ssd", "Row")];

/// Structs with more fields than the limit, by crate.
pub(super) const MANY_FIELDS: &[(&str, &str)] = &[];

/// Types whose `impl` blocks, or free functions that change them, are in more files than the limit,
/// by crate.
pub(super) const SPREAD_IMPLS: &[(&str, &str)] = &[];

/// Compares the types that were found, and their faults, with a list of known ones.
pub(super) fn compare(
    list: &str,
    found: &[(&'static str, String, String)],
    known: &[(&'static str, &'static str)],
) {
    let known: BTreeSet<_> = known.iter().copied().collect();
    let new: Vec<_> = found
        .iter()
        .filter(|(room, name, _)| !known.contains(&(*room, name.as_str())))
        .map(|(room, name, what)| format!("{room}: {name} has {what}"))
        .collect();
    let names: BTreeSet<_> = found.iter().map(|(room, name, _)| (*room, name.as_str())).collect();
    let mended: Vec<_> = known.difference(&names).collect();
    assert!(new.is_empty(), "too large:\n{}", new.join("\n"));
    assert!(mended.is_empty(), "no longer too large, take them off {list}: {mended:?}");
}
