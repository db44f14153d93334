//! Files as tools write them: tables of biosnoop, output of blkparse with other lines among its
//! events, logs of fio, binaries and archives. Each is read correctly, or refused with a sentence
//! that says what to type. None is read wrongly without an error. The snapshot has the output for
//! each file.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_workload::{BlkparseEvent, Format, Op, ReadOptions, TimeUnit, TraceReader};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

/// Microseconds, operation, offset, size, device.
pub(crate) type Plain = (u64, char, u64, u64, u32);

/// Expected result for a file.
enum Fate {
    /// These requests, and these reasons for skipped lines.
    Read(Vec<Plain>, &'static str),
    /// An error with these words.
    Refused(&'static str),
}
use Fate::{Read, Refused};

struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    options: ReadOptions,
    fate: Fate,
}

fn case(name: &'static str, bytes: impl Into<Vec<u8>>, fate: Fate) -> Case {
    Case { name, bytes: bytes.into(), options: ReadOptions::default(), fate }
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut ReadOptions)) -> Self {
        change(&mut self.options);
        self
    }
}

/// The two requests in most files.
fn two() -> Vec<Plain> {
    vec![(0, 'W', 512 << 10, 8_192, 0), (1_293, 'R', 4_096, 4_096, 0)]
}

const BCC: &str = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";

fn snoops() -> Vec<Case> {
    let table = |header: &str, rows: &str| format!("{header}{rows}");
    vec![
        case(
            "biosnoop of bcc",
            table(
                BCC,
                "0.000000    jbd2/vda1-8    422     vda       W 1024       8192      5.11\n\
                 0.001293    fio            999     vda       R 8          4096      5.49\n",
            ),
            Read(two(), "header 1"),
        ),
        case(
            "names of programs with blanks",
            table(
                BCC,
                "0.000000    Web Content    422     vda       W 1024       8192      5.11\n\
                 0.001293    tmux: server 1 999     vda       R 8          4096      5.49\n",
            ),
            Read(two(), "header 1"),
        ),
        case(
            "biosnoop -Q",
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
             0.000000    fio            422    vda     W 1024       8192      0.01    5.11\n\
             0.001293    Chrome IO Th   422    vda     R 8          4096      0.02    5.49\n",
            Read(two(), "header 1"),
        ),
        case(
            "biosnoop -P, all random",
            "TIME(s)     COMM           PID    DISK    T P SECTOR     BYTES  LAT(ms)\n\
             0.000000    fio            422    vda     W R 1024       8192      5.11\n\
             0.001293    fio            422    vda     R R 8          4096      5.49\n",
            Read(two(), "header 1"),
        ),
        case(
            "biosnoop of libbpf-tools",
            "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
             0.000000    kworker/u8:2   422     vda     WSM  1024       8192      5.110\n\
             0.000100    jbd2/vda1-8    422     vda     FF   -1         0         1.110\n\
             0.000200    jbd2/vda1-8    422     vda     FWFS -1         0         1.110\n\
             0.001293    cat            422     vda     RA   8          4096      5.490\n",
            Read(two(), "header 1, flush 2"),
        ),
        case(
            "biosnoop with TIMESTAMP",
            "TIMESTAMP   COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
             3.500000    kworker/u8:2   422     vda     WSM  1024       8192      5.110\n\
             3.501293    cat            422     vda     RA   8          4096      5.490\n",
            Read(two(), "header 1"),
        ),
        case(
            "a flush, and a command to the drive itself",
            table(
                BCC,
                "0.000000    fio            422     vda       W 1024                 8192      5.11\n\
                 0.000100    fsync          422     vda       W 18446744073709551615 0         5.11\n\
                 0.000200    smartctl       422     vda       R 18446744073709551615 512       5.11\n\
                 0.000300    fsync          422     vda       R 0                    0         5.11\n\
                 0.001293    fio            422     vda       R 8                    4096      5.49\n",
            ),
            Read(two(), "header 1, flush 2, command without data 1"),
        ),
        case(
            "messages around the table",
            format!(
                "Attaching 4 probes...\n{BCC}\
                 0.000000    fio            422     vda       W 1024       8192      5.11\n\
                 Possibly lost 12 samples\n\
                 0.001293    fio            422     vda       R 8          4096      5.49\n^C\n"
            ),
            Read(two(), "header 1, message 3"),
        ),
        case(
            "a program of a Latin-1 system",
            [
                BCC.as_bytes(),
                b"0.000000    M\xfcller         422     vda       W 1024       8192      5.11\n\
                  0.001293    M\xe4ller         422     vda       R 8          4096      5.49\n",
            ]
            .concat(),
            Read(two(), "header 1"),
        ),
        case(
            "a line that is cut off",
            table(
                BCC,
                "0.000000    fio            422     vda       W 1024       8192      5.11\n\
                 0.001293    fio            422     vda       R 8\n",
            ),
            Refused("line 3: found 6 columns"),
        ),
        case(
            "disksnoop, which prints no sector",
            "TIME(s)            T  BYTES    LAT(ms)\n\
             16458043.436012    W  4096        3.13\n\
             16458043.437326    R  4096        4.44\n",
            Refused("the header has no name for the offset"),
        ),
        case(
            "biosnoop.bt, which prints neither operation nor sector",
            "Attaching 4 probes...\n\
             TIME(ms)     DISK    COMM             PID    LAT(ms)\n\
             611          nvme0n1 bash             4179        10\n\
             612          nvme0n1 cksum            4179         0\n",
            Refused("no name for"),
        ),
        case(
            "letters that are no operations",
            "time_s,state,offset_bytes,size_bytes\n0,R,0,4096\n1,R,4096,4096\n",
            Refused("the header has no name for the operation"),
        ),
    ]
}

