//! Options that are one of a few words.

use crate::failure::Failure;
use crate::values::quantity::not_understood;
use crate::values::typed::Spelled;
use array::policy::{BaseRule, ParityReads, QuietReads};
use live::clock::Spin;
use sim::Preparation;
use ssd::{
    Allocation, Arbitration, Blocking, CollectionTrigger, CollectionUnit, FlushRule,
    PreemptionScope, RangePlacement, Rotation, SlcOverflow, Suspendable,
};
use std::fmt;
use std::str::FromStr;
use workload::OptionError;

/// The words of an option and what they mean.
struct Words<T: 'static> {
    /// What the option is called in messages.
    option: &'static str,
    /// The words in a list, for messages.
    expected: &'static str,
    words: &'static [(&'static str, T)],
}

impl<T: Copy + PartialEq> Words<T> {
    fn parse(&self, text: &str) -> Result<T, OptionError> {
        let found = self.words.iter().find(|(word, _)| *word == text);
        found
            .map(|&(_, value)| value)
            .ok_or_else(|| not_understood(self.option, text, self.expected))
    }

    fn word(&self, value: T) -> &'static str {
        self.words.iter().find(|&&(_, known)| known == value).map_or("", |&(word, _)| word)
    }
}

/// Who decides when a drive may collect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coordinator {
    /// The clock.
    Windows,
    /// The clock, at a length that the host adapts.
    Adaptive,
    /// The host, by tokens.
    Token,
}

const COORDINATORS: Words<Coordinator> = Words {
    option: "coordination",
    expected: "one of windows, adaptive, token",
    words: &[
        ("windows", Coordinator::Windows),
        ("adaptive", Coordinator::Adaptive),
        ("token", Coordinator::Token),
    ],
};

impl Spelled for Coordinator {
    const TYPE: &str = COORDINATORS.expected;
}

impl FromStr for Coordinator {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        COORDINATORS.parse(text)
    }
}

impl fmt::Display for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(COORDINATORS.word(*self))
    }
}

/// How drives are prepared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Precondition {
    /// Laid out as after uniform overwrites.
    Aged,
    /// Overwritten at random until steady.
    Steady,
    /// Nothing written.
    Fresh,
    /// Overwritten by the load of the run until steady.
    Load,
}

impl Precondition {
    /// The preparation of drives that are not prepared for a run.
    pub fn without_load(self) -> Result<Preparation, Failure> {
        match self {
            Self::Aged => Ok(Preparation::Aged),
            Self::Steady => Ok(Preparation::Steady),
            Self::Fresh => Ok(Preparation::Fresh),
            Self::Load => Err(Failure::usage(
                "--precondition is load, but there is no load before clients come; choose aged, \
                 steady or fresh",
            )),
        }
    }
}

const PREPARATIONS: Words<Precondition> = Words {
    option: "preparation",
    expected: "one of load, aged, steady, fresh",
    words: &[
        ("load", Precondition::Load),
        ("aged", Precondition::Aged),
        ("steady", Precondition::Steady),
        ("fresh", Precondition::Fresh),
    ],
};

impl Spelled for Precondition {
    const TYPE: &str = PREPARATIONS.expected;
}

impl FromStr for Precondition {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        PREPARATIONS.parse(text)
    }
}

/// How a server waits for a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wait(pub Spin);

const WAITS: Words<Spin> = Words {
    option: "way to wait",
    expected: "one of spin, block",
    words: &[("spin", Spin::Adaptive), ("block", Spin::Never)],
};

impl Spelled for Wait {
    const TYPE: &str = WAITS.expected;
}

impl FromStr for Wait {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        WAITS.parse(text).map(Self)
    }
}

/// How PLM-light splits what classes are sure of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Base(pub BaseRule);

const BASES: Words<BaseRule> = Words {
    option: "base rule",
    expected: "one of equal, prioritized",
    words: &[("equal", BaseRule::Equal), ("prioritized", BaseRule::Prioritized)],
};

impl Spelled for Base {
    const TYPE: &str = BASES.expected;
}

impl FromStr for Base {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        BASES.parse(text).map(Self)
    }
}

/// When a write buffer is flushed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flush(pub FlushRule);

