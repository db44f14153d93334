//! A table of all policies: the commands for a read of one page, and those sent once it is late.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{Script, named};
use ioda_array::policy::{Needs, PolicyKind};
use ioda_array::{Level, RequestKind};
use units::{Duration, Instant};

/// The policy; its commands for page 0 of a RAID-5 of four drives (of a mirror of two, where it
/// needs mirrors) at 150 ms, drive 1's turn; and its commands up to 10 ms later, without an answer.
/// R is a read with the flag, r one without.
const TABLE: &[(&str, &str, &str)] = &[
    ("base", "r0 ", "r0 "),
    ("iod1", "R0 ", "R0 "),
    ("iod2", "R0 ", "R0 "),
    ("iod3", "r0 ", "r0 "),
    ("ioda", "R0 ", "R0 "),
    ("ideal", "r0 ", "r0 "),
    ("iod3-commodity", "r0 ", "r0 "),
    ("proactive", "r0 r1 r2 r3 ", "r0 r1 r2 r3 "),
    ("harmonia", "r0 ", "r0 "),
    ("mittos", "r0 ", "r0 "),
    ("gc-tolerate", "r0 ", "r0 "),
    ("degraded", "r0 ", "r0 "),
    ("degraded-host", "r0 ", "r0 "),
    ("degraded-aware", "r0 ", "r0 "),
    ("hedged", "r0 ", "r0 "),
    ("hedged-quantile", "r0 ", "r0 "),
    ("first-k", "r0 r1 r2 r3 ", "r0 r1 r2 r3 "),
    ("sit-out", "r0 ", "r0 "),
    ("least-outstanding", "r0 ", "r0 "),
    ("latency-weighted", "r0 ", "r0 "),
    ("rails", "r0 ", "r0 "),
    ("ioda-nvm", "R0 ", "R0 "),
    ("plm", "r0 ", "r0 "),
    ("plm-light", "r0 ", "r0 "),
    ("quiet", "R0 ", "R0 "),
    ("attentive", "r0 ", "r0 "),
    ("linnos", "r0 ", "r0 "),
    ("heimdall", "r0 ", "r0 "),
    ("floor", "r0 ", "r0 "),
];

#[test]
fn every_policy_sends_what_the_table_says() {
    for &(name, at_once, when_late) in TABLE {
        let kind = named(name);
        let mut s = match kind.about().needs {
            Needs::Mirrors => Script::new(Level::Raid1, 2, kind),
            Needs::Nothing | Needs::Redundancy => Script::new(Level::Raid5, 4, kind),
        };
        s.now = Instant::ZERO + Duration::from_millis(150);
        s.request(RequestKind::Read, 0, 1);
        assert_eq!(s.log, at_once, "{name}");
        let late = s.now + Duration::from_millis(10);
        while s.array.next_deadline() <= late {
            s.compute();
        }
        assert_eq!(s.log, when_late, "{name}, without an answer");
    }
}

#[test]
fn the_table_has_every_policy() {
    let names: Vec<&str> = TABLE.iter().map(|&(name, ..)| name).collect();
    let registered: Vec<&str> = PolicyKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names, registered);
}
