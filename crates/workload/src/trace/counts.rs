//! Counts of the lines of a trace.

use std::collections::BTreeMap;
use std::fmt;

/// Reason why a line of a trace is not a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SkipReason {
    /// An empty line.
    Blank,
    /// A header, or the free text above the first request.
    Header,
    /// A line that begins with `#`.
    Comment,
    /// A blkparse event of another kind than the chosen one, with its letter.
    Event(char),
    /// The summary that blkparse prints at the end.
    Summary,
    /// A discard or trim.
    Discard,
    /// A flush or sync without data.
    Flush,
    /// A command without data of the user, such as SCSI passthrough.
    NoData,
    /// A file is added, opened or closed in a fio log.
    FileAction,
    /// A wait in a fio log, which moves the clock.
    Wait,
    /// A request of zero length, skipped because the options say so.
    ZeroLength,
    /// A command that writes zeroes or one block many times, without data of the host.
    WriteZeroes,
    /// An operation that the column map says to skip.
    Unwanted,
    /// Another SCSI command, by its code.
    Command(u16),
    /// A zone command that moves no data, such as a reset.
    Zone,
    /// An unknown operation of the block layer that is neither read nor write.
    UnknownOperation,
    /// A message of the tracing tool.
    Message,
    /// A notice in a binary trace, such as the name of a process.
    Notice,
    /// A wait in a fio log whose end has already passed.
    PassedWait,
}

impl SkipReason {
    /// Whether lines with this reason are rare in a trace with the right format.
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

/// Counts of the lines so far: `lines` is `requests` plus all skipped lines, until an error ends
/// the reading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Lines read.
    pub lines: u64,
    /// Lines that are requests.
    pub requests: u64,
    /// Lines that are not requests, by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Requests that followed one with a later time and were put in order.
    pub reordered: u64,
    /// Requests that came too late to be put in order, and got the time of their predecessor.
    pub clamped: u64,
    /// Repeated issues of requests that were put back into their queue after an earlier issue.
    pub requeued: u64,
    /// Writes that demand stable storage: by FUA, a flush ahead of them or a barrier.
    pub durable: u64,
    /// Requests with an unknown flag, by its letter.
    pub unknown_flags: BTreeMap<char, u64>,
}

impl Counts {
    /// Skipped lines of kinds that ought to be rare.
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

    /// Number of requests that were issued again, in words.
    #[must_use]
    pub fn requeued_text(&self) -> String {
        let were = if self.requeued == 1 { "was" } else { "were" };
        format!("{} {were} requeued: issued twice", self.requeued)
    }

    /// Number of flushes without data.
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.skipped.get(&SkipReason::Flush).copied().unwrap_or(0)
    }

    /// Number of writes that demand stable storage, in words.
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