/// Lines of blkparse: seconds, process, action and the rest.
fn events(lines: &[(&str, &str)]) -> String {
    lines.iter().fold(String::new(), |mut text, (time, rest)| {
        writeln!(text, "  8,16   1       11     {time} 15754  {rest}").unwrap();
        text
    })
}

const ISSUES: [(&str, &str); 2] =
    [("0.000000000", "D   W 1024 + 16 [fio]"), ("0.001293000", "D  RA 8 + 8 [cat]")];

/// The two issues with lines between them.
fn around(between: &str) -> String {
    let [first, last] = ISSUES;
    format!("{}{between}{}", events(&[first]), events(&[last]))
}

fn of_blkparse() -> Vec<Case> {
    let table = "\
CPU0 (sdb):
 Reads Queued:          46,      184KiB\t Writes Queued:          21,       84KiB
 Read depth:             1        \t Write depth:             1

Total (sdb):
 PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB
 IO unplugs:             0        \t Timer unplugs:           0

Throughput (R/W): 13333KiB/s / 6666KiB/s
Events (sdb): 96 entries
Skips: 0 forward (0 -   0.0%)
";
    let programs = "\
fio (1000)
 Reads Queued:          46,      184KiB\t Writes Queued:          21,       84KiB
 Completion wait:        0        \t Completion wait:         0
Web Content (1001, ...)
 A row of blkparse to come:  0        \t Completion wait:         0
";
    let many: String = (0..200).map(|n| around("").replace("0.00", &format!("{n}.00"))).collect();
    let odd = |count: usize| "  8,16 1 11 0.000500000 15754  D   Y 64 + 8 [x]\n".repeat(count);
    vec![
        case(
            "flags of kernels to come",
            around(&events(&[
                ("0.000100000", "D WSUG 32 + 8 [pg]"),
                ("0.000200000", "D  RK 40 + 8 [pg]"),
            ])),
            Read(
                vec![
                    two()[0],
                    (100, 'W', 16_384, 4_096, 0),
                    (200, 'R', 20_480, 4_096, 0),
                    two()[1],
                ],
                "nothing; reordered 0, clamped 0; unknown flags: G 1, K 1",
            ),
        ),
        case(
            "zones, and operations that move no data",
            around(&events(&[
                ("0.000100000", "D ZAS 32 + 8 [zfs]"),
                ("0.000200000", "D  ZR 0 + 524288 [zfs]"),
                ("0.000210000", "D ZRA 0 + 0 [zfs]"),
                ("0.000220000", "D  ZO 0 + 524288 [zfs]"),
                ("0.000300000", "D  DE 0 + 524288 [zfs]"),
                ("0.000400000", "D   N 0 + 524288 [zfs]"),
                ("0.000500000", "D  FN [zfs]"),
                ("0.000600000", "D FWS 18446744073709551615 + 0 [zfs]"),
            ])),
            Read(
                vec![two()[0], (100, 'W', 16_384, 4_096, 0), two()[1]],
                "discard 1, flush 2, command without data 1, zone command 3",
            ),
        ),
        case("an operation to come", around(&odd(3)), Read(two(), "unknown operation 3")),
        case(
            "too many of them",
            around(&odd(20)),
            Refused("20 of its 22 lines are odd (skipped: unknown operation 20)"),
        ),
        case("more, in a long trace", format!("{many}{}", odd(4)), {
            let mut all = Vec::new();
            for n in 0..200 {
                all.extend(
                    two().into_iter().map(|(at, op, o, s, d)| (n * 1_000_000 + at, op, o, s, d)),
                );
            }
            Read(all, "unknown operation 4")
        })
        .with(|options| options.reorder_window = Some(500)),
        case(
            "a name cut inside a character",
            [
                events(&ISSUES[..1]).replace("fio", "aaaaaaaaaaaaaa\u{1}").into_bytes(),
                events(&ISSUES[1..]).into_bytes(),
            ]
            .concat()
            .into_iter()
            .map(|byte| if byte == 1 { 0xc3 } else { byte })
            .collect::<Vec<u8>>(),
            Read(two(), "nothing"),
        ),
        case(
            "tables at the end",
            around("") + programs + "\n" + table,
            Read(two(), "blank line 3, summary 14"),
        ),
        case("a table in the middle", around(table), Read(two(), "blank line 2, summary 9")),
        case(
            "tables of blktrace itself",
            around(
                "=== sdb ===\n  CPU  0:                   96 events,        5 KiB data\n  Total:                    96 events (dropped 0),        5 KiB data\n",
            ),
            Read(two(), "summary 3"),
        ),
        case(
            "Input file, in a CSV that blkparse -f wrote",
            "0.000000000,W,1024,16\n0.001293000,R,8,8\nInput file sdb.blktrace.0 added\n",
            Read(two(), "message 1"),
        )
        .with(|options| {
            options.columns =
                Some("time=0:s,op=1,offset=2:sectors,size=3:sectors".parse().unwrap());
        }),
        case(
            "a damaged event",
            around("  8,16   1       11     0.0010\n"),
            Refused("line 2: found 4 columns"),
        ),
        case(
            "a line of something else",
            around("one two three\n"),
            Refused("line 2: found 3 columns"),
        ),
        case(
            "a damaged number",
            around(&events(&[("0.000100000", "D  WS 3z2 + 8 [pg]")])),
            Refused("line 2: the start sector \"3z2\""),
        ),
        case(
            "a request that is requeued",
            events(&[
                ("0.000000000", "D   W 1024 + 16 [fio]"),
                ("0.000100000", "D  WS 32 + 8 [pg]"),
                ("0.000110000", "R  WS 32 + 8 [0]"),
                ("0.000500000", "D  WS 32 + 16 [pg]"),
                ("0.001293000", "D  RA 8 + 8 [cat]"),
            ]),
            Read(
                vec![
                    two()[0],
                    (100, 'W', 16_384, 4_096, 0),
                    (500, 'W', 16_384, 8_192, 0),
                    two()[1],
                ],
                "event R 1; reordered 0, clamped 0; 1 was requeued: issued twice",
            ),
        ),
        case(
            "twice, and one that never comes again",
            events(&[
                ("0.000000000", "D   W 1024 + 16 [fio]"),
                ("0.000010000", "R   W 1024 + 16 [0]"),
                ("0.000020000", "D   W 1024 + 16 [fio]"),
                ("0.000030000", "R   W 1024 + 16 [0]"),
                ("0.000040000", "D   W 1024 + 16 [fio]"),
                ("0.001333000", "D  RA 8 + 8 [cat]"),
                ("0.001334000", "R  RA 8 + 8 [0]"),
            ]),
            Read(
                vec![
                    two()[0],
                    (20, 'W', 512 << 10, 8_192, 0),
                    (40, 'W', 512 << 10, 8_192, 0),
                    (1_333, 'R', 4_096, 4_096, 0),
                ],
                "event R 3; reordered 0, clamped 0; 2 were requeued: issued twice",
            ),
        ),
        case(
            "requeued before the trace began",
            events(&[
                ("0.000000000", "R   W 1024 + 16 [0]"),
                ("0.000010000", "D   W 1024 + 16 [fio]"),
                ("0.001303000", "D  RA 8 + 8 [cat]"),
            ]),
            Read(two(), "event R 1"),
        ),
        case(
            "requeued behind the reorder window",
            events(&[
                ("0.000000000", "D   W 1024 + 16 [fio]"),
                ("0.001293000", "D  RA 8 + 8 [cat]"),
                ("0.001294000", "R   W 1024 + 16 [0]"),
                ("0.001295000", "D   W 1024 + 16 [fio]"),
            ]),
            Read(
                vec![two()[0], two()[1], (1_295, 'W', 512 << 10, 8_192, 0)],
                "event R 1; reordered 0, clamped 0; 1 was requeued: issued twice",
            ),
        )
        .with(|options| options.reorder_window = Some(0)),
        case(
            "queued and completed, never issued",
            events(&[
                ("0.000000000", "Q   W 1024 + 16 [fio]"),
                ("0.000100000", "C   W 1024 + 16 [0]"),
                ("0.001293000", "Q  RA 8 + 8 [cat]"),
                ("0.002293000", "C  RA 8 + 8 [0]"),
            ]),
            Read(two(), "event C 2"),
        ),
        case(
            "completed only",
            events(&[("0.000000000", "C   W 1024 + 16 [0]"), ("0.001293000", "C  RA 8 + 8 [0]")]),
            Read(two(), "nothing"),
        ),
        case(
            "queued, and issued far into the trace",
            events(&vec![("0.000000000", "Q   W 1024 + 16 [fio]"); 500]) + &events(&ISSUES[1..]),
            Refused("line 501: this is an issue (D) of a request"),
        ),
        case(
            "the same with the event that is meant",
            events(&vec![("0.000000000", "Q   W 1024 + 16 [fio]"); 500])
                + &events(&[
                    ("5.000000000", "D   W 1024 + 16 [fio]"),
                    ("5.001293000", "D  RA 8 + 8 [cat]"),
                ]),
            Read(two(), "event Q 500"),
        )
        .with(|options| options.blkparse_event = Some(BlkparseEvent::Issue)),
    ]
}

