//! CSV files as users write them: each is read correctly, or refused with a sentence that says
//! where the problem is and what to type. None is read wrongly without an error.
//!
//! All readable files hold the same three requests, in different notations. The snapshot has the
//! output for each file.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_workload::{Format, Op, ReadOptions, TraceReader};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

/// Nanoseconds, operation, offset, size, device.
type Plain = (u64, char, u64, u64, u32);

/// The requests in every file.
const THREE: [Plain; 3] = [
    (0, 'R', 8_192, 4_096, 0),
    (500_000_000, 'W', 1_052_672, 16_384, 0),
    (1_500_000_000, 'R', 12_288, 8_192, 0),
];

/// Expected result for a file.
#[derive(Clone, Copy)]
enum Fate {
    /// The three requests.
    Read,
    /// The three requests, the second of them on another device.
    Devices,
    /// An error.
    Refused,
}
use Fate::{Devices, Read, Refused};

/// Storage of a file.
enum Stored {
    Plain,
    Gzip,
    Zstd,
    Utf16,
}

struct Case {
    name: &'static str,
    fate: Fate,
    text: String,
    map: Option<&'static str>,
    format: Option<Format>,
    stored: Stored,
}

fn case(name: &'static str, fate: Fate, text: impl Into<String>) -> Case {
    Case { name, fate, text: text.into(), map: None, format: None, stored: Stored::Plain }
}

impl Case {
    fn map(self, map: &'static str) -> Self {
        Self { map: Some(map), ..self }
    }

    fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    fn stored(self, stored: Stored) -> Self {
        Self { stored, ..self }
    }
}

/// The three requests below `header`, with these times.
fn with_times(header: &str, times: [&str; 3]) -> String {
    let [a, b, c] = times;
    format!("{header}\n{a},R,8192,4096\n{b},W,1052672,16384\n{c},R,12288,8192\n")
}

/// The three requests below `header`, with these operations.
fn with_ops(header: &str, ops: [&str; 3]) -> String {
    let [a, b, c] = ops;
    format!("{header}\n0,{a},8192,4096\n500,{b},1052672,16384\n1500,{c},12288,8192\n")
}

const PLAIN: &str = "timestamp,op,offset,size";
const IN_MS: &str = "time_ms,op,offset,size";
const EPOCH: [&str; 3] = ["1700000000.25", "1700000000.75", "1700000001.75"];
const ISO: [&str; 3] =
    ["2023-11-14T22:13:20.25", "2023-11-14T22:13:20.75", "2023-11-14T22:13:21.75"];

