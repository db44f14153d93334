//! Sweep: every short sequence of orders and requests, with a power cut at every command of the
//! disks.
//!
//! A drawn history is long and meets rare sequences by chance. A sweep is exhaustive: it lists all
//! sequences up to a length. Each runs once for every command or answer at which the power can
//! fail, and for every kind of loss. The drives are tiny, so that a whole rebuild has few such
//! moments.

use super::constants::QUIET_FOR;
use super::disk::Loss;
use super::history::{Access, History, HistoryStep, Order, Shape, Start};
use super::play::Play;
use array::Level;
use array::policy::PolicyKind;
use engine::durability::{Journalled, Setup};
use std::fmt;
use std::str::FromStr;
use units::{DriveId, Duration};

/// One step of a script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Act {
    /// Clients write concurrently: parts of chunks, a whole stripe, overlapping, one of them
    /// forced.
    Write,
    /// A client flushes.
    Flush,
    /// The first drive is failed by order.
    Fail,
    /// The last drive is failed by order.
    FailLast,
    /// The first drive dies.
    Die,
    /// Empty drives replace all failed ones.
    Replace,
    /// A short time passes in which some commands end and others do not.
    Soon,
    /// Ten seconds pass: jobs end, the intent record becomes clean.
    Wait,
    /// Parity is compared with data.
    Scrub,
    /// The policy is changed.
    Policy,
    /// The array is shut down, and started again.
    Restart,
    /// The second drive is failed by order.
    FailSecond,
    /// An empty drive replaces the last one, and no other.
    ReplaceLast,
    /// A few milliseconds pass: a rebuild ends, and the journal and the intent record do not
    /// change.
    Moment,
    /// The first drive is copied to the shelf.
    Copy,
}

impl Act {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Write,
        Self::Flush,
        Self::Fail,
        Self::FailLast,
        Self::Die,
        Self::Replace,
        Self::Soon,
        Self::Wait,
        Self::Scrub,
        Self::Policy,
        Self::Restart,
        Self::FailSecond,
        Self::ReplaceLast,
        Self::Moment,
        Self::Copy,
    ];

    /// Acts of a sweep. The others are for hand-written scripts: with them a sweep would take twice
    /// as long, for sequences that differ only in the affected drive.
    pub fn swept() -> impl Iterator<Item = Self> {
        let is_for_scripts = |act: &Self| {
            matches!(act, Self::FailSecond | Self::ReplaceLast | Self::Moment | Self::Copy)
        };
        Self::ALL.into_iter().filter(move |act| !is_for_scripts(act))
    }

    /// Name in scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Fail => "fail",
            Self::FailLast => "fail-last",
            Self::Die => "die",
            Self::Replace => "replace",
            Self::Soon => "soon",
            Self::Wait => "wait",
            Self::Scrub => "scrub",
            Self::Policy => "policy",
            Self::Restart => "restart",
            Self::FailSecond => "fail-second",
            Self::ReplaceLast => "replace-last",
            Self::Moment => "moment",
            Self::Copy => "copy",
        }
    }

    fn steps(self, shape: &Shape, at: usize, steps: &mut Vec<HistoryStep>) {
        let last = DriveId(shape.width - 1);
        match self {
            Self::Write => steps.extend(burst(shape, at as u64)),
            Self::Flush => steps.push(HistoryStep::Flush),
            Self::Fail => steps.push(HistoryStep::Order(Order::Fail(DriveId(0)))),
            Self::FailLast => steps.push(HistoryStep::Order(Order::Fail(last))),
            Self::Die => steps.push(HistoryStep::Fault(DriveId(0), super::Fault::Dies)),
            Self::Replace => {
                steps.push(HistoryStep::Order(Order::Replace(DriveId(0))));
                steps.push(HistoryStep::Order(Order::Replace(last)));
            }
            Self::Soon => steps.push(HistoryStep::Wait(Duration::from_micros(350))),
            Self::Wait => steps.push(HistoryStep::Wait(Duration::from_secs(10))),
            Self::Scrub => steps.push(HistoryStep::Order(Order::Scrub)),
            Self::Policy => steps.push(HistoryStep::Order(Order::Policy(PolicyKind::IODA))),
            Self::Restart => steps.push(HistoryStep::Order(Order::Restart)),
            Self::FailSecond => steps.push(HistoryStep::Order(Order::Fail(DriveId(1)))),
            Self::ReplaceLast => steps.push(HistoryStep::Order(Order::Replace(last))),
            Self::Copy => steps.push(HistoryStep::Copy(DriveId(0))),
            Self::Moment => steps.push(HistoryStep::Wait(Duration::from_millis(40))),
        }
    }
}

