//! One run and the key by which it is known again.

use super::journal::Kept;
use crate::failure::Failure;
use sha2::{Digest, Sha256};
use sim::{Plan, RunResult};
use std::fmt::Debug;
use workload::Source;

/// Hexadecimal digits of a key: enough that two of them are never equal by chance.
const KEY_DIGITS: usize = 32;

/// What a run is about, in the words of whoever asked for it.
pub trait Subject: Sync + Sized {
    /// What is kept of a run.
    type Record: Kept;
    /// The name of the command, for the progress bar.
    const COMMAND: &'static str;

    /// What the run is, in a few words.
    fn title(&self, plan: &Plan) -> String;

    /// A run is given up if more requests than this wait at once.
    const MOST_WAITING: usize;

    /// What is kept of a run that ended like this: nothing that depends on the machine, on the time
    /// or on who asked, because the key does not.
    fn record(&self, job: &Job<Self>, ended: &Ended) -> Self::Record;
}

/// How a run ended.
pub enum Ended {
    /// It was measured.
    Measured(Box<RunResult>),
    /// The array did not keep up, in a sentence.
    Overloaded(String),
    /// It failed.
    Failed(Failure),
}

/// One run.
pub struct Job<S> {
    /// A hash of everything that determines what comes of it.
    pub key: String,
    /// What it is about.
    pub subject: S,
    /// What is run.
    pub plan: Plan,
    /// Where requests come from.
    pub source: Source,
}

impl<S> Job<S> {
    /// A run of `plan` with the requests of `source`.
    pub fn new(subject: S, plan: Plan, source: &Source) -> Self {
        Self { key: key(&(&plan, source)), subject, plan, source: source.clone() }
    }
}

/// A hash of the version of the program and everything that `what` says of itself. Plans and
/// sources say all that there is to them, so a field that is added later changes the key as it
/// should.
pub fn key(what: &impl Debug) -> String {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(format!("{what:?}"));
    digits(hash)[..KEY_DIGITS].to_owned()
}

/// A hash in hexadecimal digits.
pub fn digits(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
