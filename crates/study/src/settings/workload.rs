//! Workloads: presets, traces and fio's vocabulary.

use crate::failure::Failure;
use crate::values::quantity::{Factor, Percent, Runtime, Size, Span, Text};
use crate::values::rate::{PhaseRate, RequestRate, Rerate, phases};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;
use workload::{
    BlkparseEvent, BlockSizes, Bursts, ColumnMap, Cut, Fit, Fold, Format, IoDepth,
    RandomDistribution, RateProcess, ReadOptions, Resize, Rw, SizeRange, Synthetic, TimeUnit,
    Transform,
};

/// The heading of options that change requests.
pub const REQUESTS: &str = "Requests of presets and traces";
const TRACE: &str = "Reading a trace";
/// The heading of options that fio has.
pub const FIO: &str = "Synthetic workload, in fio's words";

/// The workload: `[workload]`. One flat section, so the struct is flat, too.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadSettings {
    /// A preset (see `ioda presets workloads`), a trace file, or `synthetic` with fio's options
    /// [default: tpcc]
    #[arg(value_name = "WORKLOAD")]
    pub name: Option<String>,

    /// How many times faster requests come; or `auto`, as fast as windows can sustain; or what is
    /// written to each drive, parity included: 20dwpd (drive writes per day of 8 hours), 30MB/s,
    /// or `burst` for the most that the drive takes [default: auto for presets, 1 for traces]
    #[arg(long, value_name = "FACTOR|LOAD", help_heading = REQUESTS)]
    pub rerate: Option<Text<Rerate>>,
    /// How many requests, 1 or more [default: as many as there are; tpcc and tpcc-recorded: 800000]
    #[arg(long, value_name = "N", help_heading = REQUESTS)]
    pub requests: Option<u64>,
    /// Of presets: mean requests of a burst, 1 to 1000000, such as 128 [default: 16]
    #[arg(long, value_name = "N", help_heading = REQUESTS)]
    pub burst: Option<Text<Factor>>,
    /// Of presets: mean gap inside a burst, 0% to 100% of the mean interval, such as 3% [default:
    /// 10%]
    #[arg(long, value_name = "PERCENT", help_heading = REQUESTS)]
    pub burst_gap: Option<Text<Percent>>,
    /// Of presets: share of the requests that begin on the first drive, 0% to 100%, such as 50%
    /// [default: as addresses fall]
    #[arg(long, value_name = "PERCENT", help_heading = REQUESTS)]
    pub hot_drive: Option<Text<Percent>>,
    /// Multiply the sizes of reads by this, above 0 [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = REQUESTS)]
    pub resize_read: Option<Text<Factor>>,
    /// Multiply the sizes of writes by this, above 0 [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = REQUESTS)]
    pub resize_write: Option<Text<Factor>>,
    /// Addresses beyond the array: wrap, scale, compact or refuse [default: wrap]
    #[arg(long, value_name = "HOW", help_heading = REQUESTS)]
    pub fit: Option<Text<Fit>>,
    /// Several devices as one: concatenate, hash or overlay [default: concatenate]
    #[arg(long, value_name = "HOW", help_heading = REQUESTS)]
    pub fold: Option<Text<Fold>>,
    /// Leave out requests before this time of the trace, such as 10m [default: 0]
    #[arg(long, value_name = "TIME", help_heading = REQUESTS)]
    pub cut_start: Option<Text<Span>>,
    /// Leave out requests from this time of the trace on, such as 20m [default: none]
    #[arg(long, value_name = "TIME", help_heading = REQUESTS)]
    pub cut_end: Option<Text<Span>>,
    /// Leave out this many requests at the start, 0 or more [default: 0]
    #[arg(long, value_name = "N", help_heading = REQUESTS)]
    pub skip: Option<u64>,
    /// Play the trace this many times, 1 or more [default: 1]
    #[arg(long, value_name = "N", help_heading = REQUESTS)]
    pub repeat: Option<u64>,
    /// Its format: msr, disksim (times in ms), mqsim (ns), ssdsim and msps (any, see --time-unit),
    /// systor, tencent, alibaba, spc, blkparse, blktrace, fio-iolog-v2, fio-iolog-v3, blkreplay,
    /// csv or vscsi [default: detected]
    #[arg(long, value_name = "NAME", help_heading = TRACE)]
    pub format: Option<Text<Format>>,
    /// Its unit of time: s, ms, us, 100ns or ns [default: detected]
    #[arg(long, value_name = "UNIT", help_heading = TRACE)]
    pub time_unit: Option<Text<TimeUnit>>,
    /// Its sector, or 1 if its addresses are bytes [default: 512 where it counts in sectors]
    #[arg(long, value_name = "BYTES", help_heading = TRACE)]
    pub sector_bytes: Option<u64>,
    /// What the columns of a CSV are, where its header and values do not say enough:
    /// time=COLUMN:UNIT,op=COLUMN,offset=COLUMN:UNIT,size=COLUMN:UNIT and, if there are any,
    /// device=COLUMN and separator=NAME. A COLUMN is a name in the header or a position from 0.
    /// Units of time are s, ms, us, 100ns and ns; dates have none. Units of offset and size are
    /// bytes, sectors, KiB, MiB or a number of bytes, with :hex behind it for hexadecimal.
    /// op=COLUMN:0/1 says that 0 reads and 1 writes, and op=COLUMN:0/1/2 that 2 is skipped.
    /// Separators are comma, semicolon, tab, pipe and space. Example:
    /// time=timestamp:us,op=rw:0/1,offset=lba:sectors,size=len:bytes [default: detected]
    #[arg(long, value_name = "MAP", help_heading = TRACE)]
    pub columns: Option<Text<ColumnMap>>,
    /// Which event of blktrace is a request: D, Q or C [default: D, or the next where there is
    /// none]
    #[arg(long, value_name = "EVENT", help_heading = TRACE)]
    pub blkparse_event: Option<Text<BlkparseEvent>>,
    /// Requests held back to put them in order of time, 1 or more [default: 4096]
    #[arg(long, value_name = "N", help_heading = TRACE)]
    pub reorder_window: Option<usize>,
    /// Move requests that come too late to the time of their predecessor
    #[arg(long, help_heading = TRACE)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub clamp_time: bool,
    /// Skip requests of zero length instead of refusing them
    #[arg(long, help_heading = TRACE)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_zero_length: bool,
    /// Whether to spread the requests of a second over it [default: where the clock has
    /// whole seconds only]
    #[arg(long, value_name = "BOOL", help_heading = TRACE)]
    pub spread_seconds: Option<bool>,
    /// Read impossible requests as they stand: a device for each request, a clock that begins
    /// again, or a span of decades
    #[arg(long, help_heading = TRACE)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_odd: bool,
    /// Make every pause longer than this as long as this: for a trace in which one request has a
    /// time years away from all others, such as 60s [default: none]
    #[arg(long, value_name = "TIME", help_heading = TRACE)]
    pub close_gaps: Option<Text<Span>>,
    /// read, write, randread, randwrite, rw or randrw [default: randread]
    #[arg(long = "rw", alias = "readwrite", value_name = "MODE", help_heading = FIO)]
    pub rw: Option<Text<Rw>>,
    /// Percentage of reads in rw and randrw, 0 to 100 [default: 50]
    #[arg(long, value_name = "PERCENT", help_heading = FIO)]
    pub rwmixread: Option<u32>,
    /// Block size, or one for reads and one for writes: 8k,128k [default: 4k]
    #[arg(long, alias = "blocksize", value_name = "SIZE", help_heading = FIO)]
    pub bs: Option<Text<BlockSizes>>,
    /// Sizes of requests in the place of --bs, any multiple of the first up to the second, such
    /// as 4k-128k
    #[arg(long, alias = "blocksize_range", value_name = "RANGE", conflicts_with = "bs", help_heading = FIO)]
    pub bsrange: Option<Text<SizeRange>>,
    /// Hosts, each with a rate of --rate_iops of its own; under plm-light the first is of the class
    /// high, the second medium, all others low; 1 to 256 [default: 1]
    #[arg(long, value_name = "N", help_heading = FIO)]
    pub numjobs: Option<u32>,
    /// Requests under way at once, in a closed loop, 1 to 65536; or those of a host that reads and of
    /// one that writes, such as 64,32 [default: 1]
    #[arg(long, value_name = "N", help_heading = FIO)]
    pub iodepth: Option<Text<IoDepth>>,
    /// Requests per second, or a load on each drive as for --rerate, such as 500 or 20dwpd: an open
    /// loop
    #[arg(long = "rate_iops", alias = "rate-iops", value_name = "N|LOAD", help_heading = FIO)]
    pub rate_iops: Option<Text<RequestRate>>,
    /// Open loops one after the other, each with its rate and length, such as
    /// 20dwpd:60s,burst:10s,500:1m
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = FIO)]
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "phases")]
    #[schemars(with = "Phases")]
    pub phases: Vec<Text<PhaseRate>>,
    /// How they come: poisson or linear [default: poisson]
    #[arg(long = "rate_process", alias = "rate-process", value_name = "NAME", help_heading = FIO)]
    pub rate_process: Option<Text<RateProcess>>,
    /// Footprint [default: 1g, or the array if that is smaller]
    #[arg(long, value_name = "SIZE", help_heading = FIO)]
    pub size: Option<Text<Size>>,
    /// First address, such as 1g [default: 0]
    #[arg(long, value_name = "SIZE", help_heading = FIO)]
    pub offset: Option<Text<Size>>,
    /// random, zipf:THETA or pareto:H [default: random]
    #[arg(long = "random_distribution", alias = "random-distribution", value_name = "NAME", help_heading = FIO)]
    pub random_distribution: Option<Text<RandomDistribution>>,
    /// End after this many requests, 1 or more, such as 200000
    #[arg(long = "number_ios", alias = "number-ios", value_name = "N", help_heading = FIO)]
    pub number_ios: Option<u64>,
    /// End after this much simulated time, such as 60s; as in fio, a number alone is in seconds
    #[arg(long, value_name = "TIME", help_heading = FIO)]
    pub runtime: Option<Text<Runtime>>,
}

