//! Names and formats that contradict the values, and values that determine more than the names.

use super::Fate::{Read, Refused};
use super::{DATE, FILE_TIME, File, MS, Req, S, US, file, truth, usual};

pub(super) fn files() -> Vec<File> {
    [names_of_addresses(), names_of_times(), formats(), units_of_formats(), plain()]
        .into_iter()
        .flatten()
        .collect()
}

fn dated(req: &Req) -> Req {
    Req { nanos: req.nanos + DATE * S, ..*req }
}

/// `time_us,op,offset,size` in these units.
fn row(req: &Req, offset: u64, size: u64) -> String {
    let (offset, size) = (req.offset / offset, req.size / size);
    format!("{},{},{offset},{size}", req.in_units(US), req.letter())
}

fn names_of_addresses() -> Vec<File> {
    vec![
        file(
            "bytes below size_sectors",
            usual(),
            |req| row(req, 1, 1),
            Refused(&[
                "the name \"size_sectors\" says that the size is in sectors, but",
                "size=size_sectors:UNIT",
            ]),
            &["--columns time=time_us:us,op=op,offset=offset_bytes:bytes,size=size_sectors:bytes"],
        )
        .header("time_us,op,offset_bytes,size_sectors"),
        file(
            "bytes below offset_sectors",
            usual(),
            |req| row(req, 1, 1),
            Refused(&["the name \"offset_sectors\" says that the offset is in sectors, but"]),
            &["--columns time=time_us:us,op=op,offset=offset_sectors:bytes,size=size_bytes:bytes"],
        )
        .header("time_us,op,offset_sectors,size_bytes"),
        file(
            "sectors below offset_bytes",
            usual(),
            |req| row(req, 512, 1),
            Refused(&[
                "the name \"offset_bytes\" says that the offset is in bytes, but most are no",
            ]),
            &["--columns time=time_us:us,op=op,offset=offset_bytes:sectors,size=size_bytes:bytes"],
        )
        .header("time_us,op,offset_bytes,size_bytes"),
        file(
            "sectors below size_bytes",
            usual(),
            |req| row(req, 1, 512),
            Refused(&["are shorter than a sector of 512 bytes", "--allow-odd"]),
            &["--columns time=time_us:us,op=op,offset=offset_bytes:bytes,size=size_bytes:sectors"],
        )
        .header("time_us,op,offset_bytes,size_bytes"),
        file(
            "bytes below size_kib",
            usual(),
            |req| row(req, 1_024, 1),
            Refused(&["the name \"size_kib\" says that the size is in KiB (1024 bytes), but"]),
            &["--columns time=time_us:us,op=op,offset=offset_kib:KiB,size=size_kib:bytes"],
        )
        .header("time_us,op,offset_kib,size_kib"),
        file(
            "offset and size the other way round",
            usual(),
            |req| format!("{},{},{},{}", req.in_units(US), req.letter(), req.size, req.offset),
            Refused(&["the size goes up to ", "as if each were the other"]),
            &["--columns time=time_us:us,op=op,offset=size:bytes,size=offset:bytes"],
        )
        .header("time_us,op,offset,size"),
        file(
            "the same on a small disk",
            small(),
            |req| format!("{},{},{},{}", req.in_units(US), req.letter(), req.size, req.offset),
            Refused(&["as if each were the other"]),
            &["--columns time=time_us:us,op=op,offset=size:bytes,size=offset:bytes"],
        )
        .header("time_us,op,offset,size"),
        file("KiB that are named so", usual(), |req| row(req, 1_024, 1_024), Read("KiB"), &[])
            .header("time_us,op,offset_kib,size_kib"),
        file("sectors that are named so", usual(), |req| row(req, 512, 512), Read("sectors"), &[])
            .header("time_us,op,start_sector,sectors"),
    ]
}

/// Requests to a small disk of 16 MiB.
fn small() -> Vec<Req> {
    let mut all = usual();
    all.iter_mut().for_each(|req| req.offset = (req.offset + 4_096) % (16 << 20));
    all
}

/// A file of `name,op,offset_bytes,size_bytes`, with `time` in the first column.
fn timed(
    name: &'static str,
    header: &str,
    all: Vec<Req>,
    time: impl Fn(&Req) -> String,
    fate: super::Fate,
    typed: &'static [&'static str],
) -> File {
    let line = |req: &Req| format!("{},{},{},{}", time(req), req.letter(), req.offset, req.size);
    file(name, all, line, fate, typed).header(&format!("{header},op,offset_bytes,size_bytes"))
}