const FLUSH_RULES: Words<FlushRule> = Words {
    option: "flush rule",
    expected: "one of when-full, in-window",
    words: &[("when-full", FlushRule::WhenFull), ("in-window", FlushRule::InWindow)],
};

impl Spelled for Flush {
    const TYPE: &str = FLUSH_RULES.expected;
}

impl FromStr for Flush {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        FLUSH_RULES.parse(text).map(Self)
    }
}

impl fmt::Display for Flush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FLUSH_RULES.word(self.0))
    }
}

/// What becomes of writes that find a cache of SLC blocks full.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overflow(pub SlcOverflow);

const OVERFLOWS: Words<SlcOverflow> = Words {
    option: "overflow",
    expected: "one of bypass, wait",
    words: &[("bypass", SlcOverflow::Bypass), ("wait", SlcOverflow::Wait)],
};

impl Spelled for Overflow {
    const TYPE: &str = OVERFLOWS.expected;
}

impl FromStr for Overflow {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        OVERFLOWS.parse(text).map(Self)
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OVERFLOWS.word(self.0))
    }
}

/// Whether the dies of a plane group take turns in collecting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rotating(pub Rotation);

const ROTATIONS: Words<Rotation> = Words {
    option: "rotating collection",
    expected: "one of off, on, forced",
    words: &[("off", Rotation::Off), ("on", Rotation::On), ("forced", Rotation::Forced)],
};

impl Spelled for Rotating {
    const TYPE: &str = ROTATIONS.expected;
}

impl FromStr for Rotating {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        ROTATIONS.parse(text).map(Self)
    }
}

impl fmt::Display for Rotating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROTATIONS.word(self.0))
    }
}

/// What a collection takes at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unit(pub CollectionUnit);

const UNITS: Words<CollectionUnit> = Words {
    option: "unit of collection",
    expected: "one of block, line",
    words: &[("block", CollectionUnit::Block), ("line", CollectionUnit::Line)],
};

impl Spelled for Unit {
    const TYPE: &str = UNITS.expected;
}

impl FromStr for Unit {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        UNITS.parse(text).map(Self)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(UNITS.word(self.0))
    }
}

/// Which of the commands that wait for a slot of a drive comes next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Queues(pub Arbitration);

const QUEUES: &str = "one-queue, round-robin, or the weights of reads and writes such as 4:1";

impl Spelled for Queues {
    const TYPE: &str = QUEUES;
}

impl FromStr for Queues {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let weights = || {
            let (reads, writes) = text.split_once(':')?;
            let (reads, writes) = (reads.parse().ok()?, writes.parse().ok()?);
            Some(Arbitration::Weighted { reads, writes })
        };
        let arbitration = match text {
            "one-queue" => Some(Arbitration::OneQueue),
            "round-robin" => Some(Arbitration::RoundRobin),
            _ => weights(),
        };
        arbitration.map(Self).ok_or_else(|| not_understood("queue_arbitration", text, QUEUES))
    }
}

impl fmt::Display for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Arbitration::OneQueue => f.write_str("one-queue"),
            Arbitration::RoundRobin => f.write_str("round-robin"),
            Arbitration::Weighted { reads, writes } => write!(f, "{reads}:{writes}"),
        }
    }
}

/// What lets a drive look whether a collection is due.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trigger(pub CollectionTrigger);

const TRIGGERS: Words<CollectionTrigger> = Words {
    option: "collection_trigger",
    expected: "one of free-space, host-command",
    words: &[
        ("free-space", CollectionTrigger::FreeSpace),
        ("host-command", CollectionTrigger::HostCommand),
    ],
};

impl Spelled for Trigger {
    const TYPE: &str = TRIGGERS.expected;
}

impl FromStr for Trigger {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        TRIGGERS.parse(text).map(Self)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TRIGGERS.word(self.0))
    }
}

/// What a collection blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Blocks(pub Blocking);

const BLOCKING: Words<Blocking> = Words {
    option: "blocking",
    expected: "one of controller, channel, channel-for-copies, die",
    words: &[
        ("controller", Blocking::Controller),
        ("channel", Blocking::Channel),
        ("channel-for-copies", Blocking::ChannelForCopies),
        ("die", Blocking::Die),
    ],
};

impl Spelled for Blocks {
    const TYPE: &str = BLOCKING.expected;
}

