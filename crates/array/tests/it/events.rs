//! Events of an array with an observer.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_array::policy::PolicyKind;
use ioda_array::{
    Action, Array, Config, Event, Layout, Level, Request, RequestId, RequestKind, Why,
};
use nvme::{Cause, Command, Completion, Delays, PlFlag, Status};
use units::{DriveId, Duration, Instant, Observe, Recorded, Unobserved};

const PAGE: u64 = 4096;

fn config(policy: PolicyKind) -> Config {
    crate::script::config(Layout::new(Level::Raid5, 4, 1, 1000).unwrap(), policy)
}

struct Watched<O: Observe> {
    array: Array<O>,
    now: Instant,
    out: Vec<(DriveId, Command)>,
}

impl<O: Observe> Watched<O> {
    fn new(policy: PolicyKind) -> Self {
        Self { array: Array::observed(config(policy)), now: Instant::ZERO, out: Vec::new() }
    }

    fn act(&mut self) {
        while let Some(action) = self.array.poll_action() {
            if let Action::Submit { drive, command, .. } = action {
                self.out.push((drive, command));
            }
        }
        self.array.check_invariants();
    }

    fn request(&mut self, id: u64, kind: RequestKind, page: u64, pages: u64) {
        let (id, offset_bytes, size_bytes) = (RequestId(id), page * PAGE, pages * PAGE);
        let request = Request { id, host: 0, kind, offset_bytes, size_bytes };
        self.array.handle_request(self.now, &request);
        self.act();
    }

    fn answer(&mut self, drive: u8, status: Status) {
        let at = self.out.iter().position(|(d, _)| d.0 == drive).unwrap();
        let (_, command) = self.out.remove(at);
        self.now += Duration::from_micros(10);
        let mut delays = Delays::ZERO;
        delays.add(Cause::NandRead, Duration::from_micros(10));
        let failed = status == Status::FailedFast;
        let busy_remaining = Duration::from_micros(if failed { 700 } else { 0 });
        let (id, met_collection, held_up) = (command.id, failed, false);
        let completion = Completion { id, status, busy_remaining, met_collection, held_up, delays };
        self.array.handle_completion(self.now, &completion);
        self.act();
    }

    fn pass_time(&mut self) {
        self.now = self.array.next_deadline();
        self.array.handle_deadline(self.now);
        self.act();
    }

    /// The events since the last call, each in a word or two.
    fn told(&mut self) -> String {
        let mut words = Vec::new();
        let mut last = Instant::ZERO;
        self.array.drain_events(|at, event| {
            assert!(last <= at, "events are told in their order");
            last = at;
            words.push(match event {
                Event::RequestArrived { request, .. } => format!("arrived {}", request.0),
                Event::RequestCompleted { request, ended } => {
                    format!("completed {} {ended:?}", request.0)
                }
                Event::OperationOpened { op, kind, .. } => format!("open {} {kind:?}", op.0),
                Event::OperationClosed { op } => format!("close {}", op.0),
                Event::Dispatched { drive, pl, why, .. } => {
                    let flag = if pl == PlFlag::Off { "" } else { "!" };
                    let why = match why {
                        Why::Wanted => "wanted",
                        Why::Reconstruct => "reconstruct",
                        Why::Parity => "parity",
                        Why::Commit => "commit",
                        other => panic!("{other:?}"),
                    };
                    format!("{why}{flag} {}", drive.0)
                }
                Event::Answered { drive, .. } => format!("answer {}", drive.0),
                Event::FailedFast { member, busy_remaining, .. } => {
                    format!("fast {member} {}", busy_remaining.as_nanos() / 1_000)
                }
                Event::Resent { member, .. } => format!("resent {member}"),
                Event::ReconstructBegun { members, from, .. } => {
                    format!("reconstruct {members:?} from {from:?}")
                }
                Event::Reconstructed { members, .. } => format!("computed {members:?}"),
                Event::LockWaited { op, behind } => {
                    format!("wait {} for {}", op.0, behind.map_or(-1, |op| i64::from(op.0)))
                }
                Event::LockObtained { op } => format!("turn {}", op.0),
                Event::CommitBegun { op, members } => format!("commit {} {members:?}", op.0),
                Event::CommitEnded { op } => format!("committed {}", op.0),
                other => panic!("{other:?}"),
            });
        });
        words.join(", ")
    }
}

#[test]
fn a_read_around_two_busy_drives_is_told_step_by_step() {
    let mut w = Watched::<Recorded>::new(PolicyKind::IODA);
    w.request(7, RequestKind::Read, 0, 2);
    assert_eq!(w.told(), "arrived 7, open 0 Read, wanted! 0, wanted! 1");
    w.answer(0, Status::FailedFast);
    assert_eq!(
        w.told(),
        "answer 0, fast 0 700, reconstruct {0} from {2, 3}, reconstruct! 2, reconstruct! 3"
    );
    w.answer(2, Status::FailedFast);
    assert_eq!(w.told(), "answer 2, fast 2 700, resent 0, wanted 0");
    for drive in [1, 0] {
        w.answer(drive, Status::Success);
    }
    assert_eq!(w.told(), "answer 1, answer 0, completed 7 Done");
    w.answer(3, Status::Success);
    assert_eq!(w.told(), "answer 3, close 0");
}

#[test]
fn a_reconstruction_and_a_write_that_waits_are_told() {
    let mut w = Watched::<Recorded>::new(PolicyKind::IODA);
    w.request(1, RequestKind::Read, 0, 1);
    w.answer(0, Status::FailedFast);
    for drive in [1, 2, 3] {
        w.answer(drive, Status::Success);
    }
    w.told();
    w.request(2, RequestKind::Write, 0, 3);
    w.request(3, RequestKind::Write, 0, 3);
    assert_eq!(
        w.told(),
        "arrived 2, open 1 Write, wait 1 for -1, arrived 3, open 2 Write, wait 2 for 1"
    );
    w.pass_time();
    assert_eq!(
        w.told(),
        "completed 1 Done, close 0, turn 1, commit 1 {0, 1, 2, 3}, commit 0, commit 1, commit 2, \
         commit 3"
    );
    for drive in 0..4 {
        w.answer(drive, Status::Success);
    }
    assert!(w.told().ends_with(
        "committed 1, completed 2 Done, close 1, turn 2, commit 2 {0, 1, 2, 3}, commit 0, \
         commit 1, commit 2, commit 3"
    ));
}

#[test]
fn nothing_is_kept_where_nobody_watches_and_all_else_is_the_same() {
    let mut silent = Watched::<Unobserved>::new(PolicyKind::IODA);
    let mut watched = Watched::<Recorded>::new(PolicyKind::IODA);
    silent.request(7, RequestKind::Read, 0, 2);
    watched.request(7, RequestKind::Read, 0, 2);
    silent.answer(0, Status::FailedFast);
    watched.answer(0, Status::FailedFast);
    assert_eq!(silent.out, watched.out);
    assert_eq!(silent.told(), "");
    assert_eq!(size_of::<<Unobserved as Observe>::Log<Event>>(), 0);
}
