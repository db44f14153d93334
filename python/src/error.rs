//! Errors as Python's exceptions: one class for each way in which the command line can end.

use ioda::Code;
use ioda::embed::Error;
use pyo3::prelude::*;
use pyo3::types::PyModule;

/// The exception that stands for `error`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.code() {
        Code::Usage => "UsageError",
        Code::Data => "DataError",
        Code::Ok | Code::Failed | Code::Internal | Code::NotEnough => "RunError",
    };
    let exception = PyModule::import(py, "ioda._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((error.to_string(),)));
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception for an option that cannot be used.
pub(crate) fn usage(py: Python<'_>, sentence: impl std::fmt::Display) -> PyErr {
    raised(py, &Error::usage(sentence))
}
