//! What the help of every command says.

use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

/// Every command that is shown, built as it is when it is run.
fn commands() -> Vec<clap::Command> {
    fn add(command: &clap::Command, all: &mut Vec<clap::Command>) {
        all.push(command.clone());
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        inner.for_each(|inner| add(inner, all));
    }
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut all = Vec::new();
    add(&root, &mut all);
    all
}

fn called(command: &clap::Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

/// The words of a line that a shell is given, up to a remark behind it or to where it goes on.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.trim().chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => {
                words.push(std::mem::take(&mut word));
                if characters.peek() == Some(&' ') {
                    break;
                }
            }
            _ => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    let end = words.iter().position(|word| [">", "|", "&&"].contains(&word.as_str()));
    words.truncate(end.unwrap_or(words.len()));
    words
}

/// The examples below the help of a command.
fn examples(command: &clap::Command) -> Vec<Vec<String>> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    after.lines().filter(|line| line.starts_with("  ioda ")).map(words).collect()
}

#[test]
fn examples_are_read_as_a_shell_reads_them() {
    assert_eq!(words("  ioda schema a > b.json"), ["ioda", "schema", "a"]);
    assert_eq!(
        words("  ioda run --assert 'a < b'    a remark"),
        ["ioda", "run", "--assert", "a < b"]
    );
}

#[test]
fn help_fits_a_hundred_columns_and_has_examples() {
    let mut wrong = Vec::new();
    for mut command in commands() {
        let name = called(&command).to_owned();
        for help in [command.render_help(), command.render_long_help()] {
            let help = help.to_string();
            let lines = help.lines().filter(|line| line.chars().count() > 100);
            wrong.extend(lines.map(|line| format!("{name}: {line}")));
        }
        let examples = examples(&command);
        let own = |words: &Vec<String>| words.join(" ").starts_with(&name);
        if !examples.iter().any(own) {
            wrong.push(format!("{name}: has no example"));
        }
        for words in examples {
            if let Err(error) = Cli::try_parse_from(&words) {
                wrong.push(format!("{name}: {}: {error}", words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a text has a range such as `1 to 64` or a list such as `csv, fio or msr`.
fn has_range(text: &str) -> bool {
    let ends = |before: &str| before.ends_with(|c: char| c.is_ascii_digit() || c == '%');
    let begins = |after: &str| after.starts_with(|c: char| c.is_ascii_digit());
    let is_list = text.split_once(": ").is_some_and(|(_, list)| list.contains(" or "));
    is_list
        || text
            .match_indices(" to ")
            .any(|(at, to)| ends(&text[..at]) && begins(&text[at + to.len()..]))
}

/// Names of values that say what may stand there.
const PLACES: [&str; 7] = ["FILE", "FOLDER", "PATH", "DIR", "OUT", "TEXT", "WHERE"];

/// Options that take any name.
const ANY_NAME: [&str; 1] = ["http_host"];

#[test]
fn options_say_which_values_they_take() {
    let mut wrong = Vec::new();
    for command in commands() {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            if !argument.get_action().takes_values() {
                continue;
            }
            let help = argument.get_long_help().or(argument.get_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let value = argument.get_value_names().and_then(|names| names.first());
            let words =
                ["[default: ", "such as ", "above 0", "see `ioda ", "counted from ", " or more"];
            let is_said = !argument.get_default_values().is_empty()
                || !argument.get_possible_values().is_empty()
                || value.is_some_and(|value| PLACES.contains(&value.as_str()))
                || words.iter().any(|word| help.contains(word))
                || has_range(&help)
                || ANY_NAME.contains(&argument.get_id().as_str());
            if !is_said {
                wrong.push(format!("{} {}: {help}", called(&command), argument.get_id()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a number with one of these units stands in a text.
fn has_unit(text: &str, units: &[&str]) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').any(|word| {
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        unit.len() < word.len() && units.contains(&unit)
    })
}

/// What else says which numbers there are.
const NUMBERS: [&str; 4] = ["any whole number", " or more", "above 0", "counted from"];
/// Ends of times and of sizes.
const TIMES: [&str; 6] = ["ns", "us", "ms", "s", "m", "h"];
const SIZES: [&str; 4] = ["k", "m", "g", "t"];

#[test]
fn numbers_have_a_range_and_quantities_a_unit() {
    let mut wrong = Vec::new();
    for command in commands() {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let help = argument.get_long_help().or(argument.get_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let value = argument.get_value_names().and_then(|names| names.first());
            let is_said = match value.map_or("", |value| value.as_str()) {
                "N" | "K" => has_range(&help) || NUMBERS.iter().any(|word| help.contains(word)),
                "TIME" => has_unit(&help, &TIMES),
                "SIZE" => has_unit(&help, &SIZES),
                "PERCENT" => ["%", "hare of", "ercentage"].iter().any(|word| help.contains(word)),
                _ => true,
            };
            if !is_said && argument.get_action().takes_values() {
                wrong.push(format!("{} {}: {help}", called(&command), argument.get_id()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
