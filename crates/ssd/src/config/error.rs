//! Errors of a drive's configuration.

use alloc::string::String;
use core::fmt;

/// Reason why a drive cannot exist, in one sentence that says what to change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ConfigError {}

pub(crate) fn refuse(reason: String) -> Result<(), ConfigError> {
    Err(ConfigError(reason))
}
