//! Writes that demand stable storage, in every format that can express it, and flushes.

use ioda_workload::{
    Counts, Format, Op, ReadOptions, Request, TraceReader, TraceWriter, WriteFormat,
};
use std::io::Cursor;

fn read(bytes: &[u8]) -> (Vec<Request>, Format, Counts) {
    let options = ReadOptions::default();
    let mut reader = TraceReader::from_reader(Cursor::new(bytes.to_vec()), "sample", &options)
        .expect("a sample can be opened");
    let requests: Vec<Request> =
        reader.by_ref().map(|item| item.expect("a sample can be read")).collect();
    (requests, reader.detected().format, reader.counts().clone())
}

/// Numbers of the requests that follow a flush.
fn after_flushes(requests: &[Request]) -> Vec<usize> {
    let numbered = requests.iter().enumerate();
    numbered.filter(|(_, request)| request.after_flush).map(|(number, _)| number).collect()
}

/// Numbers of the requests that demand stable storage.
fn durable(requests: &[Request]) -> Vec<usize> {
    let numbered = requests.iter().enumerate();
    numbered.filter(|(_, request)| request.durable).map(|(number, _)| number).collect()
}

const BLKPARSE: &str = "\
  8,0    0        1     0.000000000  100  D   R 16 + 8 [a]
  8,0    0        2     0.000100000  100  D FWFS 32 + 8 [a]
  8,0    0        3     0.000200000  100  D  WS 48 + 8 [a]
  8,0    0        4     0.000300000  100  D WFSM 64 + 8 [a]
  8,0    0        5     0.000400000  100  D  FN [a]
  8,0    0        6     0.000500000  100  D  FW 80 + 8 [a]
  8,0    0        7     0.000600000  100  D  RM 96 + 8 [a]
";

const BLKREPLAY: &str = "\
0.000000000 ; 16 ; 8 ; R ; 0.0 ; 0.0
0.000100000 ; 32 ; 8 ; WF ; 0.0 ; 0.0
0.000200000 ; 49 ; 1 ; WS ; 0.0 ; 0.0
";

const CSV: &str = "\
t_us,op,offset_bytes,size_bytes
0,R,0,4096
100,WF,4096,4096
200,W,8192,4096
300,F,0,0
400,R,0,4096
";

const IOLOG: &str = "\
fio version 3 iolog
0 f add
0 f open
1 f write 0 4096
900 f sync 0 0
1000 f write 4096 4096
1500 f close
";

const BIOSNOOP: &str = "\
TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)
0.000000    jbd2/sda1-8    311     sda       FWFS 82088   4096   0.40
0.000400    postgres       900     sda       WS 90312     8192   0.60
0.000800    postgres       900     sda       R 120000     4096   0.10
";

#[test]
fn each_format_with_flags_tells_durable_writes_and_flushes() {
    for (text, format, expected, after) in [
        (BLKPARSE, Format::Blkparse, vec![1, 3, 4], vec![4]),
        (BLKREPLAY, Format::Blkreplay, vec![1], vec![]),
        (CSV, Format::Csv, vec![1], vec![3]),
        (BIOSNOOP, Format::Csv, vec![0], vec![]),
        (IOLOG, Format::FioIologV3, vec![], vec![1]),
    ] {
        let (requests, found, counts) = read(text.as_bytes());
        assert_eq!(after_flushes(&requests), after, "{text}");
        let flushes = after.len() as u64;
        assert_eq!((found, durable(&requests)), (format, expected), "{text}");
        assert_eq!((counts.durable, counts.flushes()), (durable(&requests).len() as u64, flushes));
    }
    let (_, _, counts) = read(BLKPARSE.as_bytes());
    let said = counts.to_string();
    assert!(said.contains("flush 1; "), "{said}");
    assert!(said.contains("; 3 writes ask for stable storage (FUA, or a flush ahead)"), "{said}");
}

/// Kinds of actions of blktrace, and an issue.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const FUA: u32 = 1 << 31;
const ISSUE: u32 = 7;

fn event(number: u32, kinds: u32, bytes: u32) -> Vec<u8> {
    let mut event = 0x6561_7407_u32.to_le_bytes().to_vec();
    event.extend(number.to_le_bytes());
    event.extend((u64::from(number) * 1_000).to_le_bytes());
    event.extend((u64::from(number) * 8).to_le_bytes());
    for word in [bytes, kinds | ISSUE, 1, 8 << 20, 0] {
        event.extend(word.to_le_bytes());
    }
    event.extend([0; 4]);
    event
}

#[test]
fn the_binary_of_blktrace_tells_them_too() {
    let kinds = [
        (READ, 4096),
        (WRITE, 4096),
        (WRITE | FUA, 4096),
        (WRITE | FLUSH, 4096),
        (WRITE | FLUSH, 0),
        (READ, 4096),
    ];
    let events = (1..).zip(kinds).flat_map(|(number, (kinds, bytes))| event(number, kinds, bytes));
    let (requests, format, counts) = read(&events.collect::<Vec<u8>>());
    assert_eq!((format, durable(&requests)), (Format::Blktrace, vec![2, 3]));
    assert_eq!((counts.durable, counts.flushes()), (2, 1));
    assert_eq!(after_flushes(&requests), [4]);
}

#[test]
fn fio_logs_keep_flushes_when_a_trace_is_written() {
    let (requests, _, _) = read(IOLOG.as_bytes());
    let mut writer = TraceWriter::new(Vec::new(), WriteFormat::FioIologV3).unwrap();
    requests.iter().for_each(|request| writer.write(request).unwrap());
    let written = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert!(
        written.contains("\n1000 device0 sync 0 0\n1000 device0 write 4096 4096\n"),
        "{written}"
    );
    assert_eq!(after_flushes(&read(written.as_bytes()).0), [1]);
}

#[test]
fn csv_keeps_them_when_a_trace_is_written() {
    let (requests, _, _) = read(BLKPARSE.as_bytes());
    let mut writer = TraceWriter::new(Vec::new(), WriteFormat::Csv).unwrap();
    requests.iter().for_each(|request| writer.write(request).unwrap());
    let (again, _, counts) = read(&writer.finish().unwrap());
    assert_eq!(again, requests);
    assert_eq!(counts.durable, 3);
    assert!(again.iter().all(|request| request.op == Op::Write || !request.durable));
}
