//! What can be wrong with a workload, each as one sentence that says what to change.

use crate::trace::stray;
use std::borrow::Cow;
use thiserror::Error;

/// A trace that cannot be read, or not further.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("cannot read trace {name}: {source}")]
    Read {
        /// The file as it was given.
        name: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The compressed stream is damaged or ends early.
    #[error(
        "trace {name} is damaged: its {compression} data is broken or cut off after line {line} \
         ({reason}); fetch or compress the file again"
    )]
    Damaged {
        /// The file as it was given.
        name: String,
        /// How it is compressed.
        compression: &'static str,
        /// The last line that was read whole.
        line: u64,
        /// What the decompressor says.
        reason: String,
    },
    /// The container is one that is not read here.
    #[error("trace {name} is {container}, which is not read here; {advice}")]
    Container {
        /// The file as it was given.
        name: String,
        /// What the first bytes say it is.
        container: String,
        /// What to type.
        advice: String,
    },
    /// No format fits the first lines.
    #[error(
        "trace {name} has no format that is known here: its first line is \"{first}\"; name the \
         format, or describe the columns, with COLUMN and UNIT filled in: --columns \
         time=COLUMN:UNIT,op=COLUMN,offset=COLUMN:UNIT,size=COLUMN:UNIT"
    )]
    Unrecognised {
        /// The file as it was given.
        name: String,
        /// The beginning of the first line.
        first: String,
    },
    /// The columns of a CSV, or what they count, cannot be told for sure.
    #[error("trace {name}: {doubts}; {map}")]
    Unclear {
        /// The file as it was given.
        name: String,
        /// What is not known, with what each reading would mean.
        doubts: String,
        /// What to type: a map with placeholders for what is not known.
        map: String,
    },
    /// The format is told by the shape of the lines, but what its numbers count cannot be told.
    #[error("trace {name}: {doubts}; {advice}")]
    Undecided {
        /// The file as it was given.
        name: String,
        /// What is not known, with what each reading would mean.
        doubts: String,
        /// What to type.
        advice: String,
    },
    /// The requests of the file are impossible, or too many of its lines say nothing of requests.
    #[error("trace {name}: {what}")]
    Odd {
        /// The file as it was given.
        name: String,
        /// What is odd, and what to type.
        what: String,
    },
    /// The file is understood, but cannot be used as it is.
    #[error("trace {name}: {reason}")]
    Unusable {
        /// The file as it was given.
        name: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// The file holds no request at all.
    #[error("trace {name} holds no request: {lines} lines read, skipped: {skipped}; {advice}")]
    NoRequest {
        /// The file as it was given.
        name: String,
        /// How many lines there are.
        lines: u64,
        /// What was skipped, by reason.
        skipped: String,
        /// What to change.
        advice: &'static str,
    },
    /// A line cannot be understood or breaks a limit.
    #[error("trace {name}, line {line}: {problem}")]
    Line {
        /// The file as it was given.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// A record of a binary trace cannot be understood or breaks a limit.
    #[error("trace {name}, record {record}: {problem}")]
    Record {
        /// The file as it was given.
        name: String,
        /// The record, counted from 1.
        record: u64,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// More requests than are held in memory came through a pipe, and cannot be stored either.
    #[error(
        "trace {name} comes through a pipe and has more than the {limit} requests that are held in memory, and \
         storing them in {folder} failed: {source}; set TMPDIR to a folder with more room, or write the trace to a \
         file"
    )]
    Spool {
        /// The file as it was given.
        name: String,
        /// Requests that are held in memory.
        limit: u64,
        /// Where the others were to be stored.
        folder: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A pipe is to be read again.
    #[error(
        "trace {name} comes through a pipe, which can be read only once; write it to a file and name that"
    )]
    ReadOnce {
        /// The file as it was given.
        name: String,
    },
    /// The read options contradict each other or the format.
    #[error(transparent)]
    Option(#[from] OptionError),
}

