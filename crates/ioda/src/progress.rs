//! How far the runs have come, on stderr.

use crate::output::remark;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim::{Plan, Progress};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use study::Count;

/// How often a bar on a terminal is drawn, and how often a line is written elsewhere.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Time between two lines without a terminal and without `--progress`.
const SELDOM: Duration = Duration::from_secs(10);

/// What the bar of many runs shows.
const TALLY: &str = "{bar:24} {pos} of {len} runs, {elapsed}, about {eta} left: {msg}";

/// Whether and how progress is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Show {
    /// Not at all.
    Nothing,
    /// A bar on a terminal.
    Bar,
    /// Lines, for where there is no terminal.
    Lines,
    /// Lines that say that long work goes on, the first when it does for [`SELDOM`].
    Seldom,
}

impl Show {
    /// A bar on a terminal, elsewhere lines, many of them if `always`.
    pub(crate) fn new(quiet: bool, always: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal(), always) {
            (true, _, _) => Self::Nothing,
            (false, true, _) => Self::Bar,
            (false, false, true) => Self::Lines,
            (false, false, false) => Self::Seldom,
        }
    }

    fn every(self) -> Duration {
        match self {
            Self::Nothing | Self::Seldom => SELDOM,
            Self::Bar => BAR_EVERY,
            Self::Lines => LINE_EVERY,
        }
    }

    /// Lines instead of a bar.
    pub(crate) fn still(self) -> Self {
        if self == Self::Bar { Self::Lines } else { self }
    }
}

/// Says now and then what work is at, until it is dropped.
struct Ticker {
    over: Arc<AtomicBool>,
    state: Arc<Mutex<String>>,
    thread: JoinHandle<()>,
}

impl Ticker {
    /// None unless lines are written seldom.
    fn new(show: Show) -> Option<Self> {
        if show != Show::Seldom {
            return None;
        }
        let (over, state) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(String::new())));
        let (is_over, said) = (Arc::clone(&over), Arc::clone(&state));
        let thread = std::thread::spawn(move || {
            while !paused(&is_over, SELDOM) {
                if let Ok(text) = said.lock() {
                    remark(&text);
                }
            }
        });
        Some(Self { over, state, thread })
    }

    fn set(&self, text: String) {
        if let Ok(mut state) = self.state.lock() {
            *state = text;
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
    }
}

/// Waits for so long, unless the work is over before. Returns whether it is.
fn paused(over: &AtomicBool, length: Duration) -> bool {
    let until = Instant::now() + length;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if over.load(Ordering::Acquire) {
            return true;
        }
        if left.is_zero() {
            return false;
        }
        std::thread::park_timeout(left);
    }
}

/// Steps of long work that are no runs, one after the other.
pub(crate) struct Steps {
    show: Show,
    title: &'static str,
    total: usize,
    done: usize,
    bar: Option<ProgressBar>,
    ticker: Option<Ticker>,
}

impl Steps {
    /// Nothing is done yet.
    pub(crate) fn new(show: Show, title: &'static str, total: usize) -> Self {
        let bar = (show == Show::Bar).then(|| bar(Some(total as u64)));
        if let Some(bar) = &bar {
            bar.enable_steady_tick(BAR_EVERY);
        }
        Self { show, title, total, done: 0, bar, ticker: Ticker::new(show) }
    }

