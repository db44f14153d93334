//! What values that people type look like: the types in schemas and in the reference.

use crate::values::decimal::{DecimalRate, DecimalSize};
use crate::values::quantity::{
    Bandwidth, BufferSize, Factor, JournalUse, OnOff, OtherDrive, Percent, PolicyName, Raid,
    Runtime, ScrubAfter, Size, Span, Text, TimeWindow,
};
use crate::values::rate::{PhaseRate, RequestRate, Rerate};
use live::durable::Uuid;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use workload::{
    BlkparseEvent, BlockSizes, ColumnMap, Fit, Fold, Format, IoDepth, RandomDistribution,
    RateProcess, Rw, SizeRange, TimeUnit,
};

/// A value with a spelling.
pub trait Spelled {
    /// What it is, for the column of types; `one of` begins a list of all words that there are.
    const TYPE: &'static str;
}

/// How a list of all words begins.
const ONE_OF: &str = "one of ";

impl<T: Spelled> JsonSchema for Text<T> {
    /// Beside what a key means, not in a definition of its own.
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::TYPE.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        match T::TYPE.strip_prefix(ONE_OF) {
            Some(words) => {
                let words: Vec<&str> = words.split(", ").collect();
                json_schema!({ "title": T::TYPE, "type": "string", "enum": words })
            }
            None => json_schema!({ "title": T::TYPE, "type": ["string", "number"] }),
        }
    }
}

impl Spelled for Uuid {
    const TYPE: &str = "UUID, 32 hexadecimal digits";
}

impl Spelled for u64 {
    const TYPE: &str = "whole number";
}

impl Spelled for Span {
    const TYPE: &str = "time, such as `72us` or `10s`";
}

impl Spelled for Runtime {
    const TYPE: &str = "time, such as `10s`; a number alone is in seconds";
}

impl Spelled for Size {
    const TYPE: &str = "size, such as `4k` or `1.5g`; a number alone is in bytes";
}

impl Spelled for DecimalSize {
    const TYPE: &str = "size of a data sheet, such as `960GB` (10^9 bytes) or `894GiB`";
}

impl Spelled for DecimalRate {
    const TYPE: &str = "rate of a data sheet, such as `6500MB/s` (10^6 bytes)";
}

impl Spelled for OtherDrive {
    const TYPE: &str = "place and drive, such as `1:wd-960`";
}

impl Spelled for Percent {
    const TYPE: &str = "share from `0%` to `100%`";
}

impl Spelled for Factor {
    const TYPE: &str = "factor above 0, such as `8` or `0.5`";
}

impl Spelled for Bandwidth {
    const TYPE: &str = "bytes per second, such as `4g`, or `none`";
}

impl Spelled for BufferSize {
    const TYPE: &str = "size, such as `8m`, or `none`";
}

impl Spelled for ScrubAfter {
    const TYPE: &str = "time, such as `10ms`, or `none`";
}

impl Spelled for OnOff {
    const TYPE: &str = "one of on, off";
}

impl Spelled for JournalUse {
    const TYPE: &str = "one of degraded, always";
}

impl Spelled for TimeWindow {
    const TYPE: &str = "time, or `burst`, `norm`, or a load such as `20dwpd` or `30MB/s`";
}

impl Spelled for Raid {
    const TYPE: &str = "RAID level: 0, 1, 4, 5, 6 or 10, with or without `raid` in front";
}

impl Spelled for PolicyName {
    const TYPE: &str = "name of a policy, see `ioda presets policies`";
}

impl Spelled for Rerate {
    const TYPE: &str = "factor above 0, `auto`, or a load such as `20dwpd`, `30MB/s` or `burst`";
}

impl Spelled for RequestRate {
    const TYPE: &str = "requests per second, or a load such as `20dwpd`, `30MB/s` or `burst`";
}

impl Spelled for PhaseRate {
    const TYPE: &str = "rate and time, such as `20dwpd:60s`, `burst:10s` or `500:1m`";
}

impl Spelled for Fit {
    const TYPE: &str = "`wrap`, `scale`, `compact` or `refuse`";
}

impl Spelled for Fold {
    const TYPE: &str = "`concatenate`, `hash` or `overlay`";
}

impl Spelled for Format {
    const TYPE: &str = "name of a trace format, such as `msr`";
}

impl Spelled for TimeUnit {
    const TYPE: &str = "`s`, `ms`, `us`, `100ns` or `ns`";
}

impl Spelled for ColumnMap {
    const TYPE: &str = "columns, such as `time=0:us,op=1,offset=2:bytes,size=3:bytes`";
}

impl Spelled for BlkparseEvent {
    const TYPE: &str = "`D`, `Q` or `C`";
}

impl Spelled for Rw {
    const TYPE: &str = "`read`, `write`, `randread`, `randwrite`, `rw` or `randrw`";
}

impl Spelled for BlockSizes {
    const TYPE: &str = "size, such as `4k`, or one for reads and one for writes: `8k,128k`";
}

impl Spelled for IoDepth {
    const TYPE: &str = "number of requests, or one for reads and one for writes: `64,32`";
}

impl Spelled for SizeRange {
    const TYPE: &str = "two sizes, such as `4k-128k`";
}

impl Spelled for RateProcess {
    const TYPE: &str = "`poisson` or `linear`";
}

impl Spelled for RandomDistribution {
    const TYPE: &str = "`random`, `zipf:THETA` or `pareto:H`";
}
