//! SPC, Tencent, Alibaba, MSR, SYSTOR and blkreplay, and files that look like them.

use super::Fate::{Read, Refused};
use super::{DATE, FILE_TIME, File, MS, Req, S, US, file, truth, usual};

pub(super) fn files() -> Vec<File> {
    [spc(), tencent(), alibaba(), msr(), others()].into_iter().flatten().collect()
}

fn spc() -> Vec<File> {
    let line = |time: String, req: &Req| {
        format!("{},{},{},{},{time}", req.device, req.offset / 512, req.size, req.letter())
    };
    let three = || truth(20 * MS, US, 3);
    vec![
        file(
            "SPC",
            three(),
            move |req| line(req.decimal(S, 6), req),
            Read("spc prescribes times in s"),
            &["--format spc"],
        ),
        file(
            "SPC with addresses in bytes",
            three(),
            |req| {
                let Req { device, offset, size, .. } = req;
                format!("{device},{offset},{size},{},{}", req.letter(), req.decimal(S, 6))
            },
            Refused(&["spc counts addresses in sectors", "--sector-bytes 1"]),
            &["--sector-bytes 1", "--format spc --sector-bytes 1"],
        ),
        file(
            "SPC with sizes in sectors",
            three(),
            |req| {
                let (address, size) = (req.offset / 512, req.size / 512);
                let Req { device, .. } = req;
                format!("{device},{address},{size},{},{}", req.letter(), req.decimal(S, 6))
            },
            Refused(&["spc counts sizes in bytes", "in sectors requests of "]),
            &["--columns time=4:s,op=3,offset=1:sectors,size=2:sectors,device=0"],
        ),
        file(
            "SPC in milliseconds",
            three(),
            move |req| line(req.decimal(MS, 3), req),
            Refused(&["spc prescribes times in s", "in ms ", "--time-unit ms"]),
            &["--time-unit ms"],
        ),
        file(
            "SPC in milliseconds with six digits",
            three(),
            move |req| line(req.decimal(MS, 6), req),
            Refused(&["spc prescribes times in s", "in ms ", "--time-unit ms"]),
            &["--time-unit ms"],
        ),
        file(
            "SPC in whole microseconds",
            three(),
            move |req| line(req.in_units(US).to_string(), req),
            Refused(&["spc prescribes times in s", "in us ", "--time-unit us"]),
            &["--format spc --time-unit us"],
        ),
        file(
            "time, address, size, operation, latency",
            usual(),
            |req| {
                let (time, latency) = (req.in_units(US), 80 + req.offset / 4_096 % 320);
                format!("{time},{},{},{},{latency}", req.offset, req.size, req.letter())
            },
            Refused(&[
                "column 0, which would be the device, grows with the lines",
                "0 is \"0\", 1 is ",
                "time=COLUMN:UNIT,op=3,offset=COLUMN:UNIT,size=COLUMN:UNIT",
            ]),
            &["--columns time=0:us,op=3,offset=1:bytes,size=2:bytes"],
        ),
        file(
            "whole seconds, address, size, operation, number",
            truth(100 * MS, S, 1),
            |req| format!("{},{},{},{},7", req.nanos / S, req.offset, req.size, req.letter()),
            Refused(&["column 0, which would be the device, grows with the lines"]),
            &["--columns time=0:s,op=3,offset=1:bytes,size=2:bytes"],
        )
        .tick(S),
        file(
            "address, size, device, operation, time",
            usual(),
            |req| {
                let (address, size) = (req.offset / 512, req.size / 512);
                format!("{address},{size},0,{},{}", req.letter(), req.decimal(S, 6))
            },
            Refused(&["column 0, which would be the device, has "]),
            &["--columns time=4:s,op=3,offset=0:sectors,size=1:sectors"],
        ),
        file(
            "device, size, address, operation, time",
            three(),
            |req| {
                let (address, size) = (req.offset / 512, req.size);
                format!("{},{size},{address},{},{}", req.device, req.letter(), req.decimal(S, 6))
            },
            Refused(&["what would be the size goes up to"]),
            &["--columns time=4:s,op=3,offset=2:sectors,size=1:bytes,device=0"],
        ),
    ]
}

