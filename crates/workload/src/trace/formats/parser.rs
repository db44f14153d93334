//! One line in, one request or a reason to skip it out.

use super::blkparse::Blkparse;
use super::blkreplay::Blkreplay;
use super::fio_iolog::FioIolog;
use super::{alibaba, disksim, msr, spc, systor, tencent};
use crate::error::LineProblem;
use crate::trace::Format;
use crate::trace::csv::{Csv, Layout};
use crate::trace::events::Chosen;
use crate::trace::raw::{Parsed, Units};

/// The reader of one format, with whatever it remembers from line to line.
#[derive(Clone, Debug)]
pub(in crate::trace) enum Parser {
    Msr,
    /// With the name of the format.
    DiskSim(&'static str),
    Systor,
    Tencent,
    Alibaba,
    Spc,
    Blkparse(Blkparse),
    FioIolog(FioIolog),
    Blkreplay(Blkreplay),
    Csv(Box<Csv>),
    /// A format of records, which has no lines.
    Records,
}

impl Parser {
    /// The reader of lines of `format`; a CSV other than the common form has a layout.
    pub(in crate::trace) fn new(
        format: Format,
        layout: Option<&Layout>,
        options: &crate::trace::ReadOptions,
    ) -> Self {
        match format {
            Format::Msr => Self::Msr,
            Format::DiskSim | Format::MqSim | Format::SsdSim | Format::Msps => {
                Self::DiskSim(format.name())
            }
            Format::Systor => Self::Systor,
            Format::Tencent => Self::Tencent,
            Format::Alibaba => Self::Alibaba,
            Format::Spc => Self::Spc,
            Format::Blkparse => Self::Blkparse(Blkparse::new(Chosen::of(
                options.blkparse_event,
                std::iter::empty(),
            ))),
            Format::FioIologV2 => Self::FioIolog(FioIolog::version_2(options.time_unit)),
            Format::FioIologV3 => Self::FioIolog(FioIolog::version_3()),
            Format::Blkreplay => Self::Blkreplay(Blkreplay::default()),
            Format::Csv => Self::Csv(Box::new(Csv::new(layout))),
            Format::Vscsi | Format::Blktrace => Self::Records,
        }
    }

    /// Reads one line that is neither empty nor a comment.
    pub(in crate::trace) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        match self {
            Self::Msr => msr::parse(line, units),
            Self::DiskSim(name) => disksim::parse(line, name, units),
            Self::Systor => systor::parse(line, units),
            Self::Tencent => tencent::parse(line, units),
            Self::Alibaba => alibaba::parse(line, units),
            Self::Spc => spc::parse(line, units),
            Self::Blkparse(state) => state.parse(line, units),
            Self::FioIolog(state) => state.parse(line, units),
            Self::Blkreplay(state) => state.parse(line, units),
            Self::Csv(state) => state.parse(line, units),
            Self::Records => Err(LineProblem::NotText),
        }
    }
}
