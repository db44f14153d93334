//! Names and versions of documents, and their JSON Schemas.
//!
//! Every document says in its first field, `schema`, what it is and in which version, such as
//! `ioda.compare/1`. The version grows with every change that a reader of an earlier one would
//! misunderstand; fields may be added without that.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;

/// A document that is written as JSON.
pub trait Document: Serialize + JsonSchema {
    /// Its name and version.
    const SCHEMA: &'static str;
}

/// A document with its name and version in front.
#[derive(Serialize)]
struct Marked<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

/// `document` for a serializer, with its name and version in front.
pub fn marked<T: Document>(document: &T) -> impl Serialize + '_ {
    Marked { schema: T::SCHEMA, document }
}

/// `document` as indented JSON.
///
/// # Panics
/// Never: documents have only string keys and plain values.
#[must_use]
#[expect(clippy::expect_used, reason = "a document of strings and numbers always serialises")]
pub fn to_string<T: Document>(document: &T) -> String {
    serde_json::to_string_pretty(&marked(document)).expect("a plain document serialises")
}

/// Writes `document` as the same indented JSON, without having all of it in memory.
///
/// # Errors
/// If `out` cannot be written, or the document cannot be read from where it is kept.
pub fn write<T: Document>(out: &mut dyn Write, document: &T) -> std::io::Result<()> {
    Ok(serde_json::to_writer_pretty(out, &marked(document))?)
}

/// The JSON Schema of a document.
#[must_use]
pub fn of<T: Document>() -> Value {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator();
    named(T::SCHEMA, schema.into_root_schema_for::<T>())
}

/// The JSON Schema of the document called `name`: `body`, and the field that says so.
#[must_use]
pub fn named(name: &str, body: Schema) -> Value {
    let mut schema = body.to_value();
    let Some(fields) = schema.as_object_mut() else { return schema };
    fields.insert("$id".into(), name.into());
    let mark = json!({ "description": "Name and version of this format.", "const": name });
    match fields.get_mut("properties").and_then(Value::as_object_mut) {
        Some(properties) => {
            let others = std::mem::take(properties);
            properties.insert("schema".into(), mark);
            properties.extend(others);
        }
        None => {
            fields.insert("properties".into(), json!({ "schema": mark }));
        }
    }
    match fields.get_mut("required").and_then(Value::as_array_mut) {
        Some(required) => required.insert(0, "schema".into()),
        None => {
            fields.insert("required".into(), json!(["schema"]));
        }
    }
    schema
}
