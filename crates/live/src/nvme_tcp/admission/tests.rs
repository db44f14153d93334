//! Tests of places of strangers, with a clock and a crowd that are simulated.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Shares of a few bytes, so that little memory has few places.
const SHARES: Shares =
    Shares { entering_bytes: 1, authenticating_bytes: 2, discovering_bytes: 4, serving_bytes: 1 };

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

fn milliseconds(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000_000
}

/// Places for fourteen that enter, as many that authenticate, and four that discover.
fn small() -> Admission {
    Admission::new(128, SHARES)
}

/// As many places as there can be.
fn large() -> Admission {
    Admission::new(1 << 20, SHARES)
}

fn places(admission: &Admission, stage: Stage) -> usize {
    admission.crowd(stage).unwrap().0.places()
}

#[test]
fn memory_is_shared_out_and_never_promised_twice() {
    let shares = Shares {
        entering_bytes: 8 << 10,
        authenticating_bytes: 24 << 10,
        discovering_bytes: 26 << 10,
        serving_bytes: 208 << 10,
    };
    for memory_bytes in [12 << 20, 96 << 20, 768 << 20, 8 << 30] {
        let admission = Admission::new(memory_bytes, shares);
        assert!(admission.shares_bytes() <= memory_bytes, "{memory_bytes} {admission:?}");
        assert!(admission.serving_max >= 30, "{memory_bytes} {}", admission.serving_max);
    }
    // Where hosts do not authenticate, less memory has room for all connections.
    let open = Shares { authenticating_bytes: 0, ..shares };
    assert_eq!(Admission::new(240 << 20, open).serving_max, CONNECTIONS_MAX);
    let admission = Admission::new(8 << 30, shares);
    let all = [Stage::Entering, Stage::Authenticating, Stage::Discovering];
    assert_eq!(all.map(|stage| places(&admission, stage)), [3072, 3072, 1280]);
    assert_eq!(admission.serving_max, CONNECTIONS_MAX);
}

#[test]
fn who_enters_ends_for_newcomers_after_a_grace_and_who_is_served_never() {
    let mut admission = small();
    let entering = places(&admission, Stage::Entering) as u32;
    for number in 0..entering {
        assert_eq!(admission.opens(Stage::Entering), Instant::ZERO);
        assert_eq!(admission.accept(at(5), number, Source::Local), None);
    }
    assert_eq!(admission.opens(Stage::Entering), at(5) + GRACE);
    let to = (Stage::Entering, Stage::Serving);
    assert_eq!(admission.promote(at(6), 0, Source::Local, to), None);
    assert_eq!(admission.accept(at(6), entering, Source::Local), None);
    assert_eq!(admission.accept(at(300), entering + 1, Source::Local), Some(1));
    assert_eq!(admission.status().evicted, 1);
}

#[test]
fn a_crowd_in_one_stage_takes_no_place_of_another_one() {
    let mut admission = small();
    for stage in [Stage::Authenticating, Stage::Discovering] {
        for number in 0..places(&admission, stage) as u32 {
            let number = number + 100 * (stage as u32);
            assert_eq!(admission.accept(at(0), number, Source::Local), None);
            let to = (Stage::Entering, stage);
            assert_eq!(admission.promote(at(0), number, Source::Local, to), None);
        }
    }
    assert_eq!(admission.opens(Stage::Entering), Instant::ZERO);
    assert_eq!(admission.opens(Stage::Discovering), at(0) + GRACE);
    assert_eq!(admission.opens(Stage::Authenticating), at(0) + AUTHENTICATING_GRACE);
    assert!(!admission.is_full());
}

#[test]
fn a_connection_that_waits_for_a_power_never_ends_and_is_young_when_it_has_it() {
    let mut admission = small();
    let all = places(&admission, Stage::Authenticating) as u32;
    for number in 0..all {
        let _ = admission.accept(at(0), number, Source::Local);
        let to = (Stage::Entering, Stage::Authenticating);
        assert_eq!(admission.promote(at(0), number, Source::Local, to), None);
        admission.hold(number, Stage::Authenticating);
    }
    assert_eq!(admission.opens(Stage::Authenticating), Instant::NEVER);
    admission.step(at(9_000), 3, Stage::Authenticating);
    assert_eq!(admission.opens(Stage::Authenticating), at(9_000) + AUTHENTICATING_GRACE);
}

#[test]
fn a_few_hundred_connections_are_accepted_at_once_and_more_at_a_pace() {
    let mut admission = large();
    let mut accept_all = |now_ms: u64, first: u32| {
        let mut count = 0;
        while admission.opens(Stage::Entering) <= at(now_ms) {
            let _ = admission.accept(at(now_ms), first + count, Source::Local);
            count += 1;
        }
        count
    };
    let at_once = accept_all(1_000, 0);
    assert!((200..300).contains(&at_once), "{at_once}");
    let later: u32 = (1..=500).map(|more| accept_all(1_000 + more, 1_000 * more as u32)).sum();
    assert!((2_000..2_100).contains(&later), "{later}");
}

