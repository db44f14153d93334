//! Spellings of options that were changed, accepted for one release: each is replaced by the new one, and
//! a remark says so.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Options that have another name now, by their command.
const RENAMED: [(&str, &str, &str); 5] = [
    ("reproduce", "--html", "--output"),
    ("serve", "--listen", "--address"),
    ("load", "--uri", "--address"),
    ("ctl", "--socket", "--control"),
    ("torture", "--first-seed", "--seed"),
];

/// What may stand in front of the command and takes a value.
const WITH_VALUE: &str = "--log";

/// The arguments with every old spelling replaced, and a remark for each.
pub(crate) fn replaced(
    arguments: impl IntoIterator<Item = OsString>,
) -> (Vec<OsString>, Vec<String>) {
    let mut arguments = arguments.into_iter().peekable();
    let (mut new, mut remarks) = (Vec::new(), Vec::new());
    let mut command: Option<OsString> = None;
    // Where the words of the command begin.
    let mut words_at = 0;
    while let Some(argument) = arguments.next() {
        let is = |option: &str| argument == OsStr::new(option);
        let of = |name: &str| command.as_deref() == Some(OsStr::new(name));
        let is_word = !argument.as_encoded_bytes().starts_with(b"-");
        if let Some(spelling) = renamed(&argument, command.as_deref()) {
            remarks.push(remark(&argument, &spelling));
            new.push(spelling);
        } else if is("--json")
            && let Some(file) = arguments.next_if(|next| is_json_file(next))
        {
            let spelling = match file == OsStr::new("-") {
                true => OsString::from("--json"),
                false => joined("--json=", &file),
            };
            remarks.push(remark(&joined("--json ", &file), &spelling));
            new.push(spelling);
        } else if is("--html")
            && let Some(file) = arguments.next_if(|next| is_page(next))
        {
            let spelling = joined("--html=", &file);
            remarks.push(remark(&joined("--html ", &file), &spelling));
            new.push(spelling);
        } else if is("--no-html") && command.is_some() {
            remarks.push(String::from(
                "note: leave out `--no-html`, which the next release will refuse: a page is written only \
                 where `--html` says so",
            ));
        } else if of("serve") && is_word && new.len() == words_at {
            remarks
                .push(remark(&joined("serve ", &argument), &joined("serve --config ", &argument)));
            new.extend([OsString::from("--config"), argument]);
        } else {
            let is_value = new.last().is_some_and(|last| last == OsStr::new(WITH_VALUE));
            if command.is_none() && !new.is_empty() && is_word && !is_value {
                command = Some(argument.clone());
                words_at = new.len() + 1;
            }
            new.push(argument);
        }
    }
    (new, remarks)
}

/// `argument` with the name that its option has now, if it has another; its value stays, joined or not.
fn renamed(argument: &OsStr, command: Option<&OsStr>) -> Option<OsString> {
    RENAMED.iter().find_map(|(of, old, new)| {
        let rest = argument.as_encoded_bytes().strip_prefix(old.as_bytes())?;
        if command != Some(OsStr::new(of)) || !(rest.is_empty() || rest.starts_with(b"=")) {
            return None;
        }
        // What is cut off in front is ASCII.
        let rest = OsStr::from_bytes(rest);
        Some(joined(new, rest))
    })
}

/// Whether what follows `--json` is where it is written to. Nothing else that may follow ends so.
fn is_json_file(next: &OsStr) -> bool {
    next == OsStr::new("-") || next.as_encoded_bytes().ends_with(b".json")
}

/// Whether what follows `--html` is where the page is written to.
fn is_page(next: &OsStr) -> bool {
    let bytes = next.as_encoded_bytes();
    bytes == b"-" || bytes.ends_with(b".html") || bytes.ends_with(b".htm")
}

fn joined(front: &str, back: &OsStr) -> OsString {
    let mut whole = OsString::from(front);
    whole.push(back);
    whole
}

fn remark(old: &OsStr, new: &OsStr) -> String {
    let (old, new) = (old.display(), new.display());
    format!("note: write `{new}`; `{old}` is the old spelling, which the next release will refuse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_spellings_are_replaced_and_others_are_not() {
        let cases = [
            ("ioda compare --json - tpcc", "ioda compare --json tpcc", 1),
            ("ioda compare --json x.json", "ioda compare --json=x.json", 1),
            ("ioda compare --json tpcc", "ioda compare --json tpcc", 0),
            ("ioda -q ctl status --json", "ioda -q ctl status --json", 0),
            ("ioda reproduce 5a --html pages", "ioda reproduce 5a --output pages", 1),
            ("ioda reproduce 5a --html=pages", "ioda reproduce 5a --output=pages", 1),
            ("ioda compare --html page.html", "ioda compare --html=page.html", 1),
            ("ioda plan --html -", "ioda plan --html=-", 1),
            ("ioda compare --html tpcc", "ioda compare --html tpcc", 0),
            ("ioda compare --no-html tpcc", "ioda compare tpcc", 1),
            ("ioda --log info serve --listen a.sock", "ioda --log info serve --address a.sock", 1),
            ("ioda --log info serve lab.toml", "ioda --log info serve --config lab.toml", 1),
            ("ioda load --uri=nbd://a", "ioda load --address=nbd://a", 1),
            ("ioda ctl status --socket a.ctl", "ioda ctl status --control a.ctl", 1),
            ("ioda torture --first-seed 7", "ioda torture --seed 7", 1),
            ("ioda serve --listener 1", "ioda serve --listener 1", 0),
            ("ioda serve lab.toml --raid 6", "ioda serve --config lab.toml --raid 6", 1),
            ("ioda serve --config lab.toml", "ioda serve --config lab.toml", 0),
        ];
        for (old, expected, count) in cases {
            let (new, remarks) = replaced(old.split(' ').map(OsString::from));
            let new: Vec<String> = new.iter().map(|word| word.display().to_string()).collect();
            assert_eq!((new.join(" ").as_str(), remarks.len()), (expected, count));
        }
        let (_, remarks) = replaced(["ioda", "run", "--json", "a.json"].map(OsString::from));
        assert_eq!(
            remarks,
            [
                "note: write `--json=a.json`; `--json a.json` is the old spelling, which the next release will \
              refuse"
            ]
        );
    }
}
