//! What is known of a format before a file of it is read.

use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::raw::{Parsed, Units};

/// Unit of addresses and sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Addressing {
    /// Both are bytes.
    Bytes,
    /// Both are sectors.
    Sectors,
    /// Addresses are sectors, sizes are bytes.
    SectorsOfBytes,
}

/// Reason for which times are dates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Dated {
    /// They begin at zero or anywhere.
    No,
    /// Lines have the shape of the format only with a date of our years.
    ByShape,
    /// They may be seconds since 1970.
    IfDates,
    /// They may be file times of Windows.
    IfFileTimes,
}

/// Time, device, offset, size and operation of a line.
pub(in crate::trace) type Cells<'a> = (&'a str, String, &'a str, &'a str, &'a str);

/// Columns of a format whose text does not say what each number is.
pub(in crate::trace) struct Columns {
    /// Whether a line has the shape of the format; `None` if another format has the same shape.
    pub(in crate::trace) has_shape: Option<fn(&str) -> bool>,
    /// The cells of a line that has the shape.
    pub(in crate::trace) cells: fn(&str) -> Option<Cells<'_>>,
    /// The place of the device in a sentence, such as `column 4`; `None` if a line names none.
    pub(in crate::trace) device: Option<&'static str>,
    /// Whether devices are numbered from 0.
    pub(in crate::trace) devices_from_zero: bool,
    /// Whether a thousand devices may take turns.
    pub(in crate::trace) many_devices: bool,
    /// Whether times are dates.
    pub(in crate::trace) dated: Dated,
    /// Whether times are written as programs of the format always write them.
    pub(in crate::trace) are_written: fn(&[&str]) -> bool,
    /// Evidence about the operation, if it is a number.
    pub(in crate::trace) reads: Option<&'static str>,
}

/// Reads one line that is neither empty nor a comment: one request, or a reason to skip it.
pub(in crate::trace) type ReadLine = for<'a> fn(&'a str, &Units) -> Result<Parsed<'a>, LineProblem>;

/// How a format is read.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) enum Reader {
    /// Each line stands for itself.
    Lines(ReadLine),
    /// Lines of text that are read with what was read before.
    Stateful,
    /// Binary records.
    Records,
}

/// What is known of a format.
pub(in crate::trace) struct About {
    /// The name that is typed and printed.
    pub(in crate::trace) name: &'static str,
    /// The unit that the format prescribes for times; `None` where files differ.
    pub(in crate::trace) time_unit: Option<TimeUnit>,
    /// Unit of addresses and sizes.
    pub(in crate::trace) counted: Addressing,
    /// How it is read.
    pub(in crate::trace) reader: Reader,
    /// Its columns; `None` if the text, a header or the records say what each number is.
    pub(in crate::trace) columns: Option<Columns>,
}

impl Columns {
    /// Columns with a device of few and undated times, none of whose properties is special.
    pub(in crate::trace) const fn new(
        has_shape: fn(&str) -> bool,
        cells: fn(&str) -> Option<Cells<'_>>,
    ) -> Self {
        Self {
            has_shape: Some(has_shape),
            cells,
            device: None,
            devices_from_zero: false,
            many_devices: false,
            dated: Dated::No,
            are_written: |_| false,
            reads: None,
        }
    }
}
