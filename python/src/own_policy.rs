//! Policies in Python: what a class defines is asked, and nothing else.

use crate::error::usage;
use array::RequestKind;
use array::policy::{
    About, Answered, Asked, Attempt, Awaited, DriveChanges, Failure, Hooks, Needs, Policy,
    PolicyKind, PolicySetup, Sent, Tally, View as ArrayView, WindowUse,
};
use nvme::{CollectionReport, Opcode, PlFlag, Status, Untimed};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sim::Progress;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use units::{DriveId, Duration, Instant, Lba};

/// Everything that `About` says, as a class in Python has it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Description {
    name: String,
    label: String,
    summary: String,
    windows: WindowUse,
    needs: Needs,
    untimed: Untimed,
}

/// A policy as the registry has them, which stands for whatever class of this description runs. The
/// array knows policies by a reference that is good for ever, so these are never freed: one for
/// each description, and for each run with it at the same time.
struct Slot {
    description: Description,
    kind: OnceLock<PolicyKind>,
    state: Mutex<Option<Arc<State>>>,
}

/// Those that were made so far.
static SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

/// What a class of a run has to do with the run.
struct State {
    /// Makes a policy: a callable without arguments.
    factory: Py<PyAny>,
    /// The name of its class.
    class: String,
    /// The questions that it answers.
    methods: BTreeSet<String>,
    progress: OnceLock<Arc<Progress>>,
    has_failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
}

impl State {
    /// Keeps the first exception and ends the run.
    fn fail(&self, exception: PyErr) {
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            *lock(&self.failure) = Some(exception);
        }
        if let Some(progress) = self.progress.get() {
            progress.interrupt();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A class of Python as a policy, for one question; afterwards its slot is free again.
pub(crate) struct Own {
    slot: &'static Slot,
    state: Arc<State>,
}

impl Drop for Own {
    fn drop(&mut self) {
        *lock(&self.slot.state) = None;
    }
}

impl Own {
    /// The policy.
    pub(crate) fn kind(&self) -> PolicyKind {
        *self.slot.kind.get_or_init(|| PolicyKind::BASE)
    }

    /// Ends the run behind `progress` where the class raises an exception.
    pub(crate) fn attach(&self, progress: &Arc<Progress>) {
        let _ = self.state.progress.set(Arc::clone(progress));
    }

    /// The exception that it raised.
    pub(crate) fn failure(&self, py: Python<'_>) -> Option<PyErr> {
        lock(&self.state.failure).as_ref().map(|failure| failure.clone_ref(py))
    }
}

/// Takes a policy as `ioda._policy.described` gives it.
pub(crate) fn claim(described: &Bound<'_, PyAny>) -> PyResult<Own> {
    let py = described.py();
    let text = |name: &str| -> PyResult<String> { described.get_item(name)?.extract() };
    let class = text("class")?;
    let one_of = |name: &str, known: &[&str]| -> PyResult<usize> {
        let value = text(name)?;
        known.iter().position(|known| *known == value).ok_or_else(|| {
            usage(
                py,
                format!("{class}.{name} is {value:?}; it must be one of {}", known.join(", ")),
            )
        })
    };
    let windows =
        one_of("windows", &["none", "blind", "seen", "quiet", "imagined", "synchronized"])?;
    let windows = [
        WindowUse::None,
        WindowUse::Blind,
        WindowUse::Seen,
        WindowUse::Quiet,
        WindowUse::Imagined,
        WindowUse::Synchronized,
    ][windows];
    let needs = one_of("needs", &["nothing", "redundancy", "mirrors"])?;
    let needs = [Needs::Nothing, Needs::Redundancy, Needs::Mirrors][needs];
    let untimed = one_of("untimed", &["nothing", "collections", "writes"])?;
    let untimed = [Untimed::Nothing, Untimed::Collections, Untimed::Writes][untimed];
    let name = text("name")?;
    if PolicyKind::from_name(&name).is_some() {
        let why = format!("{class}.name is {name:?}, which is a policy of ioda; choose another");
        return Err(usage(py, why));
    }
    let (label, summary) = (text("label")?, text("summary")?);
    let description = Description { name, label, summary, windows, needs, untimed };
    let methods: Vec<String> = described.get_item("methods")?.extract()?;
    let state = Arc::new(State {
        factory: described.get_item("factory")?.unbind(),
        class,
        methods: methods.into_iter().collect(),
        progress: OnceLock::new(),
        has_failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    });
    Ok(Own { slot: slot(description, &state), state })
}

/// A slot that is free, or a new one.
fn slot(description: Description, state: &Arc<State>) -> &'static Slot {
    let mut slots = lock(&SLOTS);
    for slot in slots.iter().filter(|slot| slot.description == description) {
        let mut taken = lock(&slot.state);
        if taken.is_none() {
            *taken = Some(Arc::clone(state));
            return slot;
        }
    }
    let state = Mutex::new(Some(Arc::clone(state)));
    let slot: &'static Slot =
        Box::leak(Box::new(Slot { description, kind: OnceLock::new(), state }));
    let Description { name, label, summary, windows, needs, untimed } = &slot.description;
    let build = move |setup: &PolicySetup<'_>| -> Box<dyn Policy> {
        match lock(&slot.state).as_ref() {
            Some(state) => Box::new(OwnPolicy::new(Arc::clone(state), setup)),
            None => unreachable!("a slot is taken for as long as its policy runs"),
        }
    };
    let about: &'static About = Box::leak(Box::new(About {
        name,
        label,
        summary,
        source: "a policy in Python",
        drive_changes: DriveChanges::Nothing,
        windows: *windows,
        untimed: *untimed,
        needs: *needs,
        build: Box::leak(Box::new(build)),
    }));
    let _ = slot.kind.set(PolicyKind::new(about));
    slots.push(slot);
    slot
}

