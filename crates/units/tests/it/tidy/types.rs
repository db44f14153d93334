//! Finds types and their `impl` blocks in sources that rustfmt has formatted.

use super::{MACHINES, crates, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The source files of the crates that own state, each with its crate and without its tests.
pub(super) fn machines() -> Vec<(&'static str, PathBuf, String)> {
    let mut found = Vec::new();
    for name in MACHINES {
        let mut paths = Vec::new();
        sources(&crates().join(name).join("src"), &mut paths);
        assert!(!paths.is_empty(), "looked in the wrong place");
        for path in paths.into_iter().filter(|path| !path.ends_with("tests.rs")) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
            found.push((name, path, String::from(code)));
        }
    }
    found
}

/// The identifier that `text` begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

/// `text` without a leading `pub` and its restriction.
fn without_visibility(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("pub") else { return text };
    match rest.strip_prefix('(') {
        Some(restricted) => restricted.split_once(") ").map_or(text, |(_, rest)| rest),
        None => rest.strip_prefix(' ').unwrap_or(text),
    }
}

/// The structs of a file that have named fields, each with their number.
pub(super) fn structs(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    // The struct that is open, its indentation, and its number of fields.
    let mut open: Option<(String, usize, usize)> = None;
    for line in code.lines() {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        match &mut open {
            Some((_, outer, _)) if indentation == *outer && text == "}" => {
                found.extend(open.take().map(|(name, _, fields)| (name, fields)));
            }
            Some((_, outer, fields)) if indentation == *outer + 4 => {
                let name = identifier(without_visibility(text));
                let is_field = without_visibility(text)[name.len()..].starts_with(": ");
                *fields += usize::from(!name.is_empty() && is_field);
            }
            Some(_) => {}
            None => {
                let Some(rest) = without_visibility(text).strip_prefix("struct ") else { continue };
                if text.ends_with('{') || !text.ends_with([';', '}']) {
                    open = Some((String::from(identifier(rest)), indentation, 0));
                }
            }
        }
    }
    found
}

/// The types that a file declares.
fn declared(code: &str) -> BTreeSet<&str> {
    let name = |line| {
        let text = without_visibility(str::trim_start(line));
        let rest = text.strip_prefix("struct ").or_else(|| text.strip_prefix("enum "))?;
        Some(identifier(rest))
    };
    code.lines().filter_map(name).collect()
}

/// The type of an `impl` line: its last name, without path, reference and parameters.
fn implemented(line: &str) -> Option<&str> {
    let mut rest = line.trim_start().strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|&(at, c)| {
            depth += i32::from(c == '<');
            // An arrow of a function type closes no bracket.
            depth -= i32::from(c == '>' && !rest[..at].ends_with('-'));
            depth == 0
        })?;
        rest = &rest[end.0 + 1..];
    }
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.split_once(" for ").map_or(rest, |(_, after)| after);
    let rest = rest.trim_start_matches('&').trim_start_matches("mut ");
    let path = rest.split(['<', ' ', '{']).next()?;
    path.rsplit("::").next()
}

/// The types that a free function of a file may change: those of its parameters behind `&mut`.
fn changed(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (start, _) in [(0, "")].into_iter().chain(code.match_indices('\n')) {
        let line = code[start..].trim_start_matches('\n');
        if without_visibility(line).starts_with("fn ") {
            let parameters = line.split(['{', ';']).next().unwrap_or_default();
            let names = parameters.split("&mut ").skip(1).map(identifier);
            found.extend(names.filter(|name| name.starts_with(char::is_uppercase)));
        }
    }
    found
}

/// By crate and type: the files that have an `impl` block of it, or a free function that may change
/// it, which is a method in another place.
pub(super) fn files_with_impls() -> BTreeMap<(&'static str, String), BTreeSet<PathBuf>> {
    let files = machines();
    let mut declaring: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (room, _, code) in &files {
        for name in declared(code) {
            *declaring.entry((room, name)).or_default() += 1;
        }
    }
    let mut found: BTreeMap<_, BTreeSet<PathBuf>> = BTreeMap::new();
    for (room, path, code) in &files {
        let own = declared(code);
        for name in code.lines().filter_map(implemented).chain(changed(code)) {
            let declarations = declaring.get(&(room, name)).copied().unwrap_or(0);
            // Where several files each declare a type of this name, that of the same file is meant.
            if declarations == 1 || (declarations > 1 && !own.contains(name)) {
                found.entry((*room, String::from(name))).or_default().insert(path.clone());
            }
        }
    }
    found
}

#[test]
fn structs_and_their_fields_are_found() {
    let code = "pub(crate) struct A<T> {\n    /// b: not this\n    pub b: T,\n    pub(super) c: Vec<(u8, u8)>,\n    \
                d: u8,\n}\nstruct Unit;\nstruct Pair(u8, u8);\nstruct None {}\n";
    assert_eq!(structs(code), [(String::from("A"), 3)]);
    assert!(declared(code).contains("Pair") && declared("pub enum E {").contains("E"));
}

#[test]
fn functions_that_may_change_a_type_are_found() {
    let code = "pub(super) fn step<O>(\n    a: &mut Array<O>,\n    b: &mut u8,\n) {\n    c(&mut D);\n}\n\nimpl E {\n    \
                fn f(&mut self, g: &mut G) {}\n}\nfn h(i: &mut I) {}\n";
    assert_eq!(changed(code), ["Array", "I"]);
}

#[test]
fn the_type_of_an_impl_is_found() {
    for (line, name) in [
        ("impl Array {", Some("Array")),
        ("impl<T: Fn(u8) -> u8> Host<T> {", Some("Host")),
        ("impl fmt::Display for crate::engine::Array {", Some("Array")),
        ("impl<'a> IntoIterator for &'a Set {", None),
        ("implement", None),
    ] {
        let found = implemented(line).filter(|found| !found.is_empty() && !found.starts_with('\''));
        assert_eq!(found, name, "{line}");
    }
}
