//! Five columns, as in DiskSim, MQSim, SSDSim, MSPS and the replayer of IODA's artifact.

use super::Fate::{Read, Refused};
use super::{DATE, File, MS, Req, S, US, file, truth, usual};

/// `time device sector sectors flag`.
fn sectors(time: &str, req: &Req) -> String {
    format!("{time} {} {} {} {}", req.device, req.offset / 512, req.size / 512, req.reads())
}

/// The same in bytes.
fn bytes(time: &str, req: &Req) -> String {
    format!("{time} {} {} {} {}", req.device, req.offset, req.size, req.reads())
}

pub(super) fn files() -> Vec<File> {
    [units(), addresses(), roles()].into_iter().flatten().collect()
}

fn units() -> Vec<File> {
    let in_ms = |req: &Req| sectors(&req.decimal(MS, 6), req);
    let in_us = |req: &Req| sectors(&req.in_units(US).to_string(), req);
    let in_ns = |req: &Req| sectors(&req.nanos.to_string(), req);
    let busy = || truth(10 * US, 1, 1);
    vec![
        file(
            "DiskSim: milliseconds with six digits",
            usual(),
            in_ms,
            Refused(&["in ms ", "in s ", "--time-unit ms", "--format disksim means ms"]),
            &["--format disksim", "--time-unit ms"],
        ),
        file(
            "MSPS: milliseconds with three digits",
            usual(),
            |req| sectors(&req.decimal(MS, 3), req),
            Refused(&["in ms ", "in us ", "--time-unit ms"]),
            &["--format disksim", "--format msps --time-unit ms"],
        ),
        file(
            "MSPS, said to be so",
            usual(),
            |req| sectors(&req.decimal(MS, 3), req),
            Refused(&["in ms ", "--time-unit ms"]),
            &["--format msps --time-unit ms"],
        )
        .given("--format msps"),
        file(
            "MQSim: nanoseconds of a busy drive",
            busy(),
            in_ns,
            Refused(&["in us ", "in ns ", "--time-unit ns", "--format mqsim"]),
            &["--format mqsim", "--time-unit ns", "--format MQSim"],
        ),
        file(
            "MQSim: nanoseconds of a clock of microseconds",
            truth(30 * US, US, 16),
            in_ns,
            Refused(&["in us ", "in ns ", "--time-unit ns"]),
            &["--format mqsim"],
        ),
        file("MQSim, said to be so", busy(), in_ns, Read("mqsim prescribes times in ns"), &[])
            .given("--format mqsim"),
        file(
            "SSDSim: microseconds",
            truth(2 * MS, US, 1),
            in_us,
            Refused(&["in us ", "in ns ", "--time-unit us"]),
            &["--time-unit us", "--format ssdsim --time-unit us"],
        ),
        file(
            "SSDSim, said to be so, for its files have several units",
            truth(2 * MS, US, 1),
            in_us,
            Refused(&["in us ", "in ns ", "--time-unit us"]),
            &["--format ssdsim --time-unit us"],
        )
        .given("--format ssdsim"),
        file(
            "SSDSim: nanoseconds",
            busy(),
            in_ns,
            Refused(&["in us ", "in ns "]),
            &["--format ssdsim --time-unit ns"],
        )
        .given("--format ssdsim"),
        file(
            "seconds with six digits",
            usual(),
            |req| sectors(&req.decimal(S, 6), req),
            Refused(&["in s ", "in ms ", "--time-unit s"]),
            &["--time-unit s"],
        ),
        file(
            "seconds with three digits",
            truth(500 * MS, MS, 1),
            |req| sectors(&req.decimal(S, 3), req),
            Refused(&["in s ", "in ms ", "--time-unit s"]),
            &["--time-unit s"],
        ),
        file(
            "seconds with nine digits, as blktrace has them",
            usual(),
            |req| sectors(&req.decimal(S, 9), req),
            Refused(&["if 1 reads it has 70 % reads, if 0 reads 30 % reads"]),
            &["--time-unit s", "--format disksim --time-unit s"],
        ),
        file(
            "seconds since 1970",
            usual(),
            |req| sectors(&Req { nanos: req.nanos + DATE * S, ..*req }.decimal(S, 6), req),
            Refused(&["if 1 reads it has 70 % reads", "type --format disksim --time-unit s"]),
            &["--time-unit s", "--format disksim --time-unit s"],
        ),
        file(
            "nanoseconds of a drive that is hardly used",
            truth(5 * S, 1, 1),
            in_ns,
            Read("any other unit would mean less than one an hour"),
            &[],
        ),
        file(
            "milliseconds without a fraction",
            truth(20 * MS, MS, 1),
            |req| sectors(&req.in_units(MS).to_string(), req),
            Refused(&["in s ", "in ms ", "in us ", "--time-unit ms"]),
            &["--format disksim"],
        ),
    ]
}

