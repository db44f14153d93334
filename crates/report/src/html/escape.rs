//! Keeps strings of the document from being read as markup.

use serde::Serialize;

/// `value` as text of an element or of a quoted attribute.
pub(super) fn text(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// `value` as JSON for a `<script>` element. Without `<` no string can close the element or open
/// a comment; inside JSON, `<` occurs only in strings, where `\u003c` means the same.
#[expect(clippy::expect_used, reason = "a view of strings and numbers always serialises")]
pub(super) fn script_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plain view serialises").replace('<', "\\u003c")
}