fn names_of_times() -> Vec<File> {
    vec![
        timed(
            "milliseconds since 1970 below time_s",
            "time_s",
            usual(),
            |req| dated(req).decimal(MS, 3),
            Refused(&[
                "times are in s, but the first, 1577808000000.000, is then later than the year 2040",
            ]),
            &["--time-unit ms"],
        ),
        timed(
            "microseconds of a slow disk below time_s",
            "time_s",
            truth(20 * MS, US, 1),
            |req| req.in_units(US).to_string(),
            Refused(&["times are in s, but that is 0.00005 requests/s", "time=time_s:UNIT"]),
            &["--time-unit us"],
        ),
        timed(
            "seconds with nine digits below time_ms",
            "time_ms",
            usual(),
            |req| Req { nanos: req.nanos + 123, ..*req }.decimal(S, 9),
            Refused(&["times are in ms, but all have 9 digits behind the point"]),
            &["--time-unit s"],
        ),
        timed(
            "seconds since 1970 with six digits below time_ns",
            "time_ns",
            usual(),
            |req| dated(req).decimal(S, 6),
            Refused(&["times are in ns, but that is "]),
            &["--time-unit s"],
        ),
        timed(
            "ms since 1970",
            "timestamp",
            usual(),
            |req| dated(req).decimal(MS, 3),
            Read("in ms"),
            &[],
        ),
        timed(
            "us since 1970",
            "timestamp",
            usual(),
            |req| dated(req).in_units(US).to_string(),
            Read("in us"),
            &[],
        ),
        timed(
            "ns since 1970",
            "timestamp",
            usual(),
            |req| dated(req).nanos.to_string(),
            Read("in ns"),
            &[],
        ),
        timed(
            "Windows ticks",
            "timestamp",
            usual(),
            |req| (FILE_TIME + req.nanos / 100).to_string(),
            Read("as a Windows file time"),
            &[],
        ),
        timed(
            "microseconds since the machine started, twenty days ago",
            "time_us",
            usual(),
            |req| (1_728_000_000_000 + req.in_units(US)).to_string(),
            Read("the name \"time_us\" says so"),
            &[],
        ),
        timed(
            "times that go back all the way",
            "time_us",
            backwards(),
            |req| (10_000_000_000 - req.in_units(US)).to_string(),
            Refused(&["of its 300 requests are earlier than one above them", "--allow-odd"]),
            &[],
        ),
    ]
}

/// Requests, each some milliseconds earlier than the one before.
fn backwards() -> Vec<Req> {
    truth(5 * MS, US, 1)
}

fn formats() -> Vec<File> {
    let five = |req: &Req, time: String, flag: u8| {
        format!("{time} {} {} {} {flag}", req.device, req.offset / 512, req.size / 512)
    };
    vec![
        file(
            "DiskSim's columns in seconds, where 0 reads",
            usual(),
            move |req| five(req, req.decimal(S, 9), u8::from(req.writes)),
            Refused(&["if 1 reads it has 30 % reads, if 0 reads 70 % reads", "--columns"]),
            &["--columns time=0:s,op=4:0/1,offset=2:sectors,size=3:sectors,separator=space"],
        ),
        file(
            "seconds since 1970 that are said to be DiskSim's",
            usual(),
            move |req| five(req, dated(req).decimal(S, 6), req.reads()),
            Refused(&["disksim prescribes times in ms, but these may be others", "--time-unit s"]),
            &["--format disksim --time-unit s"],
        )
        .given("--format disksim"),
        file(
            "milliseconds of years that are said to be SPC's",
            usual(),
            |req| {
                let time = dated(req).in_units(US);
                format!("0,{},{},{},{time}", req.offset / 512, req.size, req.letter())
            },
            Refused(&["spc prescribes times in s, but these may be others", "--time-unit us"]),
            &["--format spc --time-unit us"],
        )
        .given("--format spc"),
        file(
            "SPC's columns, with latencies for the unit",
            truth(20 * MS, US, 1),
            |req| {
                let latency = 200 + req.offset / 4_096 % 70;
                let time = req.decimal(S, 6);
                format!("{latency},{},{},{},{time}", req.offset / 512, req.size, req.letter())
            },
            Refused(&["column 0, which would be the device, has numbers as large as"]),
            &["--columns time=4:s,op=3,offset=1:sectors,size=2:bytes"],
        ),
        file(
            "SPC's columns, with latencies for the address and the address behind",
            truth(20 * MS, US, 1),
            |req| {
                let latency = 200 + req.offset / 4_096 % 70;
                let (time, size) = (req.decimal(S, 6), req.size);
                format!("0,{latency},{size},{},{time},{}", req.letter(), req.offset / 512)
            },
            Refused(&["what would be the address goes up to 269"]),
            &["--columns time=4:s,op=3,offset=5:sectors,size=2:bytes"],
        ),
    ]
}

