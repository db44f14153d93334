//! Words for times, drives and work in sentences and labels.

use super::command::{OwnCommand, PageStep};
use super::state::{Who, Work};
use super::told::{Activity, Segment};
use array::{MemberSet, OperationKind, Why};
use nvme::Opcode;
use ssd::PageOperation;
use units::Duration;

impl Segment {
    /// Description of the segment.
    #[must_use]
    pub fn words(&self) -> String {
        of_segment(self)
    }
}

/// A time with three digits, as `52.0 µs`.
pub(super) fn time(length: Duration) -> String {
    let micros = length.as_nanos() as f64 / 1e3;
    let (value, unit) = match micros {
        // The limits are where three digits would round up to 1000.
        micros if micros < 999.5 => (micros, "µs"),
        micros if micros < 999_500.0 => (micros / 1e3, "ms"),
        micros => (micros / 1e6, "s"),
    };
    match value {
        value if value >= 99.95 || value == value.trunc() => format!("{value:.0} {unit}"),
        value if value >= 9.995 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

/// Words as a list: `a, b and c`.
pub(super) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Drives by their numbers, as `drive 2` or `drives 0, 1 and 3`.
pub(super) fn drives(numbers: impl IntoIterator<Item = u8>) -> String {
    let mut numbers: Vec<u8> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let words: Vec<String> = numbers.iter().map(u8::to_string).collect();
    let noun = if words.len() == 1 { "drive" } else { "drives" };
    format!("{noun} {}", list(&words))
}

/// Members of a stripe, named by their drives.
pub(super) fn members(members: MemberSet) -> String {
    drives(members)
}

/// A number with its noun, such as `1 page` or `3 pages`.
pub(super) fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Words for the purpose of some work.
pub(super) fn of_who(who: Who) -> String {
    match who {
        Who::Request(id, OperationKind::Read) => format!("read {}", id.0),
        Who::Request(id, _) => format!("write {}", id.0),
        Who::Job(OperationKind::Check) => String::from("the scrub"),
        Who::Job(OperationKind::Rewrite) => String::from("the repair of a page"),
        Who::Job(_) => String::from("the rebuild"),
        Who::Drain => String::from("the write cache"),
        Who::Collection(_) => String::from("a collection"),
        Who::Flush => String::from("the write buffer"),
        Who::Check => String::from("the check of copied pages"),
        Who::Unknown => String::from("another command"),
    }
}

/// Words for the work of a die, as an activity.
pub(super) fn of_work(work: &Work) -> String {
    let who = of_who(work.who);
    match work.activity {
        Activity::CollectionCopy => String::from("a collection copies pages"),
        Activity::CollectionErase => String::from("a collection erases a block"),
        Activity::OtherRead => format!("reads for {who}"),
        Activity::OtherProgram => format!("programs for {who}"),
        Activity::Job => format!("works for {who}"),
        Activity::Flush => String::from("flushes the write buffer"),
        Activity::Check => String::from("checks copied pages"),
        Activity::Suspension => format!("has suspended {who}"),
        _ => who,
    }
}

/// Noun for an awaited activity.
pub(super) fn of_wait(activity: Activity) -> &'static str {
    match activity {
        Activity::OtherRead => "reads of other requests",
        Activity::OtherProgram => "programs of other requests",
        Activity::Job => "a background job",
        Activity::Flush => "the flush of the write buffer",
        Activity::CollectionCopy => "the copies of a collection",
        Activity::CollectionErase => "the erase of a collection",
        Activity::Check => "the check of copied pages",
        _ => "other work",
    }
}

/// Words for a step of the critical path.
pub(super) fn of_segment(segment: &Segment) -> String {
    let what = match segment.activity {
        Activity::OwnRead => "reads the page",
        Activity::OwnReconstructRead => "reads a page to reconstruct from",
        Activity::OwnProgram => "programs the page",
        Activity::InDrive => "on the link, or in memory",
        Activity::Channel => "waits for a channel",
        Activity::FailFast => "fails fast",
        Activity::Compute => "computes the missing page",
        Activity::LockWait => "waits for others on the same rows",
        Activity::LateAnswer => "waits for a late answer",
        Activity::HeldBack => "held back by the policy",
        Activity::AtHost => "waits at the host for room",
        Activity::WriteCache => "write cache",
        Activity::Stalled => "waits for free space",
        other => return prefixed(segment, &format!("behind {}", of_wait(other))),
    };
    prefixed(segment, what)
}

fn prefixed(segment: &Segment, what: &str) -> String {
    match segment.drive {
        Some(drive) => format!("drive {}: {what}", drive.0),
        None => what.to_owned(),
    }
}

/// Words for a command, by its purpose.
pub(super) fn of_command(command: &OwnCommand) -> String {
    let verb = match command.opcode {
        Opcode::Read => "read",
        Opcode::Write => "write",
        Opcode::Deallocate => "deallocate",
    };
    let why = match command.why {
        Why::Wanted => "wanted by the host",
        Why::Parity => "for new parity",
        Why::Reconstruct => "to reconstruct from",
        Why::Hedge => "in case it is faster",
        Why::Commit => "data or parity",
        Why::Job => "of a job",
        Why::Relocate => "a block that was left",
        Why::Drain => "of the write cache",
    };
    let pages = count(u64::from(command.blocks), "page");
    format!("{verb} of {pages} at block {}, {why}", command.lba)
}

/// Words for a page operation of the request itself.
pub(super) fn of_page(command: &OwnCommand, page: &PageStep) -> String {
    let verb = match page.operation {
        PageOperation::Program => "programs",
        _ => "reads",
    };
    format!("{verb} for this request: {}", of_command(command))
}