fn addresses() -> Vec<File> {
    let in_bytes = |req: &Req| bytes(&req.decimal(MS, 6), req);
    let other = |offset: u64, size: u64| {
        move |req: &Req| {
            let (offset, size) = (req.offset / offset, req.size / size);
            format!("{} 0 {offset} {size} {}", req.decimal(MS, 6), req.reads())
        }
    };
    let short = || {
        let mut all = usual();
        for (req, size) in all.iter_mut().zip([512, 1_024, 4_096].into_iter().cycle()) {
            (req.size, req.offset) = (size, req.offset + 512);
        }
        all
    };
    vec![
        file(
            "the replayer of IODA's artifact: bytes",
            usual(),
            in_bytes,
            Refused(&["in bytes requests of ", "in sectors requests of ", "--sector-bytes 1"]),
            &["--time-unit ms", "--format disksim --sector-bytes 1"],
        ),
        file(
            "the same with its unit of time",
            usual(),
            in_bytes,
            Read("addresses and sizes are in bytes"),
            &[],
        )
        .given("--time-unit ms"),
        file(
            "the same, said to be DiskSim's",
            usual(),
            in_bytes,
            Refused(&["disksim counts addresses and sizes in sectors", "--sector-bytes 1"]),
            &["--format disksim --sector-bytes 1"],
        )
        .given("--format disksim"),
        file(
            "bytes in nanoseconds, said to be MQSim's",
            truth(10 * US, 1, 1),
            |req| bytes(&req.nanos.to_string(), req),
            Refused(&["mqsim counts addresses and sizes in sectors", "--sector-bytes 1"]),
            &["--format mqsim --sector-bytes 1"],
        )
        .given("--format mqsim"),
        file(
            "sectors, with the unit of time",
            usual(),
            other(512, 512),
            Read("addresses and sizes are in sectors of 512 B"),
            &[],
        )
        .given("--time-unit ms"),
        file(
            "pages of 4 KiB",
            usual(),
            other(4_096, 4_096),
            Refused(&["what its addresses and sizes count is not said", "--sector-bytes 512"]),
            &["--format disksim --sector-bytes 4096"],
        )
        .given("--time-unit ms"),
        file(
            "KiB",
            usual(),
            other(1_024, 1_024),
            Refused(&["what its addresses and sizes count is not said"]),
            &["--time-unit ms --sector-bytes 1024"],
        )
        .given("--time-unit ms"),
        file(
            "addresses in bytes and sizes in sectors",
            usual(),
            other(1, 512),
            Refused(&["what its addresses and sizes count is not said"]),
            &["--columns time=0:ms,op=4:1/0,offset=2:bytes,size=3:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "addresses in sectors and sizes in bytes",
            usual(),
            other(512, 1),
            Refused(&["what its addresses and sizes count is not said"]),
            &["--columns time=0:ms,op=4:1/0,offset=2:sectors,size=3:bytes,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "sectors of requests that are shorter than pages",
            short(),
            other(512, 512),
            Refused(&["what its addresses and sizes count is not said", "--sector-bytes 512"]),
            &["--format disksim", "--time-unit ms --sector-bytes 512"],
        )
        .given("--time-unit ms"),
    ]
}

fn roles() -> Vec<File> {
    let time = |req: &Req| req.decimal(MS, 6);
    let (lba, count) = (|req: &Req| req.offset / 512, |req: &Req| req.size / 512);
    let two = || truth(MS, US, 2);
    vec![
        file(
            "type and stream: time type address size stream",
            usual(),
            move |req| {
                let (kind, stream) = (u8::from(req.writes), req.offset / 4_096 % 2);
                format!("{} {kind} {} {} {stream}", time(req), lba(req), count(req))
            },
            Refused(&["the operation may be column 1 as well as column 4"]),
            &["--columns time=0:ms,op=1:0/1,offset=2:sectors,size=3:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "two devices that are called 0 and 1",
            two(),
            move |req| sectors(&time(req), req),
            Refused(&["the operation may be column 1 as well as column 4"]),
            &["--format disksim"],
        )
        .given("--time-unit ms"),
        file(
            "type and one stream",
            usual(),
            move |req| format!("{} {} {} {} 0", time(req), req.reads(), lba(req), count(req)),
            Refused(&["the operation may be column 1 as well as column 4"]),
            &["--columns time=0:ms,op=1:1/0,offset=2:sectors,size=3:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "time address size device flag",
            usual(),
            move |req| format!("{} {} {} 3 {}", time(req), lba(req), count(req), req.reads()),
            Refused(&["column 1, which would be the device, has ", "offset=COLUMN:UNIT"]),
            &["--columns time=0:ms,op=4:1/0,offset=1:sectors,size=2:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "time device size address flag",
            usual(),
            move |req| format!("{} 0 {} {} {}", time(req), count(req), lba(req), req.reads()),
            Refused(&["what would be the size goes up to"]),
            &["--columns time=0:ms,op=4:1/0,offset=3:sectors,size=2:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "time size address device flag",
            usual(),
            move |req| format!("{} {} {} 8 {}", time(req), count(req), lba(req), req.reads()),
            Refused(&["has multiples of 8 only, as sizes are"]),
            &["--columns time=0:ms,op=4:1/0,offset=2:sectors,size=1:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "device time address size flag",
            usual(),
            move |req| {
                let micros = req.in_units(US);
                format!("0 {micros} {} {} {}", lba(req), count(req), req.reads())
            },
            Refused(&["column 1, which would be the device, grows with the lines"]),
            &["--columns time=1:us,op=4:1/0,offset=2:sectors,size=3:sectors,separator=space"],
        )
        .given("--time-unit ms"),
        file(
            "time latency address size flag",
            usual(),
            move |req| {
                let latency = req.offset / 4_096 % 1_009;
                format!("{} {latency} {} {} {}", time(req), lba(req), count(req), req.reads())
            },
            Refused(&["column 1, which would be the device, has "]),
            &["--columns time=0:ms,op=4:1/0,offset=2:sectors,size=3:sectors,separator=space"],
        )
        .given("--time-unit ms"),
    ]
}
