//! Tables without a header whose columns belong to no format.

use super::Fate::{Read, Refused};
use super::{DATE, File, MS, Req, S, US, file, usual};

pub(super) fn files() -> Vec<File> {
    let date = |req: &Req| Req { nanos: req.nanos + DATE * S, ..*req };
    let far = || {
        // Addresses beyond the range of sectors.
        let mut all = usual();
        all.iter_mut().for_each(|req| req.offset += 1 << 40);
        all
    };
    vec![
        file(
            "FIU: time, process, name, address, size, operation, device, hash",
            usual(),
            |req| {
                let (address, size) = (904_265_560 + req.offset / 512, req.size / 512);
                let (time, pid) = (89_966_104_000_000 + req.nanos, 2_500 + req.offset / 4_096 % 9);
                format!("{time} {pid} syslogd {address} {size} {} 6 0 531e779f4ffb", req.letter())
            },
            Refused(&["time=COLUMN:UNIT,op=5,offset=COLUMN:UNIT,size=COLUMN:UNIT,separator=space"]),
            &[],
        ),
        file(
            "whole numbers between semicolons",
            usual(),
            |req| {
                let (time, latency) = (req.in_units(US), req.offset / 4_096 % 77);
                format!("{time};{};{};{};0;{latency}", req.offset, req.size, req.letter())
            },
            Refused(&["time=COLUMN:UNIT,op=3,offset=COLUMN:UNIT,size=COLUMN:UNIT"]),
            &["--columns time=0:us,op=3,offset=1:bytes,size=2:bytes,separator=semicolon"],
        ),
        file(
            "SimpleSSD: blanks between time, address, size and operation",
            usual(),
            |req| {
                let (address, size) = (req.offset / 512, req.size / 512);
                format!("{} {address} {size} {}", req.decimal(S, 9), req.letter())
            },
            Refused(&["op=3,offset=COLUMN:UNIT,size=COLUMN:UNIT,separator=space"]),
            &["--columns time=0:s,op=3,offset=1:sectors,size=2:sectors,separator=space"],
        ),
        file(
            "seconds since 1970, operation, address and size",
            far(),
            move |req| {
                format!("{},{},{},{}", date(req).decimal(S, 6), req.letter(), req.offset, req.size)
            },
            Read("the values tell the columns: time 0, op 1, offset 2, size 3"),
            &[],
        ),
        file(
            "seconds since 1970, operation, size and address",
            far(),
            move |req| {
                format!("{},{},{},{}", date(req).decimal(S, 6), req.letter(), req.size, req.offset)
            },
            Read("the values tell the columns: time 0, op 1, offset 3, size 2"),
            &[],
        ),
        file(
            "seconds since 1970, operation, address and a latency",
            far(),
            move |req| {
                let latency = 3_000_000 + req.offset / 4_096 % 999_983;
                format!("{},{},{},{latency}", date(req).decimal(S, 6), req.letter(), req.offset)
            },
            Refused(&["op=1,offset=COLUMN:UNIT,size=COLUMN:UNIT"]),
            &[],
        ),
        file(
            "0 and 1 without a word for them",
            usual(),
            |req| {
                let flag = u8::from(req.writes);
                format!("{},{flag},{},{}", req.decimal(MS, 3), req.offset, req.size)
            },
            Refused(&["time=COLUMN:UNIT,op=COLUMN,offset=COLUMN:UNIT,size=COLUMN:UNIT"]),
            &["--columns time=0:ms,op=1:0/1,offset=2:bytes,size=3:bytes"],
        ),
        file(
            "a header that says nothing of 0 and 1",
            usual(),
            |req| {
                let flag = u8::from(req.writes);
                format!("{},{flag},{},{}", req.in_units(US), req.offset, req.size)
            },
            Refused(&["op=type:WORD/WORD", "time=time_us:us"]),
            &["--columns time=time_us:us,op=type:0/1,offset=offset:bytes,size=size:bytes"],
        )
        .header("time_us,type,offset,size"),
        file(
            "a header with two times",
            usual(),
            |req| {
                let time = req.in_units(US);
                format!("{time},{},{},{},{}", time + 9, req.letter(), req.offset, req.size)
            },
            Refused(&["time=COLUMN:UNIT"]),
            &["--columns time=submit_ts_us:us,op=op,offset=offset:bytes,size=size:bytes"],
        )
        .header("submit_ts_us,issue_ts_us,op,offset,size"),
    ]
}
