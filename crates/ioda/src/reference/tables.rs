//! Tables of fields from a JSON Schema.

use serde_json::Value;
use std::collections::BTreeMap;

/// A field or key of an object.
pub(super) struct Field<'a> {
    /// Its name.
    pub(super) name: &'a str,
    schema: &'a Value,
    is_required: bool,
    /// What is said of the variant that it is of.
    variant: &'a str,
    /// The definition that the variant has besides.
    besides: Option<&'a str>,
}

/// The fields of an object, those of its variants included.
pub(super) fn fields(object: &Value) -> Vec<Field<'_>> {
    let required = list(object, "required");
    let properties = object.get("properties").and_then(Value::as_object);
    let own = properties.into_iter().flatten().map(|(name, schema)| Field {
        name,
        schema,
        is_required: required.iter().any(|required| required == name),
        variant: "",
        besides: None,
    });
    let of_variants = variants(object).iter().flat_map(|one| {
        let variant = one["description"].as_str().unwrap_or_default();
        fields(one).into_iter().map(move |field| {
            let is_tag = field.schema.get("const").is_some();
            let besides = if is_tag { reference(one) } else { None };
            Field { variant, besides, ..field }
        })
    });
    own.chain(of_variants).collect()
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn variants(schema: &Value) -> &[Value] {
    match list(schema, "oneOf") {
        [] => list(schema, "anyOf"),
        some => some,
    }
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

impl<'a> Field<'a> {
    /// The definition that it is of.
    pub(super) fn refers_to(&self) -> Option<&'a str> {
        reference(self.schema)
    }

    /// What it means and its default, which stands in brackets.
    fn described(&self) -> (String, String) {
        let text = self.schema["description"].as_str().unwrap_or(self.variant).replace('\n', " ");
        let Some((before, rest)) = text.split_once("[default: ") else {
            return (text, String::new());
        };
        let (default, after) = rest.split_once(']').unwrap_or((rest, ""));
        (format!("{}{after}", before.trim_end()), default.to_owned())
    }
}

/// What a schema is, in a line.
pub(super) fn first_line(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split("\n\n").next().unwrap_or_default().replace('\n', " ")
}

/// Text for a cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}

/// The anchor of a heading.
pub(super) fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Where definitions are described, by their names in the schema at hand.
pub(super) type Places = BTreeMap<String, String>;

/// The definitions of a page, each described once.
#[derive(Default)]
pub(super) struct Parts {
    /// Each with its heading.
    known: Vec<(Value, String)>,
    /// Links to definitions that another page has.
    elsewhere: Places,
    /// Links to those that have had their table.
    described: Vec<String>,
}

impl Parts {
    /// Definitions of sections that `page` describes.
    pub(super) fn elsewhere(page: &str, schema: &Value) -> Self {
        let mut elsewhere = Places::new();
        for section in fields(schema) {
            if let Some(name) = section.refers_to() {
                elsewhere.insert(name.to_owned(), format!("{page}#{}", section.name));
            }
        }
        elsewhere.insert("Settings".to_owned(), page.to_owned());
        Self { elsewhere, ..Self::default() }
    }

    /// Where the definitions of `schema` are, new ones with headings of their own.
    pub(super) fn enter(&mut self, schema: &Value, document: &str) -> Places {
        let definitions = schema.get("$defs").and_then(Value::as_object);
        let mut places = self.elsewhere.clone();
        for (name, definition) in definitions.into_iter().flatten() {
            if places.contains_key(name) {
                continue;
            }
            let known = self.known.iter().find(|(known, heading)| {
                known == definition
                    && (heading == name || heading.starts_with(&format!("{name} of ")))
            });
            let heading = known.map(|(_, heading)| heading.clone()).unwrap_or_else(|| {
                let is_taken = self.known.iter().any(|(_, heading)| heading == name);
                let heading = if is_taken { format!("{name} of {document}") } else { name.clone() };
                self.known.push((definition.clone(), heading.clone()));
                heading
            });
            places.insert(name.clone(), format!("#{}", slug(&heading)));
        }
        places
    }

