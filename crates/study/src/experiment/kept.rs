//! Results of runs on disk, so that a command that was interrupted goes on.

use crate::failure::Failure;
use crate::jobs::{self, Journal, Kept, Packed};
use crate::setup::Setup;
use crate::simulate::Told;
use crate::watch::Watch;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sim::RunResult;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A result that is kept.
#[derive(Clone, Serialize, Deserialize)]
struct Record {
    told: Told,
    result: Packed,
}

impl Kept for Record {
    const SCHEMA: u32 = 1;
    const OF: &'static str = "reproduction";
    const FOLDER_OPTION: &'static str = "--results";

    fn is_final(&self) -> bool {
        true
    }
}

/// The results that are kept in a folder.
pub struct KeptResults {
    folder: PathBuf,
    /// A hash of the program: another build may give other results.
    build: String,
    journal: Mutex<Journal<Record>>,
}

impl KeptResults {
    /// The results in `folder`; none with `fresh`.
    pub fn open(folder: &Path, fresh: bool) -> Result<Self, Failure> {
        let build = build().map_err(|error| {
            Failure::internal(format!("cannot read the program itself: {error}"))
        })?;
        let journal = Mutex::new(Journal::open(folder, fresh)?);
        Ok(Self { folder: folder.to_owned(), build, journal })
    }

    /// A hash of all that determines the result of each plan of `setup`.
    pub(super) fn keys(&self, setup: &Setup) -> Vec<String> {
        let Setup { plans, source, faults, .. } = setup;
        let key = |plan| jobs::key(&(&self.build, plan, source, faults));
        plans.iter().map(key).collect()
    }

    /// Whether the result with this key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.journal().has(key)
    }

    /// The result with this key.
    pub(super) fn find(&self, key: &str) -> Result<Option<(RunResult, Told)>, Failure> {
        let Some(Record { told, result }) = self.journal().get(key).cloned() else {
            return Ok(None);
        };
        let result = result.unpack().map_err(|error| {
            Failure::data(format!(
                "a result in {} is damaged: {error}; --fresh makes all of them again",
                self.folder.display()
            ))
        })?;
        Ok(Some((result, told)))
    }

    /// Keeps a result.
    pub(super) fn keep(&self, key: &str, result: &RunResult, told: Told) -> Result<(), Failure> {
        let result = Packed::new(result)
            .map_err(|error| Failure::internal(format!("cannot write a result: {error}")))?;
        self.journal().keep(key, Record { told, result })
    }

    /// Says how many of the results with these keys need not be made.
    pub(super) fn say_found(&self, keys: impl Iterator<Item = String>, watch: &dyn Watch) {
        let (found, all) =
            keys.fold((0, 0), |(found, all), key| (found + usize::from(self.has(&key)), all + 1));
        jobs::say_found_in(&self.folder, found, all, watch);
    }

    fn journal(&self) -> MutexGuard<'_, Journal<Record>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of the program that runs.
fn build() -> io::Result<String> {
    let mut program = std::fs::File::open(std::env::current_exe()?)?;
    let mut hash = Sha256::new();
    io::copy(&mut program, &mut hash)?;
    Ok(jobs::digits(hash))
}
