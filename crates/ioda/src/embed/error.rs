//! What goes wrong, as the command line would say it.

use crate::exit::{self, Code};
use std::fmt;
use study::Failure;

/// Why a question has no answer: the sentence that the command line prints, and the code with which
/// it would end.
#[derive(Clone, Debug)]
pub struct Error(Failure);

impl Error {
    /// Options that cannot be used.
    pub fn usage(sentence: impl fmt::Display) -> Self {
        Failure::usage(sentence).into()
    }

    /// A failure of our own.
    pub fn internal(sentence: impl fmt::Display) -> Self {
        Failure::internal(sentence).into()
    }

    /// How the command line would end.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::of(self.0.cause())
    }

    /// What a parser says of the command line, without how the command is used.
    pub(super) fn of_arguments(error: &clap::Error) -> Self {
        if !error.use_stderr() {
            return Self::usage("--help and --version are for the command line");
        }
        if let Some(sentence) = exit::whole_number(error) {
            return Self::usage(sentence);
        }
        let text = error.render().to_string();
        let text = text.split("\n\nUsage:").next().unwrap_or_default();
        let text = text.split("\n\nFor more information").next().unwrap_or_default();
        Self::usage(text.strip_prefix("error: ").unwrap_or(text).trim_end())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}
