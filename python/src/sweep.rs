//! Runs of a sweep one by one, and the file that they are kept in.

use crate::error::raised;
use crate::options;
use crate::simulate::interruptible;
use ioda::embed::{Command, Question};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Makes runs of a sweep. It keeps prepared drives and traces for the next run.
#[pyclass(module = "ioda._native", frozen)]
pub(crate) struct Maker(Arc<Mutex<ioda::embed::Maker>>);

/// What a maker has made: a key, and a record unless the run need not be made.
type Made = (String, Option<String>);

#[pymethods]
impl Maker {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Makes the run with these options under `policy`, unless its key is one of those that `known`
    /// has: a callable that takes a key and says whether it is. `point` says in a few words what is
    /// varied.
    #[expect(clippy::too_many_arguments, reason = "everything that determines a run")]
    fn make(
        &self,
        py: Python<'_>,
        workload: Option<&Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
        configuration: Option<&Bound<'_, PyDict>>,
        policy: String,
        point: String,
        known: &Bound<'_, PyAny>,
    ) -> PyResult<Made> {
        let words = options::words(Command::Compare.name(), workload, options)?;
        let configuration = configuration.map(options::toml).transpose()?;
        let (command, policies) = (Command::Compare, Vec::new());
        let question = Question { command, words, configuration, policies };
        let maker = Arc::clone(&self.0);
        let work = move || lock(&maker).job(&question, &policy, &point);
        let job = interruptible(py, work, || (), |_| Ok(()))?;
        let key = job.key().to_owned();
        if known.call1((&key,))?.is_truthy()? {
            return Ok((key, None));
        }
        let maker = Arc::clone(&self.0);
        let record = interruptible(py, move || lock(&maker).make(&job), || (), |_| Ok(()))?;
        Ok((key, Some(record)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of a sweep, which this process alone writes until it is closed.
#[pyclass(module = "ioda._native", frozen)]
pub(crate) struct Store(Mutex<Option<ioda::embed::Store>>);

#[pymethods]
impl Store {
    /// Opens it, or makes it; an empty one if `fresh`.
    #[new]
    #[pyo3(signature = (folder, fresh = false))]
    fn new(py: Python<'_>, folder: PathBuf, fresh: bool) -> PyResult<Self> {
        let store = py.detach(|| ioda::embed::Store::open(&folder, fresh));
        Ok(Self(Mutex::new(Some(store.map_err(|error| raised(py, &error))?))))
    }

    /// The runs that need not be made again: keys and records as JSON.
    fn records(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let store = lock(&self.0);
        let store = store.as_ref().ok_or_else(closed)?;
        store.records().map_err(|error| raised(py, &error))
    }

    /// Keeps what a maker has made; when this returns it is on the medium.
    fn keep(&self, py: Python<'_>, key: &str, record: &str) -> PyResult<()> {
        let mut store = lock(&self.0);
        let store = store.as_mut().ok_or_else(closed)?;
        store.keep(key, record).map_err(|error| raised(py, &error))
    }

    /// All runs have ended: brings the file into an order that does not depend on when each did.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let mut store = lock(&self.0);
        let store = store.as_mut().ok_or_else(closed)?;
        store.finish().map_err(|error| raised(py, &error))
    }

    /// Closes it.
    fn close(&self) {
        *lock(&self.0) = None;
    }
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("the store is closed")
}

/// The first of so many runs that the shard `text` has, such as 3/64, and the first that it does
/// not have any more.
#[pyfunction]
pub(crate) fn shard(py: Python<'_>, text: &str, runs: usize) -> PyResult<(usize, usize)> {
    let range = ioda::embed::shard(text, runs).map_err(|error| raised(py, &error))?;
    Ok((range.start, range.end))
}

/// Puts the runs that `folders` keep into `output`; returns how many it keeps then.
#[pyfunction]
pub(crate) fn merge(py: Python<'_>, folders: Vec<PathBuf>, output: PathBuf) -> PyResult<usize> {
    let merged = py.detach(|| ioda::embed::merge(&folders, &output));
    merged.map_err(|error| raised(py, &error))
}
