//! Holds documents against the schemas that the command publishes.

use super::ioda;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Validators by the names of their schemas.
static KNOWN: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());

/// Fails unless `document` names its schema and is as that says, without a field more.
pub(crate) fn validate(document: &Value) {
    let mark = document["schema"].as_str().unwrap_or_else(|| panic!("no schema in {document:#}"));
    let name = mark.strip_prefix("ioda.").unwrap().split_once('/').unwrap().0;
    validate_as(name, document);
}

/// Fails unless `document` is as the schema called `name` says.
pub(crate) fn validate_as(name: &str, document: &Value) {
    let errors = errors(name, document);
    assert!(errors.is_empty(), "{name}:\n{}", errors.join("\n"));
}

/// What is wrong with `document` by the schema called `name`, each with its place.
pub(crate) fn errors(name: &str, document: &Value) -> Vec<String> {
    let known = KNOWN.lock().unwrap().get(name).cloned();
    let validator = known.unwrap_or_else(|| {
        let ran = ioda(&["schema", name]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut schema: Value = serde_json::from_str(&ran.stdout).unwrap();
        // The status is a part of an answer with other fields beside it.
        if name != "answer" {
            close(&mut schema);
        }
        let validator = Arc::new(jsonschema::validator_for(&schema).unwrap());
        KNOWN.lock().unwrap().insert(name.to_owned(), Arc::clone(&validator));
        validator
    });
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// Has objects refuse fields that are not described.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.get("properties").is_some_and(Value::is_object) {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}