/// What is wrong with one line of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LineProblem {
    /// Too few or too many columns.
    #[error(
        "found {found} columns in \"{text}\" where {format} has {needed}; correct the line or the format"
    )]
    Columns {
        /// The format that is being read.
        format: &'static str,
        /// How many columns the line has.
        found: usize,
        /// How many the format has.
        needed: &'static str,
        /// The line.
        text: String,
    },
    /// Another number of columns than the header or the first lines have.
    #[error(
        "found {found} columns in \"{text}\" where the lines above have {needed}; correct the line"
    )]
    Width {
        /// How many columns the line has.
        found: usize,
        /// How many it should have.
        needed: usize,
        /// The line.
        text: String,
    },
    /// Quotation marks that do not hold a column.
    #[error(
        "a quotation mark is not closed, or has text behind it, in \"{text}\"; correct the line"
    )]
    Quotes {
        /// The line.
        text: String,
    },
    /// A value that contradicts the evidence for its unit.
    #[error(
        "the {column} \"{text}\" is no multiple of 512, though all before it are, from which \
         followed that it is in bytes; say what it is in --columns, with UNIT filled in: \
         {column}={typed}:UNIT"
    )]
    Doubtful {
        /// What the column holds.
        column: &'static str,
        /// What stands there.
        text: String,
        /// What is typed for the column.
        typed: Box<str>,
    },
    /// A part of a sector, where whole sectors were the evidence for bytes.
    #[error(
        "{bytes} is no multiple of 512, though all addresses and sizes before it are, from which \
         followed that they are bytes; type --sector-bytes 1 if they are, or --sector-bytes 512"
    )]
    PartOfSector {
        /// The address or size.
        bytes: u128,
    },
    /// Times of day that begin again.
    #[error(
        "the time of day goes back by more than twelve hours, so it has passed midnight; put the \
         date in front of the times, or end the trace before this line"
    )]
    Midnight,
    /// The last record is not whole.
    #[error(
        "the file ends after {found} of the {needed} bytes of the record; fetch the file again"
    )]
    PartOfRecord {
        /// Bytes that are there.
        found: usize,
        /// Bytes of a record.
        needed: usize,
    },
    /// A record that is of another layout than those before it.
    #[error(
        "the version of the record is {found:#06x}, where those before it are of version \
         {expected}; the file is damaged, or files of both versions were joined"
    )]
    OtherVersion {
        /// What the record says.
        found: u16,
        /// What the file has.
        expected: u8,
    },
    /// Something else where an event of blktrace should begin.
    #[error(
        "no event of blktrace begins here, so the file is damaged, or was written by several programs at once; trace \
         again"
    )]
    NoEvent,
    /// The files of several CPUs one after the other.
    #[error(
        "time goes back by {back_us} us, as where files of several CPUs are joined; name one of the files, such as \
         NAME.blktrace.0, and those beside it are merged, or merge them: blkparse -i NAME -O -d FILE"
    )]
    JoinedCpus {
        /// How far, in whole microseconds.
        back_us: u64,
    },
    /// An issue where the first lines had none.
    #[error(
        "this is an issue (D) of a request, where the first events have none, so that events {taken} were taken for \
         the requests; say which it is: --blkparse-event D or --blkparse-event {taken}"
    )]
    LateIssue {
        /// The event that was taken.
        taken: char,
    },
    /// More requests that were put back into the queue than a device has.
    #[error(
        "more than {limit} requests have been requeued and not issued again; take another event: --blkparse-event Q"
    )]
    ManyRequeues {
        /// How many are remembered.
        limit: usize,
    },
    /// A wait of a fio log of version 2 that ends before the one before it.
    #[error(
        "the wait of {wait} comes after one of {before}, so it is not sure what waits mean: until that time in ms \
         since the start, as fio does, which makes this one none, or for that time in us, as its manual says; say it \
         with --time-unit ms or --time-unit us"
    )]
    WaitBack {
        /// The wait.
        wait: u64,
        /// The one before.
        before: u64,
    },
    /// A column that should be a number is not.
    #[error("the {column} \"{text}\" is not {expected}; correct it or the format")]
    NotANumber {
        /// What the column holds.
        column: &'static str,
        /// What stands there.
        text: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A number that does not fit.
    #[error("the {column} \"{text}\" is larger than {limit}; check the unit and the column order")]
    TooLarge {
        /// What the column holds.
        column: &'static str,
        /// What stands there.
        text: String,
        /// The limit in words.
        limit: &'static str,
    },
    /// The operation is neither read nor write.
    #[error("the operation \"{text}\" is not one of {expected}; correct it or the format")]
    Operation {
        /// What stands there.
        text: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// A request of no bytes.
    #[error("the request has zero length; correct it, or choose to skip such requests")]
    ZeroLength,
    /// A request of more than 1 GiB.
    #[error(
        "the request is {bytes} bytes long, over the limit of 1 GiB; check the sector size and the column order"
    )]
    RequestTooLong {
        /// Its size.
        bytes: u128,
    },
    /// A request beyond any device.
    #[error(
        "the request at byte {offset} ends beyond 2^60 bytes; check the sector size and the column order"
    )]
    BeyondAnyDevice {
        /// Its first byte.
        offset: u128,
    },
    /// A line that is no line.
    #[error("the line is longer than 64 KiB; this is not a text trace, or its line ends are lost")]
    LongLine,
    /// Bytes that are no text.
    #[error(
        "the line is not UTF-8 text; this is not a text trace, or it is compressed in an unknown way"
    )]
    NotText,
    /// Time goes back further than the reorder window reaches.
    #[error(
        "time goes back by {back_us} us, behind a request that has already left the reorder \
         window of {window} requests; sort the file, enlarge the window, or choose to clamp time"
    )]
    TimeBackwards {
        /// How far, in whole microseconds.
        back_us: u64,
        /// The size of the window.
        window: usize,
    },
    /// A clock that begins again further back than the reorder window reaches.
    #[error("{what}; {advice}")]
    BeginsAgain {
        /// From when to when it goes.
        what: String,
        /// What to do.
        advice: &'static str,
    },
    /// The header of a second log in a log of fio.
    #[error(
        "the header of another log begins here, as where several jobs of fio write to one file, \
         which mixes their lines; {advice}"
    )]
    SecondLog {
        /// What to do.
        advice: &'static str,
    },
    /// Too many requests in one second of a one-second clock.
    #[error(
        "more than {limit} requests fall into one second; switch off the spreading of requests over their second"
    )]
    CrowdedSecond {
        /// How many are held at most.
        limit: usize,
    },
    /// More devices than anybody has.
    #[error(
        "device \"{text}\" is one more than the limit of {limit} devices; check the device column"
    )]
    TooManyDevices {
        /// The device.
        text: String,
        /// The limit.
        limit: usize,
    },
    /// A column that the column map names is not in the header.
    #[error("the header \"{header}\" has no column \"{column}\" that the column map names")]
    NoSuchColumn {
        /// The name.
        column: String,
        /// The header.
        header: String,
    },
    /// A column that the column map names is twice in the header.
    #[error(
        "the header has two columns \"{column}\", {} and {}; give one of these numbers in the \
         column map instead of the name", .places[0], .places[1]
    )]
    SameColumns {
        /// The name.
        column: String,
        /// The first two of them, from 0.
        places: [usize; 2],
    },
}

