//! What is known of a trace, as JSON.

use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use study::describe;
use workload::Trace;

/// What is in a trace file, as `ioda trace inspect --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Inspected {
    /// The file.
    #[serde(flatten)]
    file: TraceFile,
    /// Its lines.
    #[serde(flatten)]
    lines: Lines,
    /// Its requests.
    #[serde(flatten)]
    requests: Requests,
    /// Its addresses.
    #[serde(flatten)]
    addresses: Addresses,
    /// Pauses between requests.
    gaps: Gaps,
}

impl Document for Inspected {
    const SCHEMA: &'static str = "ioda.trace/1";
}

/// What a trace file is.
#[derive(Serialize, JsonSchema)]
struct TraceFile {
    /// Its path.
    file: String,
    /// Its SHA-256 as hexadecimal digits.
    sha256: String,
    /// Its size in bytes.
    bytes: u64,
    /// Its format.
    format: String,
    /// Its unit of time.
    time_unit: String,
    /// Bytes of its sector, if it counts in sectors.
    sector_bytes: Option<u64>,
    /// How it is compressed.
    compression: String,
    /// What tells that, one sentence each.
    evidence: Vec<String>,
}

/// Lines of a trace file.
#[derive(Serialize, JsonSchema)]
struct Lines {
    /// All lines.
    lines: u64,
    /// Lines that are no requests, by reason.
    skipped: BTreeMap<String, u64>,
    /// Requests that were put in order of time.
    reordered: u64,
    /// Requests that were moved to the time of their predecessor.
    clamped: u64,
    /// Issues of requests that had been issued before and were put back into their queue.
    requeued: u64,
    /// Writes that ask for stable storage: by FUA, a flush ahead of them or a barrier.
    durable: u64,
    /// Requests with a flag of the block layer that is not known, by its letter.
    unknown_flags: BTreeMap<String, u64>,
}

/// Requests of a trace.
#[derive(Serialize, JsonSchema)]
struct Requests {
    /// All requests.
    requests: u64,
    /// Reads.
    reads: u64,
    /// Writes.
    writes: u64,
    /// Bytes read.
    read_bytes: u64,
    /// Bytes written.
    written_bytes: u64,
    /// Mean size of a read in KiB.
    mean_read_kib: f64,
    /// Mean size of a write in KiB.
    mean_write_kib: f64,
    /// Size of the largest request in bytes.
    longest_bytes: u64,
    /// Time from the first request to the last, in seconds.
    span_seconds: f64,
    /// Mean time between two requests, in microseconds.
    mean_interval_us: f64,
}

/// Addresses of a trace.
#[derive(Serialize, JsonSchema)]
struct Addresses {
    /// Bytes that are read or written at least once.
    footprint_bytes: u64,
    /// Bytes that are written at least once.
    written_footprint_bytes: u64,
    /// Share of the requests that do not begin and end at multiples of 4 KiB, from 0 to 1.
    unaligned_share: f64,
    /// Devices that requests are for.
    devices: usize,
    /// The end of the request at the highest address, in bytes; all devices one after the other.
    end_bytes: u64,
}

/// Pauses between the requests of a trace.
#[derive(Serialize, JsonSchema)]
struct Gaps {
    /// The longest; null if there are fewer than two requests.
    longest: Option<Gap>,
    /// Time from the first request to the last as the file has it, in seconds.
    span_seconds_in_file: f64,
    /// What longer pauses were made to last, in seconds; null if that was not asked for.
    closed_to_seconds: Option<f64>,
    /// Pauses that were made shorter.
    closed: u64,
    /// Time that they lost together, in seconds.
    closed_seconds: f64,
    /// What a reader should know of it, as a sentence; null if there is nothing.
    remark: Option<String>,
}

/// A pause.
#[derive(Serialize, JsonSchema)]
struct Gap {
    /// Number of the request after it.
    request: u64,
    /// Line of the request after it.
    line: u64,
    /// Its length in seconds.
    seconds: f64,
    /// Its share of the time from the first request to the last, from 0 to 1.
    share_of_span: f64,
    /// Whether it is so long that a time in the file is probably wrong.
    doubtful: bool,
}

/// The document of a trace.
pub(super) fn of(trace: &Trace) -> Inspected {
    let (identity, detected) = (trace.identity(), trace.detected());
    let (counts, s) = (trace.counts(), trace.statistics());
    Inspected {
        file: TraceFile {
            file: trace.path().display().to_string(),
            sha256: identity.sha256.clone(),
            bytes: identity.bytes,
            format: detected.format.to_string(),
            time_unit: detected.time_unit.to_string(),
            sector_bytes: detected.sector_bytes,
            compression: detected.compression.to_string(),
            evidence: detected.evidence.clone(),
        },
        lines: Lines {
            lines: counts.lines,
            skipped: counts
                .skipped
                .iter()
                .map(|(reason, count)| (reason.to_string(), *count))
                .collect(),
            reordered: counts.reordered,
            clamped: counts.clamped,
            requeued: counts.requeued,
            durable: counts.durable,
            unknown_flags: counts
                .unknown_flags
                .iter()
                .map(|(flag, count)| (flag.to_string(), *count))
                .collect(),
        },
        requests: Requests {
            requests: s.requests,
            reads: s.reads,
            writes: s.writes,
            read_bytes: s.read_bytes,
            written_bytes: s.written_bytes,
            mean_read_kib: s.mean_read_kib(),
            mean_write_kib: s.mean_write_kib(),
            longest_bytes: s.longest_bytes,
            span_seconds: s.span().as_secs_f64(),
            mean_interval_us: s.mean_interval().as_micros_f64(),
        },
        addresses: Addresses {
            footprint_bytes: s.footprint_bytes,
            written_footprint_bytes: s.written_footprint_bytes,
            unaligned_share: s.unaligned_share(),
            devices: s.devices.len(),
            end_bytes: s.end_bytes(),
        },
        gaps: gaps(trace),
    }
}

fn gaps(trace: &Trace) -> Gaps {
    let gaps = trace.gaps();
    Gaps {
        longest: gaps.longest.map(|longest| Gap {
            request: longest.request,
            line: longest.line,
            seconds: longest.length.as_secs_f64(),
            share_of_span: gaps.longest_share(),
            doubtful: gaps.doubtful().is_some(),
        }),
        span_seconds_in_file: gaps.span.as_secs_f64(),
        closed_to_seconds: gaps.limit.map(|limit| limit.as_secs_f64()),
        closed: gaps.closed,
        closed_seconds: gaps.closed_time.as_secs_f64(),
        remark: describe::gaps(trace),
    }
}
