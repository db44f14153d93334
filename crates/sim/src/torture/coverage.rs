//! Coverage: faults by the states of the array that they met. A pair that never occurred was not
//! tested.

use super::history::Fault;
use super::transition::Transition;
use array::Level;

/// State of an array when an event occurs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ArrayState {
    /// All drives are there and parity fits.
    Optimal,
    /// Parity is being recomputed after an unclean end.
    Resyncing,
    /// Drives are missing, and more may be missed.
    Degraded,
    /// No further drive can be missed.
    Critical,
    /// A drive is being rebuilt.
    Rebuilding,
    /// The policy is being changed, or the array shut down.
    Draining,
    /// The array is being created or opened.
    Opening,
    /// More drives are missing than can be missed.
    Lost,
}

impl ArrayState {
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

    /// Name for the head of the table.
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

/// An event that may occur to an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// The power fails.
    Cut,
    /// A drive has a fault.
    Fault(Fault),
    /// An administrator fails a drive.
    Fail,
    /// An administrator replaces a drive.
    Replace,
    /// A failed drive is taken back.
    Return,
    /// An administrator changes the policy.
    Policy,
    /// An administrator shuts the array down.
    Shutdown,
    /// A drive is missing at a start.
    Missing,
    /// A drive comes back with outdated content.
    Stale,
    /// Drives have swapped their places.
    Moved,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 26] = [
        Self::Cut,
        Self::Fault(Fault::Dies),
        Self::Fault(Fault::WriteError),
        Self::Fault(Fault::SyncError),
        Self::Fault(Fault::ReadError),
        Self::Fault(Fault::Slow),
        Self::Fault(Fault::Full),
        Self::Fault(Fault::Flip),
        Self::Fault(Fault::LostWrite),
        Self::Fault(Fault::Misdirected),
        Self::Fault(Fault::Table),
        Self::Fault(Fault::Garbage),
        Self::Fault(Fault::Record),
        Self::Fault(Fault::Header),
        Self::Fault(Fault::Intent),
        Self::Fault(Fault::Superblock),
        Self::Fault(Fault::Superblocks),
        Self::Fault(Fault::Overwritten),
        Self::Fail,
        Self::Replace,
        Self::Return,
        Self::Policy,
        Self::Shutdown,
        Self::Missing,
        Self::Stale,
        Self::Moved,
    ];

    /// Name for the rows of the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "power cut",
            Self::Fault(fault) => fault.name(),
            Self::Fail => "drive given up",
            Self::Replace => "replacement",
            Self::Return => "drive taken back",
            Self::Policy => "policy change",
            Self::Shutdown => "shutdown",
            Self::Missing => "drive not found",
            Self::Stale => "stale drive back",
            Self::Moved => "drives moved",
        }
    }

    /// Its index in [`Event::ALL`].
    fn row(self) -> usize {
        Self::ALL.iter().position(|event| *event == self).unwrap_or_default()
    }
}

/// Number of times that each event met each state, and that each transition occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    met: [[u64; ArrayState::ALL.len()]; Event::ALL.len()],
    transitions: [Times; Transition::ALL.len()],
}

/// Number of occurrences of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Occurrences in all histories together.
    pub times: u64,
    /// Number of histories with an occurrence.
    pub histories: u64,
}

impl Coverage {
    /// Counts an event in a state.
    pub fn note(&mut self, event: Event, state: ArrayState) {
        self.met[event.row()][state as usize] += 1;
    }

    /// Number of occurrences of an event in a state.
    #[must_use]
    pub fn met(&self, event: Event, state: ArrayState) -> u64 {
        self.met[event.row()][state as usize]
    }

    /// Adds `times` occurrences of a transition.
    pub(super) fn count(&mut self, transition: Transition, times: u64) {
        let made = &mut self.transitions[transition as usize];
        made.times += times;
        made.histories = u64::from(made.times > 0);
    }

    /// Occurrences of a transition.
    #[must_use]
    pub fn made(&self, transition: Transition) -> Times {
        self.transitions[transition as usize]
    }

    /// Adds the count of an event in a state from another run.
    pub fn add_counted(&mut self, event: Event, state: ArrayState, met: u64) {
        self.met[event.row()][state as usize] += met;
    }