impl FromStr for Blocks {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        BLOCKING.parse(text).map(Self)
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BLOCKING.word(self.0))
    }
}

/// What a range of logical blocks has of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Placement(pub RangePlacement);

const PLACEMENTS: Words<RangePlacement> = Words {
    option: "lba_range_placement",
    expected: "one of channels, chips",
    words: &[("channels", RangePlacement::Channels), ("chips", RangePlacement::Chips)],
};

impl Spelled for Placement {
    const TYPE: &str = PLACEMENTS.expected;
}

impl FromStr for Placement {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        PLACEMENTS.parse(text).map(Self)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PLACEMENTS.word(self.0))
    }
}

/// Which die a page goes to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allocates(pub Allocation);

const ALLOCATIONS: Words<Allocation> = Words {
    option: "allocation",
    expected: "one of next-die, static",
    words: &[("next-die", Allocation::NextDie), ("static", Allocation::Static)],
};

impl Spelled for Allocates {
    const TYPE: &str = ALLOCATIONS.expected;
}

impl FromStr for Allocates {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        ALLOCATIONS.parse(text).map(Self)
    }
}

impl fmt::Display for Allocates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ALLOCATIONS.word(self.0))
    }
}

/// Whose commands a preemptive collection gives way to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preempts(pub PreemptionScope);

const PREEMPTIONS: Words<PreemptionScope> = Words {
    option: "preemption_scope",
    expected: "one of die, channel",
    words: &[("die", PreemptionScope::Die), ("channel", PreemptionScope::Channel)],
};

impl Spelled for Preempts {
    const TYPE: &str = PREEMPTIONS.expected;
}

impl FromStr for Preempts {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        PREEMPTIONS.parse(text).map(Self)
    }
}

impl fmt::Display for Preempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREEMPTIONS.word(self.0))
    }
}

/// What is suspended for reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Suspends(pub Suspendable);

const SUSPENDABLE: Words<Suspendable> = Words {
    option: "suspends",
    expected: "one of everything, collection",
    words: &[("everything", Suspendable::Everything), ("collection", Suspendable::Collection)],
};

impl Spelled for Suspends {
    const TYPE: &str = SUSPENDABLE.expected;
}

impl FromStr for Suspends {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        SUSPENDABLE.parse(text).map(Self)
    }
}

impl fmt::Display for Suspends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SUSPENDABLE.word(self.0))
    }
}

/// Where the reads of IOD3 go that a write needs for its parity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parity(pub ParityReads);

const PARITY_READS: Words<ParityReads> = Words {
    option: "--iod3-parity-reads",
    expected: "one of around, wait",
    words: &[("around", ParityReads::Around), ("wait", ParityReads::Wait)],
};

impl Spelled for Parity {
    const TYPE: &str = PARITY_READS.expected;
}

impl FromStr for Parity {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        PARITY_READS.parse(text).map(Self)
    }
}

impl fmt::Display for Parity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PARITY_READS.word(self.0))
    }
}

/// How reads under `quiet` are flagged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flagged(pub QuietReads);

const QUIET_READS: Words<QuietReads> = Words {
    option: "--quiet-reads",
    expected: "one of strict, patient, by-queue",
    words: &[
        ("strict", QuietReads::Strict),
        ("patient", QuietReads::Patient),
        ("by-queue", QuietReads::ByQueue),
    ],
};

impl Spelled for Flagged {
    const TYPE: &str = QUIET_READS.expected;
}

impl FromStr for Flagged {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        QUIET_READS.parse(text).map(Self)
    }
}

impl fmt::Display for Flagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(QUIET_READS.word(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_list_every_word() {
        fn check<T: Copy + PartialEq>(list: &Words<T>) {
            let words: Vec<&str> = list.words.iter().map(|&(word, _)| word).collect();
            assert_eq!(list.expected, format!("one of {}", words.join(", ")));
        }
        check(&COORDINATORS);
        check(&PREPARATIONS);
        check(&BASES);
        check(&FLUSH_RULES);
        check(&UNITS);
        check(&BLOCKING);
        check(&QUIET_READS);
        check(&PLACEMENTS);
        check(&TRIGGERS);
        check(&ALLOCATIONS);
        check(&PREEMPTIONS);
        check(&SUSPENDABLE);
        check(&PARITY_READS);
    }
}
