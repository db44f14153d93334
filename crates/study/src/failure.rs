//! Why a study ends early.

use std::fmt;

/// Kinds of failures. A command has an exit code for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Settings that cannot be used.
    Usage,
    /// Input data that cannot be used: a trace that is damaged or does not fit.
    Data,
    /// The run itself failed: a verified page was wrong, an output could not be written, an array
    /// could not be reached, or a bug.
    Internal,
}

/// Why a study ends early: one sentence and its cause.
#[derive(Clone, Debug)]
pub struct Failure {
    cause: Cause,
    sentence: String,
}

impl Failure {
    /// Settings that cannot be used.
    pub fn usage(sentence: impl fmt::Display) -> Self {
        Self { cause: Cause::Usage, sentence: sentence.to_string() }
    }

    /// Input data that cannot be used.
    pub fn data(sentence: impl fmt::Display) -> Self {
        Self { cause: Cause::Data, sentence: sentence.to_string() }
    }

    /// The run itself failed.
    pub fn internal(sentence: impl fmt::Display) -> Self {
        Self { cause: Cause::Internal, sentence: sentence.to_string() }
    }

    /// Its cause.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Failure {}

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
