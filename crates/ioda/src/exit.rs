//! How the command ends.

use std::borrow::Cow;
use std::fmt;

/// How the command ends, as whoever started it sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Code {
    /// Everything went well, and everything asserted holds.
    Ok = 0,
    /// The runs ended, but an assertion failed or, where that was asked, a claim does not hold; or an
    /// array refused an order.
    Failed = 1,
    /// Flags or configuration that cannot be used.
    Usage = 2,
    /// Input data that cannot be used: a trace that is damaged or does not fit.
    Data = 3,
    /// The run itself failed: a verified page was wrong, an output could not be written, an array could
    /// not be reached, or a bug.
    Internal = 4,
    /// The runs ended and no assertion failed, but one is on a number that too few samples lie behind.
    NotEnough = 5,
}

/// Why the command ends early: one sentence and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    sentence: String,
}

impl Failure {
    /// Flags or configuration that cannot be used.
    pub(crate) fn usage(sentence: impl fmt::Display) -> Self {
        Self { code: Code::Usage, sentence: sentence.to_string() }
    }

    /// Input data that cannot be used.
    pub(crate) fn data(sentence: impl fmt::Display) -> Self {
        Self { code: Code::Data, sentence: sentence.to_string() }
    }

    /// How the command ends.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// The run itself failed.
    pub(crate) fn internal(sentence: impl fmt::Display) -> Self {
        Self { code: Code::Internal, sentence: sentence.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl From<sim::PlanError> for Failure {
    fn from(error: sim::PlanError) -> Self {
        Self::usage(error)
    }
}

impl From<workload::OptionError> for Failure {
    fn from(error: workload::OptionError) -> Self {
        Self::usage(error)
    }
}

impl From<workload::TraceError> for Failure {
    fn from(error: workload::TraceError) -> Self {
        match error {
            workload::TraceError::Option(error) => Self::usage(error),
            error => match remedy(&error) {
                Some(flags) => Self::data(format!("{error} ({flags})")),
                None => Self::data(error),
            },
        }
    }
}

/// The flags that do what a message about a trace advises.
fn remedy(error: &workload::TraceError) -> Option<&'static str> {
    use workload::{LineProblem as P, TraceError as E};
    match error {
        E::Unrecognised { .. } => Some("--format, --columns"),
        E::Line { problem, .. } | E::Record { problem, .. } => match problem {
            P::Columns { .. }
            | P::Operation { .. }
            | P::SameColumns { .. }
            | P::NoSuchColumn { .. } => Some("--format, --columns"),
            P::ZeroLength => Some("--skip-zero-length"),
            P::TimeBackwards { .. } => Some("--reorder-window, --clamp-time"),
            P::CrowdedSecond { .. } => Some("--spread-seconds false"),
            _ => None,
        },
        _ => None,
    }
}

impl From<workload::WorkloadError> for Failure {
    fn from(error: workload::WorkloadError) -> Self {
        use workload::WorkloadError as E;
        match error {
            E::Trace(error) => error.into(),
            E::Option(error) => error.into(),
            E::Write { .. } => Self::internal(error),
            E::BeyondArray { .. } | E::LargerThanArray { .. } | E::FoldOverflow { .. } => {
                Self::data(error)
            }
        }
    }
}

impl From<sim::SimError<workload::WorkloadError>> for Failure {
    fn from(error: sim::SimError<workload::WorkloadError>) -> Self {
        use sim::SimError as E;
        match error {
            E::Plan(error) => error.into(),
            E::Workload(error) => error.into(),
            E::OutOfRange { .. }
            | E::Empty { .. }
            | E::BackInTime { .. }
            | E::Overloaded { .. } => Self::data(error),
            E::Interrupted | E::Stalled { .. } | E::Mismatch { .. } => Self::internal(error),
        }
    }
}

/// Prints the failure and gives its exit code.
pub(crate) fn report(failure: &Failure) -> Code {
    crate::output::remark(&format!("error: {failure}"));
    failure.code
}

/// Prints what clap has to say (help and versions, too) and gives its exit code.
pub(crate) fn arguments(error: &clap::Error) -> Code {
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
