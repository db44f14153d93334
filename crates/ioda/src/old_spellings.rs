//! Spellings of options that were changed, accepted for one release: each is replaced by the new one, and
//! a remark says so.

use std::ffi::{OsStr, OsString};

/// The arguments with every old spelling replaced, and a remark for each.
pub(crate) fn replaced(
    arguments: impl IntoIterator<Item = OsString>,
) -> (Vec<OsString>, Vec<String>) {
    let mut arguments = arguments.into_iter().peekable();
    let (mut new, mut remarks) = (Vec::new(), Vec::new());
    let mut command: Option<OsString> = None;
    while let Some(argument) = arguments.next() {
        let is = |option: &str| argument == OsStr::new(option);
        let of = |name: &str| command.as_deref() == Some(OsStr::new(name));
        if is("--json")
            && let Some(file) = arguments.next_if(|next| is_json_file(next))
        {
            let spelling = match file == OsStr::new("-") {
                true => OsString::from("--json"),
                false => joined("--json=", &file),
            };
            remarks.push(remark(&joined("--json ", &file), &spelling));
            new.push(spelling);
        } else if is("--html") && of("reproduce") {
            remarks.push(remark(&argument, OsStr::new("--output")));
            new.push(OsString::from("--output"));
        } else if of("serve") && new.len() == 2 && !argument.as_encoded_bytes().starts_with(b"-") {
            remarks
                .push(remark(&joined("serve ", &argument), &joined("serve --config ", &argument)));
            new.extend([OsString::from("--config"), argument]);
        } else {
            if command.is_none()
                && !new.is_empty()
                && !argument.as_encoded_bytes().starts_with(b"-")
            {
                command = Some(argument.clone());
            }
            new.push(argument);
        }
    }
    (new, remarks)
}

/// Whether what follows `--json` is where it is written to. Nothing else that may follow ends so.
fn is_json_file(next: &OsStr) -> bool {
    next == OsStr::new("-") || next.as_encoded_bytes().ends_with(b".json")
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
            ("ioda compare --html page.html", "ioda compare --html page.html", 0),
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
