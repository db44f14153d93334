//! One document, block by block.

use super::blocks::{Block, Step, blocks, named, with_options};
use super::exceptions::{EXCEPTIONS, How};
use super::says::{Closely, fits, has};
use super::terminal::{Ran, Terminal, root};
use crate::common::schemas;
use crate::common::tools::have;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Programs of other people that documents use.
const CLIENTS: [&str; 12] = [
    "fio",
    "fio_jsonplus_clat2csv",
    "nbdinfo",
    "nbdcopy",
    "qemu-img",
    "certtool",
    "db_bench",
    "ldb",
    "curl",
    "script",
    "make",
    "python3",
];

/// Commands whose output depends on nothing but what is typed.
const REPEATABLE: [&str; 5] = ["ioda sweep", "ioda explain", "ioda plan", "ioda trace", "ioda run"];

/// Set it to have what consoles print written into the documents instead of compared with them, but
/// for steps that leave something out.
const UPDATE: &str = "IODA_UPDATE_DOCS";

/// What became of a document.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) wrong: String,
    /// The exceptions that it has, by their places in the table.
    pub(super) used: BTreeSet<usize>,
    /// How many blocks or commands were checked in each way.
    pub(super) counts: BTreeMap<&'static str, u32>,
}

struct Checker<'a> {
    page: &'a str,
    terminal: Terminal,
    report: Report,
    /// What the last block of shell printed; nothing if some of it was not typed.
    printed: Option<String>,
    /// How closely a text that follows is compared with it.
    closely: Closely,
    /// Steps of consoles, and what they print.
    updates: Vec<(Step, String)>,
}

/// Checks the page with the path `page` from the root.
pub(super) fn check(page: &str) -> Report {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let (report, closely) = (Report::default(), Closely::Form);
    let mut checker = Checker {
        page,
        terminal: Terminal::new(),
        report,
        printed: None,
        closely,
        updates: Vec::new(),
    };
    for block in blocks(&text) {
        checker.block(&block);
    }
    // What a version long ago could do is not what this one does.
    if page != "CHANGELOG.md" && !page.starts_with("docs/reference/") {
        for step in named(&text) {
            checker.count("commands in the text that are parsed");
            checker.parse(&step);
        }
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(root().join(page), checker.updated(&text)).unwrap();
    }
    checker.report
}