fn times() -> Vec<Case> {
    let zoned = |zone: &str| ISO.map(|time| format!("{time}{zone}"));
    let [za, zb, zc] = zoned("Z");
    let [ea, eb, ec] = zoned("+01:00");
    let blanks = ISO.map(|time| time.replace('T', " "));
    let [ba, bb, bc] = &blanks;
    vec![
        case("seconds since 1970", Read, with_times(PLAIN, EPOCH)),
        case(
            "milliseconds since 1970",
            Read,
            with_times(PLAIN, ["1700000000250", "1700000000750", "1700000001750"]),
        ),
        case(
            "microseconds since 1970",
            Read,
            with_times(PLAIN, ["1700000000250000", "1700000000750000", "1700000001750000"]),
        ),
        case(
            "nanoseconds since 1970",
            Read,
            with_times(
                PLAIN,
                ["1700000000250000000", "1700000000750000000", "1700000001750000000"],
            ),
        ),
        case("no unit", Refused, with_times(PLAIN, ["0", "500", "1500"])),
        case("no unit, but a map", Read, with_times(PLAIN, ["0", "500", "1500"]))
            .map("time=timestamp:ms,op=op,offset=offset:bytes,size=size:bytes"),
        case("no unit, and none in the map", Refused, with_times(PLAIN, ["0", "500", "1500"]))
            .map("time=timestamp,op=op,offset=offset,size=size"),
        case("seconds by name", Read, with_times("time_s,op,offset,size", ["0", "0.5", "1.5"])),
        case(
            "milliseconds by name",
            Read,
            with_times("Time (ms),Op,Offset,Size", ["0", "500", "1500"]),
        ),
        case(
            "microseconds by name",
            Read,
            with_times("t_us,rw,offset,len", ["0", "500000", "1500000"]),
        ),
        case(
            "nanoseconds by name, as floating point",
            Read,
            with_times("ts_ns,op,offset,size", ["0.0", "500000000.0", "1500000000.0"]),
        ),
        case(
            "a blktrace clock of nine digits",
            Read,
            with_times(PLAIN, ["0.000017985", "0.500017985", "1.500017985"]),
        ),
        case(
            "six digits behind the point",
            Refused,
            with_times(PLAIN, ["0.000017", "0.500017", "1.500017"]),
        ),
        case("dates with Z", Read, with_times(PLAIN, [&za, &zb, &zc])),
        case("dates with a zone", Read, with_times("Date Time,op,offset,size", [&ea, &eb, &ec])),
        case("dates with a blank and no zone", Read, with_times(PLAIN, [ba, bb, bc])),
        case("a zone that comes and goes", Refused, with_times(PLAIN, [&za, ISO[1], &zc])),
        case("dates, and a map without unit", Read, with_times(PLAIN, ISO))
            .map("time=0,op=1,offset=2:bytes,size=3:bytes"),
        case("dates, and a map with a unit", Refused, with_times(PLAIN, ISO))
            .map("time=0:us,op=1,offset=2:bytes,size=3:bytes"),
        case(
            "times of day",
            Read,
            with_times("time,op,offset,size", ["22:13:20.25", "22:13:20.75", "22:13:21.75"]),
        ),
        case(
            "times of day past midnight",
            Refused,
            with_times("time,op,offset,size", ["23:59:59.25", "23:59:59.75", "00:00:00.75"]),
        ),
        case(
            "dates that may be of two months",
            Refused,
            with_times(
                PLAIN,
                ["04/05/2023 10:00:00", "04/05/2023 10:00:01", "04/05/2023 10:00:02"],
            ),
        ),
        case("a negative time", Refused, with_times(IN_MS, ["-500", "0", "1000"])),
        case("no time in a line", Refused, with_times(IN_MS, ["0", "NaN", "1000"])),
        case(
            "times out of order",
            Read,
            "time_ms,op,offset,size\n500,W,1052672,16384\n0,R,8192,4096\n1500,R,12288,8192\n",
        ),
        case(
            "two columns of times",
            Refused,
            "submit_ts_ms,issue_ts_ms,op,offset,size\n0,1,R,8192,4096\n500,501,W,1052672,16384\n",
        ),
        case(
            "a latency beside the time",
            Read,
            "time_ms,response_time_ms,op,offset,size,latency_us\n0,3,R,8192,4096,9\n\
             500,2,W,1052672,16384,8\n1500,1,R,12288,8192,7\n",
        ),
    ]
}

