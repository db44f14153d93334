//! The order of steps, one by one, as a trace of what the machine asks for.

use super::world::{QUIET_FOR, REGION_BYTES, UUID, geometry};
use array::Level;
use engine::durability::journal::JOURNAL_OFFSET_BYTES;
use engine::durability::{
    AnswerId, Change, ChangeId, Durability, Intent, IoId, IoResult, Journal, MemberState,
    OperationId, Output, Records, Superblock, WantedChange,
};
use units::{DriveId, Instant};

const NOW: Instant = Instant::ZERO;

pub(super) struct Zeros;

impl Change for Zeros {
    fn data(&self) -> Option<&[u8]> {
        None
    }
}

/// Runs the machine, and ends what it asks for only when the test says so.
pub(super) struct Bench {
    pub(super) machine: Durability<Zeros>,
    ios: Vec<IoId>,
    changes: Vec<ChangeId>,
}

impl Bench {
    pub(super) fn new(level: Level, width: u8) -> Self {
        let geometry = geometry(level, width);
        let intent = Intent::new(UUID, geometry.drive_bytes, REGION_BYTES, QUIET_FOR);
        let states = vec![MemberState::Serving; usize::from(width)];
        let superblock = Superblock {
            uuid: UUID,
            member: DriveId(0),
            geometry,
            region_bytes: REGION_BYTES,
            generation: 1,
            committed: 0,
            joined: vec![0; states.len()],
            past: Vec::new(),
            proposed: 0,
            states,
            clean: false,
            created_seconds: 1,
        };
        let journal = Journal::new(UUID);
        let machine = Durability::new(Records { superblock, intent, journal, checksums: None });
        Self { machine, ios: Vec::new(), changes: Vec::new() }
    }

    pub(super) fn write(&mut self, operation: u64, drives: &[u8]) {
        for &drive in drives {
            self.machine.handle_change(
                NOW,
                WantedChange {
                    drive: DriveId(drive),
                    offset_bytes: 0,
                    length_bytes: 4096,
                    operation: OperationId(operation),
                    cached: false,
                    change: Zeros,
                },
            );
        }
    }

    /// What the machine asks for now, a word for each, drives in brackets.
    pub(super) fn asked(&mut self) -> String {
        let mut words: Vec<String> = Vec::new();
        while let Some(output) = self.machine.poll_output() {
            words.push(match output {
                Output::WriteHead { id, drive, offset_bytes, .. } => {
                    self.ios.push(id);
                    let what = match offset_bytes {
                        0 | 4096 => "superblock",
                        ..JOURNAL_OFFSET_BYTES => "intent",
                        _ if offset_bytes < JOURNAL_OFFSET_BYTES + 8192 => "header",
                        _ => "record",
                    };
                    format!("{what}{}", drive.0)
                }
                Output::Sync { id, drive, .. } => {
                    self.ios.push(id);
                    format!("sync{}", drive.0)
                }
                Output::Release { id, drive, .. } => {
                    self.changes.push(id);
                    format!("release{}", drive.0)
                }
                Output::Cancel { drive, .. } => format!("cancel{}", drive.0),
                Output::Answer { answer } => format!("answer{}", answer.0),
                Output::Refuse { answer } => format!("refuse{}", answer.0),
                Output::FailDrive { drive, .. } => format!("fail{}", drive.0),
                Output::Stop { reason } => reason.to_string(),
                Output::Ended { end } => format!("{end:?}"),
            });
            self.machine.check_invariants();
        }
        words.join(" ")
    }

    /// Lets all writes into heads and syncs end, and says what comes of it.
    pub(super) fn end_ios(&mut self) -> String {
        for id in std::mem::take(&mut self.ios) {
            self.machine.handle_io_ended(NOW, id, IoResult::Done);
        }
        self.asked()
    }

    fn end_changes(&mut self) -> String {
        for id in std::mem::take(&mut self.changes) {
            self.machine.handle_change_ended(NOW, id, IoResult::Done);
        }
        self.asked()
    }
}

#[test]
fn a_failure_is_recorded_in_two_steps_when_nothing_is_half_written_and_all_is_synced() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.write(1, &[0, 1, 2]);
    assert_eq!(bench.asked(), "intent0 intent1 intent2");
    assert_eq!(bench.end_ios(), "release0 release1 release2");
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    bench.write(2, &[0, 1]);
    bench.machine.handle_answer(AnswerId(7));
    assert_eq!(bench.asked(), "", "the first write is still in flight");
    assert_eq!(bench.end_changes(), "sync0 sync1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    // Nobody hears of anything before; and what comes now is journalled.
    assert_eq!(bench.end_ios(), "header0 header1 answer7");
    assert_eq!(bench.end_ios(), "record0 record1");
    assert_eq!(bench.end_ios(), "release0 release1");
}

