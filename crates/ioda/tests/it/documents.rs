//! Documents do what they say: the tutorials are typed, command by command, and what they show must come.
//!
//! In a block ```` ```console ```` a line `$ COMMAND` is typed, and the lines below are what it prints, both
//! channels together. A line `...` stands for any lines; a line `? N` says that the exit code is N. All
//! commands of a document run one after the other in one folder, which is empty at first.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of a document, and what it is to print.
#[derive(Debug, Default, PartialEq)]
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
    code: i32,
}

/// The steps of a document.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for (index, line) in text.lines().enumerate() {
        match line {
            "```console" => is_console = true,
            "```" => is_console = false,
            _ if !is_console => {}
            _ => {
                if let Some(command) = line.strip_prefix("$ ") {
                    let command = command.to_owned();
                    steps.push(Step { line: index + 1, command, ..Step::default() });
                } else if let Some(step) = steps.last_mut() {
                    match line.strip_prefix("? ").and_then(|code| code.parse().ok()) {
                        Some(code) => step.code = code,
                        None if step.command.ends_with('\\') => {
                            step.command.pop();
                            step.command += line.trim_start();
                        }
                        None => step.expected.push(line.to_owned()),
                    }
                }
            }
        }
    }
    steps
}

/// Whether `printed` is what was expected, where `...` stands for any lines.
fn fits(expected: &[String], printed: &[&str]) -> bool {
    match expected {
        [] => printed.is_empty(),
        [dots, rest @ ..] if dots == "..." => {
            (0..=printed.len()).any(|from| fits(rest, &printed[from..]))
        }
        [first, rest @ ..] => {
            printed.first().is_some_and(|line| line.trim_end() == first.trim_end())
                && fits(rest, &printed[1..])
        }
    }
}

/// Types a document. Returns what is wrong with it.
fn type_document(path: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ioda = Path::new(env!("CARGO_BIN_EXE_ioda")).parent().unwrap();
    let search = format!("{}:{}", ioda.display(), std::env::var("PATH").unwrap_or_default());
    let mut wrong = String::new();
    let text = std::fs::read_to_string(path).unwrap();
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{} shows nothing", path.display());
    let typed = |command: &str| {
        Command::new("bash")
            .args(["-c", "exec >.printed 2>&1; eval \"$0\"", command])
            .current_dir(folder.path())
            .env("PATH", &search)
            .env("XDG_RUNTIME_DIR", folder.path())
            .env("COLUMNS", "100")
            .env_remove("IODA_LOG")
            .status()
            .unwrap()
    };
    for step in steps {
        let log = folder.path().join(".printed");
        let ran = typed(&step.command);
        let printed = std::fs::read_to_string(log).unwrap();
        let lines: Vec<&str> = printed.lines().collect();
        if ran.code() != Some(step.code) || !fits(&step.expected, &lines) {
            let _ = writeln!(
                wrong,
                "{}, line {}: `{}` ended with {:?} and printed\n{printed}",
                path.display(),
                step.line,
                step.command,
                ran.code(),
            );
        }
    }
    // Whatever a wrong document has left running ends.
    typed("ioda ctl shutdown");
    wrong
}

fn tutorials() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials");
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn tutorials_do_what_they_show() {
    let paths = tutorials();
    assert!(paths.len() >= 3);
    let wrong = std::thread::scope(|scope| {
        let typed: Vec<_> =
            paths.iter().map(|path| scope.spawn(move || type_document(path))).collect();
        typed.into_iter().map(|typed| typed.join().unwrap()).collect::<String>()
    });
    assert!(wrong.is_empty(), "{wrong}");
}

/// All documents below `docs/`, by their path from there.
fn documents() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (mut folders, mut all) = (vec![docs.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "md" => {
                    all.push(path.strip_prefix(&docs).unwrap().to_owned());
                }
                _ => {}
            }
        }
    }
    all.sort();
    all
}

#[test]
fn every_document_is_in_the_summary_and_links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = root.join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut wrong = Vec::new();
    for document in documents() {
        let name = document.display();
        if name.to_string() != "SUMMARY.md" && !summary.contains(&format!("]({name})")) {
            wrong.push(format!("docs/{name} is not in docs/SUMMARY.md"));
        }
    }
    let pages = documents().into_iter().map(|path| docs.join(path));
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_elsewhere = file.is_empty() || link.contains("://") || file.contains(' ');
            if !is_elsewhere && !page.parent().unwrap().join(file).exists() {
                wrong.push(format!("{} links to {link}, which is not there", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn steps_are_read_and_compared() {
    let text = "```console\n$ one \\\n    more\na\n...\nz\n$ two\n? 2\n```\n$ not this\n";
    let steps = steps(text);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(steps.len(), 2);
    assert_eq!((steps[0].command.as_str(), steps[0].line), ("one more", 2));
    assert_eq!((steps[0].expected.clone(), steps[1].code), (words(&["a", "...", "z"]), 2));
    let expected = words(&["a", "...", "z"]);
    for (printed, does) in [
        (&["a", "z"][..], true),
        (&["a", "b", "z"], true),
        (&["a", "z", "b"], false),
        (&["z"], false),
    ] {
        assert_eq!(fits(&expected, printed), does, "{printed:?}");
    }
}