    /// The next step begins.
    pub(crate) fn next(&mut self, name: &str) {
        let line = format!("{}: {name} ({} of {})", self.title, self.done + 1, self.total);
        match (&self.bar, &self.ticker, self.show) {
            (Some(bar), _, _) => {
                bar.set_position(self.done as u64);
                bar.set_message(format!("{}: {name}", self.title));
            }
            (_, Some(ticker), _) => ticker.set(line),
            (_, _, Show::Lines) => remark(&line),
            _ => {}
        }
        self.done += 1;
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Many runs of about the same length, several of them at once.
pub(crate) struct Tally {
    show: Show,
    title: &'static str,
    total: usize,
    done: AtomicUsize,
    started: Instant,
    bar: Option<ProgressBar>,
    ticker: Option<Ticker>,
}

impl Tally {
    /// Nothing is done yet.
    pub(crate) fn new(show: Show, title: &'static str, total: usize) -> Self {
        let bar = (show == Show::Bar).then(|| bar_with(Some(total as u64), TALLY));
        if let Some(bar) = &bar {
            bar.enable_steady_tick(BAR_EVERY);
        }
        let started = Instant::now();
        let (done, ticker) = (AtomicUsize::new(0), Ticker::new(show));
        Self { show, title, total, done, started, bar, ticker }
    }

    /// Seconds until the last run is done, if the others take as long as those that are done.
    fn left(&self, done: usize) -> Option<u64> {
        let each = self.started.elapsed().as_secs_f64() / done as f64;
        (done > 0).then(|| (each * (self.total - done) as f64) as u64)
    }
}

impl Count for Tally {
    fn begin(&self, name: &str) {
        let done = self.done.load(Ordering::Relaxed);
        let line = || {
            let left = self.left(done).map_or_else(String::new, |seconds| {
                format!(", about {} left", HumanDuration(Duration::from_secs(seconds)))
            });
            let Self { title, total, .. } = self;
            format!("{title}: {done} of {total} runs done{left}; {name}")
        };
        match (&self.bar, &self.ticker, self.show) {
            (Some(bar), _, _) => bar.set_message(name.to_owned()),
            (_, Some(ticker), _) => ticker.set(line()),
            (_, _, Show::Lines) => remark(&line()),
            _ => {}
        }
    }

    fn end(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Does `work` while showing how far its runs have come.
pub(crate) fn during<T: Send>(
    show: Show,
    title: &str,
    plans: &[Plan],
    requests: Option<u64>,
    progress: &Progress,
    work: impl FnOnce() -> T + Send,
) -> T {
    if show == Show::Nothing {
        return work();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(show, title, plans, requests, progress, &done));
        let result = work();
        done.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}

/// Does `work` while showing how many requests it has counted in `done`.
pub(crate) fn counting<T>(
    show: Show,
    title: &str,
    requests: Option<u64>,
    done: &AtomicU64,
    work: impl FnOnce() -> T,
) -> T {
    counting_all(show, title, "requests", requests, done, work)
}

/// Does `work` while showing how much of what it does it has counted in `done`.
pub(crate) fn counting_all<T>(
    show: Show,
    title: &str,
    what: &str,
    total: Option<u64>,
    done: &AtomicU64,
    work: impl FnOnce() -> T,
) -> T {
    if show == Show::Nothing {
        return work();
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let bar = (show == Show::Bar).then(|| bar_of(what, total));
            let mut is_over = show == Show::Seldom && paused(&over, SELDOM);
            while !is_over {
                let count = done.load(Ordering::Relaxed);
                match &bar {
                    Some(bar) => {
                        bar.set_position(count);
                        bar.set_message(title.to_owned());
                    }
                    None => remark(&format!("{title} {count} {what}")),
                }
                is_over = paused(&over, show.every());
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        let result = work();
        over.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}

fn watch(
    show: Show,
    title: &str,
    plans: &[Plan],
    requests: Option<u64>,
    progress: &Progress,
    done: &AtomicBool,
) {
    let total = requests.map(|requests| requests * plans.len() as u64);
    let bar = (show == Show::Bar).then(|| bar(total));
    if show == Show::Seldom && paused(done, SELDOM) {
        return;
    }
    loop {
        let completed: Vec<u64> =
            progress.runs.iter().map(|run| run.completed.load(Ordering::Relaxed)).collect();
        let state = state(plans, requests, progress, &completed);
        match &bar {
            Some(bar) => {
                bar.set_position(completed.iter().sum());
                bar.set_message(format!("{title} {state}"));
            }
            None => remark(format!("{title} {state}").trim_start()),
        }
        if done.load(Ordering::Acquire) {
            break;
        }
        paused(done, show.every());
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    bar_of("requests", total)
}

fn bar_of(what: &str, total: Option<u64>) -> ProgressBar {
    match total {
        Some(_) => bar_with(total, "{bar:24} {percent:>3} % {elapsed} {msg}"),
        None => bar_with(total, &format!("{{spinner}} {{pos}} {what} {{elapsed}} {{msg}}")),
    }
}

fn bar_with(total: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()));
    bar
}

/// Which runs are under way and how far they are.
fn state(plans: &[Plan], requests: Option<u64>, progress: &Progress, completed: &[u64]) -> String {
    if progress.prepared.load(Ordering::Relaxed) == 0 {
        return "preparing drives".to_owned();
    }
    if completed.iter().all(|&count| count == 0) {
        return "starting".to_owned();
    }
    let parts: Vec<String> = plans
        .iter()
        .zip(completed)
        .filter(|(_, done)| **done > 0)
        .map(|(plan, done)| match requests {
            Some(requests) => {
                let percent = (100 * done / requests.max(1)).min(100);
                format!("{} {percent} %", plan.policy.label())
            }
            None => format!("{} {done}", plan.policy.label()),
        })
        .collect();
    parts.join(", ")
}