/// Concurrent writes.
fn burst(shape: &Shape, at: u64) -> [HistoryStep; 4] {
    let chunk = u64::from(shape.chunk_pages) * 8;
    let stripe = u64::from(u32::from(shape.stripe_width) - shape.parities()) * chunk;
    let write = |sector, sectors, forced| HistoryStep::Client {
        access: Access::Write { forced },
        sector,
        sectors,
    };
    // Bursts overlap, and each extends a little further.
    let first = at % 3 * stripe;
    [
        write(first + 3, chunk, false),
        write(first + stripe, stripe, false),
        write(first, 8, true),
        write(first + 2 * stripe + 4, 2, false),
    ]
}

/// Kind of a power cut and of the start after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cutting {
    /// The disks keep all writes.
    Nothing,
    /// The disks lose all unsynced writes.
    Everything,
    /// The disks lose the latest writes.
    Later,
    /// The disks lose some writes.
    Writes,
    /// The disks lose some sectors.
    Sectors,
    /// One disk loses everything, the next nothing, the next some writes.
    Mixed,
    /// As `Mixed`, with the disks in rotated places.
    Rotated,
    /// The disks lose some sectors, and the power fails again during the start.
    Again,
    /// The disks lose some writes, and a drive is missing at the start.
    Missing,
    /// The disks lose some writes, and the first drive is a replaced one, or a copy.
    Stale,
}

impl Cutting {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Nothing,
        Self::Everything,
        Self::Later,
        Self::Writes,
        Self::Sectors,
        Self::Mixed,
        Self::Rotated,
        Self::Again,
        Self::Missing,
        Self::Stale,
    ];

    /// Name in scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Everything => "everything",
            Self::Later => "later",
            Self::Writes => "writes",
            Self::Sectors => "sectors",
            Self::Mixed => "mixed",
            Self::Rotated => "rotated",
            Self::Again => "again",
            Self::Missing => "missing",
            Self::Stale => "stale",
        }
    }

    fn step(self, after: u32, shape: &Shape) -> HistoryStep {
        use Loss::{Everything, Later, Nothing, Sectors, Writes};
        let loss = match self {
            Self::Nothing => [Nothing; 3],
            Self::Everything => [Everything; 3],
            Self::Later => [Later; 3],
            Self::Writes | Self::Missing | Self::Stale => [Writes; 3],
            Self::Sectors | Self::Again => [Sectors; 3],
            Self::Mixed => [Everything, Nothing, Writes],
            Self::Rotated => [Nothing, Writes, Everything],
        };
        let start = Start {
            missing: if self == Self::Missing { 1 << (shape.width - 1) } else { 0 },
            rotated: u8::from(self == Self::Rotated),
            outdated: u64::from(self == Self::Stale),
            // The moments of the start advance with those of the cut.
            cut_after: (self == Self::Again).then_some(after % 40),
        };
        HistoryStep::Cut { after, loss, seed: u64::from(after), start }
    }
}

/// A sequence of acts on an array of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// RAID level.
    pub level: Level,
    /// Choice of the changes that are journalled, if it has parity.
    pub journalled: Journalled,
    /// Acts, in their order.
    pub acts: Vec<Act>,
}

/// Suffix of the level, in the name of a script, for an array that journals only while drives are
/// missing.
const DEGRADED: &str = "-degraded";

impl Script {
    /// All scripts of up to `length` acts on arrays of this level, without those that merely repeat
    /// an act without effect.
    #[must_use]
    pub fn all(level: Level, length: usize) -> Vec<Self> {
        let has_parity = level.is_redundant() && !level.is_mirrored();
        let uses = [Journalled::Always, Journalled::Degraded];
        let uses = if has_parity { &uses[..] } else { &uses[..1] };
        uses.iter().flat_map(|&journalled| Self::all_of(level, journalled, length)).collect()
    }

    fn all_of(level: Level, journalled: Journalled, length: usize) -> Vec<Self> {
        let mut all: Vec<Vec<Act>> = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..length {
            let until = all.len();
            for shorter in from..until {
                for act in Act::swept() {
                    if is_worth_it(&all[shorter], act) {
                        let longer = all[shorter].iter().copied().chain([act]).collect();
                        all.push(longer);
                    }
                }
            }
            from = until;
        }
        all.into_iter().skip(1).map(|acts| Self { level, journalled, acts }).collect()
    }

    /// Kinds of power cuts that make a difference.
    pub fn cuttings(&self) -> impl Iterator<Item = Cutting> + use<> {
        let has_stale = self.acts.iter().any(|act| matches!(act, Act::Replace | Act::Copy));
        Cutting::ALL.into_iter().filter(move |cutting| has_stale || *cutting != Cutting::Stale)
    }

    fn shape(&self) -> Shape {
        let width: u8 = match self.level {
            Level::Raid0 | Level::Raid1 => 2,
            Level::Raid4 | Level::Raid5 => 3,
            Level::Raid6 | Level::Raid10 => 4,
        };
        let stripe_width = self.level.usual_stripe_width(u32::from(width)) as u8;
        Shape {
            level: self.level,
            width,
            stripe_width,
            chunk_pages: 1,
            drive_chunks: 12,
            journalled: self.journalled,
            checksums: true,
            setup: Setup::from(QUIET_FOR),
            play: Play::PLAIN,
        }
    }
}

