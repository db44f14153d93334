//! The Python module `ioda._native`: conversions, and nothing else.
//!
//! Knows: Python's types, its interpreter lock and its signals. Does not know: what an option
//! means, how a run is made, how a result is shown. The first two are asked of `ioda::embed`; the
//! last is Python, in the folder `ioda`.

mod columns;
mod error;
mod options;
mod own_policy;
mod requests;
mod simulate;
mod sweep;

use pyo3::prelude::*;

/// The compiled half of `ioda`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::columns::{arrow, columns};
    #[pymodule_export]
    use crate::own_policy::{Array, View};
    #[pymodule_export]
    use crate::requests::{Column, Requests};
    #[pymodule_export]
    use crate::simulate::simulate;
    #[pymodule_export]
    use crate::sweep::{Maker, Store, merge, shard};
    #[pymodule_export]
    use crate::{command, plan, policies};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}

/// Does what a command line says, as the program does; the first of `arguments` is the name of the
/// program. Returns the exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| ioda::command(arguments) as u8)
}

/// The document of `ioda plan` as JSON.
#[pyfunction]
fn plan(py: Python<'_>, options: &Bound<'_, pyo3::types::PyDict>) -> PyResult<String> {
    let words = options::words("plan", None, options)?;
    simulate::interruptible(py, move || ioda::embed::plan(&words), || (), |_| Ok(()))
}

/// Name and summary of every policy of the registry, in the order of tables.
#[pyfunction]
fn policies() -> Vec<(&'static str, &'static str)> {
    ioda::embed::policies().iter().map(|policy| (policy.name(), policy.summary())).collect()
}
