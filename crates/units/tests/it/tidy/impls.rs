//! Limit of the number of files over which the methods of a type are spread.

use super::offenders::{self, SPREAD_IMPLS};
use super::types;

/// Maximum number of files with `impl` blocks of one type.
///
/// Methods in another file reach every private field, so each such file is one more place that can
/// break what the others rely on. Three leave room for the type itself, one large subject and the
/// text or file format. The remedy is a separate type for the subject of such a file.
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
