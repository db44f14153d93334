//! Every schema that is published: of what is written, and of what is read.

use crate::commands::{bench, explain, plan, presets, reproduce, torture, trace};
use crate::coordinating::CoordinatedSecond;
use crate::driving::Ready;
use live::control::{ANSWER_SCHEMA, Answer, STATUS_SCHEMA, Status};
use report::fit::FitReport;
use report::schema::{self, Document};
use report::{Comparison, story::Story, survey::Survey, sweep::Sweep};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use study::experiment::{Experiment, lab};
use study::settings::Settings;

/// A schema.
pub(crate) struct Published {
    /// How `ioda schema` calls it: of a document what is between `ioda.` and its version.
    pub(crate) name: &'static str,
    /// Where what it describes comes from, or what reads it.
    pub(crate) of: &'static str,
    /// The JSON Schema.
    pub(crate) schema: fn() -> Value,
}

/// What is written, in the order of the reference.
pub(crate) const DOCUMENTS: [Published; 24] = [
    document::<Comparison>("`ioda compare`, `run` and `load` with `--json`"),
    document::<Survey>("`survey.json` in the folder of `ioda survey`"),
    document::<Sweep>("`ioda sweep --json`, and `sweep.json` in its folder"),
    document::<Story>("`ioda explain --request N --json`"),
    document::<explain::document::Slowest>("`ioda explain --worst N --json`"),
    document::<explain::violations::Violations>("`ioda explain --violations --json`"),
    document::<plan::document::Plans>("`ioda plan --json`"),
    document::<reproduce::document::Reproduction>("`ioda reproduce --json`"),
    document::<reproduce::live::Clocks>("`ioda reproduce live --json`"),
    document::<reproduce::lab::Laboratory>("`ioda reproduce lab --json`"),
    document::<FitReport>("`ioda fit --json`, and `fit.json` in its folder"),
    document::<presets::Presets>("`ioda presets --json`"),
    document::<presets::Calibrations>("`ioda presets drives --calibration --json`"),
    document::<trace::document::Inspected>("`ioda trace inspect --json`"),
    document::<torture::document::Tortured>("`ioda torture --json`"),
    document::<torture::planted::document::PlantedBugs>("`ioda torture --planted --json`"),
    document::<bench::Benchmarks>("`ioda bench --json`"),
    document::<bench::PolicyTimes>("`ioda bench policies --json`"),
    document::<bench::loading::Loading>("`ioda bench loading --json`"),
    document::<bench::timer::Timers>("`ioda bench timer --json`"),
    document::<Ready>("`ioda drive --json`, one line"),
    document::<CoordinatedSecond>("`ioda plmlc --json`, a line each second"),
    Published { name: "answer", of: "`ioda ctl --json`, and the control socket", schema: answer },
    Published { name: "status", of: "`/status.json` of a served array", schema: status },
];

/// What is read.
pub(crate) const FILES: [Published; 3] = [
    Published {
        name: "configuration",
        of: "files for `--config`, and drives for `--drive`",
        schema: file::<Settings>,
    },
    Published {
        name: "experiment",
        of: "files in the folder of `ioda reproduce --experiments`",
        schema: file::<Experiment>,
    },
    Published {
        name: "lab-experiment",
        of: "files in the folder of `ioda reproduce lab --experiments`",
        schema: file::<lab::Experiment>,
    },
];

const fn document<T: Document>(of: &'static str) -> Published {
    Published { name: short(T::SCHEMA), of, schema: schema::of::<T> }
}

/// What is between `ioda.` and the version.
const fn short(schema: &'static str) -> &'static str {
    let (_, name) = schema.split_at("ioda.".len());
    // Versions have one digit.
    name.split_at(name.len() - "/1".len()).0
}

fn answer() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    schema::named(ANSWER_SCHEMA, settings.into_generator().into_root_schema_for::<Answer>())
}

fn status() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    schema::named(STATUS_SCHEMA, settings.into_generator().into_root_schema_for::<Status>())
}

/// The schema of a TOML file, which says nothing of its own version.
fn file<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields without a description, each with where it is. That of a variant is said of the
    /// variant.
    fn undescribed(value: &Value, place: &str, is_variant: bool, found: &mut Vec<String>) {
        let properties = value.get("properties").and_then(Value::as_object);
        let is_said = is_variant && value.get("description").is_some();
        for (name, field) in properties.into_iter().flatten().filter(|_| !is_said) {
            if field.get("description").is_none() {
                found.push(format!("{place}/{name}"));
            }
        }
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    undescribed(inner, &format!("{place}/{name}"), false, found);
                }
            }
            Value::Array(list) => {
                list.iter().for_each(|inner| undescribed(inner, place, true, found));
            }
            _ => {}
        }
    }

    #[test]
    fn every_field_has_a_description_and_names_differ() {
        let mut found = Vec::new();
        let mut names = Vec::new();
        for Published { name, schema, .. } in DOCUMENTS.iter().chain(&FILES) {
            undescribed(&schema(), name, false, &mut found);
            names.push(*name);
        }
        assert_eq!(found, Vec::<String>::new());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DOCUMENTS.len() + FILES.len());
    }

    #[test]
    fn every_document_says_what_it_is() {
        for Published { name, schema, .. } in &DOCUMENTS {
            let schema = schema();
            let mark = schema["properties"]["schema"]["const"].as_str().unwrap();
            assert!(mark.starts_with(&format!("ioda.{name}/")), "{mark}");
            assert_eq!(schema["required"][0], "schema", "{name}");
        }
    }
}