fn logs() -> Vec<Case> {
    let v2 = |waits: [&str; 3]| {
        let [a, b, c] = waits;
        format!(
            "fio version 2 iolog\nd add\nd open\nd wait {a} 0\nd write 524288 8192\nd wait {b} 0\n\
             d read 4096 4096\nd wait {c} 0\nd read 0 4096\nd close\n"
        )
    };
    let at = |second: u64, third: u64| {
        vec![(0, 'W', 524_288, 8_192, 0), (second, 'R', 4_096, 4_096, 0), (third, 'R', 0, 4_096, 0)]
    };
    let later = |waits: &str| {
        let lines: String =
            (1..400).map(|n| format!("d wait {n} 0\nd read {} 4096\n", n * 4096)).collect();
        format!("fio version 2 iolog\n{lines}{waits}")
    };
    vec![
        case("waits that grow", v2(["4000", "6000", "6500"]), Read(at(2_000_000, 2_500_000), "header 1, file action 3, wait 3")),
        case("waits that stay", v2(["4000", "6000", "6000"]), Read(at(2_000_000, 2_000_000), "header 1, file action 3, wait 3")),
        case("waits that are alike", v2(["1500", "1500", "1500"]), Refused("all its waits are 1500")),
        case("waits that go back", v2(["4000", "6000", "1000"]), Refused("--time-unit ms or --time-unit us")),
        case(
            "waits that go back, as fio takes them",
            v2(["4000", "6000", "1000"]),
            Read(at(2_000_000, 2_000_000), "header 1, file action 3, wait 2, wait that has passed 1"),
        )
        .with(|options| options.time_unit = Some(TimeUnit::Milliseconds)),
        case(
            "waits that add up",
            v2(["4000", "6000", "1000"]),
            Read(at(6_000, 7_000), "header 1, file action 3, wait 3"),
        )
        .with(|options| options.time_unit = Some(TimeUnit::Microseconds)),
        case("waits in seconds", v2(["4", "6", "10"]), Refused("time unit cannot be used here"))
            .with(|options| options.time_unit = Some(TimeUnit::Seconds)),
        case(
            "a wait that goes back far into the log",
            later("d wait 7 0\nd read 0 4096\n"),
            Refused("line 800: the wait of 7 comes after one of 399"),
        ),
        case(
            "files whose names differ in bytes that are not UTF-8",
            b"fio version 3 iolog\n0 M\xfc add\n0 M\xe4 add\n0 M\xfc write 524288 8192\n1293 M\xe4 read 4096 4096\n".as_slice(),
            Read(vec![two()[0], (1_293, 'R', 4_096, 4_096, 1)], "header 1, file action 2"),
        ),
        case(
            "messages of fio before its log",
            "fio-3.33\nStarting 1 process\nfio version 3 iolog\n0 d add\n0 d write 524288 8192\n1293 d read 4096 4096\n",
            Read(two(), "header 1, file action 1, message 2"),
        ),
        case(
            "MSR with a host of a Latin-1 system, and a trim",
            b"128166372003061629,M\xfcller,0,Write,524288,8192,9\n128166372003061700,M\xfcller,0,Trim,0,512,9\n\
              128166372003074559,M\xfcller,0,Read,4096,4096,9\n".as_slice(),
            Read(two(), "discard 1"),
        ),
    ]
}

