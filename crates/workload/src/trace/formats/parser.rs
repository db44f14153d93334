//! Parsers: each turns one line into one request or a reason to skip it.

use super::about::{ReadLine, Reader};
use super::blkparse::Blkparse;
use super::blkreplay::Blkreplay;
use super::fio_iolog::FioIolog;
use crate::error::LineProblem;
use crate::trace::Format;
use crate::trace::csv::{Csv, Layout};
use crate::trace::events::Chosen;
use crate::trace::raw::{Parsed, Units};

/// The parser of one format, with its state.
#[derive(Clone, Debug)]
pub(in crate::trace) enum Parser {
    /// Each line is read by itself.
    Lines(ReadLine),
    Blkparse(Blkparse),
    FioIolog(FioIolog),
    Blkreplay(Blkreplay),
    Csv(Box<Csv>),
    /// A format of records, which has no lines.
    Records,
}

impl Parser {
    /// Parser for lines of `format`; a CSV other than the common form needs a layout.
    pub(in crate::trace) fn new(
        format: Format,
        layout: Option<&Layout>,
        options: &crate::trace::ReadOptions,
    ) -> Self {
        match format.about().reader {
            Reader::Lines(read) => return Self::Lines(read),
            Reader::Records => return Self::Records,
            Reader::Stateful => {}
        }
        match format {
            Format::Blkparse => {
                let chosen = Chosen::of(options.blkparse_event, std::iter::empty());
                Self::Blkparse(Blkparse::new(chosen))
            }
            Format::FioIologV2 => Self::FioIolog(FioIolog::version_2(options.time_unit)),
            Format::FioIologV3 => Self::FioIolog(FioIolog::version_3()),
            Format::Blkreplay => Self::Blkreplay(Blkreplay::default()),
            Format::Csv => Self::Csv(Box::new(Csv::new(layout))),
            other => unreachable!("{other} has a reader of its own"),
        }
    }

    /// Reads one line that is neither empty nor a comment.
    pub(in crate::trace) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        match self {
            Self::Lines(read) => read(line, units),
            Self::Blkparse(state) => state.parse(line, units),
            Self::FioIolog(state) => state.parse(line, units),
            Self::Blkreplay(state) => state.parse(line, units),
            Self::Csv(state) => state.parse(line, units),
            Self::Records => Err(LineProblem::NotText),
        }
    }
}