/// The array that a policy is made for.
#[pyclass(frozen, get_all, module = "ioda")]
pub(crate) struct Array {
    /// Number of drives.
    drives: u32,
    /// How many members of a stripe can be reconstructed at once.
    parities: u32,
    /// Time to compute a reconstructed page, in nanoseconds.
    reconstruct_compute_ns: u64,
}

/// What a policy can look at when it is asked.
#[pyclass(frozen, module = "ioda")]
pub(crate) struct View {
    /// The drives that hold the stripe in question, as bits.
    #[pyo3(get)]
    stripe: u64,
    /// Drives that have failed or are being rebuilt, as bits.
    #[pyo3(get)]
    missing: u64,
    /// Drives in their busy window now, as bits; 0 where there are no windows.
    #[pyo3(get)]
    busy: u64,
    /// The length of the busy window in nanoseconds; None where there are no windows.
    #[pyo3(get)]
    busy_time_window_ns: Option<u64>,
    queues: Vec<(u32, u32)>,
}

#[pymethods]
impl View {
    /// Blocks that each drive was asked to read and has not answered yet.
    #[getter]
    fn read_blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.queues.iter().map(|queue| queue.0))
    }

    /// Blocks that each drive was asked to write and has not answered yet.
    #[getter]
    fn write_blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.queues.iter().map(|queue| queue.1))
    }
}

impl View {
    fn of(view: &ArrayView<'_>, lba: Lba, now: Instant) -> Self {
        let queues = view.queues.all();
        let is_busy = |drive: &usize| view.coordinator.is_busy(DriveId(*drive as u8), lba, now);
        let busy = (0..queues.len()).filter(is_busy).fold(0, |busy, drive| busy | 1 << drive);
        Self {
            stripe: view.stripe,
            missing: view.missing.bits(),
            busy,
            busy_time_window_ns: view.coordinator.busy_time_window().map(Duration::as_nanos),
            queues: queues.iter().map(|queue| (queue.read_blocks, queue.write_blocks)).collect(),
        }
    }
}

/// One object of the class in one run.
struct OwnPolicy {
    object: Option<Py<PyAny>>,
    state: Arc<State>,
    hooks: Hooks,
    handled: Instant,
}

