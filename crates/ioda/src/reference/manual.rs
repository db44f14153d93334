//! Pages of the manual, one for each command.

use clap::Command;
use clap_mangen::Man;
use std::io;
use study::Failure;

/// Each page with the name of its file; `root` is the whole command line.
pub(crate) fn pages(mut root: Command) -> Result<Vec<(String, String)>, Failure> {
    root.build();
    let mut pages = Vec::new();
    add(&root, &mut pages)
        .map_err(|error| Failure::internal(format!("cannot write the manual: {error}")))?;
    Ok(pages)
}

fn add(command: &Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut text = String::from_utf8_lossy(&page).into_owned();
    if let Some(help) = command.get_after_help() {
        // Lines of examples stay lines, which the generator's own section would not do.
        text += &format!(".SH EXAMPLES\n.nf\n{}.fi\n", verbatim(&help.to_string()));
    }
    pages.push((man.get_filename(), text));
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .try_for_each(|inner| add(inner, pages))
}

/// Lines that troff prints as they are.
fn verbatim(text: &str) -> String {
    let line = |line: &str| {
        let escaped = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if escaped.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{guard}{escaped}\n")
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// The names of all commands that are shown, as `ioda-trace-inspect`.
    fn names(command: &Command, of: &str, all: &mut Vec<String>) {
        all.push(of.to_owned());
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            names(inner, &format!("{of}-{}", inner.get_name()), all);
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let mut expected = Vec::new();
        names(&Cli::command(), "ioda", &mut expected);
        let pages = pages(Cli::command()).unwrap();
        let mut written: Vec<&str> =
            pages.iter().map(|(name, _)| name.strip_suffix(".1").unwrap()).collect();
        written.sort_unstable();
        expected.sort_unstable();
        assert_eq!(written, expected);
        for (name, text) in &pages {
            assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{name}");
            assert!(text.contains(".SH EXAMPLES"), "{name}");
        }
    }
}