/// An event of blktrace.
pub(crate) fn event(
    big: bool,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    cpu: u32,
) -> Vec<u8> {
    let (mut out, put) = (Vec::new(), |number: u64, length: usize| {
        let bytes = number.to_be_bytes();
        let mut part = bytes[8 - length..].to_vec();
        if !big {
            part.reverse();
        }
        part
    });
    for (number, length) in [
        (0x6561_7407, 4),
        (1, 4),
        (time, 8),
        (sector, 8),
        (bytes.into(), 4),
        (action.into(), 4),
        (42, 4),
        (8 << 20 | 16, 4),
        (cpu.into(), 4),
        (0, 2),
        (0, 2),
    ] {
        out.extend(put(number, length));
    }
    out
}

/// Actions of blktrace.
pub(crate) const ISSUED_WRITE: u32 = 7 | 0x0142 << 16;
pub(crate) const ISSUED_READ: u32 = 7 | 0x0141 << 16;
const REQUEUED_WRITE: u32 = 6 | 0x0122 << 16;
const QUEUED_WRITE: u32 = 1 | 0x0112 << 16;
const QUEUED_READ: u32 = 1 | 0x0111 << 16;
const COMPLETED_READ: u32 = 8 | 0x0181 << 16;
const FLUSH: u32 = 7 | 0x0144 << 16;
const DISCARD: u32 = 7 | 0x2142 << 16;
const PASSED_THROUGH: u32 = 7 | 0x0241 << 16;

