//! Tests of the backlog at the host.

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
        Self { backlogs: Backlogs::new(1, MOST), out: Vec::new(), next_id: 0 }
    }

    /// A host whose drive has answered a write in `write_micros` microseconds.
    fn of_drive(write_micros: u64) -> Self {
        let mut host = Self::new();
        let id = host.write();
        host.answer(id, write_micros);
        host
    }

    fn write(&mut self) -> CommandId {
        let id = CommandId(self.next_id);
        self.next_id += 1;
        if !self.backlogs.holds(DRIVE, Kind::Write, id, 1) {
            self.out.push(id);
        }
        self.backlogs.check_invariants();
        id
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
        while let Some(next) = self.backlogs.next(DRIVE, Kind::Write) {
            self.out.push(next);
        }
        self.backlogs.check_invariants();
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
    assert!(!host.backlogs.holds(DRIVE, Kind::Write, large, 100));
    assert!(host.backlogs.holds(DRIVE, Kind::Write, small, 1));
    assert!(!host.backlogs.holds(DRIVE, Kind::ParityRead, CommandId(5002), 1), "another kind");
    host.backlogs.answered(DRIVE, large, Opcode::Write, 100, Duration::from_micros(10));
    assert_eq!(host.backlogs.next(DRIVE, Kind::Write), Some(small));
}

#[test]
fn all_writes_can_be_let_go() {
    let mut host = Host::of_drive(10);
    let ids = host.write_all(10);
    let going = host.backlogs.let_writes_go();
    assert_eq!(going, ids[4..]);
    host.out.extend(going);
    host.write_all(1);
    assert_eq!(host.out.len(), 10, "the drive has more than its limit");
    for &id in &ids[..7] {
        host.answer(id, 5_000);
    }
    assert_eq!(host.out.len(), 4);
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
