//! Errors of workloads, each as one sentence that says what to change.

use crate::trace::stray;
use std::borrow::Cow;
use thiserror::Error;

/// Error of a trace that cannot be opened, or not read further.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("cannot read trace {name}: {source}")]
    Read {
        /// The file as it was given.
        name: String,
        /// Error of the operating system.
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
        /// Its compression.
        compression: &'static str,
        /// Last line that was read completely.
        line: u64,
        /// Error of the decompressor.
        reason: String,
    },
    /// The container is of a kind that cannot be read here.
    #[error("trace {name} is {container}, which is not read here; {advice}")]
    Container {
        /// The file as it was given.
        name: String,
        /// Kind of the container, from its first bytes.
        container: String,
        /// The command to type.
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
    /// The columns of a CSV, or their units, are not certain.
    #[error("trace {name}: {doubts}; {map}")]
    Unclear {
        /// The file as it was given.
        name: String,
        /// The unknown columns or units, with the result of each reading.
        doubts: String,
        /// The map to type, with placeholders for the unknown parts.
        map: String,
    },
    /// The shape of the lines determines the format, but not the units of its numbers.
    #[error("trace {name}: {doubts}; {advice}")]
    Undecided {
        /// The file as it was given.
        name: String,
        /// The unknown units, with the result of each reading.
        doubts: String,
        /// The options to type.
        advice: String,
    },
    /// The requests of the file are impossible, or too many of its lines are not requests.
    #[error("trace {name}: {what}")]
    Odd {
        /// The file as it was given.
        name: String,
        /// The oddity, and the options to type.
        what: String,
    },
    /// The format is known, but the file cannot be used.
    #[error("trace {name}: {reason}")]
    Unusable {
        /// The file as it was given.
        name: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The file holds no request at all.
    #[error("trace {name} holds no request: {lines} lines read, skipped: {skipped}; {advice}")]
    NoRequest {
        /// The file as it was given.
        name: String,
        /// Number of lines.
        lines: u64,
        /// Skipped lines, by reason.
        skipped: String,
        /// The change to make.
        advice: &'static str,
    },
    /// A line cannot be understood or breaks a limit.
    #[error("trace {name}, line {line}: {problem}")]
    Line {
        /// The file as it was given.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// The problem.
        problem: LineProblem,
    },
    /// A record of a binary trace cannot be understood or breaks a limit.
    #[error("trace {name}, record {record}: {problem}")]
    Record {
        /// The file as it was given.
        name: String,
        /// The record, counted from 1.
        record: u64,
        /// The problem.
        problem: LineProblem,
    },
    /// More requests than fit in memory came through a pipe, and storing them failed.
    #[error(
        "trace {name} comes through a pipe and has more than the {limit} requests that are held in memory, and \
         storing them in {folder} failed: {source}; set TMPDIR to a folder with more room, or write the trace to a \
         file"
    )]
    Spool {
        /// The file as it was given.
        name: String,
        /// Most requests that are held in memory.
        limit: u64,
        /// Folder in which the others were to be stored.
        folder: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A pipe cannot be read a second time.
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

/// Problem of one line of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LineProblem {
    /// Too few or too many columns.
    #[error(
        "found {found} columns in \"{text}\" where {format} has {needed}; correct the line or the format"
    )]
    Columns {
        /// The format that is being read.
        format: &'static str,
        /// Number of columns in the line.
        found: usize,
        /// Number of columns in the format.
        needed: &'static str,
        /// The line.
        text: String,
    },
    /// The number of columns differs from the header or the first lines.
    #[error(
        "found {found} columns in \"{text}\" where the lines above have {needed}; correct the line"
    )]
    Width {
        /// Number of columns in the line.
        found: usize,
        /// Expected number of columns.
        needed: usize,
        /// The line.
        text: String,
    },
    /// Quotation marks that do not enclose a column.
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
        /// Meaning of the column.
        column: &'static str,
        /// The text in the column.
        text: String,
        /// The name or number to type for the column.
        typed: Box<str>,
    },
    /// A part of a sector, although whole sectors were the evidence for bytes.
    #[error(
        "{bytes} is no multiple of 512, though all addresses and sizes before it are, from which \
         followed that they are bytes; type --sector-bytes 1 if they are, or --sector-bytes 512"
    )]
    PartOfSector {
        /// The address or size.
        bytes: u128,
    },
    /// Times of day that start again.
    #[error(
        "the time of day goes back by more than twelve hours, so it has passed midnight; put the \
         date in front of the times, or end the trace before this line"
    )]
    Midnight,
    /// The last record is incomplete.
    #[error(
        "the file ends after {found} of the {needed} bytes of the record; fetch the file again"
    )]
    PartOfRecord {
        /// Bytes that are there.
        found: usize,
        /// Bytes of a record.
        needed: usize,
    },
    /// A record with another layout than the records before it.
    #[error(
        "the version of the record is {found:#06x}, where those before it are of version \
         {expected}; the file is damaged, or files of both versions were joined"
    )]
    OtherVersion {
        /// Version in the record.
        found: u16,
        /// Version of the file.
        expected: u8,
    },
    /// Bytes that are no event of blktrace, where one should begin.
    #[error(
        "no event of blktrace begins here, so the file is damaged, or was written by several programs at once; trace \
         again"
    )]
    NoEvent,
    /// Files of several CPUs, concatenated.
    #[error(
        "time goes back by {back_us} us, as where files of several CPUs are joined; name one of the files, such as \
         NAME.blktrace.0, and those beside it are merged, or merge them: blkparse -i NAME -O -d FILE"
    )]
    JoinedCpus {
        /// Time by which it goes back, in whole microseconds.
        back_us: u64,
    },
    /// An issue, although the first lines had none.
    #[error(
        "this is an issue (D) of a request, where the first events have none, so that events {taken} were taken for \
         the requests; say which it is: --blkparse-event D or --blkparse-event {taken}"
    )]
    LateIssue {
        /// Event that was taken for requests.
        taken: char,
    },
    /// More requests put back into the queue than a device can have.
    #[error(
        "more than {limit} requests have been requeued and not issued again; take another event: --blkparse-event Q"
    )]
    ManyRequeues {
        /// Most requests that are remembered.
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
        /// Meaning of the column.
        column: &'static str,
        /// The text in the column.
        text: String,
        /// The expected kind of text.
        expected: &'static str,
    },
    /// A number above its limit.
    #[error("the {column} \"{text}\" is larger than {limit}; check the unit and the column order")]
    TooLarge {
        /// Meaning of the column.
        column: &'static str,
        /// The text in the column.
        text: String,
        /// The limit in words.
        limit: &'static str,
    },
    /// The operation is neither read nor write.
    #[error("the operation \"{text}\" is not one of {expected}; correct it or the format")]
    Operation {
        /// The text in the column.
        text: String,
        /// The texts that are allowed.
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
    /// A line that is too long.
    #[error("the line is longer than 64 KiB; this is not a text trace, or its line ends are lost")]
    LongLine,
    /// Bytes that are not text.
    #[error(
        "the line is not UTF-8 text; this is not a text trace, or it is compressed in an unknown way"
    )]
    NotText,
    /// Time goes back beyond the reorder window.
    #[error(
        "time goes back by {back_us} us, behind a request that has already left the reorder \
         window of {window} requests; sort the file, enlarge the window, or choose to clamp time"
    )]
    TimeBackwards {
        /// Time by which it goes back, in whole microseconds.
        back_us: u64,
        /// The size of the window.
        window: usize,
    },
    /// A clock that starts again, beyond the reorder window.
    #[error("{what}; {advice}")]
    BeginsAgain {
        /// The times from and to which it goes.
        what: String,
        /// Advice.
        advice: &'static str,
    },
    /// The header of a second log in a log of fio.
    #[error(
        "the header of another log begins here, as where several jobs of fio write to one file, \
         which mixes their lines; {advice}"
    )]
    SecondLog {
        /// Advice.
        advice: &'static str,
    },
    /// Too many requests in one second of a one-second clock.
    #[error(
        "more than {limit} requests fall into one second; switch off the spreading of requests over their second"
    )]
    CrowdedSecond {
        /// Most requests that are held.
        limit: usize,
    },
    /// More devices than a trace may have.
    #[error(
        "device \"{text}\" is one more than the limit of {limit} devices; check the device column"
    )]
    TooManyDevices {
        /// The device.
        text: String,
        /// The limit.
        limit: usize,
    },
    /// A column in the column map that is not in the header.
    #[error("the header \"{header}\" has no column \"{column}\" that the column map names")]
    NoSuchColumn {
        /// The name.
        column: String,
        /// The header.
        header: String,
    },
    /// A column in the column map that is twice in the header.
    #[error(
        "the header has two columns \"{column}\", {} and {}; give one of these numbers in the \
         column map instead of the name", .places[0], .places[1]
    )]
    SameColumns {
        /// The name.
        column: String,
        /// Positions of the first two of them, from 0.
        places: [usize; 2],
    },
}

