//! What became of every line of a trace.

use std::collections::BTreeMap;
use std::fmt;

/// Why a line of a trace is not a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SkipReason {
    /// An empty line.
    Blank,
    /// A header, or the free text above the first request.
    Header,
    /// A line that begins with `#`.
    Comment,
    /// A blkparse event of another kind than the chosen one, by its letter.
    Event(char),
    /// The summary that blkparse prints at the end.
    Summary,
    /// A discard or trim.
    Discard,
    /// A flush or sync without data.
    Flush,
    /// A command without data of the user, such as SCSI passthrough.
    NoData,
    /// A file being added, opened or closed in a fio log.
    FileAction,
    /// A wait in a fio log; it moves the clock.
    Wait,
    /// A request of zero length, skipped because that was chosen.
    ZeroLength,
    /// A command that writes zeroes or the same block many times, without data of the host.
    WriteZeroes,
    /// An operation that the column map says to skip.
    Unwanted,
    /// A SCSI command that is none of these, by its code.
    Command(u16),
    /// A command for a zone that moves no data, such as a reset.
    Zone,
    /// An operation of the block layer that is not known, and no read or write.
    UnknownOperation,
    /// A message of the tool that traced.
    Message,
    /// A notice in a binary trace, such as the name of a process.
    Notice,
    /// A wait in a fio log whose end has passed already.
    PassedWait,
}

impl SkipReason {
    /// Whether lines with this reason are rare in a trace whose format was told right.
    #[must_use]
    pub const fn is_odd(self) -> bool {
        matches!(self, Self::UnknownOperation)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "blank line",
            Self::Header => "header",
            Self::Comment => "comment",
            Self::Event(letter) => return write!(f, "event {letter}"),
            Self::Summary => "summary",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::NoData => "command without data",
            Self::FileAction => "file action",
            Self::Wait => "wait",
            Self::ZeroLength => "zero length",
            Self::WriteZeroes => "write of zeroes",
            Self::Unwanted => "operation to be skipped",
            Self::Zone => "zone command",
            Self::UnknownOperation => "unknown operation",
            Self::Message => "message",
            Self::Notice => "notice",
            Self::PassedWait => "wait that has passed",
            Self::Command(code) => return write!(f, "SCSI command {code:#04x}"),
        })
    }
}

/// What became of every line so far: `lines` is `requests` plus everything skipped, until an
/// error ends the reading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Lines read.
    pub lines: u64,
    /// Lines that are requests.
    pub requests: u64,
    /// Lines that are not, by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Requests that came after one with a later time and were put in order.
    pub reordered: u64,
    /// Requests that came too late to be put in order and were moved to the time of their
    /// predecessor.
    pub clamped: u64,
    /// Issues of requests that had been issued before and were put back into their queue.
    pub requeued: u64,
    /// Writes that ask for stable storage: by FUA, a flush ahead of them or a barrier.
    pub durable: u64,
    /// Requests with a flag that is not known, by its letter.
    pub unknown_flags: BTreeMap<char, u64>,
}

impl Counts {
    /// Lines that are skipped and ought to be rare.
    #[must_use]
    pub fn odd_total(&self) -> u64 {
        self.skipped.iter().filter(|(reason, _)| reason.is_odd()).map(|(_, count)| count).sum()
    }

    /// All lines that are not requests.
    #[must_use]
    pub fn skipped_total(&self) -> u64 {
        self.skipped.values().sum()
    }

    pub(crate) fn skip(&mut self, reason: SkipReason) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// How many requests were issued again.
    #[must_use]
    pub fn requeued_text(&self) -> String {
        let were = if self.requeued == 1 { "was" } else { "were" };
        format!("{} {were} requeued: issued twice", self.requeued)
    }

    /// How many flushes there were without data.
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.skipped.get(&SkipReason::Flush).copied().unwrap_or(0)
    }

    /// How many writes asked for stable storage.
    #[must_use]
    pub fn durable_text(&self) -> String {
        let (writes, ask) = if self.durable == 1 { ("write", "asks") } else { ("writes", "ask") };
        format!("{} {writes} {ask} for stable storage (FUA, or a flush ahead)", self.durable)
    }

    /// The reasons and their counts in one line, or `nothing`.
    #[must_use]
    pub fn skipped_text(&self) -> String {
        if self.skipped.is_empty() {
            return "nothing".to_owned();
        }
        let parts: Vec<String> =
            self.skipped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        parts.join(", ")
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} lines read: {} requests; skipped: {}; reordered {}, clamped {}",
            self.lines,
            self.requests,
            self.skipped_text(),
            self.reordered,
            self.clamped
        )?;
        if self.requeued > 0 {
            write!(f, "; {}", self.requeued_text())?;
        }
        if self.durable > 0 {
            write!(f, "; {}", self.durable_text())?;
        }
        let mut separator = "; unknown flags: ";
        for (flag, count) in &self.unknown_flags {
            write!(f, "{separator}{flag} {count}")?;
            separator = ", ";
        }
        Ok(())
    }
}
