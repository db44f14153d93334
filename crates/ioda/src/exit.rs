//! How the command ends.

use clap::error::{ContextKind, ErrorKind};
use std::borrow::Cow;
use std::num::ParseIntError;
use study::{Cause, Failure};

/// How the command ends, as whoever started it sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Code {
    /// Everything went well, and everything asserted holds.
    Ok = 0,
    /// The runs ended, but an assertion failed or, where that was asked, a claim does not hold; or
    /// an array refused an order.
    Failed = 1,
    /// Flags or configuration that cannot be used.
    Usage = 2,
    /// Input data that cannot be used: a trace that is damaged or does not fit.
    Data = 3,
    /// The run itself failed: a verified page was wrong, an output could not be written, an array
    /// could not be reached, or a bug.
    Internal = 4,
    /// The runs ended and no assertion failed, but one is on a number that too few samples lie
    /// behind.
    NotEnough = 5,
}

impl Code {
    /// How the command ends that fails for `cause`.
    pub(crate) fn of(cause: Cause) -> Self {
        match cause {
            Cause::Usage => Self::Usage,
            Cause::Data => Self::Data,
            Cause::Internal => Self::Internal,
        }
    }
}

/// Prints the failure and gives its exit code.
pub(crate) fn report(failure: &Failure) -> Code {
    crate::output::remark(&format!("error: {failure}"));
    Code::of(failure.cause())
}

/// The sentence about an argument that should be a whole number, if that is what clap refuses.
pub(crate) fn whole_number(error: &clap::Error) -> Option<String> {
    let context = |kind| error.get(kind).map(ToString::to_string);
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let why = std::error::Error::source(error)?;
    let is_range = why.to_string().contains(" is not in ");
    if !is_range && !why.is::<ParseIntError>() {
        return None;
    }
    let argument = context(ContextKind::InvalidArg)?;
    let option = argument.split(' ').next()?;
    let value = context(ContextKind::InvalidValue)?;
    let form = match written_out(&value).as_slice() {
        [] if value.starts_with('-') => String::from(", at least 0"),
        [] => String::from(" such as 10000"),
        all => format!(": write {}", all.join(" or ")),
    };
    Some(format!("{option} is {}; it must be a whole number{form}", crate::output::escaped(&value)))
}

/// What may be meant by a number with an exponent, a prefix or marks between its digits.
fn written_out(text: &str) -> Vec<String> {
    let plain = text.replace([',', '_', '\''], "");
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 1.0);
    let whole =
        |number: f64| (number.fract() == 0.0 && number < 1e15).then(|| format!("{number:.0}"));
    if let Some(number) = number(&plain) {
        return whole(number).into_iter().collect();
    }
    let power = match plain.chars().last().map(|prefix| prefix.to_ascii_lowercase()) {
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        _ => return Vec::new(),
    };
    let number = number(&plain[..plain.len() - 1]);
    let times = |base: f64| whole(number? * base.powi(power));
    [times(1000.0), times(1024.0)].into_iter().flatten().collect()
}

/// Prints what clap has to say (help and versions, too) and gives its exit code.
pub(crate) fn arguments(error: &clap::Error) -> Code {
    if let Some(sentence) = whole_number(error) {
        return report(&Failure::usage(sentence));
    }
    // Clap drops colours of the plain text only, its own and those of an argument.
    let quotes_controls = |text: &str| matches!(crate::output::escaped(text), Cow::Owned(_));
    let text = error.to_string();
    let mut quoted = error.context().map(|(_, value)| value.to_string());
    if quotes_controls(&text) || quoted.any(|value| quotes_controls(&value)) {
        crate::output::remark(text.trim_end());
    } else {
        // A closed pipe while printing help is no error.
        let _ = error.print();
    }
    if error.use_stderr() { Code::Usage } else { Code::Ok }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn refused(argument: &str) -> String {
        let error = Cli::try_parse_from(["ioda", "run", argument]).map(drop).unwrap_err();
        whole_number(&error).unwrap()
    }

    #[test]
    fn numbers_are_refused_with_their_form() {
        for (argument, sentence) in [
            (
                "--requests=10k",
                "--requests is 10k; it must be a whole number: write 10000 or 10240",
            ),
            ("--requests=1e5", "--requests is 1e5; it must be a whole number: write 100000"),
            ("--requests=1_000", "--requests is 1_000; it must be a whole number: write 1000"),
            ("--drives=-4", "--drives is -4; it must be a whole number, at least 0"),
            ("--requests=-5", "--requests is -5; it must be a whole number, at least 0"),
            ("--seed=2.5", "--seed is 2.5; it must be a whole number such as 10000"),
            ("--requests=many", "--requests is many; it must be a whole number such as 10000"),
            ("--seed=0.5k", "--seed is 0.5k; it must be a whole number such as 10000"),
        ] {
            assert_eq!(refused(argument), sentence);
        }
        let other = Cli::try_parse_from(["ioda", "run", "--raid=8"]).map(drop).unwrap_err();
        assert_eq!(whole_number(&other), None);
    }
}
