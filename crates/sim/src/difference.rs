//! Comparison of two runs that should agree: the first event that differs.

use crate::driver::run_watched;
use crate::error::SimError;
use crate::faults::Fault;
use crate::plan::Plan;
use crate::prepare::prepare_drives;
use crate::progress::RunProgress;
use crate::watch::Watch;
use engine::Event;
use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use units::{Instant, Recorded};
use workload::{Arrival, Request};

/// Events that are sent from a run to the comparison at a time.
const BATCH: usize = 4096;
/// Batches by which a run may be ahead of the comparison.
const AHEAD: usize = 4;
/// Number of events before the difference that are kept.
const CONTEXT: usize = 8;

type Happened = (Instant, Event);

/// One of two runs to compare.
#[derive(Clone, Debug)]
pub struct Side<F> {
    /// The plan.
    pub plan: Plan,
    /// Function that opens its workload.
    pub workload: F,
    /// Faults of the run.
    pub faults: Vec<(Instant, Fault)>,
}

/// First difference between two runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Number of events that are the same in both.
    pub same: u64,
    /// Last of these events.
    pub before: Vec<(Instant, Event)>,
    /// Next event of the first run; `None` if the run has ended.
    pub first: Option<(Instant, Event)>,
    /// Next event of the second run; `None` if the run has ended.
    pub second: Option<(Instant, Event)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the first {} events are the same; the last of them:", self.same)?;
        for happened in &self.before {
            writeln!(f, "    {}", line(Some(happened)))?;
        }
        writeln!(f, "then the runs differ:")?;
        writeln!(f, "  1 {}", line(self.first.as_ref()))?;
        write!(f, "  2 {}", line(self.second.as_ref()))
    }
}

fn line(happened: Option<&Happened>) -> String {
    match happened {
        None => String::from("the run is over"),
        Some((at, Event::Array(event))) => format!("{} ns  array    {event:?}", at.as_nanos()),
        Some((at, Event::Drive(drive, event))) => {
            format!("{} ns  drive {}  {event:?}", at.as_nanos(), drive.0)
        }
    }
}

/// Result of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub enum Compared {
    /// All events are equal, with their times and their order.
    Same {
        /// Number of events.
        events: u64,
    },
    /// The runs differ.
    Differ(Box<Difference>),
}

/// Sends the events of a run to the comparison.
struct Sender {
    to: SyncSender<Vec<Happened>>,
    batch: Vec<Happened>,
    /// True if the comparison takes no more events.
    is_unheard: bool,
}

impl Sender {
    fn flush(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.is_unheard |= self.to.send(batch).is_err();
    }
}

impl Watch for Sender {
    type Observe = Recorded;

    fn event(&mut self, at: Instant, event: Event) {
        self.batch.push((at, event));
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    fn is_over(&self) -> bool {
        self.is_unheard
    }
}

/// Events of a run, one by one.
struct Events {
    from: Receiver<Vec<Happened>>,
    batch: std::vec::IntoIter<Happened>,
}

impl Iterator for Events {
    type Item = Happened;

    fn next(&mut self) -> Option<Happened> {
        loop {
            if let Some(happened) = self.batch.next() {
                return Some(happened);
            }
            self.batch = self.from.recv().ok()?.into_iter();
        }
    }
}

/// Runs both sides at the same time, each on a thread, and compares their events one by one. Memory
/// does not grow with the runs; both end at the first event that differs.
///
/// # Errors
///
/// Errors of [`crate::run`], those of the first side first. A side that fails is compared up to its
/// failure.
pub fn first_difference<E: Send, I, F>(
    first: &Side<F>,
    second: &Side<F>,
) -> Result<Compared, SimError<E>>
where
    I: Iterator<Item = Result<Request, E>>,
    F: Fn() -> Result<(Arrival, I), E> + Sync,
{
    let run = |side: &Side<F>, to: SyncSender<Vec<Happened>>| -> Result<(), SimError<E>> {
        let drives = prepare_drives(&side.plan)?;
        let (arrival, requests) = (side.workload)().map_err(SimError::Workload)?;
        let mut sender = Sender { to, batch: Vec::with_capacity(BATCH), is_unheard: false };
        let (plan, faults) = (&side.plan, side.faults.clone());
        let progress = RunProgress::default();
        let result = run_watched(plan, drives, arrival, requests, faults, &progress, &mut sender);
        sender.flush();
        result.map(drop)
    };
    std::thread::scope(|scope| {
        let run = &run;
        let start = |side| {
            let (to, from) = sync_channel(AHEAD);
            let handle = scope.spawn(move || run(side, to));
            (Events { from, batch: Vec::new().into_iter() }, handle)
        };
        let (one, first_handle) = start(first);
        let (two, second_handle) = start(second);
        let compared = compare(one, two);
        for handle in [first_handle, second_handle] {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(compared)
    })
}

fn compare(mut first: Events, mut second: Events) -> Compared {
    let (mut same, mut before) = (0, VecDeque::with_capacity(CONTEXT));
    loop {
        match (first.next(), second.next()) {
            (None, None) => return Compared::Same { events: same },
            (Some(one), Some(two)) if one == two => {
                same += 1;
                if before.len() == CONTEXT {
                    before.pop_front();
                }
                before.push_back(one);
            }
            (first, second) => {
                let before = before.into();
                return Compared::Differ(Box::new(Difference { same, before, first, second }));
            }
        }
    }
}
