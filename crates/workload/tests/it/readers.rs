//! Each reader on a small sample: detection, requests, and skipped lines.

use crate::samples;
use ioda_workload::{BlkparseEvent, Compression, Format, Op, ReadOptions, TimeUnit, TraceReader};
use std::io::Cursor;

/// Nanoseconds, operation, offset, size, device.
type Plain = (u64, char, u64, u64, u32);

fn read_with(bytes: &[u8], options: &ReadOptions) -> (Vec<Plain>, TraceReader) {
    let mut reader = TraceReader::from_reader(Cursor::new(bytes.to_vec()), "sample", options)
        .expect("a sample can be opened");
    let requests = reader
        .by_ref()
        .map(|item| {
            let request = item.expect("a sample can be read");
            let op = if request.op == Op::Read { 'R' } else { 'W' };
            (request.at.as_nanos(), op, request.offset_bytes, request.size_bytes, request.device)
        })
        .collect();
    (requests, reader)
}

fn read(text: &str) -> (Vec<Plain>, TraceReader) {
    read_with(text.as_bytes(), &ReadOptions::default())
}

/// Requests and reader of the sample of `format`.
fn read_sample(format: Format) -> (Vec<Plain>, TraceReader) {
    read_with(samples::sample(format).as_bytes(), &samples::options(format))
}

#[test]
fn each_sample_is_detected() {
    for format in Format::ALL {
        let (requests, reader) = read_sample(format);
        assert_eq!(reader.detected().format, format, "{}", reader.detected());
        assert!(!requests.is_empty());
        let counts = reader.counts();
        assert_eq!(counts.lines, counts.requests + counts.skipped_total());
        let text = samples::sample(format);
        let lines = match format {
            Format::Vscsi => text.len() / 32,
            Format::Blktrace => 5,
            _ => text.lines().count(),
        };
        assert_eq!(counts.lines, lines as u64);
    }
}

#[test]
fn each_sample_is_read_as_it_is_meant() {
    let disksim: &[Plain] = &[
        (0, 'R', 8_192, 4_096, 0),
        (1_500_000, 'W', 0, 512, 1),
        (2_750_000, 'R', 65_536, 32_768, 0),
    ];
    let expected: [(Format, &[Plain], &str); 16] = [
        (
            Format::Msr,
            &[
                (0, 'R', 8_192, 4_096, 0),
                (1_000_000_000, 'W', 512, 1_024, 1),
                (1_000_010_000, 'W', 0, 512, 0),
            ],
            "nothing",
        ),
        (Format::DiskSim, disksim, "nothing"),
        (Format::MqSim, disksim, "nothing"),
        (Format::SsdSim, disksim, "nothing"),
        (Format::Msps, disksim, "nothing"),
        (Format::Systor, &[(0, 'W', 0, 512, 1), (250_000_000, 'R', 4_096, 131_072, 0)], "header 1"),
        (
            Format::Tencent,
            &[
                (0, 'W', 8_192, 4_096, 0),
                (500_000_000, 'R', 0, 512, 1),
                (1_000_000_000, 'R', 65_536, 32_768, 0),
            ],
            "nothing",
        ),
        (
            Format::Alibaba,
            &[
                (0, 'W', 8_192, 4_096, 0),
                (1_000_000, 'R', 0, 16_384, 1),
                (1_001_000, 'R', 4_096, 4_096, 0),
            ],
            "nothing",
        ),
        (
            Format::Spc,
            &[
                (0, 'W', 8_192, 3_584, 0),
                (26_214_000, 'R', 0, 3_072, 1),
                (26_215_000, 'R', 16_384, 512, 0),
            ],
            "nothing",
        ),
        (
            Format::Blkparse,
            &[
                (0, 'R', 8_192, 4_096, 0),
                (100_000, 'W', 0, 512, 0),
                (1_075_327, 'W', 4_096, 4_096, 1),
            ],
            "blank line 1, event C 1, event Q 1, event m 1, summary 4, discard 1, flush 1, \
             command without data 1",
        ),
        (
            Format::Blktrace,
            &[(0, 'R', 8_192, 4_096, 0), (257, 'W', 0, 512, 0)],
            "event Q 1, flush 1, notice 1",
        ),
        (
            Format::FioIologV2,
            &[(0, 'R', 8_192, 4_096, 0), (1_500_000_000, 'W', 0, 512, 0)],
            "header 1, discard 1, flush 1, file action 3, wait 1",
        ),
        (
            Format::FioIologV3,
            &[(0, 'R', 8_192, 4_096, 0), (1_500_000, 'W', 0, 512, 0)],
            "header 1, flush 1, file action 3",
        ),
        (
            Format::Blkreplay,
            &[
                (0, 'R', 8_192, 4_096, 0),
                (449_518_165, 'W', 0, 512, 0),
                (449_518_166, 'R', 65_536, 32_768, 0),
            ],
            "blank line 1, header 3",
        ),
        (Format::Csv, &[(0, 'R', 8_192, 4_096, 0), (1_500_250, 'W', 0, 512, 1)], "header 1"),
        (
            Format::Vscsi,
            &[(0, 'R', 8_192, 4_096, 0), (257_000, 'W', 0, 512, 0)],
            "discard 1, SCSI command 0x12 1",
        ),
    ];
    for (format, requests, skipped) in expected {
        let (found, reader) = read_sample(format);
        assert_eq!(found, requests, "{format}");
        assert_eq!(reader.counts().skipped_text(), skipped, "{format}");
    }
}