fn shapes() -> Vec<Case> {
    let plain = with_times(IN_MS, ["0", "500", "1500"]);
    let separated = |by: &str| plain.replace(',', by);
    let indexed = |name: &str| {
        let mut lines = plain.lines();
        let mut text = format!("{name},{}\n", lines.next().unwrap());
        for (number, line) in lines.enumerate() {
            writeln!(text, "{number},{line}").unwrap();
        }
        text
    };
    let quoted: String = plain
        .lines()
        .map(|line| format!("\"{}\"\n", line.split(',').collect::<Vec<_>>().join("\",\"")))
        .collect();
    let trailing: String = plain.lines().map(|line| format!("{line},\n")).collect();
    vec![
        case("an index without name, as pandas writes it", Read, indexed("")),
        case("an index that pandas read back", Read, indexed("Unnamed: 0")),
        case("semicolons", Read, separated(";")),
        case("semicolons and decimal commas", Refused, separated(";").replace("500;", "500,5;")),
        case("tabs", Read, separated("\t")),
        case("blanks", Read, separated("  ")),
        case("pipes, and a map by name", Read, separated("|"))
            .map("time=time_ms,op=op,offset=offset,size=size"),
        case(
            "byte order mark and Windows ends",
            Read,
            format!("\u{feff}{}", plain.replace('\n', "\r\n")),
        ),
        case("gzip", Read, plain.clone()).stored(Stored::Gzip),
        case("zstd", Read, plain.clone()).stored(Stored::Zstd),
        case("UTF-16", Refused, plain.clone()).stored(Stored::Utf16),
        case(
            "empty lines, comments and rows of separators",
            Read,
            plain.replace("\n500,", "\n\n# a comment\n,,,\n500,"),
        ),
        case(
            "a header that is a comment",
            Read,
            format!("# {}", separated(" ").replace("time_ms op", "time_ms  op")),
        ),
        case(
            "a header that is repeated",
            Read,
            plain.replace("1500,", "time_ms,op,offset,size\n1500,"),
        ),
        case("quotation marks everywhere", Read, quoted),
        case(
            "a separator within quotation marks",
            Devices,
            "time_ms,host,op,offset,size\n0,\"rack 1, host 2\",R,8192,4096\n\
             500,\"rack 1, host 3\",W,1052672,16384\n1500,\"rack 1, host 2\",R,12288,8192\n",
        ),
        case("a quotation mark that is not closed", Refused, plain.replace("500,W", "500,\"W")),
        case("separators at the ends of lines", Read, trailing),
        case(
            "separators at the ends of lines, but not of the header",
            Read,
            plain.replace("6\n", "6,,\n"),
        ),
        case("too few columns in a line", Refused, plain.replace(",1052672", "")),
        case("too many columns in a line", Refused, plain.replace("1052672", "1,052,672")),
        case(
            "an index of R, which has no name at all",
            Refused,
            "time_ms,op,offset,size\n1,0,R,8192,4096\n2,500,W,1052672,16384\n3,1500,R,12288,8192\n",
        ),
        case("a column twice", Refused, "time_ms,op,size,offset,size\n0,R,8,8192,4096\n"),
        case(
            "a column twice, and a map",
            Refused,
            "time_ms,op,size,offset,size\n0,R,8,8192,4096\n",
        )
        .map("time=time_ms,op=op,offset=offset:bytes,size=size:bytes"),
        case(
            "a header of another language",
            Refused,
            "Zeit;Vorgang;Adresse;Laenge\n0;R;8192;4096\n500;W;1052672;16384\n",
        ),
        case("a column that is missing", Refused, "time_ms,op,offset\n0,R,8192\n500,W,1052672\n"),
        case("a header and nothing else", Refused, format!("{PLAIN}\n")),
        case("no header, dates, and sizes that may be offsets", Refused, with_times("", EPOCH)),
        case("no header and no dates", Refused, with_times("", ["0", "500", "1500"])),
        case("no header, said to be csv", Refused, with_times("", ["0", "500", "1500"]))
            .format(Format::Csv),
        case("no header, dates, said to be csv", Read, with_times("", EPOCH)).format(Format::Csv),
        case("a header, said to be csv", Read, with_times(PLAIN, EPOCH)).format(Format::Csv),
        case(
            "devices in two columns",
            Devices,
            "time_ms,op,offset,size,host,disk\n0,R,8192,4096,a,0\n500,W,1052672,16384,a,1\n\
             1500,R,12288,8192,a,0\n",
        ),
        case(
            "MSR with the header of its description",
            Devices,
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
             128166372003061629,usr,0,Read,8192,4096,331\n\
             128166372008061629,usr,1,Write,1052672,16384,99\n\
             128166372018061629,usr,0,Read,12288,8192,10\n",
        ),
    ]
}