    /// What is new of the definitions of `schema`: a heading and a table each.
    pub(super) fn definitions(&mut self, schema: &Value, document: &str, are_keys: bool) -> String {
        let places = self.enter(schema, document);
        let mut text = String::new();
        let definitions = schema.get("$defs").and_then(Value::as_object);
        for (name, definition) in definitions.into_iter().flatten() {
            if self.elsewhere.contains_key(name) {
                continue;
            }
            let Some(place) = places.get(name) else { continue };
            if self.described.contains(place) {
                continue;
            }
            self.described.push(place.clone());
            let heading =
                self.known.iter().find(|(_, heading)| format!("#{}", slug(heading)) == *place);
            let heading = heading.map_or(name.as_str(), |(_, heading)| heading);
            let about = definition["description"].as_str().unwrap_or_default();
            text += &format!("\n### {heading}\n\n{}\n\n", cell(&about.replace('\n', " ")));
            text += &match are_keys {
                true => self.table_of_keys(definition, &places),
                false => self.members(definition, &places),
            };
        }
        text
    }

    /// A table of keys of a file, with their defaults.
    pub(super) fn keys(&mut self, schema: &Value) -> String {
        let places = self.enter(schema, "");
        self.table_of_keys(schema, &places)
    }

    fn table_of_keys(&self, schema: &Value, places: &Places) -> String {
        let mut text = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
        for field in fields(schema) {
            let (meaning, default) = field.described();
            let default = match (default.is_empty(), field.is_required) {
                (false, _) => default,
                (true, true) => "required".to_owned(),
                (true, false) => "-".to_owned(),
            };
            let kind = kind(field.schema, places);
            let kind = kind.strip_suffix(" or null").unwrap_or(&kind);
            text += &format!(
                "| `{}` | {kind} | {} | {} |\n",
                field.name,
                cell(&default),
                cell(&meaning)
            );
        }
        text
    }

    /// A table of the fields of a document, or of the words that a part may be.
    pub(super) fn members(&self, schema: &Value, places: &Places) -> String {
        let fields = fields(schema);
        if fields.is_empty() {
            return format!("{}\n", kind(&without_description(schema), places));
        }
        let mut text = "| field | type | meaning |\n|---|---|---|\n".to_owned();
        for field in fields {
            let (meaning, _) = field.described();
            let optional = if field.is_required { "" } else { ", *optional*" };
            let mut kind = kind(field.schema, places);
            if let Some(place) = field.besides.and_then(|name| places.get(name)) {
                kind += &format!(", and the fields [here]({place})");
            }
            text += &format!("| `{}` | {kind}{optional} | {} |\n", field.name, cell(&meaning));
        }
        text
    }
}

fn without_description(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
    }
    schema
}

/// The type of a field in words, with links to definitions.
fn kind(schema: &Value, places: &Places) -> String {
    if let Some(title) = schema.get("title").and_then(Value::as_str) {
        return cell(title);
    }
    if let Some(name) = reference(schema) {
        return match places.get(name) {
            Some(place) => format!("[{name}]({place})"),
            None => name.to_owned(),
        };
    }
    if let Some(constant) = schema.get("const") {
        return format!(
            "`{}`",
            constant.as_str().map_or_else(|| constant.to_string(), str::to_owned)
        );
    }
    let several = |list: &[Value], between: &str| -> String {
        let words: Vec<String> = list.iter().map(|one| kind(one, places)).collect();
        words.join(between)
    };
    let words = list(schema, "enum");
    if !words.is_empty() {
        let words: Vec<String> =
            words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or_default())).collect();
        return words.join(", ");
    }
    if !variants(schema).is_empty() {
        return several(variants(schema), " or ");
    }
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        return format!("{} by name", kind(inner, places));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec!["anything"],
    };
    let word = |one: &&str| match *one {
        "array" if schema.get("prefixItems").is_some() => {
            format!("pair of {}", several(list(schema, "prefixItems"), " and "))
        }
        "array" => format!("list of {}", kind(&schema["items"], places)),
        "integer" => "integer".to_owned(),
        other => other.to_owned(),
    };
    types.iter().map(word).collect::<Vec<_>>().join(" or ")
}
