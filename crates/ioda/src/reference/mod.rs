//! The reference as Markdown, from the schemas and from the command line, so that it says what the
//! program does.

mod command_line;
pub(crate) mod manual;
mod tables;

use crate::schemas::{DOCUMENTS, FILES};
use clap::Command;
use tables::{Parts, cell, fields, first_line};

/// Says at the head of each page where it comes from.
const GENERATED: &str = "<!-- Written by `ioda schema --markdown docs/reference`; change the code, not this page. -->\n";

/// Each page with the name of its file; `command` is the whole command line.
pub(crate) fn pages(command: Command) -> Vec<(&'static str, String)> {
    vec![
        ("configuration.md", configuration()),
        ("experiments.md", experiments()),
        ("json.md", json()),
        ("command-line.md", command_line::page(command)),
    ]
}

fn configuration() -> String {
    let schema = (FILES[0].schema)();
    let mut text = format!(
        "{GENERATED}\n# Configuration\n\nA configuration file is TOML. It has the sections below, all of \
         them optional, and an unknown key is an error. `ioda compare`, `run` and `load` read one with \
         `--config`, `ioda serve` and `ioda plan` too; flags of the same names override it. `ioda schema \
         configuration` prints the JSON Schema for editors.\n\nA value with a unit is a string, such as \
         `tw = \"100ms\"`. A default is that of the program where a key is left out; of a drive it is \
         that of its `base`.\n"
    );
    let mut parts = Parts::default();
    for section in fields(&schema) {
        let Some(name) = section.refers_to() else { continue };
        let definition = &schema["$defs"][name];
        let about = definition["description"].as_str().unwrap_or_default();
        text += &format!("\n## [{}]\n\n{}\n\n", section.name, about.replace('\n', " "));
        text += &parts.keys(definition);
    }
    text
}

fn experiments() -> String {
    let schema = (FILES[1].schema)();
    let mut text = format!(
        "{GENERATED}\n# Experiments\n\nAn experiment is a TOML file: what is run, and what is claimed of \
         it. `ioda reproduce` has its own, which are in `experiments/`, and runs yours with \
         `--experiments FOLDER`. An unknown key is an error. Sections of settings are those of \
         [configuration files](configuration.md). `ioda schema experiment` prints the JSON Schema.\n\n\
         ## The file\n\n"
    );
    let mut parts = Parts::elsewhere("configuration.md", &(FILES[0].schema)());
    text += &parts.keys(&schema);
    text += &parts.definitions(&schema, "", true);
    let schema = (FILES[2].schema)();
    text += "\n## Files of the laboratory\n\n`ioda reproduce lab` has experiments of another kind, which are in \
        `experiments/lab/`, and runs yours with `--experiments FOLDER` as well. `ioda schema lab-experiment` prints \
        their JSON Schema. Claims are those above; what they call workloads are applications here, followed by a comma \
        and the file system where an experiment has several.\n\n";
    text += &parts.keys(&schema);
    text += &parts.definitions(&schema, "the laboratory", true);
    text
}

fn json() -> String {
    let mut text = format!(
        "{GENERATED}\n# Documents\n\nEvery JSON document says in its field `schema` what it is and in \
         which version. The version grows with every change that a reader of an earlier one would \
         misunderstand; fields may be added without that, so readers should ignore those that they do not \
         know. `ioda schema NAME` prints a JSON Schema (draft 2020-12).\n\nUnits stand at the end of the \
         names; a name without a unit is a count or a ratio. A field that is *optional* may be absent. \
         What `--fio-json` writes is [fio's own layout](../fio-json.md), and has no field `schema`.\n\n"
    );
    for document in &DOCUMENTS {
        let schema = (document.schema)();
        let mark = schema["$id"].as_str().unwrap_or_default();
        text += &format!("- [`{mark}`](#{}): {}\n", tables::slug(mark), document.of);
    }
    let mut parts = Parts::default();
    for document in &DOCUMENTS {
        let schema = (document.schema)();
        let mark = schema["$id"].as_str().unwrap_or_default();
        let about = first_line(&schema);
        text += &format!("\n## {mark}\n\nFrom {}. {}\n\n", document.of, cell(&about));
        let names = parts.enter(&schema, document.name);
        text += &parts.members(&schema, &names);
        text += &parts.definitions(&schema, document.name, false);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::path::Path;

    #[test]
    fn the_reference_in_the_repository_is_what_the_program_says() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        for (name, text) in pages(Cli::command()) {
            let written = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(
                written == text,
                "docs/reference/{name} is stale; write it again with `cargo run --bin ioda -- schema \
                 --markdown docs/reference`"
            );
        }
    }

    #[test]
    fn links_lead_somewhere() {
        for (name, text) in pages(Cli::command()) {
            let headings: Vec<String> = text
                .lines()
                .filter(|line| line.starts_with('#'))
                .map(|line| tables::slug(line.trim_start_matches('#')))
                .collect();
            for link in text.split("](#").skip(1) {
                let target = link.split(')').next().unwrap_or_default();
                assert!(headings.iter().any(|known| known == target), "{name}: #{target}");
            }
        }
    }
}
