//! Turns of a driver: the work begun in each is bounded, clients share the turns, and long requests
//! do not delay short ones.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::policy::{PolicyKind, PolicySettings};
use array::{Config, Coordination, Layout, Level};
use engine::Token;
use engine::durability::IoResult;
use engine::volume::{Output, Reply, TurnBudget};
use engine::{
    ByteRequest, ByteRequestKind, Bytes, Drive, Engine, Heap, Origin, StorageWork, Volume, Work,
};
use std::collections::BTreeMap;
use units::{Instant, Rng};

const PAGE_BYTES: u64 = 4096;
const CHUNK_PAGES: u32 = 16;
/// Three chunks of data.
const STRIPE_BYTES: u64 = 3 * CHUNK_PAGES as u64 * PAGE_BYTES;
/// The largest part of a request.
const PART_BYTES: u64 = 1 << 20;
/// Bytes of one kind under way after which the next request waits, as the documentation of `volume`
/// states.
const UNDER_WAY_BYTES: u64 = 16 << 20;
const BUDGET: TurnBudget = TurnBudget { bytes: 1 << 20, parts: 64 };

/// A RAID-5 of four drives in memory, whose storage completes work on demand.
struct World {
    volume: Volume<Heap>,
    drives: Vec<Vec<u8>>,
    /// Work that is not completed yet.
    held: Vec<StorageWork<Vec<u8>>>,
    replies: BTreeMap<u32, Reply>,
    /// Data of completed reads.
    brought: BTreeMap<u32, Vec<u8>>,
    /// Bytes of drives that were read, written or discarded.
    moved_bytes: u64,
    drained: bool,
    switched: bool,
}

const NOW: Instant = Instant::ZERO;

impl World {
    fn new(drive_bytes: u64) -> Self {
        let layout = Layout::new(Level::Raid5, 4, CHUNK_PAGES, drive_bytes / PAGE_BYTES).unwrap();
        let config = Config::new(layout, PAGE_BYTES as u32, PolicyKind::BASE);
        let drives = (0..4).map(|_| Drive::Plain).collect();
        let plane = Bytes::new(Heap, PAGE_BYTES, STRIPE_BYTES, 4, None);
        Self {
            volume: Volume::new(Engine::new(config, drives, plane)),
            drives: vec![vec![0; drive_bytes as usize]; 4],
            held: Vec::new(),
            replies: BTreeMap::new(),
            brought: BTreeMap::new(),
            moved_bytes: 0,
            drained: false,
            switched: false,
        }
    }

    fn capacity_bytes(&self) -> u64 {
        self.volume.engine().array().capacity_bytes()
    }

    fn ask(&mut self, client: u32, token: u32, kind: ByteRequestKind, range: (u64, u64)) {
        self.ask_with(client, token, kind, range, None);
    }

    fn ask_with(
        &mut self,
        client: u32,
        token: u32,
        kind: ByteRequestKind,
        (offset_bytes, length_bytes): (u64, u64),
        data: Option<Vec<u8>>,
    ) {
        let request = ByteRequest { host: 0, kind, offset_bytes, length_bytes, data };
        self.volume.handle_request_of(NOW, Origin(client), Token(token), request, false);
        self.take_outputs();
    }

    fn take_outputs(&mut self) {
        loop {
            while let Some(output) = self.volume.poll_output(NOW) {
                match output {
                    Output::Reply { token, reply } => {
                        if reply == Reply::Data {
                            let (buffer, range) = self.volume.take_read(token);
                            self.brought.insert(token.0, buffer[range].to_vec());
                        }
                        assert!(self.replies.insert(token.0, reply).is_none(), "answered once");
                    }
                    Output::Drained => self.drained = true,
                    Output::Switched(result) => {
                        result.unwrap();
                        self.switched = true;
                    }
                    _ => {}
                }
            }
            let Some(work) = self.volume.poll_work() else { return };
            self.held.push(work);
        }
    }

