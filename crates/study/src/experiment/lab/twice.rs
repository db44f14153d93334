//! Whether two runs of the same give the same result, field by field.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// So many fields that differ are named of each run.
const NAMED: usize = 5;

/// What came of making each run twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Twice {
    /// The runs whose two results are equal in every field.
    pub equal: Vec<String>,
    /// Those whose results differ.
    pub different: Vec<Difference>,
}

/// Two results of a run that differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The run.
    pub run: String,
    /// The fields that differ, each with both values.
    pub fields: Vec<String>,
}

impl Twice {
    /// Adds a run with its two results.
    pub(super) fn add(&mut self, run: String, first: &Value, second: &Value) {
        let mut fields = Vec::new();
        differences("", first, second, &mut fields);
        match fields.is_empty() {
            true => self.equal.push(run),
            false => self.different.push(Difference { run, fields }),
        }
    }

    /// In words.
    pub fn text(&self) -> String {
        let all = self.equal.len() + self.different.len();
        match (all, self.different.as_slice()) {
            (0, _) => "each experiment twice: no run was made twice\n".to_owned(),
            (_, []) => format!("each experiment twice: equal figures ({all} runs)\n"),
            (_, different) => {
                let line = |Difference { run, fields }: &Difference| {
                    let named = fields[..fields.len().min(NAMED)].join("; ");
                    let more = match fields.len().saturating_sub(NAMED) {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    format!("  {run}: {named}{more}\n")
                };
                let lines: String = different.iter().map(line).collect();
                format!("each experiment twice: {} of {all} runs differ\n{lines}", different.len())
            }
        }
    }
}

/// Adds each place in which two values differ.
fn differences(place: &str, first: &Value, second: &Value, found: &mut Vec<String>) {
    let inner =
        |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match (first, second) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                differences(&inner(name), value, other.get(name).unwrap_or(&Value::Null), found);
            }
            for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                differences(&inner(name), &Value::Null, value, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (first, second)) in one.iter().zip(other).enumerate() {
                differences(&inner(&index.to_string()), first, second, found);
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            found.push(format!("{place}: {} and {} entries", one.len(), other.len()));
        }
        (first, second) if first != second => found.push(format!("{place}: {first} and {second}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_that_differs_is_named() {
        let one = json!({"a": 1, "b": {"c": [1, 2]}, "d": [1], "e": null});
        let other = json!({"a": 2, "b": {"c": [1, 3]}, "d": [], "e": null, "f": "x"});
        let mut twice = Twice::default();
        twice.add("sort".to_owned(), &one, &other);
        twice.add("tar".to_owned(), &one, &one);
        let fields = ["a: 1 and 2", "b.c.1: 2 and 3", "d: 1 and 0 entries", "f: null and \"x\""];
        assert_eq!(twice.different[0].fields, fields);
        assert_eq!(twice.equal, ["tar"]);
        assert!(
            twice.text().starts_with("each experiment twice: 1 of 2 runs differ\n  sort: a: 1")
        );
        twice.different.clear();
        assert_eq!(twice.text(), "each experiment twice: equal figures (1 runs)\n");
    }

    #[test]
    fn many_fields_are_counted() {
        let of = |value: i32| Value::Array((0..9).map(|index| json!(index + value)).collect());
        let mut twice = Twice::default();
        twice.add("sort".to_owned(), &of(0), &of(1));
        assert!(twice.text().ends_with("4: 4 and 5 and 4 more\n"), "{}", twice.text());
    }
}