impl Checker<'_> {
    /// The longest exception for what begins so that `is_wanted`.
    fn exception(&mut self, what: &str, is_wanted: impl Fn(How) -> bool) -> Option<How> {
        let what = format!("{what}\n");
        let fitting = EXCEPTIONS.iter().enumerate().filter(|(_, exception)| {
            exception.page == self.page
                && what.starts_with(exception.what)
                && is_wanted(exception.how)
        });
        let (index, exception) = fitting.max_by_key(|(_, exception)| exception.what.len())?;
        self.report.used.insert(index);
        Some(exception.how)
    }

    fn count(&mut self, way: &'static str) {
        *self.report.counts.entry(way).or_default() += 1;
    }

    fn wrong(&mut self, line: usize, what: &str) {
        let _ = writeln!(self.report.wrong, "{}, line {line}: {what}", self.page);
    }

    fn block(&mut self, block: &Block) {
        if self.exception(block.first(), |how| matches!(how, How::ReadAll)).is_some() {
            self.count("blocks that are not typed, but read by the shell");
            return self.read_all(block);
        }
        if let Some(How::File(name)) =
            self.exception(block.first(), |how| matches!(how, How::File(_)))
        {
            self.terminal.put(name, &block.text());
        }
        match block.language.as_str() {
            "console" => self.console(block),
            "sh" => self.shell(block),
            "text" => self.text(block),
            "toml" => self.configuration(block),
            "json" => schemas::validate(&serde_json::from_str(&block.text()).unwrap()),
            "csv" => self.trace(block),
            "rust" => self.rust(block),
            "ini" => self.unit(block),
            "python" => self.count("blocks of Python, which python/tests/test_documents.py runs"),
            "yaml" => self.count("files that a later command uses"),
            other => {
                self.wrong(block.line, &format!("nobody knows how to check a block `{other}`"))
            }
        }
    }

    /// A block that is typed word for word, and prints what it shows.
    fn console(&mut self, block: &Block) {
        self.count("blocks that are typed and print what they show, line by line");
        for step in block.steps() {
            if let Some(How::After(before)) = self.after(&format!("$ {}", step.command)) {
                self.type_all(before);
            }
            let Ran { code, printed } = self.terminal.run(&step.command);
            let lines: Vec<&str> = printed.lines().collect();
            if std::env::var_os(UPDATE).is_some() && !step.expected.contains(&"...".to_owned()) {
                self.updates.push((step, printed));
                continue;
            }
            if code != Some(step.code) || !fits(&step.expected, &lines) {
                self.wrong(
                    step.line,
                    &format!("`{}` ended with {code:?} and printed\n{printed}", step.command),
                );
            }
        }
    }

    /// The page with what its consoles print now.
    fn updated(&self, page: &str) -> String {
        let mut lines: Vec<&str> = page.lines().collect();
        for (step, printed) in self.updates.iter().rev() {
            let at = step.printed_at - 1;
            lines.splice(at..at + step.expected.len(), printed.lines());
        }
        lines.join("\n") + "\n"
    }

    fn after(&mut self, what: &str) -> Option<How> {
        self.exception(what, |how| matches!(how, How::After(_)))
    }

    /// Types what is no part of the document; what it printed.
    fn type_all(&mut self, commands: &[&str]) -> String {
        commands.iter().map(|command| self.terminal.run(command).printed).collect()
    }

    /// A block of commands, each of which must end well.
    fn shell(&mut self, block: &Block) {
        let mut printed = Some(String::new());
        self.closely = Closely::Words;
        for step in block.commands() {
            let said = self.command(&step);
            printed = printed.zip(said).map(|(printed, said)| printed + &said);
        }
        self.printed = printed;
    }

    /// Types a command, or what stands for it. Returns what it printed, if it was typed.
    fn command(&mut self, step: &Step) -> Option<String> {
        let command = step.command.as_str();
        if let Some(How::After(before)) = self.after(command)
            && is_possible(before)
        {
            self.type_all(before);
        }
        let is_wanted = |how| matches!(how, How::Options(_) | How::Typed(_) | How::Read);
        let typed = match self.exception(command, is_wanted) {
            Some(How::Options(options)) => {
                self.parse(step);
                self.count("commands that are typed with less work");
                with_options(command, options)
            }
            Some(How::Typed(other)) => {
                self.count("commands for which others are typed");
                other.to_owned()
            }
            Some(_) => {
                self.count("commands that are only read");
                self.parse(step);
                return None;
            }
            None => {
                self.count("commands that are typed");
                self.parse(step);
                command.to_owned()
            }
        };
        if typed != command || !REPEATABLE.iter().any(|front| command.starts_with(front)) {
            self.closely = Closely::Form;
        }
        if !is_possible(&[&typed]) {
            return None;
        }
        let Ran { code, printed } = self.terminal.run(&typed);
        if code != Some(0) {
            self.wrong(step.line, &format!("`{typed}` ended with {code:?} and printed\n{printed}"));
        }
        Some(printed)
    }

    /// Fails unless a command is one: of `ioda` all options and their values are known, others are
    /// shell.
    fn parse(&mut self, step: &Step) {
        let asked = match step.command.strip_prefix("ioda ") {
            Some(_) => format!("{} --help", step.command),
            None => format!("bash -n <<'END'\n{}\nEND", step.command),
        };
        let Ran { code, printed } = self.terminal.run_in_front(&asked);
        if code != Some(0) {
            self.wrong(step.line, &format!("`{}` is no command: {printed}", step.command));
        }
    }

    fn read_all(&mut self, block: &Block) {
        if block.language == "sh" {
            for step in block.commands() {
                self.parse(&step);
            }
        }
    }

    /// A text: what the commands above it print, or others.
    fn text(&mut self, block: &Block) {
        let is_wanted = |how| matches!(how, How::Words(_) | How::Form(_) | How::Read);
        let (printed, closely) = match self.exception(block.first(), is_wanted) {
            Some(How::Words(commands)) => (self.possibly_typed(commands), Closely::Words),
            Some(How::Form(commands)) => (self.possibly_typed(commands), Closely::Form),
            Some(_) => return self.count("texts that are nobody's output"),
            None => (self.printed.take(), self.closely),
        };
        let Some(printed) = printed else {
            return self
                .wrong(block.line, "this text is nobody's output, or its program is missing");
        };
        self.count("texts that commands print");
        let lines: Vec<String> =
            block.lines.iter().filter(|line| !line.starts_with("$ ")).cloned().collect();
        if !has(&printed, &lines, closely) {
            self.wrong(block.line, &format!("this was to be printed, but this was:\n{printed}"));
        }
    }

    fn possibly_typed(&mut self, commands: &[&str]) -> Option<String> {
        is_possible(commands).then(|| self.type_all(commands))
    }

    /// A configuration that runs or can be served.
    fn configuration(&mut self, block: &Block) {
        self.count("files that the program reads");
        let text = block.text();
        let table: toml::Table = match toml::from_str(&text) {
            Ok(table) => table,
            Err(error) => return self.wrong(block.line, &error.to_string()),
        };
        schemas::validate_as("configuration", &serde_json::to_value(&table).unwrap());
        self.terminal.put("block.toml", &text);
        let command = "ioda run --config block.toml --requests 200 --quiet";
        let Ran { code, printed } = self.terminal.run(command);
        if code != Some(0) {
            self.wrong(block.line, &format!("`{command}` ended with {code:?}: {printed}"));
        }
    }

    fn trace(&mut self, block: &Block) {
        self.count("files that the program reads");
        self.terminal.put("block.csv", &block.text());
        let Ran { code, printed } = self.terminal.run("ioda trace inspect block.csv");
        if code != Some(0) {
            self.wrong(block.line, &format!("it ended with {code:?}: {printed}"));
        }
    }

    /// Code of a page that a crate has compiled with its tests.
    fn rust(&mut self, block: &Block) {
        self.count("blocks of code that are compiled");
        // The crate includes the page by a link of its own, so that it can be published with it.
        let name = self.page.rsplit('/').next().unwrap_or_default();
        let include = format!("include_str!(\"../{name}\")");
        let array = std::fs::read_to_string(root().join("crates/array/src/lib.rs")).unwrap();
        let linked = std::fs::canonicalize(root().join("crates/array").join(name)).ok();
        let page = std::fs::canonicalize(root().join(self.page)).ok();
        if !array.contains(&include) || linked != page {
            self.wrong(block.line, "nothing compiles this code");
        }
    }

    /// A unit of systemd, whose command is one.
    fn unit(&mut self, block: &Block) {
        self.count("files that the program reads");
        let start = block.lines.iter().find_map(|line| line.strip_prefix("ExecStart="));
        let Some((_, options)) = start.and_then(|start| start.split_once("/ioda ")) else {
            return self.wrong(block.line, "a unit without a command");
        };
        let command = format!("ioda {options}");
        self.parse(&Step { line: block.line, command, ..Step::default() });
    }
}

/// Whether all programs are installed that these commands use.
fn is_possible(commands: &[&str]) -> bool {
    let uses = |client: &&str| {
        let mut words = commands.iter().flat_map(|command| command.split([' ', '(', '|', '\n']));
        words.any(|word| word == *client)
    };
    CLIENTS
        .iter()
        .filter(|client| uses(client))
        .all(|client| have("a command of a document", &[client]))
}
