//! Configuration files: TOML, in which an unknown key is an error.

use super::{DriveSettings, Settings};
use crate::failure::Failure;
use crate::values::names::nearest;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads the configuration file at `path`.
pub fn load(path: &Path) -> Result<Settings, Failure> {
    parse(&read(path)?, &path.display().to_string())
}

/// Reads the `[drive]` section of the file at `path`.
pub fn drive_from(path: &Path) -> Result<DriveSettings, Failure> {
    Ok(load(path)?.drive)
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read the configuration {}: {error}", path.display()))
    })
}

/// Reads a document; `name` stands for it in messages.
pub fn parse<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, Failure> {
    toml::from_str(text).map_err(|error| Failure::usage(explain(text, name, &error)))
}

/// One sentence with the place of the error and what was probably meant.
fn explain(text: &str, name: &str, error: &toml::de::Error) -> String {
    let place = error.span().map_or_else(String::new, |span| {
        let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
        format!(", line {line}")
    });
    let message = error.message().replace('\n', " ");
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        let given = quoted.next().unwrap_or_default();
        let known: Vec<&str> = quoted.collect();
        let hint = match nearest(given, known.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        return format!("{name}{place}: there is no key `{given}`; {hint}");
    }
    format!("{name}{place}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse::<Settings>(text, "a.toml").unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_are_refused_with_what_was_meant() {
        assert_eq!(
            refused("[array]\ndrives = 4\nchunck = \"4k\"\n"),
            "a.toml, line 3: there is no key `chunck`; did you mean `chunk`?"
        );
        assert_eq!(
            refused("[aray]\n"),
            "a.toml, line 1: there is no key `aray`; did you mean `array`?"
        );
        assert_eq!(
            refused("[array]\nqqq = 4\n"),
            "a.toml, line 2: there is no key `qqq`; known here: drives, other_drive, raid, stripe_width, spare, rebuild_compute, chunk, tw"
        );
    }

    #[test]
    fn impossible_values_are_refused_with_their_line() {
        assert!(
            refused("[array]\n\nchunk = \"4q\"\n").starts_with("a.toml, line 3: size \"4q\" is")
        );
        assert!(refused("[array]\ndrives = \"many\"\n").contains("expected u32"));
        assert!(refused("[array\n").starts_with("a.toml, line 1: "));
    }
}
