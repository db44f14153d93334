//! Tests of delays and budgets.

use super::*;
use crate::coordinate::Coordinator;
use crate::drive_queues::Queues;
use crate::learnt::Stall;
use crate::members::MemberSet;
use crate::policy::{PolicySettings, Sent};
use nvme::Status;
use units::{DriveId, Lba};

fn policy() -> Attentive {
    with(&PolicySettings::default())
}

fn with(settings: &PolicySettings) -> Attentive {
    let reconstruct_compute = Duration::ZERO;
    Attentive::new(&PolicySetup { drives: 4, parities: 1, reconstruct_compute, settings })
}

fn answer(policy: &mut Attentive, micros: u64, for_others: bool) {
    let command = Sent { drive: DriveId(0), opcode: Opcode::Read, lba: Lba(0), blocks: 1 };
    let (status, latency) = (Status::Success, Duration::from_micros(micros));
    policy
        .answered(Instant::ZERO, &Answered { command, status, latency, for_others, hedged: false });
}

/// One in a hundred reads takes 1000 µs, and one in ten 300 µs.
fn micros(index: u32) -> u64 {
    match index {
        _ if index.is_multiple_of(100) => 1000,
        _ if index.is_multiple_of(10) => 300,
        _ => 100,
    }
}

const SINGLE: Awaited = Awaited {
    host_waits: true,
    answers: 1,
    reads: 3,
    waited: Duration::ZERO,
    writes_waiting_blocks: 0,
};
const WHOLE: Awaited = Awaited { answers: 3, reads: 1, ..SINGLE };

fn learn(policy: &mut Attentive, awaited: &Awaited, reads: u32) {
    for index in 0..reads {
        policy.hedge_after(Instant::ZERO, awaited);
        answer(policy, micros(index), false);
    }
}

fn delay(policy: &mut Attentive, awaited: &Awaited) -> u64 {
    policy.hedge_after(Instant::ZERO, awaited).unwrap().as_nanos() / 1000
}

#[test]
fn it_waits_until_it_knows_how_long_reads_take() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, STEP - 1);
    assert_eq!(policy.hedge_after(Instant::ZERO, &SINGLE), None);
    answer(&mut policy, 100, false);
    assert!(policy.hedge_after(Instant::ZERO, &SINGLE).is_some());
}

#[test]
fn a_hedge_that_takes_one_read_is_sent_sooner() {
    // A tenth of the reads is later than 100 µs. A hedge of three reads for each would be 30 %.
    let mut single = policy();
    learn(&mut single, &SINGLE, 5_000);
    assert!((300..=320).contains(&delay(&mut single, &SINGLE)));
    let mut whole = policy();
    for index in 0..15_000 {
        if index % 3 == 0 {
            whole.hedge_after(Instant::ZERO, &WHOLE);
        }
        answer(&mut whole, micros(index), false);
    }
    assert!((100..=107).contains(&delay(&mut whole, &WHOLE)));
}

#[test]
fn a_budget_that_is_nearly_spent_is_left_for_the_latest() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, 5_000);
    let usual = delay(&mut policy, &SINGLE);
    while policy.budget.saved_reads() * 6 >= SAVED_READS {
        assert!(policy.budget.spend(3));
    }
    let thrifty = delay(&mut policy, &SINGLE);
    assert!(thrifty > 900 && usual < 400, "{usual}, {thrifty}");
}

#[test]
fn hedges_are_few_while_drives_do_not_keep_up() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, 5_000);
    let keeps_up = Awaited { writes_waiting_blocks: policy.behind_blocks, ..SINGLE };
    let behind = Awaited { writes_waiting_blocks: policy.behind_blocks + 1, ..SINGLE };
    let (usual, thrifty) = (delay(&mut policy, &keeps_up), delay(&mut policy, &behind));
    assert!(thrifty > 900 && usual < 400, "{usual}, {thrifty}");
}

/// Whether a hedge of `reads` reads is sent while these commands are out.
fn may_hedge(policy: &mut Attentive, out: &[(u8, Opcode, u32)], reads: u32) -> bool {
    let mut queues = Queues::new(4);
    for &(drive, opcode, blocks) in out {
        queues.add(DriveId(drive), opcode, blocks);
    }
    let (coordinator, missing) = (&Coordinator::Free, MemberSet::EMPTY);
    let view = View { coordinator, queues: &queues, stripe: 0b1111, missing };
    policy.may_hedge(Instant::ZERO, 1, reads, &view)
}

#[test]
fn a_hedge_reads_no_drive_whose_reads_queue() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, 5_000);
    let deep = |drive| (drive, Opcode::Read, DEEP_BLOCKS);
    assert!(may_hedge(&mut policy, &[deep(0)], 3), "three drives are left");
    let saved = policy.budget.saved_reads();
    assert!(!may_hedge(&mut policy, &[deep(0), deep(1)], 3), "two are left");
    assert_eq!(policy.budget.saved_reads(), saved, "what is not sent costs nothing");
    assert!(may_hedge(&mut policy, &[deep(0), deep(1)], 2));
    let writes = [0, 1, 2, 3].map(|drive| (drive, Opcode::Write, 10 * DEEP_BLOCKS));
    assert!(may_hedge(&mut policy, &writes, 3), "reads pass writes");
}