fn addresses() -> Vec<Case> {
    let columns = |header: &str, rows: [(&str, &str); 3]| {
        let [(a, x), (b, y), (c, z)] = rows;
        format!("{header}\n0,R,{a},{x}\n500,W,{b},{y}\n1500,R,{c},{z}\n")
    };
    let sectors = [("16", "8"), ("2056", "32"), ("24", "16")];
    let hexadecimal = [("2000", "1000"), ("101000", "4000"), ("3000", "2000")];
    let letters = [("0x2000", "0x1000"), ("0x101000", "0x4000"), ("0x3000", "0x2000")];
    vec![
        case("hexadecimal with 0x", Read, columns(IN_MS, letters)),
        case(
            "hexadecimal without 0x",
            Refused,
            columns(IN_MS, [("2000", "4096"), ("10A000", "16384"), ("3000", "8192")]),
        ),
        case("hexadecimal without 0x, and a map", Read, columns(IN_MS, hexadecimal))
            .map("time=time_ms,op=op,offset=offset:bytes:hex,size=size:bytes:hex"),
        case("sectors by name", Read, columns("time_ms,op,lba,nr_sectors", sectors)),
        case("sectors without a name", Refused, columns(IN_MS, sectors)),
        case("sectors without a name, and a map", Read, columns(IN_MS, sectors))
            .map("time=0:ms,op=1,offset=2:sectors,size=3:sectors"),
        case(
            "addresses in sectors, sizes in bytes",
            Read,
            columns("time_ms,op,sector,bytes", [("16", "4096"), ("2056", "16384"), ("24", "8192")]),
        ),
        case(
            "sizes in KiB",
            Read,
            columns(
                "time_ms,op,offset_bytes,size_kb",
                [("8192", "4"), ("1052672", "16"), ("12288", "8")],
            ),
        ),
        case(
            "blocks of unknown size",
            Refused,
            columns("time_ms,op,block,size", [("2", "4096"), ("257", "16384"), ("3", "8192")]),
        ),
        case(
            "blocks of 4096 bytes",
            Read,
            columns("time_ms,op,block,size", [("2", "4096"), ("257", "16384"), ("3", "8192")]),
        )
        .map("time=time_ms,op=op,offset=block:4096,size=size"),
        case(
            "floating point",
            Read,
            columns(IN_MS, [("8192.0", "4096.0"), ("1052672.0", "16384.0"), ("12288.0", "8192.0")]),
        ),
        case(
            "a negative offset",
            Refused,
            columns(IN_MS, [("8192", "4096"), ("-1", "16384"), ("12288", "8192")]),
        ),
        case(
            "no size in a line",
            Refused,
            columns(IN_MS, [("8192", "4096"), ("1052672", "NaN"), ("12288", "8192")]),
        ),
        case(
            "an offset that contradicts the evidence",
            Refused,
            format!(
                "{}1600,R,1003,512\n",
                columns(IN_MS, [("8192", "4096"), ("1052672", "16384"), ("12288", "8192")])
                    + &(0..400)
                        .map(|i| format!("{},R,{},4096\n", 1500 + i, i * 4096))
                        .collect::<String>()
            ),
        ),
    ]
}

fn operations() -> Vec<Case> {
    vec![
        case("r and w", Read, with_ops(IN_MS, ["r", "w", "r"])),
        case(
            "read and write",
            Read,
            with_ops("time_ms,IOType,offset,size", ["read", "WRITE", "Read"]),
        ),
        case("0 and 1", Refused, with_ops(IN_MS, ["0", "1", "0"])),
        case("0 and 1, and a map", Read, with_ops(IN_MS, ["0", "1", "0"]))
            .map("time=0:ms,op=1:0/1,offset=2:bytes,size=3:bytes"),
        case(
            "0 and 1 in a column that says which",
            Read,
            with_ops("time_ms,is_write,offset,size", ["0", "1", "0"]),
        ),
        case(
            "SCSI commands",
            Read,
            with_ops("time_ms,command,offset,size", ["Read(10)", "WRITE_16", "Read10"]),
        ),
        case(
            "codes of SCSI commands",
            Read,
            with_ops("time_ms,cmd,offset,size", ["0x28", "0x8A", "0x88"]),
        ),
        case("flags of blktrace", Read, with_ops("time_ms,rwbs,offset,size", ["RA", "WSM", "R"])),
        case(
            "trims and flushes",
            Read,
            with_ops(IN_MS, ["R", "W", "R"]) + "1500,TRIM,0,4096\n1500,FLUSH,0,0\n1500,UNMAP,,\n",
        ),
        case(
            "words of the map, others to be skipped",
            Read,
            with_ops(IN_MS, ["get", "put", "get"]) + "1500,stat,0,0\n",
        )
        .map("time=0:ms,op=1:get/put/stat,offset=2:bytes,size=3:bytes"),
        case("a word that is not known", Refused, with_ops(IN_MS, ["R", "COPY", "R"])),
        case("a word that is not in the map", Refused, with_ops(IN_MS, ["get", "list", "get"]))
            .map("time=0:ms,op=1:get/put,offset=2:bytes,size=3:bytes"),
        case(
            "several events of one request",
            Refused,
            "time_ms,action,rwbs,sector,nr_sectors\n0,Q,R,16,8\n1,D,R,16,8\n2,C,R,16,8\n",
        ),
    ]
}