#[test]
fn carriage_returns_and_a_byte_order_mark_change_nothing() {
    for format in Format::ALL.into_iter().filter(|format| format.is_text()) {
        let text = samples::sample(format);
        let read = |text: &str| read_with(text.as_bytes(), &samples::options(format)).0;
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(read(&windows), read(text), "{format}");
        let unfinished = text.trim_end_matches('\n');
        assert_eq!(read(unfinished), read(text), "{format}");
    }
}

#[test]
fn compression_is_told_by_the_first_bytes() {
    use std::io::Write;
    let plain = samples::sample(Format::Msr).as_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(plain).unwrap();
    let cases = [
        (Compression::Plain, plain.to_vec()),
        (Compression::Gzip, gzip.finish().unwrap()),
        (Compression::Zstd, zstd::encode_all(plain, 1).unwrap()),
        (Compression::Bzip2, bzip2.finish().unwrap()),
    ];
    let expected = read(samples::sample(Format::Msr)).0;
    for (compression, bytes) in cases {
        let (requests, reader) = read_with(&bytes, &ReadOptions::default());
        assert_eq!(reader.detected().compression, compression);
        assert_eq!(requests, expected);
        // Files that were compressed separately and then concatenated are one file.
        let twice = [bytes.as_slice(), &bytes].concat();
        let clamp = ReadOptions { reorder_window: Some(8), ..ReadOptions::default() };
        assert_eq!(read_with(&twice, &clamp).0.len(), 2 * expected.len(), "{compression}");
    }
}

#[test]
fn units_can_be_forced() {
    let options = ReadOptions {
        time_unit: Some(TimeUnit::Seconds),
        sector_bytes: Some(4_096),
        ..samples::options(Format::DiskSim)
    };
    let (requests, reader) = read_with(samples::sample(Format::DiskSim).as_bytes(), &options);
    assert_eq!(requests[1], (1_500_000_000, 'W', 0, 4_096, 1));
    assert_eq!(requests[0].2, 65_536);
    let text = reader.detected().to_string();
    assert!(text.contains("the time unit s was given"), "{text}");
    assert!(text.contains("the sector size of 4096 B was given"), "{text}");
}

