//! Which faults met the array in which states: what was never met was not tested.

use std::fmt;

/// How an array is when something happens to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// All drives are there and parity fits.
    Optimal,
    /// Parity is computed again after an unclean end.
    Resyncing,
    /// Drives are missing, and more could be.
    Degraded,
    /// As many drives are missing as can be.
    Critical,
    /// A drive is being rebuilt.
    Rebuilding,
    /// The policy is being changed, or the array shut down.
    Draining,
    /// It is being created or opened.
    Opening,
    /// More is missing than can be.
    Lost,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Optimal,
        Self::Resyncing,
        Self::Degraded,
        Self::Critical,
        Self::Rebuilding,
        Self::Draining,
        Self::Opening,
        Self::Lost,
    ];

    /// For the head of the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Resyncing => "resync",
            Self::Degraded => "degraded",
            Self::Critical => "critical",
            Self::Rebuilding => "rebuild",
            Self::Draining => "draining",
            Self::Opening => "opening",
            Self::Lost => "lost",
        }
    }
}

/// What can happen to an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// The power goes.
    Cut,
    /// A drive dies.
    Dies,
    /// A write fails.
    WriteError,
    /// A sync fails.
    SyncError,
    /// A read fails.
    ReadError,
    /// A drive is slow.
    Slow,
    /// An administrator takes a drive for failed.
    Fail,
    /// An administrator replaces a drive.
    Replace,
    /// An administrator changes the policy.
    Policy,
    /// An administrator shuts the array down.
    Shutdown,
    /// A drive is not found.
    Missing,
    /// A drive comes back with what it held when it was taken away.
    Stale,
    /// Drives have changed their places.
    Moved,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Cut,
        Self::Dies,
        Self::WriteError,
        Self::SyncError,
        Self::ReadError,
        Self::Slow,
        Self::Fail,
        Self::Replace,
        Self::Policy,
        Self::Shutdown,
        Self::Missing,
        Self::Stale,
        Self::Moved,
    ];

    /// For the rows of the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "power cut",
            Self::Dies => "drive dies",
            Self::WriteError => "write error",
            Self::SyncError => "sync error",
            Self::ReadError => "read error",
            Self::Slow => "slow drive",
            Self::Fail => "drive given up",
            Self::Replace => "replacement",
            Self::Policy => "policy change",
            Self::Shutdown => "shutdown",
            Self::Missing => "drive not found",
            Self::Stale => "stale drive back",
            Self::Moved => "drives moved",
        }
    }
}

/// How often each event met each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    met: [[u64; State::ALL.len()]; Event::ALL.len()],
}

impl Coverage {
    /// An event meets a state.
    pub fn note(&mut self, event: Event, state: State) {
        self.met[event as usize][state as usize] += 1;
    }

    /// How often it did.
    #[must_use]
    pub fn met(&self, event: Event, state: State) -> u64 {
        self.met[event as usize][state as usize]
    }

    /// Adds what another history met.
    pub fn add(&mut self, other: &Self) {
        for (row, others) in self.met.iter_mut().zip(&other.met) {
            for (count, more) in row.iter_mut().zip(others) {
                *count += more;
            }
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:16}", "")?;
        for state in State::ALL {
            write!(f, " {:>9}", state.name())?;
        }
        for event in Event::ALL {
            write!(f, "\n{:16}", event.name())?;
            for state in State::ALL {
                match self.met(event, state) {
                    0 => write!(f, " {:>9}", "-")?,
                    met => write!(f, " {met:>9}")?,
                }
            }
        }
        Ok(())
    }
}