/// Files in known formats with addresses or sizes in other units.
fn units_of_formats() -> Vec<File> {
    let many = || truth(20 * MS, US, 3);
    let msr = |req: &Req, unit: u64| {
        let (time, size) = (FILE_TIME + req.nanos / 100, req.size);
        format!("{time},hm,{},{},{},{size},9", req.device, req.letter(), req.offset / unit)
    };
    let tencent = |req: &Req, offset: u64, size: u64| {
        let (time, flag) = (DATE + req.nanos / S, u8::from(req.writes));
        format!("{time},{},{},{flag},{}", req.offset / offset, req.size / size, 1_000 + req.device)
    };
    let spc = |req: &Req, unit: u64| {
        let (offset, time) = (req.offset / unit, req.decimal(S, 6));
        format!("{},{offset},{},{},{time}", req.device, req.size, req.letter())
    };
    let blkreplay = |req: &Req, unit: u64| {
        let (offset, size) = (req.offset / unit, req.size / unit);
        format!("{} ; {offset} ; {size} ; {} ; 0.0 ; 0.0", req.decimal(S, 9), req.letter())
    };
    let other = &["--sector-bytes 4096 or --sector-bytes 1024"];
    vec![
        file(
            "MSR with addresses in sectors",
            many(),
            move |req| msr(req, 512),
            Refused(&["msr counts addresses in bytes, but most of these are no multiples of 512"]),
            &["--columns time=0:100ns,op=3,offset=4:sectors,size=5:bytes,device=2"],
        ),
        file(
            "Alibaba with addresses in sectors",
            many(),
            |req| {
                let time = dated(req).in_units(US);
                format!("{},{},{},{},{time}", req.device, req.letter(), req.offset / 512, req.size)
            },
            Refused(&["alibaba counts addresses in bytes, but most of these are no multiples of 512"]),
            &["--columns time=4:us,op=1,offset=2:sectors,size=3:bytes,device=0"],
        ),
        file(
            "SYSTOR's header above addresses in sectors",
            many(),
            |req| {
                let time = dated(req).decimal(S, 9);
                format!("{time},,{},{},{},{}", req.letter(), req.device, req.offset / 512, req.size)
            },
            Refused(&["systor counts addresses in bytes, but most of these are no multiples of 512"]),
            &["--columns time=Timestamp:s,op=IOType,offset=Offset:sectors,size=Size:bytes,device=LUN"],
        )
        .header("Timestamp,Response,IOType,LUN,Offset,Size"),
        file("SPC in pages", many(), move |req| spc(req, 4_096), Refused(other), &["--sector-bytes 4096"]),
        file("SPC in KiB", many(), move |req| spc(req, 1_024), Refused(other), &["--sector-bytes 1024"]),
        file(
            "Tencent in pages",
            many(),
            move |req| tencent(req, 4_096, 4_096),
            Refused(other),
            &["--sector-bytes 4096"],
        )
        .tick(S),
        file(
            "Tencent in KiB",
            many(),
            move |req| tencent(req, 1_024, 1_024),
            Refused(other),
            &["--sector-bytes 1024"],
        )
        .tick(S),
        file(
            "Tencent with sizes in KiB",
            many(),
            move |req| tencent(req, 512, 1_024),
            Refused(&["sizes are then whole pages of 4 KiB"]),
            &["--columns time=0:s,op=3:0/1,offset=1:sectors,size=2:KiB,device=4"],
        )
        .tick(S),
        file(
            "blkreplay in pages",
            usual(),
            move |req| blkreplay(req, 4_096),
            Refused(other),
            &["--sector-bytes 4096"],
        ),
        file(
            "blkreplay in KiB",
            usual(),
            move |req| blkreplay(req, 1_024),
            Refused(other),
            &["--sector-bytes 1024"],
        ),
    ]
}

/// Files whose values determine everything.
fn plain() -> Vec<File> {
    let far = || {
        let mut all = usual();
        all.iter_mut().for_each(|req| req.offset += 1 << 44);
        all
    };
    let words = |req: &Req, read: &'static str, write: &'static str| {
        if req.writes { write } else { read }
    };
    vec![
        file(
            "ns since 1970, flags of the block layer, address and size, with tabs",
            far(),
            move |req| {
                let op = words(req, "RS", "WS");
                format!("{}\t{op}\t{}\t{}", dated(req).nanos, req.offset, req.size)
            },
            Read("the values tell the columns: time 0, op 1, offset 2, size 3"),
            &[],
        ),
        file(
            "size, address, operation and ms since 1970",
            far(),
            move |req| {
                let (op, time) = (words(req, "Read", "Write"), dated(req).decimal(MS, 3));
                format!("{};{};{op};{time}", req.size, req.offset)
            },
            Read("the values tell the columns: time 3, op 2, offset 1, size 0"),
            &[],
        ),
        file(
            "is_write",
            usual(),
            |req| {
                let flag = u8::from(req.writes);
                format!("{},{flag},{},{}", req.in_units(US), req.offset, req.size)
            },
            Read("a request writes where column \"is_write\" is 1 or true"),
            &[],
        )
        .header("time_us,is_write,offset,size"),
        file(
            "small letters and a response time",
            usual(),
            move |req| {
                let (time, op) = (req.in_units(US), words(req, "r", "w"));
                format!("{time},{},{op},{},{}", 80 + req.size / 512, req.offset, req.size)
            },
            Read("not used: \"response_us\""),
            &[],
        )
        .header("arrival_us,response_us,rw,offset,size"),
    ]
}
