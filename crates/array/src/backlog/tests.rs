//! Tests of what waits at the host.

use super::*;

const DRIVE: DriveId = DriveId(0);
const MOST: u32 = 4;

struct Host {
    backlogs: Backlogs,
    out: Vec<CommandId>,
    next_id: u32,
}

impl Host {
    fn new() -> Self {
        Self { backlogs: Backlogs::new(2, MOST), out: Vec::new(), next_id: 0 }
    }

    /// A drive that has answered a write in `write_micros` microseconds.
    fn of_drive(write_micros: u64) -> Self {
        let mut host = Self::new();
        let id = host.write();
        host.answer(id, write_micros);
        host
    }

    fn write(&mut self) -> CommandId {
        let id = CommandId(self.next_id);
        self.next_id += 1;
        self.write_group(&[(DRIVE, id, 1)]);
        id
    }

    /// Writes of one stripe operation.
    fn write_group(&mut self, writes: &[(DriveId, CommandId, u32)]) {
        for &(drive, id, blocks) in writes {
            self.backlogs.gather(drive, id, blocks);
        }
        self.backlogs.end_gathering();
        self.follow();
    }

    fn follow(&mut self) {
        while let Some(next) = self.backlogs.next_write() {
            self.out.push(next);
        }
        self.backlogs.check_invariants();
    }

    /// Writes `count` times.
    fn write_all(&mut self, count: u32) -> Vec<CommandId> {
        (0..count).map(|_| self.write()).collect()
    }

    fn answer(&mut self, id: CommandId, micros: u64) {
        self.out.retain(|&out| out != id);
        let latency = Duration::from_micros(micros);
        let kind = self.backlogs.answered(DRIVE, id, Opcode::Write, 1, latency);
        assert_eq!(kind, Some(Kind::Write));
        self.follow();
    }
}

#[test]
fn a_drive_with_a_buffer_has_a_limited_number_of_blocks() {
    let mut host = Host::of_drive(10);
    let ids = host.write_all(10);
    assert_eq!((host.out.len(), host.backlogs.waited()), (4, 6));
    for &id in &ids {
        assert_eq!(host.out.first(), Some(&id), "in the order of their coming");
        host.answer(id, 5_000);
    }
    assert!(host.out.is_empty());
}

#[test]
fn a_drive_without_a_buffer_has_all() {
    let mut host = Host::of_drive(300);
    host.write_all(100);
    assert_eq!((host.out.len(), host.backlogs.waited()), (100, 0));
}

#[test]
fn a_drive_of_which_nothing_is_known_has_all() {
    let mut host = Host::new();
    host.write_all(100);
    assert_eq!(host.out.len(), 100);
}

#[test]
fn a_buffer_that_is_full_is_still_there() {
    let mut host = Host::of_drive(10);
    for _ in 0..1000 {
        let id = host.write();
        host.answer(id, 5_000);
    }
    host.write_all(10);
    assert_eq!(host.out.len(), 4);
}

#[test]
fn a_command_too_large_for_the_limit_goes_alone() {
    let mut host = Host::of_drive(10);
    let (large, small) = (CommandId(5000), CommandId(5001));
    host.write_group(&[(DRIVE, large, 100)]);
    host.write_group(&[(DRIVE, small, 1)]);
    assert_eq!(host.out, [large]);
    assert!(!host.backlogs.holds_read(DRIVE, CommandId(5002), 1), "another kind");
    host.backlogs.answered(DRIVE, large, Opcode::Write, 100, Duration::from_micros(10));
    host.follow();
    assert_eq!(host.out, [large, small]);
}

#[test]
fn what_waits_for_a_drive_can_be_abandoned() {
    let mut host = Host::of_drive(10);
    let ids = host.write_all(6);
    assert_eq!(host.backlogs.abandon(DRIVE), ids[4..]);
    for &id in &ids[..4] {
        host.answer(id, 300);
    }
    assert!(host.out.is_empty());
}

/// A crash between two of them would find a stripe with half of a change.
#[test]
fn writes_of_an_operation_go_out_together_or_wait_together() {
    let mut host = Host::of_drive(10);
    let ids = host.write_all(4);
    let other = DriveId(1);
    let [first, second, third] = [7001, 7002, 7003].map(CommandId);
    host.write_group(&[(other, first, 1), (DRIVE, second, 1)]);
    host.write_group(&[(other, third, 1)]);
    assert_eq!(host.out, ids, "the other drive has room, and its writes wait");
    host.answer(ids[0], 5_000);
    assert_eq!(host.out[3..], [first, second, third]);
}

#[test]
fn writes_that_waited_with_those_of_a_drive_that_is_gone_go_out() {
    let mut host = Host::of_drive(10);
    let ids = host.write_all(4);
    let [first, second] = [7001, 7002].map(CommandId);
    host.write_group(&[(DriveId(1), first, 1), (DRIVE, second, 1)]);
    assert_eq!(host.backlogs.abandon(DRIVE), [second]);
    host.follow();
    assert_eq!(host.out[..4], ids);
    assert_eq!(host.out[4..], [first]);
}
