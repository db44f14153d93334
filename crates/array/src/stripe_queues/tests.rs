//! The queues compared with a model that searches for the operations that may go on.

use super::*;
use units::Rng;

/// State of an operation of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stands {
    WaitsForTurn,
    HasTurn,
    WaitsForReaders,
    Commits,
    Reads { shares: Option<u64> },
    WaitsForWrite,
}

#[derive(Clone, Debug)]
struct Modelled {
    op: OpId,
    /// Number that is never reused, unlike `op`.
    serial: u64,
    stripe: u64,
    rows: Range<u32>,
    has_data: bool,
    stands: Stands,
}

impl Modelled {
    fn overlaps(&self, other: &Self) -> bool {
        self.stripe == other.stripe
            && self.rows.start < other.rows.end
            && other.rows.start < self.rows.end
    }

    fn is_reader(&self) -> bool {
        matches!(self.stands, Stands::Reads { .. } | Stands::WaitsForWrite)
    }

    fn changes(&self) -> bool {
        matches!(self.stands, Stands::WaitsForReaders | Stands::Commits)
    }
}

/// The queues, and a model of their rules that searches all operations in order of arrival.
struct Both {
    queues: StripeQueues,
    model: Vec<Modelled>,
    next_op: u32,
    serials: u64,
    free: Vec<OpId>,
    waited: u32,
}

impl Both {
    fn new_op(&mut self) -> OpId {
        self.free.pop().unwrap_or_else(|| {
            self.next_op += 1;
            OpId(self.next_op - 1)
        })
    }

    fn may_go_on(&self, at: usize) -> bool {
        let target = &self.model[at];
        match target.stands {
            Stands::WaitsForTurn => {
                self.model[..at].iter().all(|other| other.is_reader() || !other.overlaps(target))
            }
            Stands::WaitsForWrite => !matches!(self.access(target), Access::Wait(_)),
            Stands::WaitsForReaders => !self.model.iter().any(|other| {
                let Stands::Reads { shares } = other.stands else { return false };
                shares != Some(target.serial) && other.overlaps(target)
            }),
            _ => false,
        }
    }

    fn access(&self, target: &Modelled) -> Access {
        let mut access = Access::Free;
        for other in self.model.iter().filter(|other| other.changes()) {
            if !other.overlaps(target) {
                continue;
            }
            let covers = other.rows.start <= target.rows.start && target.rows.end <= other.rows.end;
            if !covers || !other.has_data {
                return Access::Wait(other.op);
            }
            access = Access::Share(other.op);
        }
        access
    }

    fn enter(&mut self, rng: &mut Rng, stripes: u64, most_rows: u32) {
        let op = self.new_op();
        let first = rng.below(u64::from(most_rows)) as u32;
        let rows = first..first + 1 + rng.below(u64::from(most_rows - first)) as u32;
        let stripe = rng.below(stripes);
        let has_data = rng.below(3) > 0;
        let stands = Stands::WaitsForTurn;
        self.serials += 1;
        let (serial, range) = (self.serials, rows.clone());
        let mut new = Modelled { op, serial, stripe, rows: range, has_data, stands };
        if rng.below(3) > 0 {
            let behind = self.queues.enter_writer(op, stripe, rows);
            self.model.push(new);
            let at = self.model.len() - 1;
            assert_eq!(behind.is_none(), self.may_go_on(at), "{:?}", self.model[at]);
            assert_eq!(behind.is_none(), self.queues.has_turn(op));
            match behind {
                None => self.model[at].stands = Stands::HasTurn,
                Some(_) => self.waited += 1,
            }
            return;
        }
        let access = self.queues.access(stripe, rows.clone());
        match (access, self.access(&new)) {
            (Access::Wait(write), Access::Wait(_)) => {
                new.stands = Stands::WaitsForWrite;
                self.queues.wait_for_write(op, stripe, rows, write);
                self.waited += 1;
            }
            (access, expected) => {
                assert_eq!(access, expected);
                self.queues.enter_reader(op, stripe, rows, true);
                new.stands = self.begin_reading(op, access);
            }
        }
        self.model.push(new);
    }