#[test]
fn an_entering_connection_gives_way_when_the_system_has_nothing_left() {
    let mut admission = small();
    assert_eq!(admission.give_way(at(0)), None);
    let _ = admission.accept(at(0), 7, Source::Local);
    assert_eq!(admission.give_way(at(1)), None, "it has its grace");
    assert_eq!(admission.give_way(at(0) + GRACE), Some(7));
}

#[test]
fn many_losses_are_one_line_and_the_next_comes_after_a_pause() {
    let mut admission = small();
    assert_eq!(admission.next_deadline(), Instant::NEVER);
    admission.note(Loss::Late);
    assert_eq!(admission.next_deadline(), Instant::ZERO);
    admission.log(at(1));
    assert_eq!(admission.next_deadline(), Instant::NEVER);
    admission.note(Loss::Refused);
    admission.note(Loss::Refused);
    assert_eq!(admission.next_deadline(), at(1) + LOG_PAUSE);
    admission.log(at(2));
    assert_eq!(admission.next_deadline(), at(1) + LOG_PAUSE, "too early");
}

/// What a connection does once it is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Nothing.
    Silent,
    /// It connects at once, and then does nothing.
    Connecting,
    /// It asks for discovery at once, and then does nothing.
    Discovering,
    /// It makes each step after this pause in milliseconds until it is served.
    Honest(u64),
}

/// Steps of a host: ICReq, Connect, Negotiate, the challenge, Reply, and Success.
const STEPS: u8 = 6;
const CONNECT: u8 = 2;

#[derive(Clone, Copy, Debug)]
struct Peer {
    kind: Kind,
    source: Source,
    stage: Stage,
    steps: u8,
    next_ms: u64,
}

/// The entrance without sockets: a backlog, and lines before stages, one millisecond after the
/// other.
struct World {
    admission: Admission,
    now_ms: u64,
    backlog: VecDeque<(Kind, Source)>,
    peers: BTreeMap<u32, Peer>,
    to_authenticate: VecDeque<u32>,
    to_discover: VecDeque<u32>,
    last: u32,
    /// When each honest host was served.
    served_ms: Vec<u64>,
    honest_lost: u32,
}

impl World {
    fn new(admission: Admission) -> Self {
        Self {
            admission,
            now_ms: 0,
            backlog: VecDeque::new(),
            peers: BTreeMap::new(),
            to_authenticate: VecDeque::new(),
            to_discover: VecDeque::new(),
            last: 0,
            served_ms: Vec::new(),
            honest_lost: 0,
        }
    }

    /// Another connection took the place of this one. A stranger comes again at once.
    fn lose(&mut self, evicted: Option<u32>) {
        let Some((number, peer)) =
            evicted.and_then(|number| Some((number, self.peers.remove(&number)?)))
        else {
            return;
        };
        self.admission.leave(number, peer.stage);
        self.to_authenticate.retain(|other| *other != number);
        self.to_discover.retain(|other| *other != number);
        match peer.kind {
            Kind::Honest(_) => self.honest_lost += 1,
            kind => self.backlog.push_back((kind, peer.source)),
        }
    }

    fn accept(&mut self) {
        while self.admission.opens(Stage::Entering) <= at(self.now_ms)
            && let Some((kind, source)) = self.backlog.pop_front()
        {
            self.last += 1;
            let next_ms = match kind {
                Kind::Honest(pause_ms) => self.now_ms + pause_ms,
                _ => self.now_ms,
            };
            let peer = Peer { kind, source, stage: Stage::Entering, steps: 0, next_ms };
            self.peers.insert(self.last, peer);
            let evicted = self.admission.accept(at(self.now_ms), self.last, source);
            self.lose(evicted);
        }
    }

    fn promote(&mut self, number: u32, to: Stage) {
        let peer = self.peers.get_mut(&number).unwrap();
        let from = std::mem::replace(&mut peer.stage, to);
        let (now, source) = (at(self.now_ms), peer.source);
        let evicted = self.admission.promote(now, number, source, (from, to));
        self.lose(evicted);
    }

    fn open_lines(&mut self) {
        while self.admission.opens(Stage::Authenticating) <= at(self.now_ms)
            && let Some(number) = self.to_authenticate.pop_front()
        {
            self.promote(number, Stage::Authenticating);
            self.step(number);
        }
        while self.admission.opens(Stage::Discovering) <= at(self.now_ms)
            && let Some(number) = self.to_discover.pop_front()
        {
            self.promote(number, Stage::Discovering);
        }
    }

    /// A peer made a step: its next one comes later.
    fn step(&mut self, number: u32) {
        let peer = self.peers.get_mut(&number).unwrap();
        peer.steps += 1;
        peer.next_ms = match peer.kind {
            Kind::Honest(pause_ms) => self.now_ms + pause_ms,
            _ => u64::MAX,
        };
        let stage = peer.stage;
        self.admission.step(at(self.now_ms), number, stage);
    }

