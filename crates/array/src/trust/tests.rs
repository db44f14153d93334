//! Tests of the trust in drives.

use super::*;
use crate::contract::ReadTimes;
use units::Rng;

const TIMES: ReadTimes =
    ReadTimes { alone: Duration::from_micros(100), each: Duration::from_micros(60) };

const MEASURE: Measure = Measure::Promise(TIMES);

/// A drive whose pages lie on dies. Each die serves its reads in order, `factor` times as slowly as
/// specified.
struct Dies {
    free_at: Vec<Instant>,
    factor: u64,
}

impl Dies {
    fn new(dies: usize) -> Self {
        Self { free_at: vec![Instant::ZERO; dies], factor: 1 }
    }

    /// Time of the answer to a read that comes to this die now.
    fn read(&mut self, now: Instant, die: usize) -> Instant {
        let end = now.max(self.free_at[die]) + TIMES.each * self.factor;
        self.free_at[die] = end;
        end + (TIMES.alone.saturating_sub(TIMES.each)) * self.factor
    }
}

/// Runs an array under a load: reads arrive `gap` apart on average, a share of them in bursts to
/// one die. Calls `each` after each answer, until it returns `false`.
fn run(
    trust: &mut Trust,
    dies: &mut [Dies],
    rng: &mut Rng,
    (gap, reads): (Duration, u64),
    mut each: impl FnMut(&Trust, Instant, u64) -> bool,
) {
    let mut out: Vec<Vec<(Instant, Instant, u8)>> = vec![Vec::new(); dies.len()];
    let mut now = Instant::ZERO;
    let hot = rng.below(2) == 0;
    for number in 0..reads {
        now += Duration::from_nanos(rng.below(2 * gap.as_nanos() + 1));
        for (drive, out) in out.iter_mut().enumerate() {
            out.sort_unstable();
            while out.first().is_some_and(|&(end, ..)| end <= now) {
                let (end, sent, ahead) = out.remove(0);
                let latency = end.since(sent);
                let (blocks, status) = (1, Status::Success);
                let flag = ReadFlag { pl: PlFlag::Predictable, ahead };
                let drive = DriveId(drive as u8);
                trust.answered(end, &ReadAnswer { drive, blocks, flag, status, latency });
                if !each(trust, end, number) {
                    return;
                }
            }
        }
        // The hot spot is one die of one drive.
        let is_hot = hot && rng.below(3) > 0;
        let drive = if is_hot { 0 } else { rng.below(dies.len() as u64) as usize };
        let die = if is_hot { 0 } else { rng.below(dies[drive].free_at.len() as u64) as usize };
        let ahead = out[drive].len();
        if trust.advice(now, DriveId(drive as u8), ahead as u32) != Advice::Avoid {
            let end = dies[drive].read(now, die);
            let ahead = u8::try_from(ahead).unwrap_or(u8::MAX);
            let flag = ReadFlag { pl: PlFlag::Predictable, ahead };
            trust.sent(now, DriveId(drive as u8), flag, 1);
            out[drive].push((end, now, ahead));
        }
    }
}

/// Whatever the load, a drive that keeps the contract is never proved slow.
#[test]
fn honest_drives_are_not_accused() {
    for seed in 0..200 {
        let mut rng = Rng::stream(seed, "trust");
        let drives = 3 + rng.below(6) as usize;
        let mut dies: Vec<Dies> = (0..drives).map(|_| Dies::new(1 << rng.below(7))).collect();
        let mut trust = Trust::new(drives as u32, 1 + (seed % 2) as u32, MEASURE, MemberSet::EMPTY);
        let gap = Duration::from_nanos(200 << rng.below(12));
        run(&mut trust, &mut dies, &mut rng, (gap, 3_000), |trust, _, _| {
            assert_eq!(trust.late, 0, "seed {seed}");
            true
        });
        assert!(trust.members.iter().all(|member| member.penance.is_none()), "seed {seed}");
    }
}