impl OwnPolicy {
    fn new(state: Arc<State>, setup: &PolicySetup<'_>) -> Self {
        let hook = |name: &str, hook| if state.methods.contains(name) { hook } else { Hooks::NONE };
        let hooks = hook("first_attempt", Hooks::FIRST_ATTEMPT)
            | hook("spare_reads", Hooks::SPARE_READS)
            | hook("hedge_after", Hooks::HEDGE_AFTER)
            | hook("sent", Hooks::SENT)
            | hook("answered", Hooks::ANSWERED)
            | hook("admits", Hooks::ADMITS)
            | hook("next_deadline", Hooks::DEADLINE);
        let array = Array {
            drives: setup.drives,
            parities: setup.parities,
            reconstruct_compute_ns: setup.reconstruct_compute.as_nanos(),
        };
        let made = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let object = state.factory.bind(py).call0()?;
            if state.methods.contains("start") {
                object.call_method1("start", (array,))?;
            }
            Ok(object.unbind())
        });
        let object = made.map_err(|exception| state.fail(exception)).ok();
        Self { object, state, hooks, handled: Instant::ZERO }
    }

    /// What the class answers to the question `name`; `usual` if it does not define it, answers
    /// None, or has raised an exception before, after which the run ends soon.
    fn ask<T>(
        &self,
        name: &'static str,
        usual: T,
        arguments: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Result<T, String>>,
    ) -> T {
        let Some(object) = &self.object else { return usual };
        if !self.state.methods.contains(name) || self.state.has_failed.load(Ordering::Relaxed) {
            return usual;
        }
        Python::attach(|py| {
            let asked = object.bind(py).call_method1(name, arguments).and_then(|answer| {
                if answer.is_none() { Ok(None) } else { self.read(name, &answer, read).map(Some) }
            });
            match asked {
                Ok(answer) => answer.unwrap_or(usual),
                Err(exception) => {
                    self.state.fail(exception);
                    usual
                }
            }
        })
    }

    fn read<T>(
        &self,
        name: &str,
        answer: &Bound<'_, PyAny>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Result<T, String>>,
    ) -> PyResult<T> {
        let wrong = |must: &str| {
            format!("{}.{name} returned {answer:?}; it must be {must}", self.state.class)
        };
        match read(answer) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(must)) => Err(PyValueError::new_err(wrong(&must))),
            Err(_) => Err(PyTypeError::new_err(wrong("a number, or None for the usual answer"))),
        }
    }

    /// A call without an answer.
    fn tell(&self, name: &'static str, arguments: impl for<'py> PyCallArgs<'py>) {
        self.ask(name, (), arguments, |_| Ok(Ok(())));
    }
}

fn number<T: for<'a, 'py> FromPyObject<'a, 'py>>(
    answer: &Bound<'_, PyAny>,
    must: &str,
) -> PyResult<Result<T, String>> {
    Ok(answer.extract().map_err(|_| must.to_owned()))
}

/// One drive of a set.
fn drive_of(answer: &Bound<'_, PyAny>, drives: u64) -> PyResult<Result<DriveId, String>> {
    let drive: Result<u8, _> = answer.extract();
    let is_one = |drive: &u8| *drive < 64 && drives & 1 << *drive != 0;
    Ok(drive
        .ok()
        .filter(is_one)
        .map(DriveId)
        .ok_or_else(|| format!("a drive of the set {drives:#b}")))
}

fn yes(answer: &Bound<'_, PyAny>) -> PyResult<Result<bool, String>> {
    answer.is_truthy().map(Ok)
}

fn flag(answer: &Bound<'_, PyAny>) -> PyResult<Result<PlFlag, String>> {
    Ok(match answer.extract::<u8>() {
        Ok(0) => Ok(PlFlag::Off),
        Ok(1) => Ok(PlFlag::Predictable),
        Ok(2) => Ok(PlFlag::Patient),
        _ => Err("one of ioda.Flag".to_owned()),
    })
}

fn attempt(answer: &Bound<'_, PyAny>) -> PyResult<Result<Attempt, String>> {
    Ok(match answer.extract::<u8>() {
        Ok(0) => Ok(Attempt::Send(PlFlag::Off)),
        Ok(1) => Ok(Attempt::Send(PlFlag::Predictable)),
        Ok(2) => Ok(Attempt::Send(PlFlag::Patient)),
        Ok(3) => Ok(Attempt::Avoid),
        Ok(4) => Ok(Attempt::SendAndReconstruct),
        _ => Err("one of ioda.Attempt".to_owned()),
    })
}

fn opcode(opcode: Opcode) -> &'static str {
    match opcode {
        Opcode::Read => "read",
        Opcode::Write => "write",
        Opcode::Deallocate => "deallocate",
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::FailedFast => "failed-fast",
        Status::Unrecovered => "unrecovered",
    }
}

fn kind(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Deallocate => "deallocate",
    }
}

fn nanos(now: Instant) -> u64 {
    now.as_nanos()
}

impl Policy for OwnPolicy {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn first_attempt(
        &mut self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        view: &ArrayView<'_>,
    ) -> Attempt {
        let view = View::of(view, lba, now);
        let arguments = (nanos(now), drive.0, lba.0, view);
        self.ask("first_attempt", Attempt::Send(PlFlag::Off), arguments, attempt)
    }

    fn sends_parity_reads(&self) -> bool {
        self.ask("sends_parity_reads", false, (), yes)
    }

    fn choose_copy(
        &mut self,
        now: Instant,
        primary: DriveId,
        copies: u64,
        lba: Lba,
        view: &ArrayView<'_>,
    ) -> DriveId {
        let view = View::of(view, lba, now);
        let arguments = (nanos(now), primary.0, copies, lba.0, view);
        self.ask("choose_copy", primary, arguments, |answer| drive_of(answer, copies))
    }

