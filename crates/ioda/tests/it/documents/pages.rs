//! Which documents there are, that they can be found, and that their words say what is meant.

use super::terminal::root;
use std::path::Path;

/// Words that hid what was meant, each of which once stood in a document or in the help.
const HIDING: [&str; 11] = [
    "at least so grave",
    "order it about",
    "taken for failed",
    "each request at its moment",
    "each at its moment",
    "say on paper",
    "so many times as large",
    "later than due",
    "for one burst but not for ever",
    "delayed by behind",
    "data base",
];

/// All documents, by their paths from the root.
pub(super) fn all() -> Vec<String> {
    let root = root();
    let (mut folders, mut all) = (vec![root.join("docs")], Vec::new());
    let mut add = |path: &Path| {
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        if is_document && path.is_file() {
            all.push(path.strip_prefix(&root).unwrap().display().to_string());
        }
    };
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    entries(&root).iter().for_each(|path| add(path));
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            add(&path);
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    all.sort();
    all
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap()
}

#[test]
fn every_document_is_in_the_summary_and_links_lead_somewhere() {
    let summary = read("docs/SUMMARY.md");
    let mut wrong = Vec::new();
    for page in all() {
        if let Some(name) = page.strip_prefix("docs/")
            && name != "SUMMARY.md"
            && !summary.contains(&format!("]({name})"))
        {
            wrong.push(format!("{page} is not in docs/SUMMARY.md"));
        }
        let path = root().join(&page);
        for link in read(&page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_elsewhere = file.is_empty() || link.contains("://") || file.contains(' ');
            if !is_elsewhere && !path.parent().unwrap().join(file).exists() {
                wrong.push(format!("{page} links to {link}, which is not there"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_say_what_is_meant() {
    let mut wrong = Vec::new();
    for page in all() {
        let text = read(&page).to_lowercase();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = HIDING.iter().filter(|words| text.contains(*words));
        wrong.extend(found.map(|words| format!("{page} says `{words}`")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
