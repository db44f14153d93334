//! Runs on a thread of their own, while Python's thread waits for them and looks at its signals.

use crate::error::raised;
use crate::options;
use crate::own_policy::{self, Own};
use crate::requests::{self, Requests};
use ioda::embed::{Command, Done, Entry, Error, Question, Simulation};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use sim::{LatencySummary, Progress, RequestColumns};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How often the waiting thread looks at signals and tells progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Values in nanoseconds and how often each was measured, both as bytes of 64-bit numbers.
type Histogram<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);
/// The document as JSON; for each run the histograms of reads and of writes; what came of each
/// assertion; for each run its requests, if they were kept.
type Answer<'py> =
    (String, Vec<(Histogram<'py>, Histogram<'py>)>, Vec<(Option<bool>, String)>, Vec<Requests>);

/// Makes the runs of `ioda run` or `ioda compare`.
///
/// `policies` are texts and policies in Python, as `ioda._policy` describes them. `progress` is
/// called with the requests that are done, and with the requests of all runs or None.
#[pyfunction]
#[pyo3(signature = (command, workload, options, configuration, policies, progress, keep_requests))]
#[expect(clippy::too_many_arguments, reason = "everything that a question has")]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    command: &str,
    workload: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
    configuration: Option<&Bound<'py, PyDict>>,
    policies: Option<&Bound<'py, PyList>>,
    progress: Option<&Bound<'py, PyAny>>,
    keep_requests: bool,
) -> PyResult<Answer<'py>> {
    let command = if command == "run" { Command::Run } else { Command::Compare };
    let mut words = options::words(command.name(), workload, options)?;
    let configuration = configuration.map(options::toml).transpose()?;
    let (mut entries, mut own) = (Vec::new(), Vec::<Own>::new());
    if let Some(policies) = policies {
        let names = PyList::empty(py);
        for policy in policies {
            if policy.is_instance_of::<PyString>() {
                names.append(policy)?;
                entries.push(Entry::Named);
            } else {
                let policy = own_policy::claim(&policy)?;
                entries.push(Entry::Own(policy.kind()));
                own.push(policy);
            }
        }
        options::add(&mut words, "policy", names.as_any())?;
        if own.is_empty() {
            // The words say everything.
            entries.clear();
        }
    }
    let question = Question { command, words, configuration, policies: entries };
    let simulation = Simulation::new(&question).map_err(|error| raised(py, &error))?;
    let counts = Arc::new(Progress::new(simulation.runs()));
    own.iter().for_each(|policy| policy.attach(&counts));
    let known_requests = Arc::new(OnceLock::new());
    let tell = |_: Python<'_>| {
        let Some(progress) = progress else { return Ok(()) };
        let done: u64 = counts.runs.iter().map(|run| run.completed.load(Ordering::Relaxed)).sum();
        let runs = counts.runs.len() as u64;
        let total = known_requests.get().copied().flatten().map(|each: u64| each * runs);
        progress.call1((done, total)).map(drop)
    };
    let kept: Arc<Mutex<BTreeMap<usize, Vec<RequestColumns>>>> = Arc::default();
    let (counted, known, keeping) =
        (Arc::clone(&counts), Arc::clone(&known_requests), Arc::clone(&kept));
    let work = move || {
        let begun = |requests| {
            let _ = known.set(requests);
        };
        let keep = |run: usize, requests: RequestColumns| {
            lock(&keeping).entry(run).or_default().push(requests);
            ControlFlow::Continue(())
        };
        simulation.run(&counted, begun, keep_requests.then_some(&keep))
    };
    let done = interruptible(py, work, || counts.interrupt(), tell);
    if let Some(failure) = own.iter().find_map(|policy| policy.failure(py)) {
        return Err(failure);
    }
    let done = done?;
    let kept = std::mem::take(&mut *lock(&kept));
    let tables = kept.into_values().map(requests::table).collect::<PyResult<_>>()?;
    answer(py, &done, tables)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer<'py>(py: Python<'py>, done: &Done, requests: Vec<Requests>) -> PyResult<Answer<'py>> {
    let document = py.detach(|| report::json::to_string(&done.comparison));
    let results = done.results.iter();
    let histograms =
        results.map(|result| (histogram(py, &result.read), histogram(py, &result.write)));
    Ok((document, histograms.collect(), done.verdicts.clone(), requests))
}

fn histogram<'py>(py: Python<'py>, latency: &LatencySummary) -> Histogram<'py> {
    let (mut values, mut counts) = (Vec::new(), Vec::new());
    for (value, count) in latency.recorded() {
        values.extend(value.as_nanos().to_le_bytes());
        counts.extend(count.to_le_bytes());
    }
    (PyBytes::new(py, &values), PyBytes::new(py, &counts))
}

/// Does `work` on another thread, without the interpreter lock. Meanwhile `tell` is called now and
/// then; where it fails or a signal raises an exception, `interrupt` is called, and the exception
/// is raised when the work has ended, or at a second signal.
pub(crate) fn interruptible<'py, T: Send + 'static>(
    py: Python<'py>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    interrupt: impl Fn(),
    mut tell: impl FnMut(Python<'py>) -> PyResult<()>,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let thread = std::thread::Builder::new().name("ioda".to_owned()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(bug(&*panic)));
        // Whoever waited may have gone.
        let _ = sender.send(result);
    });
    if let Err(error) = thread {
        return Err(raised(py, &Error::internal(format!("cannot start a thread: {error}"))));
    }
    // A receiver may not be shared, and is not while the lock is released.
    let receiver = std::sync::Mutex::new(receiver);
    let wait = || {
        let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        receiver.recv_timeout(LOOK_EVERY)
    };
    let mut raised_before: Option<PyErr> = None;
    loop {
        match py.detach(wait) {
            Ok(result) => {
                if let Some(exception) = raised_before {
                    return Err(exception);
                }
                tell(py)?;
                return result.map_err(|error| raised(py, &error));
            }
            Err(RecvTimeoutError::Timeout) => {
                let looked = py.check_signals();
                match (looked, &raised_before) {
                    (Err(second), Some(_)) => return Err(second),
                    (Err(first), None) => {
                        interrupt();
                        raised_before = Some(first);
                    }
                    (Ok(()), Some(_)) => {}
                    (Ok(()), None) => {
                        if let Err(failed) = tell(py) {
                            interrupt();
                            raised_before = Some(failed);
                        }
                    }
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raised(py, &Error::internal("the thread of a run has ended")));
            }
        }
    }
}

/// A panic is a mistake of ours, and an error like others to whoever called.
fn bug(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
    Error::internal(format!("a bug in ioda, please report it: {text}"))
}
