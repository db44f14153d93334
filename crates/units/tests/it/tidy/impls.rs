//! Over how many files the methods of a type may be spread.

use super::offenders::{self, SPREAD_IMPLS};
use super::types;

/// Most files with `impl` blocks of one type.
///
/// Methods in another file reach every private field, so each such file is one more place that can
/// break what the others rely on. Three leave room for the type itself, one large subject of its
/// own and its text or file format. The remedy is a type of its own for what such a file is about.
const IMPL_FILES_MAX: usize = 3;

#[test]
fn methods_of_a_type_stand_together() {
    let mut found = Vec::new();
    for ((room, name), files) in types::files_with_impls() {
        if files.len() > IMPL_FILES_MAX {
            let count = files.len();
            found.push((
                room,
                name,
                format!("impl blocks in {count} files, at most {IMPL_FILES_MAX}"),
            ));
        }
    }
    offenders::compare("SPREAD_IMPLS", &found, SPREAD_IMPLS);
}