/// Phases as they are written: a list, or one text with commas.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is a type for schemas only")]
enum Phases {
    /// A list.
    List(Vec<Text<PhaseRate>>),
    /// One text with commas.
    Text(String),
}

fn value<T: Copy>(setting: &Option<Text<T>>) -> Option<T> {
    setting.as_ref().map(|text| text.value)
}

/// The first option of a group that is set, by its flag.
fn first_set(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is_set)| *is_set).map(|(flag, _)| *flag)
}

impl WorkloadSettings {
    /// The first of fio's options that is set.
    pub fn first_of_fio(&self) -> Option<&'static str> {
        first_set(&[
            ("--rw", self.rw.is_some()),
            ("--rwmixread", self.rwmixread.is_some()),
            ("--bs", self.bs.is_some()),
            ("--bsrange", self.bsrange.is_some()),
            ("--numjobs", self.numjobs.is_some()),
            ("--iodepth", self.iodepth.is_some()),
            ("--rate_iops", self.rate_iops.is_some()),
            ("--phases", !self.phases.is_empty()),
            ("--rate_process", self.rate_process.is_some()),
            ("--size", self.size.is_some()),
            ("--offset", self.offset.is_some()),
            ("--random_distribution", self.random_distribution.is_some()),
            ("--number_ios", self.number_ios.is_some()),
            ("--runtime", self.runtime.is_some()),
        ])
    }

    /// The first option set that says how a trace is read.
    pub fn first_of_reading(&self) -> Option<&'static str> {
        first_set(&[
            ("--format", self.format.is_some()),
            ("--time-unit", self.time_unit.is_some()),
            ("--sector-bytes", self.sector_bytes.is_some()),
            ("--columns", self.columns.is_some()),
            ("--blkparse-event", self.blkparse_event.is_some()),
            ("--reorder-window", self.reorder_window.is_some()),
            ("--clamp-time", self.clamp_time),
            ("--skip-zero-length", self.skip_zero_length),
            ("--spread-seconds", self.spread_seconds.is_some()),
            ("--allow-odd", self.allow_odd),
            ("--close-gaps", self.close_gaps.is_some()),
        ])
    }

    /// The first option set that changes requests, other than their number and rate.
    pub fn first_of_changing(&self) -> Option<&'static str> {
        first_set(&[
            ("--resize-read", self.resize_read.is_some()),
            ("--resize-write", self.resize_write.is_some()),
            ("--fit", self.fit.is_some()),
            ("--fold", self.fold.is_some()),
            ("--cut-start", self.cut_start.is_some()),
            ("--cut-end", self.cut_end.is_some()),
            ("--skip", self.skip.is_some()),
            ("--repeat", self.repeat.is_some()),
        ])
    }

    /// The first option set that presets alone have.
    pub fn first_of_presets(&self) -> Option<&'static str> {
        first_set(&[
            ("--burst", self.burst.is_some()),
            ("--burst-gap", self.burst_gap.is_some()),
            ("--hot-drive", self.hot_drive.is_some()),
        ])
    }

    /// The bursts of a preset.
    pub fn bursts(&self) -> Bursts {
        let usual = Bursts::default();
        Bursts {
            mean: value(&self.burst).map_or(usual.mean, |Factor(mean)| mean),
            inside_ratio: value(&self.burst_gap)
                .map_or(usual.inside_ratio, |Percent(share)| share.as_f64()),
        }
    }

    /// How a trace is read.
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions {
            format: value(&self.format),
            time_unit: value(&self.time_unit),
            sector_bytes: self.sector_bytes,
            columns: self.columns.as_ref().map(|text| text.value.clone()),
            blkparse_event: value(&self.blkparse_event),
            reorder_window: self.reorder_window,
            clamp_time: self.clamp_time,
            skip_zero_length: self.skip_zero_length,
            spread_seconds: self.spread_seconds,
            allow_odd: self.allow_odd,
            close_gaps: value(&self.close_gaps).map(|Span(duration)| duration),
        }
    }

    /// What is done to the requests, `speed` times as fast.
    pub fn transform(&self, speed: f64) -> Transform {
        let span = |setting| value(setting).map(|Span(duration)| duration);
        let factor = |setting| value(setting).map_or(1.0, |Factor(factor)| factor);
        Transform {
            cut: Cut {
                from: span(&self.cut_start).unwrap_or(Duration::ZERO),
                to: span(&self.cut_end),
                skip: self.skip.unwrap_or(0),
                take: self.requests,
            },
            repeat: self.repeat.unwrap_or(1),
            speed,
            resize: Resize { read: factor(&self.resize_read), write: factor(&self.resize_write) },
            fold: value(&self.fold).unwrap_or_default(),
            fit: value(&self.fit).unwrap_or_default(),
        }
    }

    /// The workload in fio's words, on an array of `capacity_bytes`, without its rates: those
    /// may depend on the drives.
    pub fn synthetic(&self, seed: u64, capacity_bytes: u64) -> Result<Synthetic, Failure> {
        let default = Synthetic::default();
        let bs = value(&self.bs).unwrap_or(default.bs);
        let offset = value(&self.offset).map_or(0, |Size(bytes)| bytes);
        let room = capacity_bytes.saturating_sub(offset);
        Ok(Synthetic {
            rw: value(&self.rw).unwrap_or(default.rw),
            rwmixread: self.rwmixread.unwrap_or(default.rwmixread),
            bs,
            bsrange: value(&self.bsrange),
            numjobs: self.numjobs.unwrap_or(default.numjobs),
            iodepth: value(&self.iodepth).unwrap_or(default.iodepth),
            rate_iops: None,
            phases: Vec::new(),
            rate_process: value(&self.rate_process).unwrap_or(default.rate_process),
            size: value(&self.size).map_or(default.size.min(room - room % 4096), |Size(b)| b),
            offset,
            random_distribution: value(&self.random_distribution)
                .unwrap_or(default.random_distribution),
            number_ios: self.number_ios.or(self.requests),
            runtime: value(&self.runtime).map(|Runtime(duration)| duration),
            randseed: seed,
        })
    }
}
