//! Files that import each other in a circle have to be read together.

use super::{crates, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Maximum number of files of a crate in one circle of imports, by what they name in `use`. A name
/// that `pub use` exports again counts for the file that declares it.
const CIRCLE_FILES_MAX: usize = 4;

/// The path of a module or an item below its crate.
type Name = Vec<String>;

/// What a file declares and uses, without its tests.
#[derive(Default)]
struct File {
    items: BTreeSet<String>,
    /// Each path with the name that it has here, and whether `pub use` exports it again.
    uses: Vec<(Name, String, bool)>,
}

/// The files of a crate, by module.
struct Room(BTreeMap<Name, File>);

impl Room {
    fn read(name: &str) -> Self {
        let root = crates().join(name).join("src");
        let mut paths = Vec::new();
        sources(&root, &mut paths);
        let mut room = Self(BTreeMap::new());
        for path in paths {
            let below = path.strip_prefix(&root).unwrap().with_extension("");
            let mut module: Name =
                below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            module.retain(|part| !["lib", "main", "mod"].contains(&part.as_str()));
            let code = fs::read_to_string(&path).unwrap();
            let code = code.split("#[cfg(test)]\n").next().unwrap_or_default();
            let file = room.0.entry(module).or_default();
            file.items.extend(items(code));
            file.uses.extend(uses(code));
        }
        room
    }

    /// The path below the crate that `path` means in `module`; `None` if it is in another crate.
    fn absolute(&self, module: &Name, path: &[String]) -> Option<Name> {
        let mut base = module.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => return Some(path[1..].to_vec()),
            Some("self") => rest = &path[1..],
            Some("super") => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            Some(first) => {
                base.push(first.to_owned());
                if !self.0.contains_key(&base) {
                    return None;
                }
                base.pop();
            }
            None => return None,
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The module whose file declares what `path` means.
    fn declaring(&self, path: &Name, depth: u32) -> Option<Name> {
        if self.0.contains_key(path) {
            return Some(path.clone());
        }
        let end = (0..path.len()).rev().find(|&end| self.0.contains_key(&path[..end]))?;
        let (module, name) = (path[..end].to_vec(), &path[end]);
        let file = &self.0[&module];
        if depth == 0 || file.items.contains(name) {
            return Some(module);
        }
        for (used, here, _) in &file.uses {
            let Some(mut target) = self.absolute(&module, used) else { continue };
            if here == "*" {
                target.pop();
                target.push(name.clone());
            } else if here != name {
                continue;
            }
            target.extend_from_slice(&path[end + 1..]);
            let found = self.declaring(&target, depth - 1);
            if found.is_some() && (here != "*" || found.as_ref() != Some(&module)) {
                return found;
            }
        }
        Some(module)
    }

    /// The modules that each module imports from.
    fn imports(&self) -> BTreeMap<&Name, BTreeSet<Name>> {
        let of = |module: &Name, file: &File| -> BTreeSet<Name> {
            let own = file.uses.iter().filter(|(.., is_passed_on)| !is_passed_on);
            let paths = own.filter_map(|(path, ..)| self.absolute(module, path));
            // A module alone only leads to names in it, which stand in the code.
            let items = paths.filter(|path| !self.0.contains_key(path));
            items.filter_map(|path| self.declaring(&path, 8)).filter(|to| to != module).collect()
        };
        self.0.iter().map(|(module, file)| (module, of(module, file))).collect()
    }

    /// Each circle of imports with its modules.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let imports = self.imports();
        let reached = |from: &Name| -> BTreeSet<Name> {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(next) = open.pop() {
                for to in imports.get(&next).into_iter().flatten() {
                    if seen.insert(to.clone()) {
                        open.push(to.clone());
                    }
                }
            }
            seen
        };
        let all: BTreeMap<&Name, BTreeSet<Name>> =
            self.0.keys().map(|module| (module, reached(module))).collect();
        let circle = |module: &Name| -> Vec<String> {
            let others = all[module].iter().filter(|other| all[*other].contains(module));
            others.map(|other| other.join("/")).collect()
        };
        self.0.keys().map(circle).filter(|circle| circle.len() > 1).collect()
    }
}

/// The items that a file declares.
fn items(code: &str) -> BTreeSet<String> {
    const KINDS: [&str; 8] =
        ["struct ", "enum ", "fn ", "trait ", "type ", "const ", "static ", "union "];
    let name = |line: &str| {
        let mut rest = line.trim_start();
        if let Some(public) = rest.strip_prefix("pub") {
            rest = public.split_once(' ').map_or("", |(_, rest)| rest);
        }
        rest = rest.strip_prefix("const fn ").map_or(rest, |_| &rest["const ".len()..]);
        let rest = KINDS.iter().find_map(|kind| rest.strip_prefix(kind))?;
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        Some(rest[..end].to_owned())
    };
    code.lines().filter_map(name).collect()
}

/// The paths that a file uses.
fn uses(code: &str) -> Vec<(Name, String, bool)> {
    let mut found = Vec::new();
    let mut statement: Option<(String, bool)> = None;
    for line in code.lines() {
        if statement.is_none() {
            let text = line.trim_start();
            let is_passed_on = text.starts_with("pub");
            let text = match is_passed_on {
                true => text.split_once(' ').map_or("", |(_, rest)| rest),
                false => text,
            };
            let Some(tree) = text.strip_prefix("use ") else { continue };
            statement = Some((tree.to_owned(), is_passed_on));
        } else if let Some((tree, _)) = &mut statement {
            tree.push_str(line.trim());
        }
        if let Some((tree, is_passed_on)) = statement.take_if(|(tree, _)| tree.ends_with(';')) {
            let mut paths = Vec::new();
            expand(&[], tree.trim_end_matches(';'), &mut paths);
            found.extend(paths.into_iter().map(|(path, here)| (path, here, is_passed_on)));
        }
    }
    found
}

/// The paths of a tree such as `a::{b, c as d}`, each with its name afterwards.
fn expand(prefix: &[String], tree: &str, found: &mut Vec<(Name, String)>) {
    let tree = tree.trim();
    if let Some((front, inner)) = tree.split_once('{') {
        let parts = front.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
        let prefix: Name = prefix.iter().cloned().chain(parts).collect();
        let inner = inner.strip_suffix('}').unwrap_or(inner);
        let (mut depth, mut start) = (0, 0);
        for (at, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&prefix, &inner[start..at], found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        return expand(&prefix, &inner[start..], found);
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, as_)| (path, Some(as_)));
    let mut path: Name =
        prefix.iter().cloned().chain(path.split("::").map(str::to_owned)).collect();
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let here = alias.map(str::to_owned).or_else(|| path.last().cloned()).unwrap_or_default();
    found.push((path, here));
}

#[test]
fn circles_of_imports_are_small() {
    let folders = fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut large = Vec::new();
    for name in folders.map(|name| name.to_string_lossy().into_owned()) {
        let circles = Room::read(&name).circles();
        let beyond = circles.iter().filter(|circle| circle.len() > CIRCLE_FILES_MAX);
        large.extend(beyond.map(|circle| format!("{name}: {}", circle.join(", "))));
    }
    assert!(
        large.is_empty(),
        "circles of more than {CIRCLE_FILES_MAX} files:\n{}",
        large.join("\n")
    );
}

#[test]
fn circles_are_found_through_names_that_are_passed_on() {
    let file = |items: &[&str], code: &str| File {
        items: items.iter().map(|item| (*item).to_owned()).collect(),
        uses: uses(code),
    };
    let name = |path: &str| -> Name { path.split('/').map(str::to_owned).collect() };
    let room = Room(BTreeMap::from([
        (Vec::new(), file(&[], "mod a;\n")),
        (name("a"), file(&[], "pub use b::{\n    B as Other,\n    C,\n};\n")),
        (name("a/b"), file(&["B", "C"], "use super::c::D;\nuse std::fmt;\n")),
        (name("a/c"), file(&["D"], "use crate::a::Other;\n")),
    ]));
    let circle = vec!["a/b".to_owned(), "a/c".to_owned()];
    assert_eq!(room.circles(), BTreeSet::from([circle]));
}