    fn begin_reading(&mut self, op: OpId, access: Access) -> Stands {
        let write = match access {
            Access::Share(write) => Some(write),
            _ => None,
        };
        self.queues.share(op, write);
        let lender = self.model.iter().find(|other| Some(other.op) == write);
        let shares = lender.map(|write| write.serial);
        Stands::Reads { shares }
    }

    /// Steps a random operation, unless it waits.
    fn work(&mut self, rng: &mut Rng) {
        let at = rng.below(self.model.len() as u64) as usize;
        let Modelled { op, stripe, has_data, stands, .. } = self.model[at].clone();
        match stands {
            Stands::HasTurn if rng.below(2) == 0 => {
                self.model[at].stands = Stands::WaitsForReaders;
                let is_free = self.queues.begin_change(op, false, has_data);
                assert_eq!(is_free, self.may_go_on(at));
                match is_free {
                    true => self.model[at].stands = Stands::Commits,
                    false => self.waited += 1,
                }
            }
            Stands::HasTurn | Stands::Commits | Stands::Reads { .. } => {
                self.model.remove(at);
                let someone_waits = self.queues.leave(op);
                self.free.push(op);
                if someone_waits {
                    self.wake(stripe);
                } else {
                    let mut all = 0..self.model.len();
                    let missed = all.find(|&at| self.may_go_on(at));
                    assert_eq!(missed.map(|at| &self.model[at].op), None);
                }
            }
            Stands::WaitsForTurn | Stands::WaitsForReaders | Stands::WaitsForWrite => {}
        }
    }

    /// Resumes all operations that can go on, in order of arrival, as a search would find them.
    fn wake(&mut self, stripe: u64) {
        let mut ticket = 0;
        for at in 0..self.model.len() {
            if !self.may_go_on(at) {
                continue;
            }
            let target = self.model[at].clone();
            let op = loop {
                let ready = self.queues.next_ready(stripe, ticket);
                let (next, op) = ready.unwrap_or_else(|| panic!("{target:?} is not woken"));
                ticket = next;
                // A reader may find another write in its way.
                let other = self.model.iter().find(|other| other.op == op).cloned().unwrap();
                let rows = other.rows.clone();
                match self.queues.access(stripe, rows.clone()) {
                    Access::Wait(write) if other.stands == Stands::WaitsForWrite => {
                        self.queues.wait_for_write(op, stripe, rows, write);
                    }
                    _ => break op,
                }
            };
            assert_eq!(op, target.op, "in the order of their coming");
            self.model[at].stands = match target.stands {
                Stands::WaitsForTurn => Stands::HasTurn,
                Stands::WaitsForReaders => Stands::Commits,
                _ => {
                    let access = self.queues.access(stripe, target.rows.clone());
                    self.queues.read_on(op);
                    self.begin_reading(op, access)
                }
            };
        }
        while let Some((next, op)) = self.queues.next_ready(stripe, ticket) {
            ticket = next;
            let other = self.model.iter().find(|other| other.op == op).cloned().unwrap();
            assert_eq!(other.stands, Stands::WaitsForWrite, "{other:?} cannot go on");
            let Access::Wait(write) = self.queues.access(stripe, other.rows.clone()) else {
                panic!("{other:?} is woken too early")
            };
            self.queues.wait_for_write(op, stripe, other.rows, write);
        }
    }
}

