//! The order of steps, one by one, as a trace of the machine's outputs.

use super::world::{QUIET_FOR, REGION_BYTES, UUID, geometry};
use array::{FailReason, Level};
use engine::Token;
use engine::durability::journal::JOURNAL_OFFSET_BYTES;
use engine::durability::{
    Change, Durability, Intent, IoId, IoResult, Journal, MemberState, Output, Past, Records, Setup,
    Superblock, WantedChange,
};
use std::collections::BTreeMap;
use units::{DriveId, Duration, Instant};

const NOW: Instant = Instant::ZERO;

pub(super) struct Zeros;

impl Change for Zeros {
    fn data(&self) -> Option<&[u8]> {
        None
    }
}

/// Runs the machine, and ends its I/O only on demand.
pub(super) struct Bench {
    pub(super) machine: Durability<Zeros>,
    ios: Vec<IoId>,
    changes: Vec<IoId>,
    /// Pending write of each operation.
    writes: BTreeMap<u64, IoId>,
}

impl Bench {
    pub(super) fn new(level: Level, width: u8) -> Self {
        let drive_bytes = geometry(level, width).drive_bytes;
        Self::with(level, width, Intent::new(UUID, drive_bytes, REGION_BYTES, QUIET_FOR))
    }

    fn with(level: Level, width: u8, intent: Intent) -> Self {
        let geometry = geometry(level, width);
        let states = vec![MemberState::Serving; usize::from(width)];
        let superblock = Superblock {
            uuid: UUID,
            member: DriveId(0),
            geometry,
            region_bytes: REGION_BYTES,
            generation: 1,
            committed: 0,
            joined: vec![0; states.len()],
            began: 0,
            past: Past::default(),
            seals_sectors: false,
            proposed: 0,
            states,
            clean: false,
            created_seconds: 1,
        };
        let setup = Setup::from(QUIET_FOR);
        let journal = Journal::new(UUID, &setup);
        let records = Records { superblock, intent, journal, checksums: None, setup };
        let machine = Durability::new(records);
        Self { machine, ios: Vec::new(), changes: Vec::new(), writes: BTreeMap::new() }
    }

    pub(super) fn write(&mut self, operation: u64, drives: &[u8]) {
        self.write_at(operation, drives, 0);
    }

    fn write_at(&mut self, operation: u64, drives: &[u8], block: u64) {
        self.write_as(operation, drives, block, false);
    }

    fn write_as(&mut self, operation: u64, drives: &[u8], block: u64, cached: bool) {
        for &drive in drives {
            let wanted = WantedChange {
                drive: DriveId(drive),
                offset_bytes: block * 4096,
                length_bytes: 4096,
                joins: self.writes.get(&operation).copied(),
                cached,
                change: Zeros,
            };
            let handed = self.machine.handle_change(NOW, wanted);
            self.writes.insert(operation, handed.write);
        }
    }

