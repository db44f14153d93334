//! Bugs that can be planted, one at a time: each a mistake that loses or falsifies data in some
//! history.
//!
//! `ioda torture --planted` switches each bug on and counts the histories until it is found: the
//! tester is as good as the bugs that it finds. A site in a machine reads
//! `self.planted.has(Bug::X)`, in a condition that holds only where the mistake makes a difference.
//! [`Planted`] belongs to the setup of an array, so arrays with and without a bug run side by side.
//!
//! Without the feature `planted` a [`Planted`] has no bytes, its answer is a constant, and no site
//! is left in the program.

mod list;

pub use handle::{Planted, Site};

/// True if bugs can be planted: the program is built with the feature `planted`.
pub const CAN_BE: bool = cfg!(feature = "planted");

/// Category of a mistake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Two steps happen in the wrong order.
    Ordering,
    /// Data count as stable before their sync.
    MissingSync,
    /// A client is answered too early.
    EarlyAnswer,
    /// A page or parity is computed from the wrong pages.
    WrongBase,
    /// An older version is taken for the newest.
    StaleCopy,
    /// The wrong drive, member or half is used.
    WrongMember,
    /// A change that was begun and withdrawn still counts.
    LostWithdrawal,
    /// Doubtful data or checksums are trusted, or not compared.
    WrongDoubt,
    /// A record that a later step relies on is not written.
    LostRecord,
}

impl Kind {
    /// The kind in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordering => "ordering",
            Self::MissingSync => "missing sync",
            Self::EarlyAnswer => "early answer",
            Self::WrongBase => "wrong base",
            Self::StaleCopy => "stale copy",
            Self::WrongMember => "wrong member",
            Self::LostWithdrawal => "lost withdrawal",
            Self::WrongDoubt => "wrong doubt",
            Self::LostRecord => "lost record",
        }
    }
}

/// A bug. [`Bug::about`] says what each does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the sentences are in one place")]
pub enum Bug {
    HalfRefilledEarly,
    MarkNotAwaited,
    MarkClearedWhileWriting,
    BatchNotAwaited,
    ChangesOvertake,
    AnswerBeforeLossRecorded,
    SuperblocksUnprepared,
    CursorAhead,
    CursorBeforeBatch,
    ReplacedDriveServes,
    WaitingWriteUnprepared,
    WaitingWritesKept,
    HalfRetiredUnsynced,
    SyncWithoutSums,
    FlushJoinsRunningSync,
    MarkClearedUnsynced,
    SuperblocksUnsynced,
    RebuildingDriveUnsynced,
    FailedSyncCounts,
    ReplayUnsynced,
    DirtySumsEvicted,
    SumsChangedBesideWrite,
    FlushBeforeBatch,
    ForcedWriteUnforced,
    StoppedArrayAnswers,
    GapFromOldPages,
    GapFromUnknownPages,
    SharedFromFirstRow,
    ParityLacksTerm,
    ReplayReversed,
    AcceptedNotRead,
    AcceptedForgottenByOlder,
    JournalNotCleared,
    FirstHeaderBelieved,
    ResumedRebuildSkipsMarked,
    RecordNamesItselfOnly,
    SumsSealedForFirstDrive,
    SuperblocksInOneSlot,
    TornBatchKept,
    DroppedBatchReplayed,
    ResyncForgotten,
    DoubtsDropped,
    DoubtsNotRead,
    DoubtsEverywhere,
    DamagedSumsBelieved,
    GapIgnored,
    MismatchServed,
    BothHalvesRetired,
    MissedWriteNotNoted,
    MarksOfFailedDriveForgotten,
    TrimNotJournalled,
    TrimSumsForgotten,
    ReplaySumsForgotten,
    DegradedJournalNotBegun,
    LastBatchLeftOut,
    LossForgottenAfterSync,
}

/// Description of a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// The bug.
    pub bug: Bug,
    /// Name on the command line.
    pub name: &'static str,
    /// Category of the mistake.
    pub kind: Kind,
    /// Description of the mistake in one sentence.
    pub sentence: &'static str,
}

