//! One history: lived through with panics caught, told, made short.

use array::Level;
use sim::torture::{Case, Counts, Coverage, Demands, History, Verdict};
use sim::torture::{Failure, shrink_while, torture};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

/// What is lived through.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// What a seed draws.
    Seed { seed: u64, level: Option<Level>, steps: u32 },
    /// A script.
    Case(Case),
}

impl Subject {
    pub(super) fn history(&self) -> History {
        match self {
            Self::Seed { seed, level, steps } => History::draw(*seed, *level, *steps as usize),
            Self::Case(case) => case.history(),
        }
    }

    /// The line that repeats it.
    pub(super) fn repeat(&self, demands: Demands) -> String {
        let mut line = match self {
            Self::Seed { seed, level, steps } => {
                let level =
                    level.map_or(String::new(), |level| format!(" --level {}", level.name()));
                format!("ioda torture --seed {seed} --steps {steps}{level}")
            }
            Self::Case(case) => format!("ioda torture --script {case}"),
        };
        if demands.write_hole {
            line += " --write-hole";
        }
        line
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed { seed, .. } => write!(f, "seed {seed}"),
            Self::Case(case) => write!(f, "script {case}"),
        }
    }
}

/// What went wrong in a history.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Wrong {
    /// The array did what it must not.
    Failure(Failure),
    /// An invariant broke.
    Panic(String),
}

impl Wrong {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Failure(one), Self::Failure(other)) => one.is_like(other),
            (Self::Panic(_), Self::Panic(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(failure) => failure.fmt(f),
            Self::Panic(message) => write!(f, "panic: {message}"),
        }
    }
}

/// A history that failed.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    /// Its place among all, so that threads do not decide which is the first.
    pub(super) index: u64,
    pub(super) subject: Subject,
    pub(super) wrong: Wrong,
    /// Later moments of the power cut at which the same script failed as well.
    pub(super) more: u64,
}

thread_local! {
    /// Whether a panic of this thread is one of an array under torture.
    static TORTURING: Cell<bool> = const { Cell::new(false) };
    /// What the last of them said.
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on panics of arrays under torture are kept instead of printed.
pub(super) fn catch_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !TORTURING.get() {
            return usual(info);
        }
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("no message");
        let place =
            info.location().map_or(String::new(), |at| format!(", {}:{}", at.file(), at.line()));
        MESSAGE.set(format!("{message}{place}"));
    }));
}

/// Lives through a history.
pub(super) fn live(history: &History, demands: Demands, tells: bool) -> (Verdict, Option<Wrong>) {
    TORTURING.set(true);
    let lived = panic::catch_unwind(AssertUnwindSafe(|| torture(history, demands, tells)));
    TORTURING.set(false);
    match lived {
        Ok(verdict) => {
            let wrong = verdict.failure.clone().map(Wrong::Failure);
            (verdict, wrong)
        }
        Err(_) => {
            let nothing = Verdict {
                counts: Counts::default(),
                coverage: Coverage::default(),
                failure: None,
                story: Vec::new(),
            };
            (nothing, Some(Wrong::Panic(MESSAGE.take())))
        }
    }
}

/// The array, and what happens to it, line by line.
pub(super) fn story(history: &History, demands: Demands) -> Vec<String> {
    let mut lines = vec![history.shape.to_string()];
    let (verdict, wrong) = live(history, demands, true);
    match &wrong {
        // What it had told is gone; the steps are not.
        Some(Wrong::Panic(_)) => lines.extend(history.steps.iter().map(ToString::to_string)),
        _ => lines.extend(verdict.story),
    }
    lines.extend(wrong.map(|wrong| wrong.to_string()));
    lines
}

/// A failing history made short.
#[derive(Clone, Debug)]
pub(super) struct Shortest {
    pub(super) subject: Subject,
    pub(super) steps_before: usize,
    pub(super) steps: usize,
    pub(super) story: Vec<String>,
}

/// The shortest history found that fails as this one does.
pub(super) fn shortest(failed: &Failed, demands: Demands) -> Shortest {
    let Failed { subject, wrong, .. } = failed;
    let history = subject.history();
    let fails = |shorter: &History| {
        let (_, other) = live(shorter, demands, false);
        other.is_some_and(|other| wrong.is_like(&other))
    };
    let short = shrink_while(&history, fails, |_| {});
    Shortest {
        subject: subject.clone(),
        steps_before: history.steps.len(),
        steps: short.steps.len(),
        story: story(&short, demands),
    }
}