    /// Completes one piece of the storage's work.
    fn answer(&mut self, position: usize) {
        let StorageWork { tag, drive, work } = self.held.swap_remove(position);
        let bytes = &mut self.drives[drive.index()];
        let (buffer, moved) = match work {
            Work::Read { offset_bytes, length_bytes, mut buffer, .. } => {
                let from = &bytes[offset_bytes as usize..][..length_bytes];
                buffer[..length_bytes].copy_from_slice(from);
                (Some(buffer), length_bytes as u64)
            }
            Work::Write { offset_bytes, length_bytes, buffer } => {
                let into = &mut bytes[offset_bytes as usize..][..length_bytes];
                into.copy_from_slice(&buffer[..length_bytes]);
                (Some(buffer), length_bytes as u64)
            }
            Work::Discard { offset_bytes, length_bytes } => {
                bytes[offset_bytes as usize..][..length_bytes as usize].fill(0);
                (None, length_bytes)
            }
            Work::WriteHead { .. } | Work::Sync => (None, 0),
        };
        self.moved_bytes += moved;
        self.volume.handle_storage(NOW, tag, IoResult::Done, buffer);
        self.take_outputs();
    }

    fn answer_all(&mut self) {
        while !self.held.is_empty() {
            self.answer(0);
        }
    }

    /// Runs one turn of a driver with storage in memory. Returns the bytes that it moved.
    fn turn(&mut self) -> u64 {
        let before = self.moved_bytes;
        self.volume.begin_turn(BUDGET);
        self.volume.continue_requests(NOW);
        self.take_outputs();
        self.answer_all();
        self.moved_bytes - before
    }
}

#[test]
fn a_turn_is_bounded_and_a_short_request_waits_for_one_turn_whatever_others_ask_for() {
    let zeroes = |may_deallocate| ByteRequestKind::Zeroes { may_deallocate };
    for kind in [ByteRequestKind::Deallocate, zeroes(true), zeroes(false)] {
        let mut world = World::new(8 << 20);
        let whole = (0, world.capacity_bytes());
        (0..16).for_each(|client| world.ask(client, client, kind, whole));
        assert!(world.held.is_empty(), "long requests begin in turns");
        let mut turns = 0;
        while world.volume.has_parts() {
            let token = 1000 + turns;
            world.volume.begin_turn(BUDGET);
            world.ask(
                99,
                token,
                ByteRequestKind::Read,
                (u64::from(turns) * PAGE_BYTES % whole.1, PAGE_BYTES),
            );
            // The short request comes in addition; parity adds a third.
            let most = (PART_BYTES + STRIPE_BYTES) / 3 * 4 + BUDGET.bytes + PAGE_BYTES;
            let moved = world.turn();
            assert!(moved <= most, "{moved} in turn {turns}");
            assert!(matches!(world.replies.get(&token), Some(Reply::Data)), "turn {turns}");
            turns += 1;
        }
        let all = (0..16).all(|token| world.replies.get(&token) == Some(&Reply::Done));
        assert!(all, "{:?}", world.replies);
        assert!(u64::from(turns) >= 16 * whole.1 / (BUDGET.bytes + PART_BYTES), "{turns} turns");
        world.volume.check_invariants();
    }
}

#[test]
fn large_reads_and_writes_are_cut_as_well_and_their_parts_are_under_way_together() {
    let mut world = World::new(8 << 20);
    let bytes: Vec<u8> = (0..world.capacity_bytes()).map(|at| (at / 512 % 251) as u8).collect();
    let whole = (0, bytes.len() as u64);
    world.ask_with(1, 1, ByteRequestKind::Write, whole, Some(bytes.clone()));
    let mut turns = 0;
    while world.volume.has_parts() {
        world.volume.begin_turn(BUDGET);
        world.volume.continue_requests(NOW);
        world.take_outputs();
        turns += 1;
    }
    assert!(
        turns >= UNDER_WAY_BYTES / (BUDGET.bytes + PART_BYTES),
        "{turns} turns without an answer"
    );
    let before = world.volume.parts_begun();
    world.answer_all();
    while !world.replies.contains_key(&1) {
        world.turn();
    }
    assert!(world.volume.parts_begun() > before, "there was more than may be under way");
    world.ask(1, 2, ByteRequestKind::Read, whole);
    while !world.replies.contains_key(&2) {
        assert!(world.turn() <= BUDGET.bytes + PART_BYTES);
    }
    assert!(world.brought[&2] == bytes);
}