fn tencent() -> Vec<File> {
    let line = |unit: u64, flag: u8, device: u64, req: &Req| {
        let (time, offset, size) = (DATE + req.nanos / S, req.offset / unit, req.size / unit);
        format!("{time},{offset},{size},{flag},{device}")
    };
    let many = || truth(5 * MS, S, 12);
    vec![
        file(
            "Tencent",
            many(),
            move |req| line(512, u8::from(req.writes), 1_000 + req.device, req),
            Read("tencent prescribes times in s"),
            &["--format tencent"],
        )
        .tick(S),
        file(
            "Tencent in bytes",
            many(),
            move |req| line(1, u8::from(req.writes), 1_000 + req.device, req),
            Refused(&["tencent counts addresses and sizes in sectors", "--sector-bytes 1"]),
            &["--sector-bytes 1", "--format tencent --sector-bytes 1"],
        )
        .tick(S),
        file(
            "Tencent's columns with a latency in the place of the volume",
            truth(5 * MS, S, 1),
            move |req| line(512, u8::from(req.writes), 80 + req.offset / 4_096 % 511, req),
            Refused(&["column 4, which would be the device, has "]),
            &["--columns time=0:s,op=3:0/1,offset=1:sectors,size=2:sectors"],
        )
        .tick(S),
        file(
            "Tencent's columns with the size first",
            many(),
            |req| {
                let (time, flag) = (DATE + req.nanos / S, u8::from(req.writes));
                let (offset, size) = (req.offset / 512, req.size / 512);
                format!("{time},{size},{offset},{flag},{}", 1_000 + req.device)
            },
            Refused(&["what would be the size goes up to"]),
            &["--columns time=0:s,op=3:0/1,offset=2:sectors,size=1:sectors,device=4"],
        )
        .tick(S),
    ]
}

fn alibaba() -> Vec<File> {
    let many = || truth(MS, US, 9);
    let time = |req: &Req| DATE * 1_000_000 + req.in_units(US);
    vec![
        file(
            "Alibaba",
            many(),
            move |req| {
                let Req { device, offset, size, .. } = req;
                format!("{},{},{offset},{size},{}", 400 + device, req.letter(), time(req))
            },
            Read("alibaba prescribes times in us"),
            &["--format alibaba"],
        ),
        file(
            "Alibaba in sectors",
            many(),
            move |req| {
                let (offset, size) = (req.offset / 512, req.size / 512);
                format!("{},{},{offset},{size},{}", req.device, req.letter(), time(req))
            },
            Refused(&["alibaba counts sizes in bytes", "in sectors requests of "]),
            &["--columns time=4:us,op=1,offset=2:sectors,size=3:sectors,device=0"],
        ),
        file(
            "an index in the place of Alibaba's device",
            truth(MS, US, 1),
            move |req| {
                let (index, letter) = (req.in_units(US) / 10, req.letter());
                format!("{index},{letter},{},{},{}", req.offset, req.size, time(req))
            },
            Refused(&["column 0, which would be the device, grows with the lines"]),
            &["--columns time=4:us,op=1,offset=2:bytes,size=3:bytes"],
        ),
        file(
            "Alibaba's columns with the size first",
            many(),
            move |req| {
                let Req { device, offset, size, .. } = req;
                format!("{device},{},{size},{offset},{}", req.letter(), time(req))
            },
            Refused(&["what would be the size goes up to"]),
            &["--columns time=4:us,op=1,offset=3:bytes,size=2:bytes,device=0"],
        ),
    ]
}

