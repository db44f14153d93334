//! Properties of a format that are known before a file is read.

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

/// Whether times are dates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Dated {
    /// Times begin at zero or anywhere.
    No,
    /// Times are dates, because lines with other times do not have the shape of the format.
    ByShape,
    /// Times may be seconds since 1970.
    IfDates,
    /// Times may be file times of Windows.
    IfFileTimes,
}

/// Time, device, offset, size and operation of a line.
pub(in crate::trace) type Cells<'a> = (&'a str, String, &'a str, &'a str, &'a str);

/// Columns of a format whose text does not name its numbers.
pub(in crate::trace) struct Columns {
    /// Whether a line has the shape of the format; `None` if another format has the same shape.
    pub(in crate::trace) has_shape: Option<fn(&str) -> bool>,
    /// Cells of a line that has the shape.
    pub(in crate::trace) cells: fn(&str) -> Option<Cells<'_>>,
    /// Place of the device in messages, such as `column 4`; `None` if lines have no device.
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

/// Reader of one line that is neither empty nor a comment: returns one request, or a reason to skip
/// it.
pub(in crate::trace) type ReadLine = for<'a> fn(&'a str, &Units) -> Result<Parsed<'a>, LineProblem>;

/// Reader of a format.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) enum Reader {
    /// Each line is read by itself.
    Lines(ReadLine),
    /// Lines of text whose meaning depends on earlier lines.
    Stateful,
    /// Binary records.
    Records,
}

/// Properties of a format.
pub(in crate::trace) struct About {
    /// Name on the command line and in messages.
    pub(in crate::trace) name: &'static str,
    /// Unit that the format prescribes for times; `None` if files differ.
    pub(in crate::trace) time_unit: Option<TimeUnit>,
    /// Unit of addresses and sizes.
    pub(in crate::trace) counted: Addressing,
    /// Reader of the format.
    pub(in crate::trace) reader: Reader,
    /// Columns of the format; `None` if the text, a header or the records name each number.
    pub(in crate::trace) columns: Option<Columns>,
}

impl Columns {
    /// Columns with few devices, undated times and no special properties.
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