/// An option with a value that is not possible.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The value cannot be understood.
    #[error("{option} \"{value}\" is not {expected}")]
    NotUnderstood {
        /// The option by the name people type.
        option: &'static str,
        /// What they typed.
        value: String,
        /// What may be typed.
        expected: &'static str,
    },
    /// A placeholder that was left in a column map.
    #[error("the column map has {placeholder} in \"{part}\", where {instead} belongs")]
    Placeholder {
        /// The part of the map.
        part: String,
        /// The placeholder.
        placeholder: &'static str,
        /// What may stand there.
        instead: &'static str,
    },
    /// A number alone, where its unit matters.
    #[error("{quantity} \"{value}\" has no unit; write {spellings}")]
    NoUnit {
        /// What it is: a duration, a share.
        quantity: &'static str,
        /// What they typed.
        value: String,
        /// What they may have meant, with units.
        spellings: String,
    },
    /// The value is outside the limits.
    #[error("{option} is {value}, but must be {limit}")]
    OutOfRange {
        /// The option by the name people type.
        option: &'static str,
        /// What they typed.
        value: String,
        /// The limits in words.
        limit: String,
    },
    /// Two options, or an option and the input, that do not go together.
    #[error("{option} cannot be used here: {reason}")]
    Conflict {
        /// The option by the name people type.
        option: &'static str,
        /// Why not, and what to do.
        reason: String,
    },
}

impl OptionError {
    /// The error about a text of which this is about one part: what is missing of that part, or
    /// that the whole is not understood.
    #[must_use]
    pub fn of_part(self, whole: impl FnOnce() -> Self) -> Self {
        match self {
            Self::NoUnit { .. } | Self::Placeholder { .. } => self,
            _ => whole(),
        }
    }
}

/// A workload that cannot be opened or continued.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An option is not possible.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A request lies beyond the array and was not allowed to be moved.
    #[error(
        "request {number} of the trace ends at byte {end}, beyond the {capacity} bytes of the \
         array; choose fit = wrap, scale or compact, or a larger array"
    )]
    BeyondArray {
        /// The request, counted from 1.
        number: u64,
        /// The first byte after it.
        end: u64,
        /// What the array holds.
        capacity: u64,
    },
    /// A request is larger than the whole array.
    #[error(
        "request {number} of the trace is {size} bytes long, more than the {capacity} bytes of \
         the whole array; choose a larger array or resize the requests"
    )]
    LargerThanArray {
        /// The request, counted from 1.
        number: u64,
        /// Its size in bytes.
        size: u64,
        /// What the array holds.
        capacity: u64,
    },
    /// Device addresses, laid end to end, do not fit into 64 bits.
    #[error(
        "device {device} of the trace would be placed beyond 2^60 bytes; choose fold = hash \
         instead of concatenate"
    )]
    FoldOverflow {
        /// The device number.
        device: u32,
    },
    /// The result cannot be written.
    #[error("cannot write {name}: {source}")]
    Write {
        /// Where to.
        name: String,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// At most the first 60 characters of `text`, so that a message stays one readable line.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String =
        text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if let Cow::Owned(shown) = stray::shown(&short) {
        short = shown;
    }
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}