/// Returns true if an act has a new effect after others.
fn is_worth_it(before: &[Act], act: Act) -> bool {
    let last = |acts: &[Act]| before.iter().rposition(|old| acts.contains(old));
    let replaced = last(&[Act::Replace]);
    // Positions are comparable: an act that never happened is before everything.
    match act {
        Act::Fail | Act::Die => last(&[Act::Fail, Act::Die]) <= replaced,
        Act::FailLast => last(&[Act::FailLast]) <= replaced,
        Act::Replace => last(&[Act::Fail, Act::Die, Act::FailLast]) > replaced,
        Act::Write | Act::Soon => true,
        Act::Flush | Act::Wait | Act::Scrub | Act::Policy | Act::Restart => {
            before.last() != Some(&act)
        }
        Act::FailSecond | Act::ReplaceLast | Act::Moment | Act::Copy => false,
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.acts.iter().map(|act| act.name()).collect();
        let suffix = if self.journalled == Journalled::Degraded { DEGRADED } else { "" };
        write!(f, "{}{suffix}:{}", self.level.name(), names.join(","))
    }
}

/// A script, and its power cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The script.
    pub script: Script,
    /// Kind of the cut, and number of commands and answers before it; `None` without a cut.
    pub cut: Option<(Cutting, u32)>,
}

impl Case {
    /// Steps of the case.
    #[must_use]
    pub fn history(&self) -> History {
        let shape = self.script.shape();
        // Overwritten data was on stable storage before.
        let mut steps = vec![HistoryStep::Flush];
        Act::Write.steps(&shape, 0, &mut steps);
        Act::Flush.steps(&shape, 0, &mut steps);
        steps.push(HistoryStep::Wait(Duration::from_millis(100)));
        if let Some((cutting, after)) = self.cut {
            steps.push(cutting.step(after, &shape));
        }
        for (at, act) in self.script.acts.iter().enumerate() {
            act.steps(&shape, at, &mut steps);
        }
        steps.push(HistoryStep::Wait(Duration::from_secs(10)));
        History { seed: 1, shape, steps }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut {
            Some((cutting, after)) => write!(f, "{}:{}:{after}", self.script, cutting.name()),
            None => self.script.fmt(f),
        }
    }
}

/// Error: a text that is no case.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is no script; write LEVEL:ACTS or LEVEL:ACTS:LOSS:COMMANDS, such as \
     raid5:write,fail,replace:mixed:17"
)]
pub struct CaseError {
    text: String,
}

impl FromStr for Case {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        let mut parts = text.split(':');
        let mut next = || parts.next();
        let case = (|| {
            let name = next()?;
            let (level, journalled) = match name.strip_suffix(DEGRADED) {
                Some(level) => (level, Journalled::Degraded),
                None => (name, Journalled::Always),
            };
            let level = Level::ALL.into_iter().find(|known| known.name() == level)?;
            let acts = next()?.split(',');
            let acts = acts.map(|name| Act::ALL.into_iter().find(|act| act.name() == name));
            let acts: Vec<Act> = acts.collect::<Option<_>>()?;
            let cut = match next() {
                Some(name) => {
                    let cutting = Cutting::ALL.into_iter().find(|known| known.name() == name)?;
                    Some((cutting, next()?.parse().ok()?))
                }
                None => None,
            };
            next().is_none().then_some(Self { script: Script { level, journalled, acts }, cut })
        })();
        case.ok_or_else(|| CaseError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_as_they_are_written() {
        for cutting in Cutting::ALL {
            for script in Script::all(Level::Raid6, 2) {
                let case = Case { script, cut: Some((cutting, 17)) };
                assert_eq!(case.to_string().parse(), Ok(case));
            }
        }
        for text in
            ["", "raid5", "raid5:", "raid7:write", "raid5:write:mixed", "raid5:write:mixed:x"]
        {
            assert!(text.parse::<Case>().is_err(), "{text}");
        }
    }

    #[test]
    fn scripts_do_nothing_twice_and_leave_nothing_out() {
        let all = Script::all_of(Level::Raid5, Journalled::Always, 3);
        let has = |text: &str| all.iter().any(|script| script.to_string() == text);
        assert!(has("raid5:write,fail,replace") && has("raid5:fail,replace,fail-last"));
        assert!(has("raid5:fail,replace,fail") && has("raid5:restart,write,restart"));
        assert!(!has("raid5:fail,fail") && !has("raid5:replace") && !has("raid5:wait,wait"));
        assert_eq!(
            all.iter().filter(|script| script.acts.len() == 1).count(),
            Act::swept().count() - 1
        );
    }
}
