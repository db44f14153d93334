use super::heimdall::{self, Heimdall};
use super::history::{History, Past};
use super::linnos::{self, Linnos};
use crate::policy::{Answered, Sent, TrainedOn};
use nvme::{Opcode, Status};
use units::{DriveId, Duration, Lba};

fn command(opcode: Opcode, lba: u64, blocks: u32) -> Sent {
    Sent { drive: DriveId(0), opcode, lba: Lba(lba), blocks }
}

fn answer(command: Sent, micros: u64) -> Answered {
    let latency = Duration::from_micros(micros);
    Answered { command, status: Status::Success, latency, for_others: false }
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