impl Bug {
    /// All bugs, by kind.
    pub fn all() -> impl Iterator<Item = Self> {
        list::ALL.iter().map(|about| about.bug)
    }

    /// Description of the bug.
    #[must_use]
    pub const fn about(self) -> &'static About {
        &list::ALL[self as usize]
    }

    /// Bug with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|bug| bug.about().name == name)
    }
}

#[cfg(feature = "planted")]
mod handle {
    use super::Bug;
    use core::sync::atomic::{AtomicU64, Ordering};

    /// A bug, and how often arrays that have it reached code where it makes a difference.
    #[derive(Debug)]
    pub struct Site {
        bug: Bug,
        reached: AtomicU64,
    }

    impl Site {
        /// The site of a bug that no array has reached.
        #[must_use]
        pub const fn new(bug: Bug) -> Self {
            Self { bug, reached: AtomicU64::new(0) }
        }

        /// Number of times that it was reached.
        #[must_use]
        pub fn reached(&self) -> u64 {
            self.reached.load(Ordering::Relaxed)
        }
    }

    /// The bug that an array has, or none.
    #[derive(Clone, Copy, Debug)]
    pub struct Planted(Option<&'static Site>);

    impl Planted {
        /// No bug.
        pub const NONE: Self = Self(None);

        /// Plants the bug of `site`, which counts how often it is reached.
        #[must_use]
        pub const fn at(site: &'static Site) -> Self {
            Self(Some(site))
        }

        /// Returns true if this bug is planted, and counts that at its site.
        #[must_use]
        #[inline]
        pub fn has(self, bug: Bug) -> bool {
            let site = self.0.filter(|site| site.bug == bug);
            site.is_some_and(|site| {
                site.reached.fetch_add(1, Ordering::Relaxed);
                true
            })
        }
    }

    impl PartialEq for Planted {
        fn eq(&self, other: &Self) -> bool {
            self.0.map(|site| site.bug) == other.0.map(|site| site.bug)
        }
    }

    impl Eq for Planted {}
}

#[cfg(not(feature = "planted"))]
mod handle {
    use super::Bug;

    /// A bug that no array can have: the program is built without the feature `planted`.
    #[derive(Debug)]
    pub struct Site(());

    impl Site {
        /// The site of a bug, which no array reaches.
        #[must_use]
        pub const fn new(_: Bug) -> Self {
            Self(())
        }

        /// Number of times that it was reached: 0.
        #[must_use]
        pub const fn reached(&self) -> u64 {
            0
        }
    }

    /// No bug: the program is built without the feature `planted`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Planted(());

    impl Planted {
        /// No bug.
        pub const NONE: Self = Self(());

        /// No bug.
        #[must_use]
        pub const fn at(_: &'static Site) -> Self {
            Self::NONE
        }

        /// Returns false: no bug is planted.
        #[must_use]
        #[inline]
        pub const fn has(self, _: Bug) -> bool {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_bug_stands_in_its_place_under_a_name_of_its_own() {
        for bug in Bug::all() {
            assert_eq!(bug.about().bug, bug);
            assert_eq!(Bug::named(bug.about().name), Some(bug));
        }
        let names: BTreeSet<&str> = Bug::all().map(|bug| bug.about().name).collect();
        assert_eq!(names.len(), Bug::all().count());
        assert_eq!(Bug::named("no-such-bug"), None);
    }

    #[cfg(not(feature = "planted"))]
    #[test]
    fn a_program_without_the_feature_has_no_bug_and_no_room_for_one() {
        assert!(Bug::all().all(|bug| !Planted::NONE.has(bug)));
        assert_eq!(core::mem::size_of::<Planted>(), 0);
    }

    #[cfg(feature = "planted")]
    #[test]
    fn an_array_has_one_bug_and_its_site_counts() {
        static SITE: Site = Site::new(Bug::ReplayReversed);
        let planted = Planted::at(&SITE);
        assert!(Bug::all().all(|bug| planted.has(bug) == (bug == Bug::ReplayReversed)));
        assert_eq!(SITE.reached(), 1);
        assert!(Bug::all().all(|bug| !Planted::NONE.has(bug)));
    }
}