/// An option with an invalid value.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The value cannot be understood.
    #[error("{option} \"{value}\" is not {expected}")]
    NotUnderstood {
        /// The option, by its name on the command line.
        option: &'static str,
        /// The value that was typed.
        value: String,
        /// The values that are allowed.
        expected: &'static str,
    },
    /// A placeholder that was left in a column map.
    #[error("the column map has {placeholder} in \"{part}\", where {instead} belongs")]
    Placeholder {
        /// The part of the map.
        part: String,
        /// The placeholder.
        placeholder: &'static str,
        /// The text to replace it with.
        instead: &'static str,
    },
    /// A number without a unit, where the unit matters.
    #[error("{quantity} \"{value}\" has no unit; write {spellings}")]
    NoUnit {
        /// The quantity, such as a duration or a share.
        quantity: &'static str,
        /// The value that was typed.
        value: String,
        /// Possible values, with units.
        spellings: String,
    },
    /// The value is outside the limits.
    #[error("{option} is {value}, but must be {limit}")]
    OutOfRange {
        /// The option, by its name on the command line.
        option: &'static str,
        /// The value that was typed.
        value: String,
        /// The limits in words.
        limit: String,
    },
    /// Two options, or an option and the input, that exclude each other.
    #[error("{option} cannot be used here: {reason}")]
    Conflict {
        /// The option, by its name on the command line.
        option: &'static str,
        /// The reason, and what to do.
        reason: String,
    },
}

impl OptionError {
    /// Converts an error about one part of a text. A missing unit and a placeholder are reported
    /// for the part, any other error for the whole text.
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
    /// An option is invalid.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A request lies beyond the array, and the options do not allow to move it.
    #[error(
        "request {number} of the trace ends at byte {end}, beyond the {capacity} bytes of the \
         array; choose fit = wrap, scale or compact, or a larger array"
    )]
    BeyondArray {
        /// The request, counted from 1.
        number: u64,
        /// The first byte after it.
        end: u64,
        /// Capacity of the array in bytes.
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
        /// Capacity of the array in bytes.
        capacity: u64,
    },
    /// Device addresses, placed one after the other, do not fit into 64 bits.
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
        /// The destination.
        name: String,
        /// Error of the operating system.
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
