//! How many fields a struct may have.

use super::offenders::{self, MANY_FIELDS, RECORDS};
use super::types;

/// Most named fields of a struct.
///
/// A reader keeps about seven things in mind and a dozen with effort. A machine with more fields
/// has several subjects, each with rules among its own fields that any method of the others can
/// break. The remedy is to give the fields that change together a struct of their own.
const FIELDS_MAX: usize = 15;

#[test]
fn structs_have_few_fields() {
    let mut found = Vec::new();
    for (room, _, code) in types::machines() {
        for (name, fields) in types::structs(&code) {
            if fields > FIELDS_MAX && !RECORDS.contains(&(room, name.as_str())) {
                found.push((room, name, format!("{fields} fields, at most {FIELDS_MAX}")));
            }
        }
    }
    offenders::compare("MANY_FIELDS", &found, MANY_FIELDS);
}