    fn reconstruct_flag(&self) -> PlFlag {
        self.ask("reconstruct_flag", PlFlag::Off, (), flag)
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        let usual = failures.len() - 1;
        let list = |failure: &Failure| {
            (failure.member, failure.drive.0, failure.busy_remaining.as_nanos())
        };
        let list: Vec<_> = failures.iter().map(list).collect();
        let index = |answer: &Bound<'_, PyAny>| {
            let index = answer.extract().ok().filter(|&index: &usize| index <= usual);
            Ok(index.ok_or_else(|| format!("an index, 0 to {usual}")))
        };
        self.ask("wait_for", usual, (list,), index)
    }

    fn spares_windows_in_writes(&self) -> bool {
        self.ask("spares_windows_in_writes", false, (), yes)
    }

    fn spare_reads(&self) -> u32 {
        let read = |answer: &Bound<'_, PyAny>| number(answer, "a number of reads, 0 or more");
        self.ask("spare_reads", 0, (), read)
    }

    fn hedge_after(&mut self, now: Instant, _: &Awaited) -> Option<Duration> {
        let read = |answer: &Bound<'_, PyAny>| {
            let delay = number::<u64>(answer, "nanoseconds, 0 or more, or None for never")?;
            Ok(delay.map(Duration::from_nanos).map(Some))
        };
        self.ask("hedge_after", None, (nanos(now),), read)
    }

    fn may_hedge(&mut self, now: Instant, late: u64, reads: u32, view: &ArrayView<'_>) -> bool {
        let view = View::of(view, Lba(0), now);
        self.ask("may_hedge", true, (nanos(now), late, reads, view), yes)
    }

    fn hedge_ended(&mut self, reads: u32, won: bool) {
        self.tell("hedge_ended", (reads, won));
    }

    fn place_update(
        &mut self,
        now: Instant,
        drive: DriveId,
        free: u64,
        view: &ArrayView<'_>,
    ) -> Option<DriveId> {
        let view = View::of(view, Lba(0), now);
        let arguments = (nanos(now), drive.0, free, view);
        let read = |answer: &Bound<'_, PyAny>| Ok(drive_of(answer, free)?.map(Some));
        self.ask("place_update", None, arguments, read)
    }

    fn relocates_chunks(&self) -> bool {
        self.state.methods.contains("place_update")
    }

    fn watches_drives(&self) -> bool {
        self.state.methods.contains("handle_report")
    }

    fn handle_report(&mut self, now: Instant, drive: DriveId, report: &CollectionReport) {
        let &CollectionReport { collecting, pages_before_next, collected_blocks, moved_pages } =
            report;
        let told =
            (nanos(now), drive.0, collecting, pages_before_next, collected_blocks, moved_pages);
        self.tell("handle_report", told);
    }

    fn sent(&mut self, now: Instant, command: &Sent) {
        let Sent { drive, opcode: what, lba, blocks } = *command;
        self.tell("sent", (nanos(now), drive.0, opcode(what), lba.0, blocks));
    }

    fn answered(&mut self, now: Instant, answer: &Answered) {
        let Sent { drive, opcode: what, lba, blocks } = answer.command;
        let (status, latency) = (status(answer.status), answer.latency.as_nanos());
        let told = (nanos(now), drive.0, opcode(what), lba.0, blocks, status, latency);
        self.tell("answered", told);
    }

    fn admits(&mut self, now: Instant, asked: &Asked) -> bool {
        let told = (nanos(now), asked.host, kind(asked.kind), asked.size_bytes);
        let is_write = asked.kind == RequestKind::Write;
        let read = |answer: &Bound<'_, PyAny>| {
            let admits = answer.is_truthy()?;
            Ok(if is_write && !admits { Err("True for a write".to_owned()) } else { Ok(admits) })
        };
        self.ask("admits", true, told, read)
    }

    fn releases(&mut self, now: Instant) -> bool {
        self.ask("releases", true, (nanos(now),), yes)
    }

    fn next_deadline(&self) -> Instant {
        let handled = self.handled;
        let read = |answer: &Bound<'_, PyAny>| {
            let at = answer.extract().ok().map(Instant::from_nanos).filter(|&at| at > handled);
            Ok(at.ok_or_else(|| format!("nanoseconds after {}, or None for never", nanos(handled))))
        };
        self.ask("next_deadline", Instant::NEVER, (), read)
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.handled = now;
        self.tell("handle_deadline", (nanos(now),));
    }

    fn tallies(&self) -> Vec<Tally> {
        Vec::new()
    }
}