    /// Returns the outputs of the machine: a word for each, with its drive.
    pub(super) fn asked(&mut self) -> String {
        let mut words: Vec<String> = Vec::new();
        self.machine.advance();
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

    /// Ends all writes into heads and syncs. Returns the outputs that follow.
    pub(super) fn end_ios(&mut self) -> String {
        for id in std::mem::take(&mut self.ios) {
            self.machine.handle_io_ended(NOW, id, IoResult::Done);
        }
        self.asked()
    }

    /// Repeats [`Bench::end_ios`] until there are no outputs.
    fn settle(&mut self) -> String {
        let mut said = vec![self.asked()];
        while !self.ios.is_empty() {
            said.push(self.end_ios());
        }
        said.retain(|more| !more.is_empty());
        said.join(", ")
    }

    /// Advances the time, and handles the deadline.
    fn at(&mut self, now: Instant) -> String {
        self.machine.handle_deadline(now);
        self.asked()
    }

    /// Returns the state of the machine as text.
    fn state(&self) -> String {
        let mut words = Vec::new();
        if self.machine.is_idle() {
            words.push("idle".to_owned());
        }
        if self.machine.answers_at_once() {
            words.push("answers".to_owned());
        }
        let drives = || (0..self.machine.superblock().geometry.width).map(DriveId);
        let those = |name: &str, is: &dyn Fn(DriveId) -> bool| {
            let numbers: String =
                drives().filter(|it| is(*it)).map(|it| it.0.to_string()).collect();
            (!numbers.is_empty()).then(|| format!("{name}{numbers}"))
        };
        words.extend(those("journalled", &|drive| self.machine.is_journalled(drive)));
        words.extend(those("failed", &|drive| self.machine.is_failure_recorded(drive)));
        words.join(" ")
    }

    pub(super) fn end_changes(&mut self) -> String {
        for id in std::mem::take(&mut self.changes) {
            self.machine.handle_io_ended(NOW, id, IoResult::Done);
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
    bench.machine.handle_answer(Token(7));
    assert_eq!(bench.asked(), "", "the first write is still in flight");
    assert_eq!(bench.end_changes(), "sync0 sync1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
    // No client is answered before that, and later changes are journalled.
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
    bench.machine.handle_flush(NOW, Token(3));
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

/// A rebuild reads data that was answered. If that data were only in memory when the drive is
/// called serving, the drive would not fit the others after a crash.
#[test]
fn a_rebuilt_drive_is_called_serving_after_all_that_was_answered_is_in_the_journal() {
    for is_whole in [true, false] {
        let mut bench = Bench::new(Level::Raid5, 3);
        bench.machine.handle_drive_failed(NOW, DriveId(2));
        bench.settle();
        bench.machine.handle_drive_replaced(NOW, DriveId(2));
        bench.settle();
        bench.write_as(1, &[0, 1], 0, true);
        assert_eq!(bench.asked(), "intent0 intent1 intent2 record0 record1");
        bench.write_as(2, &[0, 1], 1, true);
        match is_whole {
            true => bench.machine.handle_drive_rebuilt(NOW, DriveId(2)),
            false => bench.machine.handle_rebuilt_before(NOW, DriveId(2), 4),
        }
        assert_eq!(bench.asked(), "", "the second write is in memory alone");
        assert!(!bench.machine.is_idle());
        assert_eq!(bench.end_ios(), "record0 record1 release0 release1");
        assert_eq!(bench.end_changes(), "");
        assert_eq!(bench.end_ios(), "release0 release1");
        assert_eq!(bench.end_changes(), "sync0 sync1 sync2");
        assert_eq!(bench.end_ios(), "superblock0 superblock1 superblock2");
    }
}

#[test]
fn who_asks_after_the_array_has_stopped_is_refused() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.write(1, &[0, 1]);
    bench.asked();
    bench.end_ios();
    bench.machine.handle_answer(Token(1));
    assert_eq!(bench.asked(), "answer1");
    bench.machine.handle_io_ended(NOW, bench.changes[0], IoResult::NoRoom);
    assert!(bench.asked().contains("no room left"));
    bench.machine.handle_answer(Token(2));
    bench.machine.handle_flush(NOW, Token(3));
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

#[test]
fn the_machine_says_what_is_journalled_and_recorded_and_whether_anything_is_under_way() {
    let mut bench = Bench::new(Level::Raid5, 3);
    assert_eq!((bench.asked().as_str(), bench.state().as_str()), ("", "idle answers"));
    bench.write(1, &[0, 1, 2]);
    assert_eq!(bench.state(), "answers", "a change is held");
    bench.asked();
    bench.end_ios();
    assert_eq!(bench.state(), "answers", "a change is in flight");
    bench.end_changes();
    assert_eq!(bench.state(), "idle answers");
    bench.machine.handle_flush(NOW, Token(1));
    assert_eq!((bench.asked().as_str(), bench.state().as_str()), ("sync0 sync1 sync2", "answers"));
    assert_eq!(bench.end_ios(), "answer1");
    assert_eq!(bench.state(), "idle answers");
    bench.machine.handle_answer(Token(2));
    assert_eq!(bench.state(), "", "an answer is to be given");
    assert_eq!(bench.asked(), "answer2");

    bench.machine.handle_drive_failed(NOW, DriveId(2));
    bench.machine.handle_answer(Token(3));
    for asked in ["sync0 sync1", "superblock0 superblock1", "superblock0 superblock1"] {
        let said = if asked.starts_with('s') && asked.contains("sync") {
            bench.asked()
        } else {
            bench.end_ios()
        };
        assert_eq!((said.as_str(), bench.state().as_str()), (asked, ""));
    }
    assert_eq!(bench.end_ios(), "header0 header1 answer3");
    assert_eq!(bench.state(), "answers journalled01", "the journal is being cleared");
    assert_eq!(bench.end_ios(), "");
    assert_eq!(bench.state(), "idle answers journalled01 failed2");
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    assert_eq!(
        (bench.asked().as_str(), bench.state().as_str()),
        ("", "idle answers journalled01 failed2")
    );

    bench.machine.handle_drive_replaced(NOW, DriveId(2));
    assert!(bench.asked().ends_with("sync0 sync1 sync2"));
    assert_eq!(bench.state(), "answers journalled01", "the loss is recorded");
    bench.settle();
    assert_eq!(bench.state(), "idle answers journalled01");
    bench.machine.handle_drive_rebuilt(NOW, DriveId(2));
    bench.settle();
    assert_eq!(bench.state(), "idle answers");

    // A drive whose failure is not recorded journals nothing, although the superblocks of the
    // others call it serving.
    bench.machine.handle_drive_failed(NOW, DriveId(1));
    bench.settle();
    bench.machine.handle_drive_failed(NOW, DriveId(0));
    assert_eq!(bench.state(), "journalled2 failed1");
    bench.machine.handle_io_failed(NOW, DriveId(2), FailReason::Checksums, IoResult::Done);
    assert!(!bench.asked().contains("no room"));
    bench.machine.handle_io_failed(NOW, DriveId(2), FailReason::Checksums, IoResult::NoRoom);
    assert!(bench.asked().contains("no room left"));
    assert_eq!(bench.state(), "", "nothing comes any more");
}

#[test]
fn a_drive_fails_that_cannot_write_its_checksums_or_be_synced() {
    for reason in [FailReason::Checksums, FailReason::Sync] {
        let mut bench = Bench::new(Level::Raid6, 4);
        bench.machine.handle_io_failed(NOW, DriveId(1), reason, IoResult::Done);
        assert_eq!(bench.asked(), "");
        bench.machine.handle_io_failed(NOW, DriveId(1), reason, IoResult::Failed);
        assert_eq!(bench.asked(), "fail1 sync0 sync2 sync3");
        bench.settle();
        assert_eq!(bench.state(), "idle answers journalled023 failed1");
    }
}

#[test]
fn how_far_a_rebuild_has_come_is_recorded_when_it_has_come_further() {
    let mut bench = Bench::new(Level::Raid1, 2);
    let cursor = |bench: &Bench| match bench.machine.superblock().states[1] {
        MemberState::Rebuilding { cursor_bytes } => cursor_bytes,
        other => panic!("{other:?}"),
    };
    bench.machine.handle_drive_failed(NOW, DriveId(1));
    bench.settle();
    bench.machine.handle_rebuilt_before(NOW, DriveId(1), 4);
    assert_eq!(bench.settle(), "", "a failed drive is not being rebuilt");
    bench.machine.handle_drive_replaced(NOW, DriveId(1));
    bench.settle();
    assert_eq!(cursor(&bench), 0);
    let recorded = "sync0 sync1, superblock0 superblock1, superblock0 superblock1";
    for (stripe, is_more, before) in
        [(0, false, 0), (3, true, 3), (3, false, 3), (2, false, 3), (4, true, 4)]
    {
        bench.machine.handle_rebuilt_before(NOW, DriveId(1), stripe);
        assert_eq!(bench.settle(), if is_more { recorded } else { "" }, "{stripe}");
        assert_eq!(cursor(&bench), bench.machine.superblock().geometry.bytes_before(before));
        bench.machine.handle_rebuilt_before(NOW, DriveId(0), stripe + 1);
        assert_eq!(bench.settle(), "", "it serves");
    }
}

/// Record of an array that was cut short while everything was being written.
fn marked() -> Intent {
    let mut intent =
        Intent::new(UUID, geometry(Level::Raid5, 3).drive_bytes, REGION_BYTES, QUIET_FOR);
    let record = vec![0; intent.record_bytes()];
    intent.recover(&record);
    intent
}

#[test]
fn an_array_ends_cleanly_if_nothing_is_held_and_all_parity_was_resynced() {
    for (is_resynced, is_held, end) in [
        (false, false, "ParityNotResynced"),
        (true, false, "Clean"),
        (false, true, "ChangesHeld"),
        (true, true, "ChangesHeld"),
    ] {
        let mut bench = Bench::with(Level::Raid5, 3, marked());
        assert!(bench.machine.intent().is_resyncing());
        if is_resynced {
            bench.machine.handle_parity_resynced(NOW);
            assert!(!bench.machine.intent().is_resyncing());
        }
        bench.machine.handle_end(NOW);
        assert!(bench.asked().ends_with("sync0 sync1 sync2"));
        if is_held {
            bench.write(1, &[0, 1]);
        }
        let said = bench.settle();
        assert!(said.ends_with(end), "{said}");
        assert_eq!(bench.machine.superblock().clean, end == "Clean");
        // No superblock is written that would repeat the last one.
        assert_eq!(said.contains("superblock"), end == "Clean", "{said}");
    }
}

#[test]
fn what_was_resynced_beside_a_sync_is_synced_before_it_is_recorded() {
    let mut bench = Bench::with(Level::Raid5, 3, marked());
    bench.machine.handle_end(NOW);
    assert!(bench.asked().ends_with("sync0 sync1 sync2"));
    bench.machine.handle_parity_resynced(NOW);
    assert_eq!(bench.end_ios(), "sync0 sync1 sync2", "once more");
    assert_eq!(bench.end_ios(), "superblock0 superblock1 superblock2");
    assert!(bench.settle().ends_with("Clean"));
    // A resync that has not ended is not waited for.
    let mut bench = Bench::with(Level::Raid5, 3, marked());
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    assert!(bench.asked().ends_with("sync0 sync1"));
    assert_eq!(bench.end_ios(), "superblock0 superblock1");
}

#[test]
fn a_mark_is_taken_back_when_its_region_was_quiet_and_all_was_synced() {
    let mut bench = Bench::new(Level::Raid5, 3);
    let (before, last) =
        (QUIET_FOR.saturating_sub(Duration::from_nanos(1)), Instant::ZERO + QUIET_FOR);
    let before = Instant::ZERO + before;
    assert_eq!(bench.machine.next_deadline(), Instant::NEVER);
    bench.write(1, &[0, 1]);
    assert_eq!(bench.asked(), "intent0 intent1 intent2");
    assert_eq!(bench.end_ios(), "release0 release1");
    bench.write_at(2, &[2], 9);
    assert_eq!(bench.asked(), "release2", "the region is marked");
    assert_eq!(bench.end_changes(), "");
    assert!(bench.machine.next_deadline() < last);
    assert_eq!(bench.at(before), "");
    assert_eq!(bench.at(before), "", "not before its time");
    assert!(bench.machine.next_deadline() > last);
    assert_eq!(bench.at(last), "", "it is looked at now and then");
    assert_eq!(bench.at(bench.machine.next_deadline()), "sync0 sync1 sync2");
    assert!(bench.machine.intent().has_marks());
    assert_eq!(bench.end_ios(), "intent0 intent1 intent2");
    assert!(!bench.machine.intent().has_marks());
    assert_eq!(bench.end_ios(), "");
    assert_eq!(bench.state(), "idle answers");
    assert_eq!(bench.at(bench.machine.next_deadline()), "");
    assert_eq!(bench.machine.next_deadline(), Instant::NEVER);
    // While a loss is not recorded, every mark is needed.
    bench.write(3, &[0]);
    bench.settle();
    bench.end_changes();
    bench.machine.handle_drive_failed(last, DriveId(2));
    bench.asked();
    let later = bench.machine.next_deadline() + QUIET_FOR;
    assert_eq!(bench.at(later), "");
    let said = bench.settle();
    assert!(!said.contains("intent"), "{said}");
    assert!(bench.machine.intent().has_marks());
}

#[test]
fn writes_that_come_while_a_batch_is_written_share_the_next() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    bench.settle();
    bench.write_at(1, &[0, 1], 0);
    assert_eq!(bench.asked(), "intent0 intent1 record0 record1");
    bench.write_at(2, &[0], 1);
    assert_eq!(bench.asked(), "");
    bench.write_at(3, &[1], 2);
    assert_eq!(bench.asked(), "", "one batch at a time");
    assert_eq!(bench.end_ios(), "record0 record1 release0 release1");
    assert_eq!(bench.end_ios(), "release0 release1");
}

/// Both halves are in use, and the machine asks for nothing until there is room.
#[test]
fn a_write_waits_while_the_journal_is_full() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    bench.settle();
    let (mut operation, mut said, mut kept) = (0, String::new(), Vec::new());
    while operation == 0 || said.contains("record") {
        // A few writes of each half do not end.
        match operation % 1000 {
            0 => kept.append(&mut bench.changes),
            _ => assert_eq!(bench.end_changes(), "", "no half is done"),
        }
        operation += 1;
        assert!(operation < 10_000, "the journal is never full");
        bench.write_at(operation, &[0, 1], operation % 1024);
        said = bench.settle();
    }
    assert_eq!(said, "", "write {operation} finds no room");
    // Each write of zeros takes a block of a half, and there are two halves.
    assert!((7000..8000).contains(&operation), "{operation} writes");
    bench.changes.append(&mut kept);
    let mut records = 0;
    while !bench.changes.is_empty() {
        records += bench.end_changes().matches("record").count();
        records += bench.settle().matches("record").count();
    }
    assert_eq!(records, 2, "it goes on when the others have ended");
    assert!(bench.machine.is_idle());
}

#[test]
fn a_half_of_the_journal_that_is_done_is_synced_and_used_again() {
    let mut bench = Bench::new(Level::Raid5, 3);
    bench.machine.handle_drive_failed(NOW, DriveId(2));
    bench.settle();
    // A write of zeros takes a block of the journal.
    let mut operation = 0;
    let mut fill = |bench: &mut Bench| {
        for _ in 0..4000 {
            operation += 1;
            bench.write_at(operation, &[0, 1], operation % 16);
            let mut said = bench.asked();
            while said.contains("record") || said.contains("intent") {
                said = bench.end_ios();
            }
            if !said.starts_with("release0 release1") {
                return said;
            }
            let said = bench.end_changes();
            if !said.is_empty() {
                return said;
            }
        }
        panic!("the journal is never full");
    };
    // The second half is begun: all records of the first are stable when it is synced.
    assert_eq!(fill(&mut bench), "header0 header1 release0 release1");
    assert_eq!(bench.end_changes(), "");
    assert_eq!(bench.end_ios(), "", "one header says so, and no second one");
    // The second half is retired in the same way, as soon as the first is begun again.
    assert_eq!(fill(&mut bench), "header0 header1 release0 release1");
    assert_eq!(bench.end_changes(), "");
    // A drive fails while the header is being written: two headers must not be torn at once.
    let headers = std::mem::take(&mut bench.ios);
    bench.machine.handle_drive_replaced(NOW, DriveId(2));
    let said = bench.asked();
    assert!(said.ends_with("sync0 sync1 sync2"), "{said}");
    let said = bench.settle();
    assert_eq!(said, "superblock0 superblock1, superblock0 superblock1 superblock2");
    assert!(!bench.machine.is_idle());
    bench.ios.extend(headers);
    assert_eq!(bench.end_ios(), "header0 header1 header2");
    assert_eq!(bench.end_ios(), "");
    assert!(bench.machine.is_idle());
}
