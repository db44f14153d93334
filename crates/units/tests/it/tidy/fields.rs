//! Limit of the number of fields of a struct.

use super::offenders::{self, MANY_FIELDS, RECORDS};
use super::types;

/// Maximum number of named fields of a struct.
///
/// A reader keeps about seven things in mind and a dozen with effort. A machine with more fields
/// has several subjects. Any method of one subject can break the rules among the fields of another.
/// The remedy is a separate struct for the fields that change together.
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