fn binaries() -> Vec<Case> {
    let trace = |big: bool| {
        [
            event(big, 5_000, 1024, 8_192, QUEUED_WRITE, 0),
            event(big, 6_000, 1024, 8_192, ISSUED_WRITE, 0),
            event(big, 6_500, 1024, 8_192, REQUEUED_WRITE, 0),
            event(big, 7_000, 1024, 8_192, ISSUED_WRITE, 0),
            event(big, 8_000, 0, 0, FLUSH, 0),
            event(big, 8_000, 64, 4_096, DISCARD, 0),
            event(big, 8_000, 0, 512, PASSED_THROUGH, 0),
            event(big, 1_300_000, 8, 4_096, ISSUED_READ, 0),
            event(big, 1_400_000, 8, 4_096, COMPLETED_READ, 0),
        ]
        .concat()
    };
    let said = "event C 1, event Q 1, event R 1, discard 1, flush 1, command without data 1; reordered 0, clamped 0; 1 was requeued: issued twice";
    let twice = || vec![two()[0], (1, 'W', 512 << 10, 8_192, 0), (1_294, 'R', 4_096, 4_096, 0)];
    let queued = [
        event(false, 0, 1024, 8_192, QUEUED_WRITE, 0),
        event(false, 1_293_000, 8, 4_096, QUEUED_READ, 0),
    ];
    let mut next_version = trace(false);
    next_version[0] = 8;
    let mut oracle = Vec::new();
    for (time, object, size, next) in
        [(1_u32, 7_u64, 4096_u32, 3_i64), (1, 8, 512, -1), (5, 7, 4096, -1), (6, 9, 1, -1)]
    {
        oracle.extend(time.to_le_bytes());
        oracle.extend(object.to_le_bytes());
        oracle.extend(size.to_le_bytes());
        oracle.extend(next.to_le_bytes());
    }
    let wide = |mark: &[u8], big: bool| {
        let text = "time_us,op,offset_bytes,size_bytes\n0,W,524288,8192\n";
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        [mark, &text.encode_utf16().flat_map(unit).collect::<Vec<u8>>()].concat()
    };
    let other = |magic: &[u8]| [magic, b"\0\0\0\x10rest\0\0\0\0"].concat();
    vec![
        case("blktrace, little endian", trace(false), Read(twice(), said)),
        case("blktrace, big endian", trace(true), Read(twice(), said)),
        case("blktrace, queued only", queued.concat(), Read(two(), "nothing")),
        case("blktrace, the next version", next_version, Refused("in version 8")),
        case(
            "blktrace, cut off",
            trace(false)[..400].to_vec(),
            Refused("record 9: the file ends after 16 of the 48 bytes"),
        ),
        case(
            "blktrace, damaged",
            [trace(false), vec![b'x'; 48]].concat(),
            Refused("record 10: no event of blktrace begins here"),
        ),
        case(
            "blktrace, CPUs one after the other",
            [trace(false), trace(false)].concat(),
            Refused("name one of the files, such as NAME.blktrace.0"),
        )
        .with(|options| options.reorder_window = Some(0)),
        case(
            "blktrace as another format",
            trace(false),
            Refused("leave --format and --columns out"),
        )
        .with(|options| options.format = Some(Format::Csv)),
        case(
            "another format as blktrace",
            around(""),
            Refused("does not begin with an event of blktrace"),
        )
        .with(|options| options.format = Some(Format::Blktrace)),
        case("oracleGeneral", oracle, Refused("oracleGeneral trace of libCacheSim")),
        case(
            "UTF-16, little endian",
            wide(b"\xff\xfe", false),
            Refused("iconv -f UTF-16 -t UTF-8 t |"),
        ),
        case(
            "UTF-16, big endian",
            wide(b"\xfe\xff", true),
            Refused("iconv -f UTF-16 -t UTF-8 t |"),
        ),
        case("UTF-16 without a mark", wide(b"", false), Refused("iconv -f UTF-16LE -t UTF-8 t |")),
        case(
            "UTF-16 in gzip",
            gzip(&wide(b"\xff\xfe", false)),
            Refused("gzip -dc t | iconv -f UTF-16 -t UTF-8 |"),
        ),
        case(
            "Parquet",
            other(b"PAR1"),
            Refused("pandas.read_parquet('t').to_csv('t.csv', index=False)"),
        ),
        case("Feather", other(b"ARROW1\0\0"), Refused("pandas.read_feather")),
        case("Feather, the first version", other(b"FEA1"), Refused("pandas.read_feather")),
        case("Arrow, a stream", other(b"\xff\xff\xff\xff"), Refused("is a stream of Arrow")),
        case("HDF5", other(b"\x89HDF\r\n\x1a\n"), Refused("pandas.read_hdf")),
        case("perf", other(b"PERFILE2"), Refused("is a recording of perf")),
        case("SQLite", other(b"SQLite format 3\0"), Refused("is an SQLite database")),
        case("7z", other(b"7z\xbc\xaf\x27\x1c"), Refused("7z x -so t | ioda trace inspect -")),
        case("lz4", other(b"\x04\x22\x4d\x18"), Refused("lz4 -dc t | ioda trace inspect -")),
        case("rubbish", b"\x01\x02\xff\0\x80rubbish\n\n".as_slice(), Refused("is not UTF-8 text")),
        case(
            "text that begins as a Parquet file",
            "PAR1,W,8192,4096,1577808000000046\n",
            Read(vec![(0, 'W', 8_192, 4_096, 0)], "nothing"),
        ),
    ]
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    xz.write_all(bytes).unwrap();
    xz.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).unwrap();
    bzip2.finish().unwrap()
}