    /// Adds the count of a transition from another run.
    pub fn add_made(&mut self, transition: Transition, more: Times) {
        self.transitions[transition as usize].add(more);
    }

    /// Transitions that never occurred though arrays of these levels can make them.
    #[must_use]
    pub fn never_made(&self, levels: &[Level]) -> Vec<Transition> {
        let is_possible = |transition: &Transition| {
            self.made(*transition).times == 0
                && levels.iter().any(|level| transition.is_possible(*level))
        };
        Transition::ALL.into_iter().filter(is_possible).collect()
    }

    /// Pairs that never occurred though histories of these levels can have them.
    #[must_use]
    pub fn never_met(&self, levels: &[Level]) -> Vec<(Event, ArrayState)> {
        let pairs =
            Event::ALL.into_iter().flat_map(|event| ArrayState::ALL.map(|state| (event, state)));
        let is_possible = |event: Event, state: ArrayState| {
            levels.iter().any(|level| is_possible(event, state, *level))
        };
        pairs
            .filter(|&(event, state)| self.met(event, state) == 0 && is_possible(event, state))
            .collect()
    }

    /// Adds the coverage of another history.
    pub fn add(&mut self, other: &Self) {
        for (row, others) in self.met.iter_mut().zip(&other.met) {
            for (count, more) in row.iter_mut().zip(others) {
                *count += more;
            }
        }
        for (made, more) in self.transitions.iter_mut().zip(other.transitions) {
            made.add(more);
        }
    }
}

impl Times {
    fn add(&mut self, more: Self) {
        self.times += more.times;
        self.histories += more.histories;
    }
}

/// Returns true if a drawn history of an array of this level can have an event in a state.
fn is_possible(event: Event, state: ArrayState, level: Level) -> bool {
    // Mirrors of three, and two parities, can miss a drive without being critical.
    let misses_two = matches!(level, Level::Raid1 | Level::Raid6);
    // Levels that can lose a second drive.
    let loses_two = misses_two || level == Level::Raid10;
    match (event, state) {
        // Histories lose no more drives than the array can miss.
        (_, ArrayState::Lost) => false,
        (_, ArrayState::Degraded) if !misses_two => false,
        // These events occur at starts only, and other events do not, except the power cut.
        (Event::Missing | Event::Stale | Event::Moved, ArrayState::Opening) => true,
        (Event::Missing | Event::Stale | Event::Moved, _) => false,
        (Event::Cut, _) => true,
        // Heads are damaged while the power is off.
        (Event::Fault(fault), state) if fault.is_in_head() => state == ArrayState::Opening,
        // Damage behind the head may occur at any time.
        (Event::Fault(fault), ArrayState::Opening) if fault.is_damage() => true,
        (_, ArrayState::Opening) => false,
        // During a shutdown no orders come; a replacement was ordered before.
        (Event::Replace | Event::Return, ArrayState::Draining) => true,
        (_, ArrayState::Draining) => false,
        // A replacement needs a failed drive.
        (Event::Replace | Event::Return, ArrayState::Optimal | ArrayState::Resyncing) => false,
        (Event::Replace | Event::Return, ArrayState::Rebuilding) => loses_two,
        (Event::Fault(Fault::Slow | Fault::Full), _) => true,
        // An unreadable page counts as a drive. The other pairs of a RAID-10 can miss one.
        (Event::Fault(fault), ArrayState::Critical) if fault.harms_data() => level == Level::Raid10,
        // Data under resync is in doubt.
        (Event::Fault(fault), ArrayState::Resyncing) if fault.is_silent() => false,
        (Event::Fault(fault), ArrayState::Rebuilding) if fault.harms_data() => loses_two,
        (Event::Fault(fault), ArrayState::Critical) if fault.is_damage() => level == Level::Raid10,
        (Event::Fault(fault), ArrayState::Rebuilding) if fault.is_damage() => loses_two,
        // The other pairs of a RAID-10 can still lose a drive.
        (Event::Fail, ArrayState::Critical) => level == Level::Raid10,
        (Event::Fail, ArrayState::Rebuilding) => loses_two,
        _ => true,
    }
}