#[test]
fn whoever_goes_on_is_whom_a_search_would_find() {
    let mut waited = 0;
    for seed in testing::seeds(0..300) {
        let mut rng = Rng::new(seed);
        let (stripes, most_rows) = (1 + rng.below(200), 1 + rng.below(12) as u32);
        let stripes = if seed % 3 == 0 { stripes } else { stripes % 4 + 1 };
        let most = 2 + rng.below(80) as usize;
        let mut both = Both {
            queues: StripeQueues::new(),
            model: Vec::new(),
            next_op: 0,
            serials: 0,
            free: Vec::new(),
            waited: 0,
        };
        for _ in 0..1_000 {
            if both.model.is_empty() || (rng.below(2) == 0 && both.model.len() < most) {
                both.enter(&mut rng, stripes, most_rows);
            } else {
                both.work(&mut rng);
            }
            both.queues.check_invariants();
        }
        // No operation waits for ever.
        let mut steps = 0;
        while !both.model.is_empty() {
            both.work(&mut rng);
            steps += 1;
            assert!(steps < 1_000_000, "seed {seed}: {:?}", both.model);
        }
        assert!(both.queues.heads.iter().all(|&head| head == NONE), "seed {seed}");
        assert!(both.queues.waiters.is_empty(), "seed {seed}");
        waited += both.waited;
    }
    if !testing::is_repeat() {
        assert!(waited > 10_000, "{waited} operations waited");
    }
}

/// Two writers of each of two stripes, the second behind the first.
fn two_and_two() -> StripeQueues {
    let mut queues = StripeQueues::new();
    for (stripe, first) in [(0, 0), (1, 2)] {
        assert_eq!(queues.enter_writer(OpId(first), stripe, 0..1), None);
        assert_eq!(queues.enter_writer(OpId(first + 1), stripe, 0..1), Some(OpId(first)));
    }
    queues
}

#[test]
fn who_leaves_a_stripe_takes_no_turn_of_another_along() {
    let mut queues = two_and_two();
    assert!(queues.leave(OpId(0)) && queues.leave(OpId(2)));
    // It leaves before it has taken its turn, and was the last of its stripe.
    assert!(!queues.leave(OpId(1)));
    queues.check_invariants();
    assert_eq!(queues.next_ready(1, 0).map(|(_, op)| op), Some(OpId(3)));
    assert!(queues.has_turn(OpId(3)));
}

#[test]
fn a_turn_is_not_taken_by_who_comes_under_the_same_number() {
    let mut queues = two_and_two();
    queues.enter_writer(OpId(4), 0, 1..2);
    assert!(queues.leave(OpId(0)));
    queues.leave(OpId(1));
    // Behind the writer of the other row.
    assert_eq!(queues.enter_writer(OpId(1), 0, 1..2), Some(OpId(4)));
    assert_eq!(queues.next_ready(0, 0), None);
    assert!(!queues.has_turn(OpId(1)));
    assert!(queues.leave(OpId(4)));
    assert_eq!(queues.next_ready(0, 0).map(|(_, op)| op), Some(OpId(1)));
}

#[test]
fn a_writer_waits_on_if_another_reader_comes_before_it_goes_on() {
    let mut queues = StripeQueues::new();
    queues.enter_reader(OpId(0), 0, 0..1, false);
    queues.enter_writer(OpId(1), 0, 0..1);
    // The writer relocates chunks, so every reader is in its way.
    assert!(!queues.begin_change(OpId(1), true, true));
    queues.leave(OpId(0));
    queues.enter_reader(OpId(2), 0, 0..1, false);
    assert_eq!(queues.next_ready(0, 0), None);
    assert!(queues.leave(OpId(2)));
    assert_eq!(queues.next_ready(0, 0).map(|(_, op)| op), Some(OpId(1)));
    assert_eq!(queues.next_ready(0, 0), None, "once");
}

#[test]
fn rows_beside_those_of_a_writer_are_nobody_elses() {
    let mut queues = StripeQueues::new();
    queues.enter_reader(OpId(0), 0, 0..2, true);
    queues.enter_reader(OpId(1), 0, 4..6, true);
    queues.enter_writer(OpId(2), 0, 2..4);
    assert!(queues.begin_change(OpId(2), true, true), "nobody reads its rows");
    assert_eq!(queues.relocating(0, 3..4), Some(OpId(2)));
    assert_eq!((queues.relocating(0, 0..2), queues.relocating(0, 4..6)), (None, None));
}