#[test]
fn a_hedge_that_was_refused_is_asked_for_again_ever_less_often() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, 5_000);
    let again = |policy: &mut Attentive, millis| {
        let waited = Duration::from_millis(millis);
        policy.hedge_again_after(Instant::ZERO, &Awaited { waited, ..SINGLE })
    };
    assert_eq!(again(&mut policy, 0), None, "without a request");
    assert_eq!(again(&mut policy, 20), Some(Duration::from_millis(20)));
    assert_eq!(again(&mut policy, 40), Some(Duration::from_millis(40)));
}

#[test]
fn reads_of_hedges_teach_nothing() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, 5_000);
    let before = delay(&mut policy, &SINGLE);
    for _ in 0..20_000 {
        answer(&mut policy, 50_000, true);
    }
    assert_eq!(delay(&mut policy, &SINGLE), before);
}

#[test]
fn it_follows_a_load_that_changes() {
    let mut policy = policy();
    learn(&mut policy, &SINGLE, 5_000);
    for index in 0..40_000 {
        policy.hedge_after(Instant::ZERO, &SINGLE);
        answer(&mut policy, micros(index) * 4, false);
    }
    assert!((1200..=1280).contains(&delay(&mut policy, &SINGLE)));
}

#[test]
fn writes_spend_a_quarter_at_most() {
    let mut policy = policy();
    let parity = Awaited { host_waits: false, answers: 2, reads: 2, ..SINGLE };
    for index in 0..20_000 {
        policy.hedge_after(Instant::ZERO, if index % 10 == 0 { &SINGLE } else { &parity });
        answer(&mut policy, micros(index), false);
    }
    let total = policy.latencies.total();
    let allowed = policy.settings.extra_reads.of(total);
    for (group, most) in [(&policy.parity, allowed / 4), (&policy.host, allowed)] {
        let delay = group.delays[0].unwrap();
        let in_time = policy.latencies.rising().take_while(|&(end, _)| end <= delay);
        let in_time = in_time.last().unwrap().1;
        let reads = group.hedge_reads((in_time << SHARE_BITS) / total);
        assert!(reads <= most, "{reads} of {most}");
    }
}

#[test]
fn reads_and_writes_take_no_memory_once_it_knows_its_drives() {
    let mut policy = policy();
    let mut round = |index: u32| {
        policy.hedge_after(Instant::ZERO, &SINGLE);
        policy.hedge_again_after(Instant::ZERO, &WHOLE);
        if policy.budget.spend(3) {
            policy.hedge_ended(3, index.is_multiple_of(2));
        }
        let drive = DriveId((index % 4) as u8);
        let now = Instant::ZERO + Duration::from_micros(u64::from(index) * 1_000);
        let opcode = if index.is_multiple_of(3) { Opcode::Write } else { Opcode::Read };
        let command = Sent { drive, opcode, lba: Lba(0), blocks: 1 };
        let (status, latency) = (Status::Success, Duration::from_micros(micros(index)));
        let (for_others, hedged) = (false, index.is_multiple_of(7));
        policy.answered(now, &Answered { command, status, latency, for_others, hedged });
    };
    (0..20_000).for_each(&mut round);
    let taken = allocation_counter::measure(|| (20_000..120_000).for_each(&mut round));
    assert_eq!(taken.count_total, 0);
    assert!(policy.stalls().iter().any(|stalls| stalls.count > 100));
}

#[test]
fn what_it_has_learnt_is_there_after_a_restart() {
    let mut before = policy();
    learn(&mut before, &SINGLE, 7_000);
    let memory = before.memory().unwrap();
    let mut after = policy();
    after.remember(&memory);
    let group = |policy: &Attentive| policy.host.delays;
    before.solve();
    assert_eq!(group(&after), group(&before));
    assert_eq!(after.memory(), Some(memory));
    assert!(after.hedge_after(Instant::ZERO, &SINGLE).is_some(), "at once");
}

#[test]
fn a_memory_that_makes_no_sense_does_no_harm() {
    let class = OperationClass { operations: u32::MAX, reads: u32::MAX };
    let stall = Stall { length_nanos: u64::MAX, period_nanos: u64::MAX, written_blocks: u64::MAX };
    let memory = Memory {
        latencies: (0..5_000).map(|bucket| (bucket, u32::MAX)).collect(),
        host: vec![class; 100],
        parity: vec![class; 100],
        drives: vec![vec![stall; 1_000]; 100],
    };
    let mut policy = policy();
    policy.remember(&memory);
    learn(&mut policy, &SINGLE, 100_000);
    assert!((200..=1_100).contains(&delay(&mut policy, &SINGLE)));
    assert_eq!(policy.stalls().len(), 4);
}

#[test]
fn drives_tell_reads_what_they_would_wait_for_if_it_is_an_oracle() {
    let mut settings = PolicySettings::default();
    assert_eq!(with(&settings).reconstruct_flag(), PlFlag::Off);
    assert!(!with(&settings).hooks().has(Hooks::FIRST_ATTEMPT));
    settings.attentive.oracle = true;
    let oracle = with(&settings);
    assert_eq!(oracle.reconstruct_flag(), PlFlag::Patient);
    assert!(oracle.hooks().has(Hooks::FIRST_ATTEMPT));
    let failures = [(0, 30), (1, 10), (2, 20)].map(|(member, micros)| Failure {
        member,
        drive: DriveId(member),
        busy_remaining: Duration::from_micros(micros),
    });
    assert_eq!(oracle.wait_for(&failures), 1);
}
