//! Options by name and value, as words of a command line.

use super::error::Error;
use crate::cli::Cli;
use clap::{Arg, ArgAction, CommandFactory};
use std::ffi::OsString;

/// Names that cannot be those of the options: `assert` is a word of some languages, and several
/// policies are a list.
const OTHER_NAMES: [(&str, &str); 2] = [("asserts", "assert"), ("policies", "policy")];

/// The value of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Whether something is so. A flag stands there or not; an option that takes a value gets
    /// `true` or `false`.
    Switch(bool),
    /// What is typed behind the option.
    Text(OsString),
    /// Several values: in one list, or the option several times, as the option wants it.
    List(Vec<OsString>),
}

/// The words of one command.
#[derive(Clone, Debug)]
pub struct Words {
    command: clap::Command,
    words: Vec<OsString>,
    /// What stands behind the options.
    last: Option<OsString>,
}

impl Words {
    /// The command called `name`, such as `run`, without options.
    ///
    /// # Errors
    ///
    /// If there is no such command.
    pub fn new(name: &str) -> Result<Self, Error> {
        let all = Cli::command();
        let command = all.find_subcommand(name);
        let command = command.ok_or_else(|| Error::usage(format!("there is no command {name}")))?;
        let words = vec!["ioda".into(), name.into()];
        Ok(Self { command: command.clone(), words, last: None })
    }

    /// Adds what stands without a name: the workload.
    pub fn set_last(&mut self, word: OsString) {
        self.last = Some(word);
    }

    /// Adds the option `name`, with underscores in the place of hyphens. One that does not exist is
    /// refused with the others, when the words are read.
    ///
    /// # Errors
    ///
    /// If `name` cannot be that of an option.
    pub fn add(&mut self, name: &str, value: &Value) -> Result<(), Error> {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if name.starts_with('-')
            || !name.contains(char::is_alphabetic)
            || !name.chars().all(is_letter)
        {
            return Err(Error::usage(format!("{name:?} cannot be the name of an option")));
        }
        let name = name.trim_end_matches('_');
        let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
        let name = other.map_or(name, |(_, name)| name);
        let known = self.command.get_arguments().find(|argument| is_called(argument, name));
        let long = match known.and_then(Arg::get_long) {
            Some(long) => format!("--{long}"),
            None => format!("--{}", name.replace('_', "-")),
        };
        let takes_value = known.is_some_and(|argument| argument.get_action().takes_values());
        let needs_value = takes_value && known.is_none_or(needs_value);
        let with = |value: OsString| joined(&long, value);
        match value {
            Value::Switch(true) if !needs_value => self.words.push(long.into()),
            Value::Switch(false) if !needs_value && known.is_some() => {}
            Value::Switch(on) => self.words.push(with(on.to_string().into())),
            Value::Text(text) => self.words.push(with(text.clone())),
            Value::List(list) if list.is_empty() => {}
            Value::List(list) => match known.and_then(Arg::get_value_delimiter) {
                Some(delimiter) => {
                    let delimiter = delimiter.to_string();
                    self.words.push(with(list.join(std::ffi::OsStr::new(&delimiter))));
                }
                None => self.words.extend(list.iter().cloned().map(with)),
            },
        }
        Ok(())
    }

    /// Adds words as somebody would type them behind the command.
    pub fn extend(&mut self, words: impl IntoIterator<Item = OsString>) {
        self.words.extend(words);
    }

    /// The words, with the name of the program in front.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        let mut words = self.words.clone();
        if let Some(last) = &self.last {
            let is_option = last.as_encoded_bytes().starts_with(b"-");
            words.extend(is_option.then(|| "--".into()));
            words.push(last.clone());
        }
        words
    }

    /// The words as a shell takes them.
    #[must_use]
    pub fn command_line(&self) -> String {
        let words = self.words();
        words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    /// What the parser of the command line makes of them.
    pub(super) fn parsed(&self) -> Result<Cli, Error> {
        use clap::Parser;
        Cli::try_parse_from(self.words()).map_err(|error| Error::of_arguments(&error))
    }
}

/// Whether `name` means this option.
fn is_called(argument: &Arg, name: &str) -> bool {
    let same = |long: &str| long.replace('-', "_") == name.replace('-', "_");
    argument.get_long().is_some_and(same)
        || argument.get_all_aliases().is_some_and(|aliases| aliases.into_iter().any(same))
}

/// Whether an option that takes a value cannot stand without one.
fn needs_value(argument: &Arg) -> bool {
    let may_lack = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    !may_lack && !matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse)
}

fn joined(option: &str, value: OsString) -> OsString {
    let mut word = OsString::from(option);
    word.push("=");
    word.push(value);
    word
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    fn line(command: &str, options: &[(&str, Value)]) -> String {
        let mut words = Words::new(command).unwrap();
        options.iter().for_each(|(name, value)| words.add(name, value).unwrap());
        words.command_line()
    }

    #[test]
    fn options_are_what_somebody_would_have_typed() {
        let list = |values: &[&str]| Value::List(values.iter().map(Into::into).collect());
        for (name, value, typed) in [
            ("write_buffer", text("32m"), "--write-buffer=32m"),
            ("drives", text("-1"), "--drives=-1"),
            ("rate_iops", text("500"), "--rate_iops=500"),
            ("verify", Value::Switch(true), "--verify"),
            ("spread_seconds", Value::Switch(false), "--spread-seconds=false"),
            ("drives", Value::Switch(true), "--drives=true"),
            ("json", Value::Switch(true), "--json"),
            ("policies", list(&["base", "ioda"]), "--policy=base,ioda"),
            ("fail", list(&["1@0s", "2@1s"]), "--fail=1@0s --fail=2@1s"),
            ("asserts", list(&["read.p99 < 1ms"]), "'--assert=read.p99 < 1ms'"),
            ("assert_", text("waf==1"), "--assert=waf==1"),
            ("no_such_option", Value::Switch(false), "--no-such-option=false"),
        ] {
            assert_eq!(line("run", &[(name, value)]), format!("ioda run {typed}"));
        }
        for name in ["verify", "clamp_time", "json"] {
            assert_eq!(line("run", &[(name, Value::Switch(false))]), "ioda run");
        }
        assert_eq!(line("run", &[("fail", Value::List(Vec::new()))]), "ioda run");
    }

    #[test]
    fn a_workload_is_never_an_option() {
        let mut words = Words::new("run").unwrap();
        words.set_last("--json".into());
        assert_eq!(words.command_line(), "ioda run -- --json");
        let cli = words.parsed().unwrap();
        assert!(matches!(cli.command, crate::cli::Command::Run(args)
            if args.workload.name.as_deref() == Some("--json")));
    }

    #[test]
    fn what_cannot_be_an_option_is_refused() {
        for name in ["", "-", "--json", "a b", "a=b", "_", "1"] {
            let mut words = Words::new("run").unwrap();
            assert!(words.add(name, &Value::Switch(true)).is_err(), "{name:?}");
        }
        let mut words = Words::new("run").unwrap();
        words.add("drivs", &text("4")).unwrap();
        let error = words.parsed().unwrap_err();
        assert!(error.to_string().starts_with("unexpected argument '--drivs' found"), "{error}");
        assert!(!error.to_string().contains("Usage"), "{error}");
        assert_eq!(error.code(), crate::Code::Usage);
    }
}