#[test]
fn each_drive_journals_what_is_written_to_it() {
    let mut bench = Bench::new(Level::Raid6, 5);
    bench.machine.handle_drive_failed(NOW, DriveId(4));
    bench.write(1, &[0, 1, 2, 3]);
    let marks = "intent0 intent1 intent2 intent3";
    assert_eq!(bench.asked(), format!("{marks} sync0 sync1 sync2 sync3"));
    assert_eq!(bench.end_ios(), "superblock0 superblock1 superblock2 superblock3");
    assert_eq!(bench.end_ios(), "superblock0 superblock1 superblock2 superblock3");
    assert_eq!(bench.end_ios(), "header0 header1 header2 header3");
    assert_eq!(bench.end_ios(), "record0 record1 record2 record3");
    // A write whose batch is stable goes on to its end when a drive fails.
    assert_eq!(bench.end_ios(), "release0 release1 release2 release3");
    bench.machine.handle_drive_failed(NOW, DriveId(0));
    bench.write(2, &[1, 3]);
    assert_eq!(bench.end_changes(), "sync1 sync2 sync3");
    assert_eq!(bench.end_ios(), "superblock1 superblock2 superblock3");
    assert_eq!(bench.end_ios(), "superblock1 superblock2 superblock3");
    assert_eq!(bench.end_ios(), "header1 header2 header3");
    assert_eq!(bench.end_ios(), "record1 record3", "of those that are written");
    assert_eq!(bench.end_ios(), "release1 release3");
    bench.machine.handle_flush(NOW, AnswerId(3));
    assert_eq!(bench.asked(), "answer3", "the journal has it");
}

#[test]
fn a_batch_that_a_failed_drive_may_lack_is_not_written_before_the_failure_is_recorded() {
    let mut bench = Bench::new(Level::Raid6, 5);
    bench.machine.handle_drive_failed(NOW, DriveId(4));
    bench.asked();
    for _ in 0..4 {
        bench.end_ios();
    }
    bench.write(1, &[0, 1, 2]);
    let marks = "intent0 intent1 intent2 intent3";
    assert_eq!(bench.asked(), format!("{marks} record0 record1 record2"));
    bench.machine.handle_io_ended(NOW, bench.ios[5], IoResult::Done);
    bench.machine.handle_drive_failed(NOW, DriveId(0));
    assert_eq!(bench.asked(), "cancel0", "the record on drive 2 is still being written");
    assert_eq!(bench.end_ios(), "sync1 sync2 sync3");
    assert_eq!(bench.end_ios(), "superblock1 superblock2 superblock3");
    assert_eq!(bench.end_ios(), "superblock1 superblock2 superblock3");
    assert_eq!(bench.end_ios(), "header1 header2 header3");
    assert_eq!(bench.end_ios(), "record1 record2");
    assert_eq!(bench.end_ios(), "release1 release2");
}

#[test]
fn a_rebuilt_mirror_is_called_serving_after_its_data_are_synced() {
    let mut bench = Bench::new(Level::Raid1, 2);
    bench.machine.handle_drive_failed(NOW, DriveId(1));
    assert_eq!(bench.asked(), "sync0");
    assert_eq!(bench.end_ios(), "superblock0");
    assert_eq!(bench.end_ios(), "superblock0");
    assert_eq!(bench.end_ios(), "", "mirrors need no journal");
    bench.machine.handle_drive_replaced(NOW, DriveId(1));
    let marks = bench.asked();
    assert!(marks.ends_with("sync0 sync1"), "{marks}");
    assert_eq!(bench.end_ios(), "superblock0", "what joins is not prepared");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "");
    bench.machine.handle_drive_rebuilt(NOW, DriveId(1));
    assert_eq!(bench.asked(), "sync0 sync1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "");
    bench.machine.handle_end(NOW);
    assert_eq!(bench.asked(), "sync0 sync1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "Clean");
}

#[test]
fn who_asks_after_the_array_has_stopped_is_refused() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.write(1, &[0, 1]);
    bench.asked();
    bench.end_ios();
    bench.machine.handle_answer(AnswerId(1));
    assert_eq!(bench.asked(), "answer1");
    bench.machine.handle_change_ended(NOW, bench.changes[0], IoResult::NoRoom);
    assert!(bench.asked().contains("no room left"));
    bench.machine.handle_answer(AnswerId(2));
    bench.machine.handle_flush(NOW, AnswerId(3));
    assert_eq!(bench.asked(), "refuse2 refuse3");
}

#[test]
fn drives_that_cannot_write_their_superblocks_fail_until_too_few_are_left() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.machine.handle_drive_failed(NOW, DriveId(0));
    bench.asked();
    assert_eq!(bench.end_ios(), "superblock1 superblock2");
    let ios = std::mem::take(&mut bench.ios);
    bench.machine.handle_io_ended(NOW, ios[0], IoResult::Failed);
    assert!(bench.asked().starts_with("fail1"));
    bench.machine.handle_io_ended(NOW, ios[1], IoResult::Failed);
    let said = bench.asked();
    assert!(said.ends_with("too few drives are left to write down that others failed"), "{said}");
}