#[test]
fn blkparse_can_take_other_events() {
    for (event, requests) in [(BlkparseEvent::Queue, 1), (BlkparseEvent::Complete, 1)] {
        let options = ReadOptions { blkparse_event: Some(event), ..ReadOptions::default() };
        let (found, _) = read_with(samples::sample(Format::Blkparse).as_bytes(), &options);
        assert_eq!(found.len(), requests);
    }
}

#[test]
fn column_maps_describe_any_csv() {
    let by_place = ReadOptions {
        columns: Some(
            "time=4:ms,op=2:0/1,offset=0:sectors,size=1:sectors,device=3".parse().unwrap(),
        ),
        ..ReadOptions::default()
    };
    let expected = vec![(0, 'R', 8_192, 4_096, 0), (2_500_000, 'W', 0, 512, 1)];
    let (requests, _) = read_with(b"16,8,0,x,10\n0,1,1,y,12.5\n", &by_place);
    assert_eq!(requests, expected);
    let (requests, reader) = read_with(b"lba,n,rw,disk,t\n16,8,0,x,10\n0,1,1,y,12.5\n", &by_place);
    assert_eq!(requests, expected);
    assert_eq!(reader.counts().skipped_text(), "header 1");
    let by_name = ReadOptions {
        columns: Some(
            "time=t:ms,op=rw,offset=lba:sectors,size=n,device=disk,separator=tab".parse().unwrap(),
        ),
        ..ReadOptions::default()
    };
    let (requests, _) =
        read_with(b"lba\tn\trw\tdisk\tt\n16\t4096\tRead\tx\t10\n0\t512\tW\ty\t12.5\n", &by_name);
    assert_eq!(requests, expected);
}

#[test]
fn disorder_is_put_right_within_the_window_and_counted() {
    let text = "t_us,op,offset_bytes,size_bytes\n5,R,0,512\n3,R,512,512\n4,W,0,512\n9,R,0,512\n";
    let (requests, reader) = read(text);
    let times: Vec<u64> = requests.iter().map(|request| request.0).collect();
    assert_eq!(times, [0, 1_000, 2_000, 6_000]);
    assert_eq!(reader.counts().reordered, 2);
    let clamp = ReadOptions { reorder_window: Some(0), clamp_time: true, ..ReadOptions::default() };
    let (requests, reader) = read_with(text.as_bytes(), &clamp);
    let times: Vec<u64> = requests.iter().map(|request| request.0).collect();
    assert_eq!(times, [0, 0, 0, 4_000]);
    assert_eq!((reader.counts().reordered, reader.counts().clamped), (0, 2));
}

#[test]
fn whole_seconds_can_be_kept() {
    let keep = ReadOptions { spread_seconds: Some(false), ..ReadOptions::default() };
    let (requests, _) = read_with(samples::sample(Format::Tencent).as_bytes(), &keep);
    assert_eq!(requests.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 0, 1_000_000_000]);
}

#[test]
fn empty_requests_can_be_skipped() {
    let skip = ReadOptions { skip_zero_length: true, ..ReadOptions::default() };
    let text = b"t_us,op,offset_bytes,size_bytes\n0,R,0,0\n1,W,0,512\n";
    let (requests, reader) = read_with(text, &skip);
    assert_eq!(requests, [(0, 'W', 0, 512, 0)]);
    assert_eq!(reader.counts().skipped_text(), "header 1, zero length 1");
}

#[test]
fn detection_prints_for_people() {
    assert_eq!(
        read_sample(Format::DiskSim).1.detected().to_string(),
        "format disksim, times in ms, sectors of 512 B, plain\n  \
         - the format disksim was given\n  \
         - a request reads where its flag is 1, as DiskSim, MQSim and SSDSim prescribe\n  \
         - disksim counts in sectors of 512 B, as block layers do\n  \
         - disksim prescribes times in ms\n  \
         - mean interval of the first 3 requests: 1.38ms"
    );
}