fn bytes(case: &Case) -> Vec<u8> {
    let plain = case.text.trim_start_matches('\n').as_bytes();
    match case.stored {
        Stored::Plain => plain.to_vec(),
        Stored::Gzip => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(plain).unwrap();
            gzip.finish().unwrap()
        }
        Stored::Zstd => zstd::encode_all(plain, 1).unwrap(),
        Stored::Utf16 => {
            let units = std::iter::once(0xfeff).chain(case.text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        }
    }
}

/// The requests and the description, or the error.
fn outcome(case: &Case) -> Result<(Vec<Plain>, String), String> {
    let options = ReadOptions {
        columns: case.map.map(|map| map.parse().unwrap()),
        format: case.format,
        ..ReadOptions::default()
    };
    let mut reader = TraceReader::from_reader(Cursor::new(bytes(case)), "t", &options)
        .map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    for request in reader.by_ref() {
        let request = request.map_err(|error| error.to_string())?;
        let op = if request.op == Op::Read { 'R' } else { 'W' };
        let at = request.at.as_nanos();
        requests.push((at, op, request.offset_bytes, request.size_bytes, request.device));
    }
    let evidence = reader.detected().evidence.join("\n  - ");
    Ok((requests, format!("{}\n  - {evidence}", reader.counts())))
}

#[test]
fn every_file_is_read_right_or_refused() {
    let cases: Vec<Case> =
        [times(), shapes(), addresses(), operations()].into_iter().flatten().collect();
    assert!(cases.len() >= 40);
    let (mut text, mut wrong) = (String::new(), String::new());
    for case in &cases {
        let fate = outcome(case);
        let mut expected = THREE;
        expected[1].4 = u32::from(matches!(case.fate, Devices));
        let (said, as_expected) = match &fate {
            Ok((requests, said)) => (said, !matches!(case.fate, Refused) && requests == &expected),
            Err(sentence) => (sentence, matches!(case.fate, Refused) && !sentence.contains('\n')),
        };
        if !as_expected {
            writeln!(wrong, "{}: {fate:?}", case.name).unwrap();
        }
        let fate = if matches!(case.fate, Refused) { "refused" } else { "read" };
        let map = case.map.map_or_else(String::new, |map| format!(" --columns {map}"));
        let format = case.format.map_or_else(String::new, |format| format!(" --format {format}"));
        writeln!(text, "{}{format}{map}: {fate}", case.name).unwrap();
        for line in case.text.trim_start_matches('\n').lines().take(3) {
            writeln!(text, "    {}", line.escape_debug()).unwrap();
        }
        writeln!(text, "  {said}\n").unwrap();
    }
    assert_eq!(wrong, "");
    insta::assert_snapshot!("csv-files", text);
}

#[test]
fn without_a_header_the_values_tell_where_they_can() {
    let text = "0,1700000000.25,w1,R,8192,4096\n1,1700000000.75,w1,W,1099511627776,16384\n\
                2,1700000001.75,w1,R,12288,8192\n";
    let text = case("", Read, text);
    let (requests, said) = outcome(&text).unwrap();
    let mut expected = THREE;
    expected[1].2 = 1 << 40;
    assert_eq!(requests, expected, "{said}");
    let columns = "the values tell the columns: time 1, op 3, offset 4, size 5";
    assert!(said.contains(columns), "{said}");
}