#[test]
fn a_drive_ten_times_slower_is_found_within_a_hundred_reads_and_no_other() {
    for seed in 0..100 {
        let mut rng = Rng::stream(seed, "trust");
        let mut dies: Vec<Dies> = (0..4).map(|_| Dies::new(64)).collect();
        let slow = DriveId(rng.below(4) as u8);
        dies[slow.index()].factor = 10;
        let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
        // Some reads come to an idle drive, some faster than the drive could answer them.
        let gap = Duration::from_micros(1 << (3 + rng.below(8)));
        let mut found = None;
        run(&mut trust, &mut dies, &mut rng, (gap, 2_000), |trust, _, number| {
            if found.is_none() && !trust.distrusted().is_empty() {
                found = Some(number);
                assert_eq!(trust.distrusted(), MemberSet::of(slow.0), "seed {seed}");
            }
            true
        });
        let found = found.unwrap_or(u64::MAX);
        // On average a hundred reads of each drive.
        assert!(found <= 400, "seed {seed}: after {found} reads {gap} apart");
        assert_eq!(trust.distrusted(), MemberSet::of(slow.0), "seed {seed}: for good");
    }
}

/// Whatever the load, no drive that is as fast as its peers is convicted.
#[test]
fn equal_peers_are_not_accused() {
    for seed in 0..100 {
        let mut rng = Rng::stream(seed, "trust");
        let drives = 3 + rng.below(6) as usize;
        let mut dies: Vec<Dies> = (0..drives).map(|_| Dies::new(1 << rng.below(7))).collect();
        let parities = 1 + (seed % 2) as u32;
        let mut trust = Trust::new(drives as u32, parities, Measure::Peers, MemberSet::EMPTY);
        let gap = Duration::from_nanos(200 << rng.below(12));
        run(&mut trust, &mut dies, &mut rng, (gap, 4_000), |trust, _, _| {
            assert!(trust.distrusted().len() <= parities, "seed {seed}");
            true
        });
        assert_eq!(trust.times_distrusted, 0, "seed {seed}: {:?}", trust.members);
    }
}

#[test]
fn a_drive_slower_than_its_peers_is_found_and_no_other() {
    let mut convicted = 0;
    for seed in 0..100 {
        let mut rng = Rng::stream(seed, "trust");
        let mut dies: Vec<Dies> = (0..4).map(|_| Dies::new(64)).collect();
        let slow = DriveId(rng.below(4) as u8);
        dies[slow.index()].factor = 3 + rng.below(20);
        let mut trust = Trust::new(4, 1, Measure::Peers, MemberSet::EMPTY);
        // No drive gets more reads than it can serve: a drive whose median grows for ever hides all
        // others.
        let gap = Duration::from_micros(1 << (6 + rng.below(5)));
        run(&mut trust, &mut dies, &mut rng, (gap, 20_000), |trust, _, _| {
            assert!((trust.convicted - MemberSet::of(slow.0)).is_empty(), "seed {seed}");
            true
        });
        // A drive with an overloaded die has a long queue to serve before it can be probed.
        assert_eq!(trust.distrusted(), MemberSet::of(slow.0), "seed {seed}, reads {gap} apart");
        convicted += trust.times_distrusted;
    }
    assert!((90..=100).contains(&convicted), "{convicted}");
}

fn answer(drive: u8, micros: u64) -> ReadAnswer {
    let latency = Duration::from_micros(micros);
    let (blocks, status) = (1, Status::Success);
    ReadAnswer { drive: DriveId(drive), blocks, flag: flag(0), status, latency }
}

