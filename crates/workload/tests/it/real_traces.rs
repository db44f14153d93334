//! Every real trace is read, and its statistics equal those that its collection states.
//!
//! The traces are not part of the project; without the folder each test prints that and passes.

// With --nocapture, these tests print the detected format of each trace.
#![allow(clippy::print_stdout)]

use ioda_workload::{
    Compression, Fit, Format, Op, ReadOptions, Request, Source, Statistics, TimeUnit, Trace,
    TraceReader, TraceSource, Transform,
};
use std::path::PathBuf;
use units::GIB;

/// Folder of real traces: `IODA_TRACES`, or the usual place beside the project; `None`, with a
/// message, if it is missing.
fn traces() -> Option<PathBuf> {
    let folder = std::env::var_os("IODA_TRACES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    println!(
        "skipped: the folder of real traces {} is missing; set IODA_TRACES to it",
        folder.display()
    );
    None
}

/// Options for a real trace. The columns of DiskSim's relatives do not determine the unit of their
/// times.
fn options(file: &str) -> ReadOptions {
    let ends = |name: &str| file.ends_with(name);
    let default = ReadOptions::default();
    if ends("tpcc-small.trace.zst") {
        ReadOptions { format: Some(Format::MqSim), ..default }
    } else if ends("MSN-FS-30s-ms.ssdsim.txt.zst") {
        ReadOptions { format: Some(Format::DiskSim), ..default }
    } else if ends("DTRS1K.trace.zst") {
        ReadOptions { time_unit: Some(TimeUnit::Microseconds), ..default }
    } else {
        default
    }
}

fn read(folder: &std::path::Path, file: &str) -> (TraceReader, Vec<Request>, Statistics) {
    let mut reader =
        TraceReader::open(folder.join(file), &options(file)).expect("a real trace can be opened");
    println!("{file}: {}", reader.detected());
    let requests: Vec<Request> =
        reader.by_ref().map(|item| item.expect("a real trace can be read")).collect();
    println!("{}", reader.counts());
    let mut statistics = Statistics::new();
    statistics.extend(&requests);
    println!("{statistics}\n");
    (reader, requests, statistics)
}

/// A row of the collection's table, in its units.
struct Row {
    file: &'static str,
    requests: u64,
    read_percent: f64,
    mean_read_kib: Option<f64>,
    mean_write_kib: f64,
    span_s: f64,
    footprint_gib: Option<(f64, f64)>,
}

const fn row(
    file: &'static str,
    requests: u64,
    read_percent: f64,
    mean_read_kib: Option<f64>,
    mean_write_kib: f64,
    span_s: f64,
    footprint_gib: Option<(f64, f64)>,
) -> Row {
    Row { file, requests, read_percent, mean_read_kib, mean_write_kib, span_s, footprint_gib }
}

const TABLE: [Row; 6] = [
    row("msnfs_150k", 149_999, 87.0, Some(18.2), 9.2, 143.0, Some((2.05, 0.17))),
    row("dtrs_5min_127k", 127_043, 89.0, Some(55.6), 53.4, 300.0, Some((4.85, 0.70))),
    row("tpcc_small_7k", 6_999, 63.0, Some(8.1), 8.7, 0.137, None),
    row("blkreplay_mysql_81k", 80_794, 9.0, Some(11.3), 14.6, 3_600.0, Some((0.54, 0.47))),
    row("disksim_iozone_100k", 100_000, 0.0, None, 360.0, 936.0, Some((1.04, 1.04))),
    row("msr_mds0_cut_10k", 10_000, 20.0, Some(1.8), 6.2, 243.0, None),
];

#[test]
fn statistics_agree_with_the_table_of_the_collection() {
    let Some(folder) = traces() else { return };
    for expected in TABLE {
        let name = expected.file;
        let (reader, requests, statistics) = read(&folder, &format!("norm/{name}.csv.zst"));
        assert_eq!(reader.detected().format, Format::Csv);
        assert_eq!(reader.detected().compression, Compression::Zstd);
        assert_eq!(statistics.requests, expected.requests, "{name}");
        assert_eq!(reader.counts().lines, expected.requests + 1, "{name}");
        assert!(requests.is_sorted_by_key(|request| request.at), "{name}");
        // Half a unit of the last printed digit, and a little more for truncated values.
        let near = |what: &str, found: f64, printed: f64, place: f64| {
            assert!((found - printed).abs() <= place * 0.6, "{name} {what}: {found} for {printed}");
        };
        near("read share", 100.0 * statistics.read_share(), expected.read_percent, 1.0);
        if let Some(printed) = expected.mean_read_kib {
            near("mean read", statistics.mean_read_kib(), printed, 0.1);
        }
        let place = if expected.mean_write_kib == 360.0 { 1.0 } else { 0.1 };
        near("mean write", statistics.mean_write_kib(), expected.mean_write_kib, place);
        let place = if expected.span_s < 1.0 { 0.001 } else { 1.0 };
        near("span", statistics.span().as_secs_f64(), expected.span_s, place);
        let gib = |bytes: u64| bytes as f64 / GIB as f64;
        match expected.footprint_gib {
            Some((all, written)) => {
                near("footprint", gib(statistics.footprint_bytes), all, 0.01);
                near("written", gib(statistics.written_footprint_bytes), written, 0.01);
            }
            None => assert!(gib(statistics.footprint_bytes) < 0.1, "{name} is small"),
        }
    }
}

