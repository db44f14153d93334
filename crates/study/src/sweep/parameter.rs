//! `--vary KEY=VALUES`.

use super::key::Key;
use super::values;
use crate::failure::Failure;
use crate::settings::Settings;
use report::sweep;

/// A key of the configuration and the values that it takes.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    key: Key,
    /// The key as it was typed.
    name: String,
    values: Vec<String>,
}

impl Parameter {
    /// What `text` says, whose values `settings` can have.
    pub fn parse(text: &str, settings: &Settings) -> Result<Self, Failure> {
        let Some((name, list)) = text.split_once('=') else {
            return Err(Failure::usage(format!(
                "--vary {text} has no values; write KEY=VALUES such as load=0.01,0.02 or \
                 width=4..16:4"
            )));
        };
        let key = Key::parse(name)?;
        let values = values::parse(list)
            .map_err(|why| Failure::usage(format!("--vary {}: {why}", name.trim())))?;
        for value in &values {
            key.set(settings, value)?;
        }
        Ok(Self { key, name: name.trim().to_owned(), values })
    }

    /// Refuses two parameters of which one would hide the other.
    pub fn check_all(all: &[Self]) -> Result<(), Failure> {
        match all {
            [] | [_] => Ok(()),
            [first, second] if first.key != second.key => Ok(()),
            [first, _] => Err(Failure::usage(format!(
                "--vary is there twice for {}; put all values into one list",
                first.key
            ))),
            more => Err(Failure::usage(format!(
                "--vary is there {} times; a sweep has one parameter or two",
                more.len()
            ))),
        }
    }

    /// `settings` with the value at `index`.
    pub(super) fn set(&self, settings: &Settings, index: usize) -> Result<Settings, Failure> {
        self.key.set(settings, &self.values[index])
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The value at `index` in words, as in `width 4`.
    pub(super) fn words(&self, index: usize) -> String {
        format!("{} {}", self.name, self.values[index])
    }

    /// The text of the value at `index`.
    pub(super) fn text(&self, index: usize) -> String {
        self.values[index].clone()
    }

    /// The parameter as the document has it.
    pub(super) fn described(&self) -> sweep::Parameter {
        let (values, scale) = values::placed(&self.values);
        sweep::Parameter { name: self.name.clone(), key: self.key.to_string(), values, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Parameter, String> {
        Parameter::parse(text, &Settings::default()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_parameter_is_a_key_and_values_it_can_have() {
        let width = parsed(" width = 4..8:2").unwrap();
        assert_eq!((width.len(), width.words(1).as_str()), (3, "width 6"));
        let settings = width.set(&Settings::default(), 2).unwrap();
        assert_eq!(settings.array.drives, Some(8));
        assert!(parsed("width").unwrap_err().contains("has no values"));
        assert!(parsed("width=4..8").unwrap_err().starts_with("--vary width: 4..8 has no step"));
        assert!(parsed("width=4,x").unwrap_err().contains("cannot set array.drives to x"));
        let again = parsed("array.drives=5").unwrap();
        assert!(Parameter::check_all(&[width.clone(), again]).is_err());
        assert!(Parameter::check_all(&[width.clone(), parsed("load=1").unwrap()]).is_ok());
        assert!(Parameter::check_all(&[width.clone(), width.clone(), width]).is_err());
    }
}
