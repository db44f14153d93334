//! Cells of several bits in configuration files: `[drive.cells]`.

use crate::failure::Failure;
use crate::values::quantity::{Span, Text, exact_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{CellConfig, PAGE_TYPES_MAX, PageTime};
use units::Duration;

/// Pages that share cells and planes: `[drive.cells]`. The geometry of such a drive counts logical
/// blocks: `pages_per_block` are those of a block on all its planes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellSettings {
    /// Sensing each of the pages that share cells, lower first: one for each bit, up to 4. None for
    /// a drive that programs page by page.
    pub reads: Option<Vec<Text<Span>>>,
    /// Programming each of them, on all planes.
    pub programs: Option<Vec<Text<Span>>>,
    /// Logical blocks in a flash page.
    pub blocks_per_page: Option<u32>,
    /// Planes over which a block reaches.
    pub planes: Option<u32>,
    /// All pages that share cells are programmed at once.
    pub one_shot: Option<bool>,
    /// Groups of planes that sense and send a page of their own while the others do; 1 if the die
    /// reads as a whole.
    pub read_groups: Option<u32>,
}

fn texts(times: impl Iterator<Item = Duration>) -> Option<Vec<Text<Span>>> {
    times.map(|time| exact_duration(time).parse().ok()).collect()
}

fn times(texts: &[Text<Span>]) -> Vec<Duration> {
    texts.iter().map(|text| text.value.0).collect()
}

impl CellSettings {
    /// Everything about `cells`, spelt out.
    pub fn full(cells: &CellConfig) -> Self {
        Self {
            reads: texts(cells.types().iter().map(|page| page.read)),
            programs: texts(cells.types().iter().map(|page| page.program)),
            blocks_per_page: Some(cells.blocks_per_page),
            planes: Some(cells.planes),
            one_shot: Some(cells.one_shot),
            read_groups: Some(cells.read_groups),
        }
    }

    /// The cells that these settings describe, of a drive that had `base`.
    pub fn build(&self, base: Option<CellConfig>) -> Result<Option<CellConfig>, Failure> {
        let of_base = |time: fn(&PageTime) -> Duration| -> Vec<Duration> {
            base.iter().flat_map(|cells| cells.types()).map(time).collect()
        };
        let given = |texts: &Option<Vec<Text<Span>>>, before| {
            texts.as_ref().map_or(before, |texts| times(texts))
        };
        let reads = given(&self.reads, of_base(|page| page.read));
        let programs = given(&self.programs, of_base(|page| page.program));
        if reads.is_empty() && programs.is_empty() {
            return Ok(None);
        }
        if reads.len() != programs.len() || reads.len() > PAGE_TYPES_MAX {
            return Err(Failure::usage(format!(
                "cells.reads has {} times and cells.programs {}; give as many of both as a cell has \
                 bits, 1 to {PAGE_TYPES_MAX}",
                reads.len(),
                programs.len()
            )));
        }
        let mut page_types = [PageTime::default(); PAGE_TYPES_MAX];
        for ((page, &read), &program) in page_types.iter_mut().zip(&reads).zip(&programs) {
            *page = PageTime { read, program };
        }
        Ok(Some(CellConfig {
            page_types,
            bits: reads.len() as u32,
            blocks_per_page: self.blocks_per_page.or(base.map(|b| b.blocks_per_page)).unwrap_or(1),
            planes: self.planes.or(base.map(|base| base.planes)).unwrap_or(1),
            one_shot: self.one_shot.or(base.map(|base| base.one_shot)).unwrap_or(true),
            read_groups: self.read_groups.or(base.map(|base| base.read_groups)).unwrap_or(1),
            slc: base.and_then(|base| base.slc),
        }))
    }
}