    fn act(&mut self, number: u32) {
        let Some(&peer) = self.peers.get(&number) else { return };
        if peer.next_ms > self.now_ms {
            return;
        }
        self.peers.get_mut(&number).unwrap().next_ms = u64::MAX;
        let connects = peer.stage == Stage::Entering;
        match peer.kind {
            Kind::Silent => {}
            Kind::Discovering if connects => {
                self.admission.step(at(self.now_ms), number, Stage::Entering);
                self.to_discover.push_back(number);
            }
            Kind::Connecting | Kind::Honest(_)
                if connects && (peer.steps + 1 >= CONNECT || peer.kind == Kind::Connecting) =>
            {
                self.admission.hold(number, Stage::Entering);
                self.to_authenticate.push_back(number);
            }
            Kind::Honest(_) => {
                self.step(number);
                if peer.steps + 1 == STEPS {
                    self.promote(number, Stage::Serving);
                    self.served_ms.push(self.now_ms);
                    self.admission.leave(number, Stage::Serving);
                    self.peers.remove(&number);
                }
            }
            Kind::Connecting | Kind::Discovering => {}
        }
    }

    fn go_on(&mut self) {
        self.now_ms += 1;
        self.accept();
        let numbers: Vec<u32> = self.peers.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.act(number));
        self.open_lines();
    }

    fn come(&mut self, kind: Kind, count: usize) {
        self.backlog.extend(std::iter::repeat_n((kind, Source::Local), count));
    }
}

/// New hosts are served within a second beside `of_each` strangers of each kind.
fn new_hosts_are_served_beside(kinds: &[Kind], of_each: usize) {
    const STEP_MS: u64 = 10;
    let mut world = World::new(large());
    kinds.iter().for_each(|kind| world.come(*kind, of_each));
    (0..2_000).for_each(|_| world.go_on());
    for came in 0..20 {
        // An admin queue and then an I/O queue.
        let begin_ms = world.now_ms;
        for queue in 0..2 {
            world.come(Kind::Honest(STEP_MS), 1);
            while world.served_ms.len() < 2 * came + queue + 1 {
                world.go_on();
                assert!(world.now_ms < begin_ms + 1_000, "{kinds:?} {came} {queue}");
            }
        }
        assert_eq!(world.honest_lost, 0);
        (0..37).for_each(|_| world.go_on());
    }
}

#[test]
fn new_hosts_are_served_within_a_second_beside_more_silent_strangers_than_places() {
    new_hosts_are_served_beside(&[Kind::Silent], 4096);
}

#[test]
fn new_hosts_are_served_within_a_second_beside_more_connecting_strangers_than_places() {
    new_hosts_are_served_beside(&[Kind::Connecting], 4096);
}

#[test]
fn new_hosts_are_served_within_a_second_beside_more_discovering_strangers_than_places() {
    new_hosts_are_served_beside(&[Kind::Discovering], 2048);
}

#[test]
fn new_hosts_are_served_within_a_second_beside_thousands_of_strangers_of_all_kinds() {
    new_hosts_are_served_beside(&[Kind::Silent, Kind::Connecting, Kind::Discovering], 1024);
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Silent), Just(Kind::Connecting), Just(Kind::Discovering)]
}

proptest! {
    #![proptest_config(testing::cases(64))]

    /// Whatever comes and however often, a host that makes each step within the grace loses no
    /// place. While fewer strangers than places come within a grace, it does not wait either.
    #[test]
    fn a_host_that_goes_on_within_the_grace_is_served_whatever_strangers_do(
        arrivals in proptest::collection::vec(kind(), 1..24),
        per_burst in 1usize..24,
        burst_ms in 1u64..60,
        begin_ms in 0u64..2_000,
        pause_ms in 1u64..249,
    ) {
        let mut world = World::new(small());
        let entering = places(&world.admission, Stage::Entering) as u64;
        let authenticating = places(&world.admission, Stage::Authenticating) as u64;
        // Places that a stage has anew in a second at least; there is one line before the other.
        let per_second = (entering * 1_000 / milliseconds(GRACE))
            .min(authenticating * 1_000 / milliseconds(AUTHENTICATING_GRACE));
        let mut came = 0;
        let mut ahead = 0;
        let mut served = None;
        for now_ms in 0..40_000 {
            if now_ms % burst_ms == 0 {
                for _ in 0..per_burst {
                    // Strangers of which all come again make the backlog as long as there are
                    // strangers.
                    if came < 400 {
                        world.come(arrivals[came % arrivals.len()], 1);
                        came += 1;
                    }
                }
            }
            if now_ms == begin_ms {
                ahead = world.backlog.len() + world.peers.len();
                world.come(Kind::Honest(pause_ms), 1);
            }
            world.go_on();
            prop_assert_eq!(world.honest_lost, 0);
            if let Some(at_ms) = world.served_ms.first() {
                served = Some(at_ms - begin_ms);
                break;
            }
        }
        let served = served.expect("it is served at last");
        let longest = u64::from(STEPS) * pause_ms
            + (ahead as u64 + 2 * entering) * 1_000 / per_second
            + milliseconds(GRACE + AUTHENTICATING_GRACE);
        prop_assert!(served <= longest, "{} of {} ms, {} ahead", served, longest, ahead);
    }
}