/// A tar archive of these members, with their `kind` as in the head.
pub(crate) fn tar(members: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, kind, data) in members {
        let mut head = [0; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        head[148..156].fill(b' ');
        head[156] = *kind;
        head[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        head[154] = 0;
        archive.extend(head);
        archive.extend(*data);
        archive.resize(archive.len().div_ceil(512) * 512, 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

fn archives() -> Vec<Case> {
    let text = "t_us,op,offset_bytes,size_bytes\n0,W,524288,8192\n1293,R,4096,4096\n".as_bytes();
    let files =
        tar(&[("MSR/", b'5', b""), ("MSR/hm 0.csv", b'0', text), ("MSR/hm_1.csv", b'0', text)]);
    let long = "folder/".repeat(20) + "a.csv";
    let long_data = [long.as_bytes(), b"\0"].concat();
    let record = format!(" path={long}\n");
    let pax = format!("{}{record}", record.len() + 3);
    let mut broken = xz(text);
    let middle = broken.len() / 2;
    broken[middle] ^= 0x55;
    vec![
        case("xz", xz(text), Read(two(), "header 1")),
        case("xz, two after each other", [xz(text), xz(b"1400,R,0,512\n")].concat(), {
            Read([two(), vec![(1_400, 'R', 0, 512, 0)]].concat(), "header 1")
        }),
        case("xz, damaged", broken, Refused("its xz data is broken or cut off")),
        case("xz, cut off", xz(text)[..40].to_vec(), Refused("its xz data is broken or cut off")),
        case(
            "gzip in gzip",
            gzip(&gzip(text)),
            Refused("unpack them once: gzip -dc t | ioda trace inspect -"),
        ),
        case(
            "xz in zstd",
            zstd::encode_all(xz(text).as_slice(), 1).unwrap(),
            Refused("zstd data with xz data in them"),
        ),
        case("tar", files.clone(), Refused("tar -xOf t 'MSR/hm 0.csv' | ioda trace inspect -")),
        case(
            "tar in gzip",
            gzip(&files),
            Refused("a tar archive in gzip with 2 members (MSR/hm 0.csv, MSR/hm_1.csv)"),
        ),
        case(
            "tar in zstd",
            zstd::encode_all(files.as_slice(), 1).unwrap(),
            Refused("a tar archive in zstd with 2 members"),
        ),
        case("tar in bzip2", bzip2(&files), Refused("a tar archive in bzip2 with 2 members")),
        case("tar in xz", xz(&files), Refused("a tar archive in xz with 2 members")),
        case(
            "tar with long names",
            tar(&[
                ("@LongLink", b'L', &long_data),
                ("cut", b'0', text),
                ("pax", b'x', pax.as_bytes()),
                ("cut", b'0', text),
            ]),
            Refused("folder/a.csv | ioda trace inspect -"),
        ),
        case("tar of folders", tar(&[("a/", b'5', b"")]), Refused("a tar archive without files")),
        case(
            "zip through a pipe",
            b"PK\x03\x04\x14\0\0\0\x08\0".as_slice(),
            Refused("unzip -p FILE MEMBER | ioda trace inspect -"),
        ),
    ]
}

/// The requests and the description, or the error.
pub(crate) fn outcome(bytes: &[u8], options: &ReadOptions) -> Result<(Vec<Plain>, String), String> {
    let mut reader = TraceReader::from_reader(Cursor::new(bytes.to_vec()), "t", options)
        .map_err(|error| error.to_string())?;
    described(&mut reader)
}

/// The requests and the description of a reader, or its error.
pub(crate) fn described(reader: &mut TraceReader) -> Result<(Vec<Plain>, String), String> {
    let mut requests = Vec::new();
    for request in reader.by_ref() {
        let request = request.map_err(|error| error.to_string())?;
        let op = if request.op == Op::Read { 'R' } else { 'W' };
        let at = request.at.as_nanos() / 1_000;
        requests.push((at, op, request.offset_bytes, request.size_bytes, request.device));
    }
    let evidence = reader.detected().evidence.join("\n  - ");
    Ok((requests, format!("{}\n  - {evidence}", reader.counts())))
}

#[test]
fn every_file_of_tools_is_read_right_or_refused() {
    let cases: Vec<Case> =
        [snoops(), of_blkparse(), logs(), binaries(), archives()].into_iter().flatten().collect();
    assert!(cases.len() >= 80, "{}", cases.len());
    let (mut text, mut wrong) = (String::new(), String::new());
    for case in &cases {
        let found = outcome(&case.bytes, &case.options);
        let as_expected = match (&found, &case.fate) {
            (Ok((requests, said)), Read(expected, skipped)) => {
                requests == expected && said.contains(&format!("skipped: {skipped}"))
            }
            (Err(sentence), Refused(words)) => sentence.contains(words) && !sentence.contains('\n'),
            _ => false,
        };
        if !as_expected {
            let mut found = format!("{found:?}");
            found.truncate(1_000);
            writeln!(wrong, "{}: {found}", case.name).unwrap();
        }
        let said = match &found {
            Ok((_, said)) => format!("read\n  {said}"),
            Err(sentence) => format!("refused\n  {sentence}"),
        };
        writeln!(text, "{}: {said}\n", case.name).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
    insta::assert_snapshot!("odd-files", text);
}