fn msr() -> Vec<File> {
    let line = |time: u64, unit: u64, req: &Req| {
        let op = if req.writes { "Write" } else { "Read" };
        let (offset, size) = (req.offset / unit, req.size / unit);
        format!("{time},hm,{},{op},{offset},{size},{}", req.device, 100 + size / 7)
    };
    let two = || truth(MS, US, 2);
    vec![
        file(
            "MSR",
            two(),
            move |req| line(FILE_TIME + req.in_units(100), 1, req),
            Read("msr prescribes times in 100ns"),
            &["--format msr"],
        ),
        file(
            "MSR that begins at zero",
            two(),
            move |req| line(req.in_units(100), 1, req),
            Refused(&["msr prescribes times in 100ns", "in us ", "--time-unit 100ns"]),
            &["--time-unit 100ns", "--format msr"],
        ),
        file(
            "MSR in microseconds that begins at zero",
            two(),
            move |req| line(req.in_units(US), 1, req),
            Refused(&["msr prescribes times in 100ns", "in us ", "--time-unit us"]),
            &["--time-unit us", "--format msr --time-unit us"],
        ),
        file(
            "MSR in sectors",
            two(),
            move |req| line(FILE_TIME + req.in_units(100), 512, req),
            Refused(&["msr counts sizes in bytes", "in sectors requests of "]),
            &["--columns time=0:100ns,op=3,offset=4:sectors,size=5:sectors,device=2"],
        ),
        file(
            "MSR's columns with the size first",
            two(),
            |req| {
                let (time, op) = (FILE_TIME + req.in_units(100), req.letter());
                format!("{time},hm,{},{op},{},{},9", req.device, req.size, req.offset)
            },
            Refused(&["what would be the size goes up to"]),
            &["--columns time=0:100ns,op=3,offset=5:bytes,size=4:bytes,device=2"],
        ),
        file(
            "time, process, CPU, operation, address, size, latency",
            usual(),
            |req| {
                let (time, pid) = (req.in_units(US), 1_000 + req.offset / 4_096 % 997);
                format!("{time},{pid},3,{},{},{},9", req.letter(), req.offset, req.size)
            },
            Refused(&["columns 1 and 2, which would be the device, has "]),
            &["--columns time=0:us,op=3,offset=4:bytes,size=5:bytes"],
        ),
    ]
}

fn others() -> Vec<File> {
    let systor = |time: String, req: &Req| {
        format!("{time},0.000806,{},0,{},{}", req.letter(), req.offset, req.size)
    };
    let date = |req: &Req| Req { nanos: req.nanos + DATE * S, ..*req };
    let header = "Timestamp,Response,IOType,LUN,Offset,Size";
    let blkreplay = |unit: u64, req: &Req| {
        let (offset, size) = (req.offset / unit, req.size / unit);
        format!("  {} ; {offset} ; {size} ; {} ; 0.0 ; 0.0", req.decimal(S, 9), req.letter())
    };
    vec![
        file(
            "SYSTOR without its header",
            usual(),
            move |req| systor(date(req).decimal(S, 9), req),
            Read("systor prescribes times in s"),
            &["--format systor"],
        ),
        file(
            "SYSTOR's columns in milliseconds that begin at zero",
            usual(),
            move |req| systor(req.decimal(MS, 3), req),
            Refused(&["systor prescribes times in s", "in ms ", "--time-unit ms"]),
            &["--time-unit ms"],
        ),
        file(
            "SYSTOR's header above milliseconds",
            usual(),
            move |req| systor(req.decimal(MS, 3), req),
            Refused(&["systor prescribes times in s", "in ms ", "--time-unit ms"]),
            &["--time-unit ms"],
        )
        .header(header),
        file("blkreplay", usual(), move |req| blkreplay(512, req), Read("blkreplay"), &[]),
        file(
            "blkreplay in bytes",
            usual(),
            move |req| blkreplay(1, req),
            Refused(&["blkreplay counts addresses and sizes in sectors", "--sector-bytes 1"]),
            &["--sector-bytes 1"],
        ),
    ]
}