fn flag(ahead: u8) -> ReadFlag {
    ReadFlag { pl: PlFlag::Patient, ahead }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Trust after drive 0 has answered late three times.
fn proved(parities: u32) -> Trust {
    let mut trust = Trust::new(4, parities, MEASURE, MemberSet::EMPTY);
    for _ in 0..3 {
        trust.answered(at(1), &answer(0, 301));
    }
    trust
}

#[test]
fn three_late_answers_prove_it_and_two_do_not() {
    let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
    for late in 1..=3 {
        assert!(trust.distrusted().is_empty(), "{late}");
        trust.answered(at(1), &answer(0, 300));
        trust.answered(at(1), &answer(0, 301));
    }
    assert!(trust.distrusted().is_empty(), "good answers count, too");
    trust.answered(at(1), &answer(0, 301));
    assert_eq!(trust.distrusted(), MemberSet::of(0));
    assert_eq!(trust.since(DriveId(0)), Some(at(1)));
    let verdicts = trust.take_verdicts();
    assert_eq!(verdicts, [Verdict { drive: DriveId(0), distrusted: true }]);
    assert!(trust.take_verdicts().is_empty());
}

#[test]
fn seldom_late_is_good_enough() {
    let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
    for number in 0..1_000_000_u64 {
        let micros = if number.is_multiple_of(3_000) { 900 } else { 100 };
        trust.answered(at(number), &answer(0, micros));
    }
    assert!(trust.distrusted().is_empty());
    for number in 0..20_000_u64 {
        let micros = if number.is_multiple_of(1_000) { 900 } else { 100 };
        trust.answered(at(number), &answer(0, micros));
    }
    assert_eq!(trust.distrusted(), MemberSet::of(0));
}

#[test]
fn what_waits_without_the_flag_or_fails_proves_nothing() {
    let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
    for _ in 0..10 {
        trust.answered(at(1), &ReadAnswer { flag: ReadFlag::NONE, ..answer(0, 900) });
        trust.answered(at(1), &ReadAnswer { status: Status::FailedFast, ..answer(0, 900) });
        trust.answered(at(1), &ReadAnswer { status: Status::Unrecovered, ..answer(0, 900) });
        trust.answered(at(1), &ReadAnswer { flag: flag(MOST_AHEAD), ..answer(0, 900_000) });
        trust.answered(at(1), &ReadAnswer { flag: flag(5), ..answer(0, 1_200) });
    }
    assert_eq!((trust.late, trust.distrusted()), (0, MemberSet::EMPTY));
}

#[test]
fn drives_that_are_all_late_are_measured_wrongly() {
    let mut trust = Trust::new(4, 2, MEASURE, MemberSet::EMPTY);
    for _ in 0..100 {
        for drive in 0..4 {
            trust.answered(at(1), &answer(drive, 900));
        }
    }
    assert!(trust.distrusted().is_empty());
}

/// Answers probes after `micros`, until `until`. Returns their number.
fn probe(trust: &mut Trust, from: u64, until: u64, micros: u64) -> u32 {
    let mut probes = 0;
    for now in from..until {
        if trust.advice(at(now), DriveId(0), 0) == Advice::Probe {
            probes += 1;
            trust.answered(at(now), &answer(0, micros));
        }
    }
    probes
}

#[test]
fn it_comes_back_when_it_has_been_good_for_long_enough() {
    let mut trust = proved(1);
    assert_eq!(trust.advice(at(2), DriveId(0), 0), Advice::Avoid);
    assert_eq!(trust.advice(at(2), DriveId(1), 0), Advice::Read);
    assert_eq!(trust.advice(at(400), DriveId(0), 1), Advice::Avoid, "something is out");
    // Slow drives are probed seldom.
    let late = probe(&mut trust, 2, 2_000, 900);
    assert!((10..=40).contains(&late), "{late} late probes");
    let good = probe(&mut trust, 2_000, 2_400, 100);
    assert!(good >= GOOD_PROBES && trust.since(DriveId(0)).is_some(), "{good}: too soon");
    probe(&mut trust, 2_400, 2_700, 100);
    assert_eq!(trust.advice(at(2_700), DriveId(0), 9), Advice::Read);
    let time: Vec<_> = trust.times(at(9_000)).collect();
    assert_eq!(time.len(), 1);
    assert!((2_500..2_700).contains(&(time[0].1.as_nanos() / 1_000_000)), "{time:?}");
    // The next time one late answer is enough, and the return takes four times as long.
    trust.answered(at(3_000), &answer(0, 900));
    assert_eq!(trust.since(DriveId(0)), Some(at(3_000)));
    probe(&mut trust, 3_001, 5_000, 100);
    assert!(trust.since(DriveId(0)).is_some());
    probe(&mut trust, 5_000, 6_000, 100);
    assert!(trust.since(DriveId(0)).is_none());
}

#[test]
fn no_more_are_distrusted_than_the_array_can_do_without() {
    let mut trust = proved(1);
    for _ in 0..9 {
        trust.answered(at(2), &answer(1, 900));
    }
    assert_eq!(trust.distrusted(), MemberSet::of(0));
    // When another drive fails, the distrusted one is needed.
    trust.drive_failed(at(3), DriveId(2));
    assert!(trust.distrusted().is_empty());
    assert!(!trust.is_reduced(0b1111));
    trust.answered(at(4), &answer(0, 900));
    assert!(trust.distrusted().is_empty());
    trust.drive_replaced(DriveId(2));
    trust.answered(at(5), &answer(0, 900));
    assert_eq!(trust.distrusted(), MemberSet::of(0));
    assert!(trust.is_reduced(0b1111) && !trust.is_reduced(0b1110));

    let mut trust = Trust::new(4, 1, MEASURE, MemberSet::of(3));
    for _ in 0..9 {
        trust.answered(at(2), &answer(1, 900));
    }
    assert!(trust.distrusted().is_empty(), "one is missing already");
    let mut two = proved(2);
    two.drive_failed(at(3), DriveId(0));
    assert!(two.distrusted().is_empty(), "what is not there is not distrusted");
}

/// Long queues alone raise a suspicion, and single reads settle it.
#[test]
fn who_is_beyond_the_fence_shows_by_single_reads_which_it_is() {
    for (micros, returns) in [(100, true), (900, false)] {
        let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
        for now in 0..100 {
            trust.answered(at(now), &ReadAnswer { flag: flag(50), ..answer(0, 2_000) });
            for drive in 1..4 {
                trust.answered(at(now), &answer(drive, 100));
            }
        }
        assert_eq!(trust.distrusted(), MemberSet::of(0));
        assert_eq!((trust.late, trust.tallies().count()), (0, 1));
        assert_eq!(trust.advice(at(101), DriveId(0), 3), Advice::Avoid, "it has something to do");
        probe(&mut trust, 101, 140, micros);
        assert_eq!(trust.distrusted().is_empty(), returns);
    }
}

/// A read can be late before it is answered.
#[test]
fn a_read_that_does_not_come_back_proves_it() {
    let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
    let after = |micros: u64| Instant::ZERO + Duration::from_micros(micros);
    trust.sent(after(0), DriveId(0), ReadFlag::NONE, 1);
    trust.sent(after(1), DriveId(0), flag(0), 1);
    trust.sent(after(200), DriveId(0), flag(1), 1);
    let asked = [(301, 0), (302, 1), (900, 1), (1_000, 2), (2_900, 2), (3_100, 3)];
    for (micros, late) in asked {
        trust.advice(after(micros), DriveId(0), 2);
        assert_eq!(trust.late, late, "{micros} us");
    }
    assert_eq!(trust.distrusted(), MemberSet::of(0));
    // An answer counts as an answer, whatever its status.
    let mut trust = Trust::new(4, 1, MEASURE, MemberSet::EMPTY);
    trust.sent(after(1), DriveId(0), flag(0), 1);
    let failed = ReadAnswer { status: Status::FailedFast, ..answer(0, 1) };
    trust.answered(after(2), &failed);
    trust.advice(after(9_000), DriveId(0), 0);
    assert_eq!(trust.late, 0);
}
