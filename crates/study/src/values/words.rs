//! Options that are one of a few words.

use crate::failure::Failure;
use crate::values::quantity::not_understood;
use crate::values::typed::Spelled;
use array::policy::{BaseRule, CoordinatorPlace, ParityReads, QuietReads, TrainedOn};
use live::clock::Spin;
use sim::Preparation;
use ssd::presets::Flash;
use ssd::{
    Allocation, Arbitration, Blocking, CollectionTrigger, CollectionUnit, FlushRule,
    PreemptionScope, RangePlacement, Rotation, SlcOverflow, Suspendable,
};
use std::fmt;
use std::str::FromStr;
use workload::OptionError;

/// The value of a word of an option, which messages call `option`.
fn parsed<T: Copy>(
    words: &[(&str, T)],
    option: &'static str,
    expected: &'static str,
    text: &str,
) -> Result<T, OptionError> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|&(_, value)| value).ok_or_else(|| not_understood(option, text, expected))
}

/// The word of a value; nothing for a value that no word means.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |&(word, _)| word)
}

/// Gives a type its words, each with its value, in the order of messages. No function can do it:
/// `FromStr` and `Display` cannot be implemented for all types of a trait of this crate, and the
/// list of words is a constant.
macro_rules! spelled {
    ($type:ty, $option:literal: $first:literal => $first_value:expr, $($word:literal => $value:expr,)*) => {
        impl $type {
            const WORDS: &[(&'static str, Self)] = &[($first, $first_value) $(, ($word, $value))*];
        }

        impl Spelled for $type {
            const TYPE: &str = concat!("one of ", $first $(, ", ", $word)*);
        }

        impl FromStr for $type {
            type Err = OptionError;

            fn from_str(text: &str) -> Result<Self, OptionError> {
                parsed(Self::WORDS, $option, Self::TYPE, text)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(word(Self::WORDS, self))
            }
        }
    };
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

spelled! { Coordinator, "coordination":
    "windows" => Coordinator::Windows,
    "adaptive" => Coordinator::Adaptive,
    "token" => Coordinator::Token,
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

spelled! { Precondition, "preparation":
    "load" => Precondition::Load,
    "aged" => Precondition::Aged,
    "steady" => Precondition::Steady,
    "fresh" => Precondition::Fresh,
}

/// How a server waits for a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wait(pub Spin);

spelled! { Wait, "way to wait":
    "spin" => Wait(Spin::Adaptive),
    "block" => Wait(Spin::Never),
}

/// How PLM-light splits what classes are sure of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Base(pub BaseRule);

spelled! { Base, "base rule":
    "equal" => Base(BaseRule::Equal),
    "prioritized" => Base(BaseRule::Prioritized),
}

/// Where the coordinator of PLM-light is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Coordinating(pub CoordinatorPlace);

spelled! { Coordinating, "place of the coordinator":
    "own" => Coordinating(CoordinatorPlace::Own),
    "remote" => Coordinating(CoordinatorPlace::Remote),
}

/// When a write buffer is flushed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flush(pub FlushRule);

spelled! { Flush, "flush rule":
    "when-full" => Flush(FlushRule::WhenFull),
    "in-window" => Flush(FlushRule::InWindow),
}

/// What becomes of writes that find a cache of SLC blocks full.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overflow(pub SlcOverflow);

spelled! { Overflow, "overflow":
    "bypass" => Overflow(SlcOverflow::Bypass),
    "wait" => Overflow(SlcOverflow::Wait),
}

/// Bits in a cell, as data sheets name them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlashName(pub Flash);

spelled! { FlashName, "flash":
    "tlc" => FlashName(Flash::Tlc),
    "qlc" => FlashName(Flash::Qlc),
}

/// Whether the dies of a plane group take turns in collecting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rotating(pub Rotation);

spelled! { Rotating, "rotating collection":
    "off" => Rotating(Rotation::Off),
    "on" => Rotating(Rotation::On),
    "forced" => Rotating(Rotation::Forced),
}

/// What a collection takes at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unit(pub CollectionUnit);

spelled! { Unit, "unit of collection":
    "block" => Unit(CollectionUnit::Block),
    "line" => Unit(CollectionUnit::Line),
}

/// Which of the commands that wait for a slot of a drive comes next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Queues(pub Arbitration);

const QUEUES: &str =
    "one-queue, round-robin, submitters, or the weights of reads and writes such as 4:1";

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
            "submitters" => Some(Arbitration::Submitters),
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
            Arbitration::Submitters => f.write_str("submitters"),
            Arbitration::Weighted { reads, writes } => write!(f, "{reads}:{writes}"),
        }
    }
}

/// What lets a drive look whether a collection is due.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trigger(pub CollectionTrigger);

spelled! { Trigger, "collection_trigger":
    "free-space" => Trigger(CollectionTrigger::FreeSpace),
    "host-command" => Trigger(CollectionTrigger::HostCommand),
}

/// What a collection blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Blocks(pub Blocking);

spelled! { Blocks, "blocking":
    "controller" => Blocks(Blocking::Controller),
    "channel" => Blocks(Blocking::Channel),
    "channel-for-copies" => Blocks(Blocking::ChannelForCopies),
    "die" => Blocks(Blocking::Die),
}

/// What a range of logical blocks has of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Placement(pub RangePlacement);

spelled! { Placement, "lba_range_placement":
    "channels" => Placement(RangePlacement::Channels),
    "chips" => Placement(RangePlacement::Chips),
}

/// Which die a page goes to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allocates(pub Allocation);

spelled! { Allocates, "allocation":
    "next-die" => Allocates(Allocation::NextDie),
    "static" => Allocates(Allocation::Static),
}

/// Whose commands a preemptive collection gives way to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preempts(pub PreemptionScope);

spelled! { Preempts, "preemption_scope":
    "die" => Preempts(PreemptionScope::Die),
    "channel" => Preempts(PreemptionScope::Channel),
}

/// What is suspended for reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Suspends(pub Suspendable);

spelled! { Suspends, "suspends":
    "everything" => Suspends(Suspendable::Everything),
    "programs" => Suspends(Suspendable::Programs),
    "collection" => Suspends(Suspendable::Collection),
}

/// Where the reads of IOD3 go that a write needs for its parity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parity(pub ParityReads);

spelled! { Parity, "--iod3-parity-reads":
    "around" => Parity(ParityReads::Around),
    "wait" => Parity(ParityReads::Wait),
}

/// The drive on which predictors were trained.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Predicting(pub TrainedOn);

spelled! { Predicting, "--predictor":
    "pm9a3-960" => Predicting(TrainedOn::Pm9a3),
    "7450-960" => Predicting(TrainedOn::Micron7450),
    "p5520-1920" => Predicting(TrainedOn::P5520),
    "pe8110-960" => Predicting(TrainedOn::Pe8110),
    "wd-960" => Predicting(TrainedOn::Wd),
    "cm7r-3840" => Predicting(TrainedOn::Cm7r),
}

/// How reads under `quiet` are flagged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flagged(pub QuietReads);

spelled! { Flagged, "--quiet-reads":
    "strict" => Flagged(QuietReads::Strict),
    "patient" => Flagged(QuietReads::Patient),
    "by-queue" => Flagged(QuietReads::ByQueue),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_and_written_and_messages_list_all() {
        assert_eq!("in-window".parse(), Ok(Flush(FlushRule::InWindow)));
        assert_eq!(Flush(FlushRule::WhenFull).to_string(), "when-full");
        let error = "never".parse::<Rotating>().map_err(|error| error.to_string());
        let said = r#"rotating collection "never" is not one of off, on, forced"#;
        assert_eq!(error, Err(said.to_owned()));
    }
}
