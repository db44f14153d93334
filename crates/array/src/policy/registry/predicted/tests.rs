//! The networks decide as their models say, and know nothing that has not been answered.

use super::heimdall::{self, Heimdall};
use super::history::{History, Past};
use super::linnos::{self, Linnos};
use super::network::HEAD_BYTES;
use super::{Predict, Predictor};
use crate::coordinate::Coordinator;
use crate::drive_queues::Queues;
use crate::members::MemberSet;
use crate::policy::{
    Answered, Attempt, Policy, PolicySettings, PolicySetup, Sent, TrainedOn, View,
};
use alloc::vec::Vec;
use nvme::{Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Lba, Rng};

fn command(opcode: Opcode, lba: u64, blocks: u32) -> Sent {
    Sent { drive: DriveId(0), opcode, lba: Lba(lba), blocks }
}

fn answer(command: Sent, micros: u64) -> Answered {
    let latency = Duration::from_micros(micros);
    Answered { command, status: Status::Success, latency, for_others: false, hedged: false }
}

fn past(queue_blocks: u32, latency_micros: u32) -> Past {
    Past { queue_blocks, latency_micros, blocks: 1 }
}

#[test]
fn models_say_whose_they_are() {
    for drive in TrainedOn::ALL {
        assert_eq!(linnos::model(drive)[..8], *b"IODANN1l", "{drive:?}");
        assert_eq!(heimdall::model(drive)[..8], *b"IODANN1h", "{drive:?}");
    }
}

#[test]
fn no_sum_leaves_32_bits() {
    let most = i64::from(i16::MAX);
    for drive in TrainedOn::ALL {
        let network = Linnos::new(drive);
        assert!(network.first.greatest_sum(9) <= i64::from(i32::MAX), "{drive:?}");
        assert!(network.last.greatest_sum(most) <= i64::from(i32::MAX), "{drive:?}");
        let network = Heimdall::new(drive);
        let most_input = heimdall::MOST_INPUT as i64;
        assert!(network.first.greatest_sum(most_input) <= i64::from(i32::MAX), "{drive:?}");
        assert!(network.second.greatest_sum(most) <= i64::from(i32::MAX), "{drive:?}");
        assert!(network.last.greatest_sum(most) <= i64::from(i32::MAX), "{drive:?}");
    }
}

#[test]
fn a_read_is_history_once_it_is_answered() {
    let mut history = History::<2>::new();
    let (write, first) = (command(Opcode::Write, 9, 4), command(Opcode::Read, 1, 1));
    let second = command(Opcode::Read, 2, 1);
    for sent in [&write, &first, &second] {
        history.sent(sent);
    }
    assert_eq!((history.out_blocks(), history.last()), (6, None));
    history.answered(&answer(second, 80));
    assert_eq!((history.out_blocks(), history.last()), (5, None));
    history.answered(&answer(write, 20));
    history.answered(&answer(first, 900));
    let newest_first = [past(5, 900), past(6, 80)];
    assert_eq!((history.out_blocks(), history.last()), (0, Some(&newest_first)));
}

#[test]
fn of_two_reads_that_share_a_place_the_later_is_history() {
    let mut history = History::<1>::new();
    let (early, late) = (command(Opcode::Read, 3, 1), command(Opcode::Read, 3 + 1024, 1));
    history.sent(&early);
    history.sent(&late);
    history.answered(&answer(early, 70));
    assert_eq!(history.last(), None);
    history.answered(&answer(late, 75));
    assert_eq!(history.last(), Some(&[past(2, 75)]));
}

#[test]
fn linnos_sees_decimal_digits_the_oldest_first() {
    let mut network = Linnos::new(TrainedOn::default());
    let inputs = network.inputs(1234, &[past(4, 44), past(30, 333), past(200, 12_345), past(1, 1)]);
    let digits = [
        0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 4, 9, 9, 9, // Queues.
        0, 0, 0, 1, 9, 9, 9, 9, 0, 3, 3, 3, 0, 0, 4, 4, // Latencies.
    ];
    assert_eq!(inputs[..linnos::INPUTS], digits);
    assert_eq!(inputs[linnos::INPUTS..], [0]);
}

#[test]
fn heimdall_sees_the_newest_first() {
    let inputs = heimdall::inputs(7, &[past(4, 100), past(30, 4096), past(200, 0)]);
    assert_eq!(inputs, [7, 1, 4, 30, 200, 100, 4096, 0, 41, 1, 4096]);
}

/// The outputs of the network in `model`, whose layers begin at `at` and have these sizes, computed
/// without limits of size or optimization.
fn plain_outputs(model: &[u8], mut at: usize, sizes: &[usize], inputs: &[i16]) -> Vec<i64> {
    let mut values: Vec<i64> = inputs.iter().map(|&input| i64::from(input)).collect();
    let number = |at: usize| i32::from_le_bytes(model[at..at + 4].try_into().unwrap());
    for (layer, &units) in sizes.iter().enumerate() {
        let (shift, weights) = (number(at), at + 4);
        let biases = weights + 2 * values.len() * units;
        at = biases + 4 * units;
        let sums = (0..units).map(|unit| {
            let weight = |input: usize| {
                let at = weights + 2 * (unit * values.len() + input);
                i64::from(i16::from_le_bytes([model[at], model[at + 1]]))
            };
            let sum: i64 = values.iter().enumerate().map(|(input, &of)| weight(input) * of).sum();
            sum + i64::from(number(biases + 4 * unit))
        });
        let is_last = layer + 1 == sizes.len();
        values =
            sums.map(|sum| if is_last { sum } else { (sum >> shift).clamp(0, 32_767) }).collect();
    }
    assert_eq!(at, model.len());
    values
}