#[test]
fn twins_in_two_formats_agree() {
    let Some(folder) = traces() else { return };
    let twins = [
        ("raw/MSN-FS-30s-ms.ssdsim.txt.zst", "norm/msnfs_150k.csv.zst", 0),
        ("raw/DTRS1K.trace.zst", "norm/dtrs_5min_127k.csv.zst", 0),
        ("raw/tpcc-small.trace.zst", "norm/tpcc_small_7k.csv.zst", 0),
        // The normal form has the only read-ahead (`RA`) as a write.
        ("raw/linux-mysql.load.gz", "norm/blkreplay_mysql_81k.csv.zst", 1),
    ];
    for (raw, norm, read_aheads) in twins {
        let (_, raw_requests, _) = read(&folder, raw);
        let (_, norm_requests, _) = read(&folder, norm);
        assert_eq!(raw_requests.len(), norm_requests.len());
        let mut other_op = 0;
        for (mut ours, theirs) in raw_requests.into_iter().zip(norm_requests) {
            if ours.op != theirs.op {
                assert_eq!((ours.op, theirs.op), (Op::Read, Op::Write));
                other_op += 1;
                ours.op = theirs.op;
            }
            // The normal form is exact to the nanosecond.
            assert_eq!(ours, theirs, "{raw}");
        }
        assert_eq!(other_op, read_aheads, "{raw}");
    }
}

#[test]
fn raw_traces_are_detected_and_read_whole() {
    let Some(folder) = traces() else { return };
    let cases = [
        ("msr-cambridge1-sample.csv.zst", Format::Msr, TimeUnit::HundredNanoseconds, 1_000, 1),
        ("systor17-traces-sample.csv.gz", Format::Systor, TimeUnit::Seconds, 999, 1),
        ("tencent_cbs-sample.bz2", Format::Tencent, TimeUnit::Seconds, 50_000, 2_038),
        ("Financial1-snippet.spc.zst", Format::Spc, TimeUnit::Seconds, 10_000, 22),
        ("tpcc-small.trace.zst", Format::MqSim, TimeUnit::Nanoseconds, 6_999, 16),
        ("DTRS1K.trace.zst", Format::DiskSim, TimeUnit::Microseconds, 127_043, 1),
        ("MSN-FS-30s-ms.ssdsim.txt.zst", Format::DiskSim, TimeUnit::Milliseconds, 149_999, 1),
        ("ycsb_f2fs_blkparse.txt.zst", Format::Blkparse, TimeUnit::Seconds, 5_727, 1),
        ("linux-mysql.load.gz", Format::Blkreplay, TimeUnit::Seconds, 80_794, 1),
    ];
    for (file, format, unit, requests, devices) in cases {
        let (reader, _, statistics) = read(&folder, &format!("raw/{file}"));
        let detected = reader.detected();
        assert_eq!((detected.format, detected.time_unit), (format, unit), "{file}");
        assert_eq!(statistics.requests, requests, "{file}");
        assert_eq!(statistics.devices.len(), devices, "{file}");
        let counts = reader.counts();
        assert_eq!(counts.lines, counts.requests + counts.skipped_total(), "{file}");
        assert_eq!(counts.clamped, 0, "{file}");
        let disordered = matches!(format, Format::Systor | Format::Tencent | Format::Blkparse);
        assert_eq!(counts.reordered > 0, disordered, "{file}");
    }
}

#[test]
fn the_unit_of_times_of_disksims_relatives_is_asked_for() {
    let Some(folder) = traces() else { return };
    let cases = [
        ("tpcc-small.trace.zst", "in us 33.2 requests/s, in ns 33164 requests/s"),
        ("DTRS1K.trace.zst", "in us 221 requests/s, in ns 221190 requests/s"),
        ("MSN-FS-30s-ms.ssdsim.txt.zst", "in s 2.2 requests/s, in ms 2172 requests/s"),
    ];
    for (file, rates) in cases {
        let opened = TraceReader::open(folder.join("raw").join(file), &ReadOptions::default());
        let error = opened.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(rates), "{file}: {error}");
        assert!(error.contains("--format disksim means ms, and --format mqsim ns"), "{error}");
    }
}

#[test]
fn every_trace_replays_whole_on_a_small_array() {
    let Some(folder) = traces() else { return };
    let capacity = 3 << 29;
    for part in ["raw", "norm"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            let trace = Trace::open(&path, &options(&path.display().to_string())).unwrap();
            for fit in [Fit::Wrap, Fit::Scale, Fit::Compact] {
                let transform = Transform { speed: 8.0, fit, ..Transform::default() };
                let source = TraceSource { trace: trace.clone(), transform };
                let mut workload = Source::from(source).open(capacity).unwrap();
                for request in workload.by_ref() {
                    assert!(request.unwrap().end_bytes() <= capacity);
                }
                let replayed = workload.replayed();
                println!("{}, {fit}: {replayed}", path.display());
                assert_eq!(Some(replayed.taken), replayed.of);
                assert_eq!(workload.identity().unwrap().sha256.len(), 64);
            }
        }
    }
}
