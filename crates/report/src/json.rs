//! The document as JSON, to keep and to read back.

use crate::{Comparison, schema};

/// The document as indented JSON.
///
/// # Panics
/// Never: the document has only string keys and plain values.
#[must_use]
pub fn to_string(comparison: &Comparison) -> String {
    schema::to_string(comparison)
}

/// Reads a document back.
///
/// # Errors
/// If `text` is not JSON or lacks a field; the error names the line and the field.
pub fn from_str(text: &str) -> Result<Comparison, serde_json::Error> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_survives_a_round_trip() {
        let document = crate::sample::comparison();
        assert!(from_str(&to_string(&document)).unwrap() == document);
    }

    #[test]
    fn documents_from_before_windows_were_kept_are_read() {
        let newer = [
            "windows",
            "p99_over_time",
            "free_over_time",
            "permits",
            "buffer",
            "rain",
            "suspensions",
            "scrubbed_pages",
            "slc_pages",
            "folded_pages",
        ];
        let mut older = serde_json::to_value(crate::sample::comparison()).unwrap();
        let runs = older["runs"].as_array_mut().unwrap();
        for run in runs.iter_mut().filter_map(serde_json::Value::as_object_mut) {
            newer.iter().for_each(|key| drop(run.remove(*key)));
        }
        let read = from_str(&older.to_string()).unwrap();
        assert!(read.runs.iter().all(|run| run.windows.is_empty() && run.buffer.is_none()));
        // What has nothing of them is written as before.
        assert_eq!(serde_json::to_value(read).unwrap(), older);
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = from_str(r#"{"title":"x"}"#).unwrap_err().to_string();
        assert!(error.contains("manifest"), "{error}");
    }
}