#[test]
fn what_is_under_way_is_bounded() {
    let mut world = World::new(32 << 20);
    let part = 2 << 20;
    for client in 0..40 {
        let range = (u64::from(client) * part, part);
        world.ask(client, client, ByteRequestKind::Deallocate, range);
    }
    for _ in 0..1000 {
        world.volume.begin_turn(TurnBudget::UNLIMITED);
        world.volume.continue_requests(NOW);
        world.take_outputs();
    }
    let discarded: u64 = world
        .held
        .iter()
        .map(|work| match work.work {
            Work::Discard { length_bytes, .. } => length_bytes,
            _ => 0,
        })
        .sum();
    let most = (UNDER_WAY_BYTES + PART_BYTES) / 3 * 4;
    assert!(discarded > 0 && discarded <= most, "{discarded}");
    assert!(!world.volume.has_parts(), "a driver need not look again before something is done");
    // Short requests have room of their own.
    world.volume.begin_turn(BUDGET);
    world.ask(50, 100, ByteRequestKind::Read, (80 << 20, PAGE_BYTES));
    let read = world.held.iter().position(|work| matches!(work.work, Work::Read { .. })).unwrap();
    world.answer(read);
    assert!(world.replies.contains_key(&100));
}

#[test]
fn a_shutdown_waits_for_all_parts_of_a_request() {
    let mut world = World::new(8 << 20);
    let whole = (0, world.capacity_bytes());
    world.ask(1, 1, ByteRequestKind::Deallocate, whole);
    world.turn();
    world.volume.shut_down(NOW, Instant::NEVER);
    world.take_outputs();
    while !world.replies.contains_key(&1) {
        assert!(!world.drained, "a part was still to come");
        world.turn();
    }
    assert!(world.drained);
}

#[test]
fn a_change_of_policy_does_not_wait_for_long_requests() {
    let mut world = World::new(8 << 20);
    let whole = (0, world.capacity_bytes());
    let kind = ByteRequestKind::Zeroes { may_deallocate: false };
    (0..4).for_each(|client| world.ask(client, client, kind, whole));
    world.turn();
    let settings = PolicySettings::default();
    let begun = world.volume.switch_policy(NOW, PolicyKind::BASE, settings, Coordination::Free);
    begun.unwrap();
    world.ask(9, 9, ByteRequestKind::Read, (0, PAGE_BYTES));
    let mut turns = 0;
    while !world.switched {
        world.turn();
        turns += 1;
        assert!(turns < 20, "parts were begun while the array was to come to rest");
    }
    assert!(!world.replies.contains_key(&0), "the long ones go on after it");
    while world.volume.has_parts() {
        world.turn();
    }
    assert_eq!(world.replies.len(), 5);
}

/// Any requests, in any order of turns and answers, have the same effect as on an array of bytes.
#[test]
fn requests_in_parts_do_what_they_say() {
    for seed in testing::seeds(0..20) {
        let mut rng = Rng::stream(seed, "requests in parts");
        let mut world = World::new(2 << 20);
        let mut model = vec![0u8; world.capacity_bytes() as usize];
        // Each request has a range of its own, so that their order does not matter.
        let room = world.capacity_bytes() / 4;
        for round in 0..10u32 {
            let mut expected = BTreeMap::new();
            for client in 0..4u32 {
                let token = round * 4 + client;
                let longest = if rng.below(2) == 0 { 9000 } else { room };
                let length = 1 + rng.below(longest);
                let offset = u64::from(client) * room + rng.below(room - length + 1);
                let bytes = &mut model[offset as usize..][..length as usize];
                let (kind, data) = match rng.below(4) {
                    0 => {
                        bytes.fill(token as u8 | 1);
                        (ByteRequestKind::Write, Some(bytes.to_vec()))
                    }
                    1 => {
                        let may_deallocate = rng.below(2) == 0;
                        bytes.fill(0);
                        (ByteRequestKind::Zeroes { may_deallocate }, None)
                    }
                    _ => {
                        expected.insert(token, bytes.to_vec());
                        (ByteRequestKind::Read, None)
                    }
                };
                world.ask_with(client, token, kind, (offset, length), data);
            }
            while world.replies.len() < (round as usize + 1) * 4 {
                match rng.below(3) {
                    0 => {
                        world.volume.begin_turn(BUDGET);
                        world.volume.continue_requests(NOW);
                        world.take_outputs();
                    }
                    _ if !world.held.is_empty() => {
                        let position = rng.below(world.held.len() as u64) as usize;
                        world.answer(position);
                    }
                    _ => {}
                }
                world.volume.check_invariants();
            }
            for (token, bytes) in expected {
                assert!(world.brought[&token] == bytes, "seed {seed}, request {token}");
            }
        }
        world.volume.begin_turn(TurnBudget::UNLIMITED);
        world.ask(0, 1 << 20, ByteRequestKind::Read, (0, model.len() as u64));
        while !world.replies.contains_key(&(1 << 20)) {
            world.turn();
        }
        assert!(world.brought[&(1 << 20)] == model, "seed {seed}");
    }
}
