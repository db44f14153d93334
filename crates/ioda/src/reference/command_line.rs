//! Every command with its help.

use super::GENERATED;
use clap::Command;

/// As wide as lines of help get.
const COLUMNS: usize = 100;

/// The page; `root` is the whole command line.
pub(super) fn page(root: Command) -> String {
    let mut root = root.term_width(COLUMNS);
    root.build();
    let mut text = format!(
        "{GENERATED}\n# Command line\n\nWhat `ioda COMMAND --help` prints. Results go to standard output, \
         progress and remarks to standard error.\n"
    );
    add(&mut root, &mut text);
    text
}

fn add(command: &mut Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or("ioda").to_owned();
    let help = command.clone().term_width(COLUMNS).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    *text += &format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for inner in command.get_subcommands_mut().filter(|inner| !inner.is_hide_set()) {
        add(inner, text);
    }
}