/// A queue and the last reads, sometimes far beyond the ranges of the training.
fn moment<const N: usize>(rng: &mut Rng) -> (u32, [Past; N]) {
    let most = [20, 200, 5_000][rng.below(3) as usize];
    let queue = 1 + rng.below(most) as u32;
    (queue, core::array::from_fn(|_| past(1 + rng.below(most) as u32, rng.below(8 * most) as u32)))
}

#[test]
fn linnos_decides_as_its_network_computed_plainly() {
    let mut rng = Rng::new(1);
    for drive in TrainedOn::ALL {
        let mut network = Linnos::new(drive);
        let mut slow = 0;
        for _ in 0..1_000 {
            let (queue, past) = moment(&mut rng);
            let is_slow = network.is_slow(queue, &past);
            let inputs = &network.inputs(queue, &past)[..linnos::INPUTS];
            let outputs = plain_outputs(linnos::model(drive), HEAD_BYTES, &[256, 2], inputs);
            assert_eq!(is_slow, outputs[1] > outputs[0], "{drive:?}, {queue}, {past:?}");
            slow += u32::from(is_slow);
        }
        assert!((1..1_000).contains(&slow), "{drive:?}: {slow} of 1000 reads are slow");
    }
}

#[test]
fn heimdall_decides_as_its_network_computed_plainly() {
    let mut rng = Rng::new(2);
    for drive in TrainedOn::ALL {
        let mut network = Heimdall::new(drive);
        let layers = HEAD_BYTES + 8 * heimdall::INPUTS;
        let mut slow = 0;
        for _ in 0..1_000 {
            let (queue, past) = moment(&mut rng);
            let is_slow = network.is_slow(queue, &past);
            let inputs = &network.scaled(queue, &past)[..heimdall::INPUTS];
            let outputs = plain_outputs(heimdall::model(drive), layers, &[128, 16, 1], inputs);
            assert_eq!(is_slow, outputs[0] > 0, "{drive:?}, {queue}, {past:?}");
            slow += u32::from(is_slow);
        }
        assert!((1..1_000).contains(&slow), "{drive:?}: {slow} of 1000 reads are slow");
    }
}

#[test]
fn heimdall_has_inputs_in_parts_of_their_ranges() {
    let mut rng = Rng::new(3);
    for drive in TrainedOn::ALL {
        let mut network = Heimdall::new(drive);
        for _ in 0..1_000 {
            let (queue, past) = moment(&mut rng);
            let values = heimdall::inputs(queue, &past);
            let scaled = *network.scaled(queue, &past);
            for (input, (&value, &scaled)) in values.iter().zip(&scaled).enumerate() {
                let at = HEAD_BYTES + 8 * input;
                let number = |at: usize| {
                    let bytes = heimdall::model(drive)[at..at + 4].try_into().unwrap();
                    f64::from(u32::from_le_bytes(bytes))
                };
                let (least, span) = (number(at), number(at + 4));
                let parts =
                    if span > 0.0 { (f64::from(value) - least) / span * 4096.0 } else { 0.0 };
                let expected = parts.clamp(0.0, heimdall::MOST_INPUT as f64);
                assert!((f64::from(scaled) - expected).abs() <= 1.0, "{drive:?}, input {input}");
            }
        }
    }
}

/// Predicts a slow read after one that took a millisecond.
struct AfterMillisecond;

impl Predict<1> for AfterMillisecond {
    fn is_slow(&mut self, _: u32, past: &[Past; 1]) -> bool {
        past[0].latency_micros >= 1_000
    }
}

/// The attempts at a read of each of two drives.
fn attempts(policy: &mut Predictor<AfterMillisecond, 1>) -> [Attempt; 2] {
    let queues = Queues::new(2);
    let (coordinator, missing) = (&Coordinator::Free, MemberSet::EMPTY);
    let view = View { coordinator, queues: &queues, stripe: 0b11, missing };
    [0, 1].map(|drive| policy.first_attempt(Instant::ZERO, DriveId(drive), Lba(0), &view))
}

#[test]
fn what_is_predicted_to_be_slow_is_avoided_once_the_drive_has_answered() {
    let settings = PolicySettings::default();
    let reconstruct_compute = Duration::ZERO;
    let setup = PolicySetup { drives: 2, parities: 1, reconstruct_compute, settings: &settings };
    let mut policy = Predictor::new(&setup, AfterMillisecond);
    let sent = Attempt::Send(PlFlag::Off);
    let (slow, fast) = (command(Opcode::Read, 1, 1), command(Opcode::Read, 2, 1));
    assert_eq!(attempts(&mut policy), [sent, sent]);
    policy.sent(Instant::ZERO, &slow);
    policy.sent(Instant::ZERO, &fast);
    assert_eq!(attempts(&mut policy), [sent, sent], "no read has been answered");
    policy.answered(Instant::ZERO, &answer(slow, 1_000));
    assert_eq!(attempts(&mut policy), [Attempt::Avoid, sent], "each drive has its own history");
    policy.answered(Instant::ZERO, &answer(fast, 80));
    assert_eq!(attempts(&mut policy), [sent, sent]);
    let counts: Vec<u64> = policy.tallies().iter().map(|tally| tally.count).collect();
    assert_eq!(counts, [8, 1]);
}
