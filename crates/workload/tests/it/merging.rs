//! Merging of several traces by time.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_workload::{Align, Merge, MergeOptions, Op, ReadOptions, TraceReader};
use std::fmt::Write as _;
use std::io::Cursor;
use units::{Duration, Rng};

/// Microseconds, operation, offset, device.
type Plain = (u64, char, u64, u32);

fn open(texts: &[&str], options: &MergeOptions) -> Result<Merge, String> {
    let readers = ('a'..).zip(texts).map(|(name, text)| {
        let (name, input) = (name.to_string(), Cursor::new(text.as_bytes().to_vec()));
        let reader = TraceReader::from_reader(input, &name, &ReadOptions::default()).unwrap();
        (name, reader)
    });
    Merge::new(readers.collect(), options).map_err(|error| error.to_string())
}

fn merged(merge: &mut Merge) -> Vec<Plain> {
    let plain = |request: ioda_workload::Request| {
        let op = if request.op == Op::Read { 'R' } else { 'W' };
        (request.at.as_nanos() / 1_000, op, request.offset_bytes, request.device)
    };
    merge.map(|request| plain(request.unwrap())).collect()
}

/// The log of a job of fio.
fn job(file: &str, times: &[u64]) -> String {
    let mut text = format!("fio version 3 iolog\n0 {file} add\n0 {file} open\n");
    for (index, time) in (0..).zip(times) {
        writeln!(text, "{time} {file} write {} 4096", index * 4_096).unwrap();
    }
    text
}

#[test]
fn logs_of_jobs_are_put_together_as_their_times_stand() {
    let (a, b) = (job("x", &[100, 300]), job("x", &[250, 300, 900]));
    let c = "t_us,op,offset_bytes,size_bytes,dev\n50,R,8192,4096,x\n60,R,0,4096,y\n";
    let mut merge = open(&[&a, &b, c], &MergeOptions::default()).unwrap();
    assert!(
        merge.clocks().starts_with("no times are dates, so all are taken to count from the same")
    );
    assert_eq!(
        merged(&mut merge),
        [
            (0, 'R', 8_192, 0),
            (10, 'R', 0, 1),
            (50, 'W', 0, 2),
            (200, 'W', 0, 3),
            (250, 'W', 4_096, 2),
            (250, 'W', 4_096, 3),
            (850, 'W', 8_192, 3),
        ]
    );
    let names = |index: usize| merge.inputs()[index].devices();
    assert_eq!(names(0), [(2, "x".to_owned())]);
    assert_eq!(names(2), [(0, "x".to_owned()), (1, "y".to_owned())]);
    assert_eq!(merge.inputs()[0].first(), Duration::from_micros(50));
    assert_eq!(merge.inputs()[1].counts().requests, 3);

    let same = MergeOptions { same_devices: true, ..MergeOptions::default() };
    let mut merge = open(&[&a, &b, c], &same).unwrap();
    let devices: Vec<u32> = merged(&mut merge).into_iter().map(|(.., device)| device).collect();
    assert_eq!((devices, merge.devices()), (vec![0, 1, 0, 0, 0, 0, 0], 2));
}

#[test]
fn dates_are_compared_whatever_they_count_from() {
    // 2007-02-22 12:26:40.306: as a file time, in seconds since 1970, and as a date.
    let msr = "128166208003060000,h,0,Read,0,4096,9\n128166208003070000,h,0,Read,4096,4096,9\n";
    let seconds = "timestamp,op,offset_bytes,size_bytes\n1172147200.3065,W,8192,4096\n";
    let date = "timestamp,op,offset_bytes,size_bytes\n2007-02-22T12:26:40.3055Z,W,16384,4096\n";
    let mut merge = open(&[msr, seconds, date], &MergeOptions::default()).unwrap();
    assert_eq!(merge.clocks(), "all times are dates and taken as they are");
    assert_eq!(
        merged(&mut merge),
        [(0, 'W', 16_384, 0), (500, 'R', 0, 1), (1_000, 'W', 8_192, 2), (1_500, 'R', 4_096, 1)]
    );
}

#[test]
fn times_that_cannot_be_compared_are_refused_until_it_is_said_how() {
    let (dates, counts) = (
        "timestamp,op,offset_bytes,size_bytes\n1172147200.3065,W,8192,4096\n",
        job("x", &[100, 300]),
    );
    assert_eq!(
        open(&[dates, &counts], &MergeOptions::default()).err().unwrap(),
        "trace b: its times count from a moment that it does not name, where of a its times are dates, \
         so which of them come first cannot be told; type --align start to let all begin at the same \
         time, with --shift to move them"
    );
    let start = MergeOptions { align: Align::Start, ..MergeOptions::default() };
    let mut merge = open(&[dates, &counts], &start).unwrap();
    assert_eq!(merged(&mut merge), [(0, 'W', 8_192, 0), (0, 'W', 0, 1), (200, 'W', 4_096, 1)]);
    let shifts = vec![Duration::from_micros(1_000), Duration::from_micros(900)];
    let moved = MergeOptions { shifts, ..start };
    let mut merge = open(&[dates, &counts], &moved).unwrap();
    assert!(merge.clocks().ends_with("they come later by 1.00ms, 900us, as was asked for (shift)"));
    assert_eq!(merged(&mut merge), [(0, 'W', 0, 0), (100, 'W', 8_192, 1), (200, 'W', 4_096, 0)]);
    let few = MergeOptions { shifts: vec![Duration::ZERO], ..MergeOptions::default() };
    assert_eq!(
        open(&[&counts, dates], &few).err().unwrap(),
        "shift is 1 times, but must be one for each of the 2 traces"
    );
}

#[test]
fn an_error_in_one_trace_ends_the_whole() {
    let wrong = "t_us,op,offset_bytes,size_bytes\n0,R,0,512\n200,R,0\n";
    let mut merge = open(&[&job("x", &[100, 300]), wrong], &MergeOptions::default()).unwrap();
    let items: Vec<_> =
        merge.by_ref().map(|item| item.map_err(|error| error.to_string())).collect();
    let (error, before) = items.split_last().unwrap();
    assert!(error.as_ref().unwrap_err().starts_with("trace b, line 3: found 3 columns"));
    assert!(before.iter().all(Result::is_ok));
    assert!(merge.next().is_none());
}

#[test]
fn any_traces_are_merged_as_sorting_does() {
    for seed in testing::seeds(0..200) {
        let mut rng = Rng::stream(seed, "merging");
        let mut expected = Vec::new();
        let texts: Vec<String> = (0..1 + rng.below(5))
            .map(|input| {
                let mut text = "t_us,op,offset_bytes,size_bytes\n".to_owned();
                let mut at = rng.below(20);
                for index in 0..1 + rng.below(30) {
                    let offset = (input * 100 + index) * 4_096;
                    writeln!(text, "{at},R,{offset},4096").unwrap();
                    expected.push((at, offset));
                    at += rng.below(3) * rng.below(10) + u64::from(index == 0);
                }
                text
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut merge = open(&texts, &MergeOptions::default()).unwrap();
        expected.sort_by_key(|(at, _)| *at);
        let first = expected[0].0;
        let expected: Vec<(u64, u64)> =
            expected.into_iter().map(|(at, offset)| (at - first, offset)).collect();
        let found: Vec<(u64, u64)> =
            merged(&mut merge).into_iter().map(|(at, _, offset, _)| (at, offset)).collect();
        assert_eq!(found, expected);
    }
}
