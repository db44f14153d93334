//! The fenced blocks of a document, and the commands in them.

/// A fenced block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// The line of the page on which its first line is.
    pub(super) line: usize,
    pub(super) language: String,
    pub(super) lines: Vec<String>,
}

/// A command of a document, and what it is to print.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) command: String,
    /// The line on which what it prints begins.
    pub(super) printed_at: usize,
    pub(super) expected: Vec<String>,
    pub(super) code: i32,
}

/// All blocks of a page, those in lists too.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let mut is_inside = false;
    for (index, line) in page.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if is_inside => is_inside = false,
            Some(language) => {
                is_inside = true;
                let language = language.trim().to_owned();
                all.push(Block { line: index + 2, language, lines: Vec::new() });
            }
            None => {
                if let Some(block) = all.last_mut().filter(|_| is_inside) {
                    block.lines.push(line.to_owned());
                }
            }
        }
    }
    all
}

/// The commands of `ioda` that stand in the text of a page between single backquotes, with a number
/// for each `N`.
pub(super) fn named(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut is_inside = false;
    let mut text = String::new();
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        text += if is_inside || is_fence { "" } else { line };
        text.push('\n');
    }
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 && part.starts_with("ioda ") {
            let words = part.split_whitespace().map(|word| if word == "N" { "1" } else { word });
            let command = words.collect::<Vec<_>>().join(" ");
            let before: usize =
                text.split('`').take(index).map(|part| part.matches('\n').count()).sum();
            steps.push(Step { line: before + 1, command, ..Step::default() });
        }
    }
    steps
}

impl Block {
    pub(super) fn first(&self) -> &str {
        self.lines.first().map_or("", String::as_str)
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The commands of a block of shell, without comments. A block that changes the folder or sets
    /// a variable is one command, because each command has a shell of its own.
    pub(super) fn commands(&self) -> Vec<Step> {
        let is_script = |line: &String| {
            let first = line.split_whitespace().next().unwrap_or_default();
            first == "cd" || line.contains("&& cd ") || is_assignment(line)
        };
        if self.lines.iter().any(is_script) {
            return vec![Step { line: self.line, command: self.text(), ..Step::default() }];
        }
        let mut commands: Vec<Step> = Vec::new();
        let mut goes_on = false;
        for (index, line) in self.lines.iter().enumerate() {
            let text = without_comment(line).trim();
            let continued = text.strip_suffix('\\');
            let part = continued.unwrap_or(text).trim();
            match commands.last_mut().filter(|_| goes_on) {
                Some(last) => last.command = format!("{} {part}", last.command),
                None if part.is_empty() => {}
                None => {
                    let command = part.to_owned();
                    commands.push(Step { line: self.line + index, command, ..Step::default() });
                }
            }
            goes_on = continued.is_some();
        }
        commands
    }

    /// The steps of a block of a console: a line `$ COMMAND` is typed, and the lines below are what
    /// it prints. A line `? N` says that the exit code is N.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                let (command, line) = (command.to_owned(), self.line + index);
                steps.push(Step { line, command, printed_at: line + 1, ..Step::default() });
            } else if let Some(step) = steps.last_mut() {
                match line.strip_prefix("? ").and_then(|code| code.parse().ok()) {
                    Some(code) => {
                        step.code = code;
                        step.printed_at += 1;
                    }
                    None if step.command.ends_with('\\') => {
                        step.command.pop();
                        step.printed_at += 1;
                        step.command += line.trim_start();
                    }
                    None => step.expected.push(line.to_owned()),
                }
            }
        }
        steps
    }
}

/// Whether a line sets a variable for those after it.
fn is_assignment(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else { return false };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_name && (value.starts_with("$(") || !value.contains(' '))
}

/// A line of shell without the comment at its end.
fn without_comment(line: &str) -> &str {
    let comment = line.match_indices('#').map(|(at, _)| at).find(|&at| {
        let before = &line[..at];
        before.is_empty() || before.ends_with(' ')
    });
    comment.map_or(line, |at| &line[..at])
}

/// `command` with `options` instead of its own options of these names; those that it has not come
/// last.
pub(super) fn with_options(command: &str, options: &str) -> String {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let mut rest = options.split(' ').peekable();
    while let Some(option) = rest.next() {
        let (name, joined) = match option.split_once('=') {
            Some((name, _)) => (format!("{name}="), true),
            None => (option.to_owned(), false),
        };
        let value = rest.next_if(|next| !joined && !next.starts_with('-'));
        let place = words.iter().position(|word| match joined {
            true => word.starts_with(&name),
            false => *word == name,
        });
        match (place, value) {
            (Some(place), _) if joined => words[place] = option.to_owned(),
            (Some(place), Some(value)) => words[place + 1] = value.to_owned(),
            (Some(_), None) => {}
            (None, value) => {
                words.push(option.to_owned());
                words.extend(value.map(str::to_owned));
            }
        }
    }
    words.join(" ")
}

#[test]
fn blocks_and_their_commands_are_read() {
    let page = "a\n```sh\nioda a \\\n  --b 1   # why\n\nioda c 'x#y' # d\n```\n  ```text\n  z\n  ```\n```\nq\n```\n";
    let all = blocks(page);
    let kinds: Vec<_> = all.iter().map(|block| (block.line, block.language.as_str())).collect();
    assert_eq!(kinds, [(3, "sh"), (9, "text"), (12, "")]);
    let commands: Vec<_> =
        all[0].commands().into_iter().map(|step| (step.line, step.command)).collect();
    assert_eq!(commands, [(3, "ioda a --b 1".to_owned()), (6, "ioda c 'x#y'".to_owned())]);
    let script = &blocks("```sh\nmkdir a && cd a\nfor x in y; do\n  z\ndone\n```\n")[0];
    assert_eq!(script.commands().len(), 1);
    let variable = &blocks("```sh\nDISK=$(losetup --show x)\nmount $DISK\n```\n")[0];
    assert_eq!(variable.commands().len(), 1);
    let of_one = &blocks("```sh\nCUTS=5 cargo test\nls\n```\n")[0];
    assert_eq!(of_one.commands().len(), 2);
}

#[test]
fn named_commands_are_found() {
    let page = "a `b` `ioda run\n--seed N` c\n```sh\n`ioda x`\n```\n`ioda y`\n";
    let found: Vec<_> = named(page).into_iter().map(|step| (step.line, step.command)).collect();
    assert_eq!(found, [(1, "ioda run --seed 1".to_owned()), (6, "ioda y".to_owned())]);
}

#[test]
fn options_are_replaced_or_added() {
    for (command, options, expected) in [
        ("ioda a --requests 5 --b", "--requests 2 --quiet", "ioda a --requests 2 --b --quiet"),
        ("fio --runtime=60 --x=1", "--runtime=1", "fio --runtime=1 --x=1"),
        ("ioda a --quiet", "--quiet", "ioda a --quiet"),
    ] {
        assert_eq!(with_options(command, options), expected);
    }
}

#[test]
fn steps_of_a_console_are_read() {
    let text = "```console\n$ one \\\n    more\na\n...\nz\n$ two\n? 2\n```\n$ not this\n";
    let all: Vec<Step> = blocks(text).iter().flat_map(Block::steps).collect();
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].command.as_str(), all[0].line), ("one more", 2));
    assert_eq!((all[0].expected.join(" "), all[1].code), ("a ... z".to_owned(), 2));
}
