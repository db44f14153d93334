//! Requests that no host sends, because columns or units are read wrongly.

use super::Fate::{Read, Refused};
use super::{File, Req, US, file, truth, usual};

const HEADER: &str = "time_us,op,offset_bytes,size_bytes,device";
const ODD: &str = "--allow-odd";
const MAP: &str =
    "--columns time=time_us:us,op=op,offset=offset_bytes:bytes,size=size_bytes:bytes,device=device";
const MAP_AND_ODD: &str = "--columns time=time_us:us,op=op,offset=offset_bytes:bytes,\
                           size=size_bytes:bytes,device=device --allow-odd";
const ALLOW: &[&str] = &["--allow-odd"];

fn line(req: &Req) -> String {
    let Req { offset, size, device, .. } = req;
    format!("{},{},{offset},{size},{device}", req.in_units(US), req.letter())
}

/// A file below a header, with requests changed by `change`, which also gets their numbers.
fn changed(
    name: &'static str,
    change: impl Fn(u64, &mut Req),
    refusal: &'static [&'static str],
) -> File {
    let mut all = usual();
    (0..).zip(&mut all).for_each(|(index, req)| change(index, req));
    let text = all.clone();
    // Requests are delivered in order of time.
    all.sort_by_key(|req| req.nanos);
    let first = all[0].nanos;
    all.iter_mut().for_each(|req| req.nanos -= first);
    let file = file(name, text, line, Refused(refusal), ALLOW).header(HEADER);
    File { truth: all, ..file }
}

pub(super) fn files() -> Vec<File> {
    vec![
        file("what is possible", truth(20 * US, US, 8), line, Read("csv"), &[]).header(HEADER),
        changed(
            "a device for each request",
            |index, req| req.device = index,
            &["its 300 requests are for 300 devices", ODD],
        ),
        changed(
            "times in no order",
            |index, req| {
                req.nanos = if index == 0 { 299_000_000 } else { index * 131 % 299 * 1_000_000 };
            },
            &["of its 300 requests are earlier than one above them", ODD],
        ),
        changed(
            "the same time everywhere",
            |_, req| req.nanos = 0,
            &["its 300 requests all come at the same time", ODD],
        ),
        changed(
            "nanoseconds that are said to be microseconds and are years",
            |index, req| req.nanos = index * 3_600_000 * 1_000_000_000,
            &["its requests come within 34.1 years", ODD],
        )
        .given(MAP)
        .typed(&[MAP_AND_ODD]),
        changed(
            "sizes that are addresses",
            |index, req| req.size = 900_000_000 + index * 4_096,
            &["its requests are 859 MiB long on average", ODD],
        ),
        changed(
            "sizes of one byte",
            |_, req| req.size = 1,
            &["300 of its 300 requests are shorter than a sector of 512 bytes", ODD],
        ),
        changed(
            "sectors that are said to be bytes",
            |_, req| (req.size, req.offset) = (req.size / 512, req.offset / 512),
            &["300 of its 300 requests are shorter than a sector of 512 bytes", ODD],
        ),
        changed(
            "addresses that are the times",
            |_, req| req.offset = req.in_units(US),
            &["its addresses are the same numbers as its times", ODD],
        )
        .given(MAP)
        .typed(&[MAP_AND_ODD]),
        changed(
            "three jobs, one behind the other",
            |index, req| req.nanos = index % 100 * 1_000_000,
            &["at line 102 the clock goes back from 99.0ms to 0ns", "ioda trace merge", ODD],
        ),
        changed(
            "two jobs, line by line, of which one began earlier",
            |index, req| {
                let (job, round) = (index % 2, index / 2);
                (req.device, req.nanos) = (job, (round + job * 10_000) * 1_000_000);
            },
            &["the clock of each device goes on", "ioda trace merge", ODD],
        ),
        late(),
        spc_that_was_given(),
    ]
}

/// A file whose first lines are correct.
fn late() -> File {
    let mut all = Vec::new();
    for index in 0..9_000 {
        let device = if index < 800 { 0 } else { index };
        let req = Req { nanos: index * 50_000, writes: false, offset: 4_096, size: 4_096, device };
        all.push(req);
    }
    let refusal = Refused(&["its 9000 requests are for 8201 devices", ODD]);
    file("a device for each request, behind the first lines", all, line, refusal, ALLOW)
        .header(HEADER)
}

fn spc_that_was_given() -> File {
    file(
        "time, address, size, operation, latency, said to be SPC",
        usual(),
        |req| {
            let (time, latency) = (req.in_units(US), 80 + req.offset / 4_096 % 320);
            format!("{time},{},{},{},{latency}", req.offset / 512, req.size, req.letter())
        },
        Refused(&["its 300 requests are for 300 devices", "--columns", ODD]),
        &["--columns time=0:us,op=3,offset=1:sectors,size=2:bytes"],
    )
    .given("--format spc")
}
