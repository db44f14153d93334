//! A host that sends random commands, with random digests and in random pieces, to a drive that
//! answers in any order: every command has one answer, and reads return the data that were written.

use super::pair::{Pair, config};
use crate::target::bench::{BLOCK, BLOCKS, Bench, config as target, terms};
use nvme::initiator::{ControllerAction, ControllerConfig, Outgoing};
use nvme::target::{SubsystemConfig, Terms};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    BlockCount, BlockRange, DatasetManagement, DatasetRange, IoCommand, StatusField, Transfer,
    WriteZeroes,
};
use std::collections::BTreeMap;
use units::Rng;

struct Sent {
    start: usize,
    bytes: usize,
    /// Expected data of a read.
    expected: Option<Vec<u8>>,
}

struct Model {
    pair: Pair,
    /// Contents of the drive after all completed commands.
    expected: Vec<u8>,
    sent: BTreeMap<u64, Sent>,
    next_tag: u64,
    full: u64,
    in_capsule: u64,
    asked: u64,
}

impl Model {
    fn draw(rng: &mut Rng) -> Self {
        let host_data_max_bytes = 4096 + 4 * rng.below(3000) as u32;
        let controller_data_max_bytes = 1 + rng.below(20_000) as u32;
        let capsule_bytes = [0, 512, 4096, 16_384][rng.below(4) as usize];
        let terms = Terms { host_data_max_bytes, controller_data_max_bytes, ..terms() };
        let bench = Bench::with(SubsystemConfig { capsule_bytes, ..target() }, terms);
        let digests = Digests { header: rng.below(2) == 0, data: rng.below(2) == 0 };
        let entries = 2 + rng.below(15) as u16;
        let mut pair = Pair::new(bench, ControllerConfig { entries, ..config() }, digests);
        pair.settle();
        assert_eq!(pair.told, [ControllerAction::Ready]);
        pair.bench.is_prompt = false;
        let expected = vec![0; BLOCKS * BLOCK];
        let (sent, next_tag, full, in_capsule, asked) = (BTreeMap::new(), 0, 0, 0, 0);
        Self { pair, expected, sent, next_tag, full, in_capsule, asked }
    }

    /// Sends a command on blocks that no command in flight uses.
    fn send(&mut self, rng: &mut Rng) {
        let blocks = 1 + rng.below(32);
        let lba = rng.below(BLOCKS as u64 - blocks);
        let range = BlockRange { lba, blocks: BlockCount::new(blocks as u32).unwrap() };
        let (start, bytes) = (lba as usize * BLOCK, blocks as usize * BLOCK);
        let is_taken = |sent: &Sent| sent.start < start + bytes && start < sent.start + sent.bytes;
        if self.sent.values().any(is_taken) {
            return;
        }
        let data: Vec<u8> = (0..bytes).map(|_| rng.next_u64() as u8).collect();
        let place = start..start + bytes;
        let transfer = Transfer::new(range);
        let flags = (rng.below(2) == 0, rng.below(2) == 0);
        let (command, outgoing, new) = match rng.below(9) {
            0..4 => (IoCommand::Read(transfer), Outgoing::Room(bytes as u32), None),
            4 => {
                let (deallocate, force_unit_access) = flags;
                let limited_retry = false;
                let zeroes = WriteZeroes { range, deallocate, force_unit_access, limited_retry };
                (IoCommand::WriteZeroes(zeroes), Outgoing::None, Some(vec![0; bytes]))
            }
            5 => {
                let range = DatasetRange { attributes: 0, blocks: blocks as u32, lba };
                let management = DatasetManagement {
                    ranges: 1,
                    deallocate: true,
                    read_together: false,
                    write_together: false,
                };
                let outgoing = Outgoing::Data(range.encode().to_vec());
                (IoCommand::DatasetManagement(management), outgoing, Some(vec![0; bytes]))
            }
            _ => {
                let transfer = Transfer { force_unit_access: flags.0, ..transfer };
                (IoCommand::Write(transfer), Outgoing::Data(data.clone()), Some(data))
            }
        };
        self.next_tag += 1;
        if matches!(command, IoCommand::Write(_)) {
            let fits = bytes <= self.pair.bench.subsystem.config().capsule_bytes as usize;
            *(if fits { &mut self.in_capsule } else { &mut self.asked }) += 1;
        }
        if !self.pair.send(self.next_tag, command, outgoing) {
            self.full += 1;
            return;
        }
        let expected = match &new {
            None => Some(self.expected[place.clone()].to_vec()),
            Some(_) => None,
        };
        if let Some(new) = new {
            self.expected[place].copy_from_slice(&new);
        }
        self.sent.insert(self.next_tag, Sent { start, bytes, expected });
    }

    fn work(&mut self, rng: &mut Rng) {
        let socket = self.pair.bench.sockets.len() - 1;
        let waiting = self.pair.bench.sockets[socket].at_drive.len();
        if waiting > 0 {
            self.pair.bench.work(socket, rng.below(waiting as u64) as usize);
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        let shift = rng.below(16);
        let most = 1 + rng.below(1 << shift) as usize;
        match rng.below(5) {
            0 => self.work(rng),
            1 | 2 => self.pair.deliver_to_target(1, most),
            _ => self.pair.deliver_to_host(1, most),
        }
        for done in std::mem::take(&mut self.pair.done) {
            assert_eq!(done.completion.status, StatusField::SUCCESS);
            let sent = self.sent.remove(&done.tag).expect("one answer for each command");
            if let Some(expected) = sent.expected {
                assert!(done.data == expected, "wrong data");
            }
        }
    }
}

#[test]
fn every_command_has_one_answer_with_the_right_data() {
    let (mut commands, mut full, mut in_capsule, mut asked) = (0, 0, 0, 0);
    for seed in testing::seeds(0..60) {
        let mut rng = Rng::stream(seed, "initiator");
        let mut model = Model::draw(&mut rng);
        for _ in 0..400 {
            if rng.below(4) == 0 {
                model.send(&mut rng);
            }
            model.step(&mut rng);
        }
        // Runs until all commands have completed.
        for _ in 0..100_000 {
            if model.sent.is_empty() {
                break;
            }
            model.step(&mut rng);
        }
        assert!(model.sent.is_empty(), "{} commands hang", model.sent.len());
        assert_eq!(model.pair.links[1].connection.in_flight(), 0);
        assert!(model.pair.bench.drive == model.expected);
        assert!(model.pair.controller.is_ready());
        commands += model.next_tag;
        full += model.full;
        in_capsule += model.in_capsule;
        asked += model.asked;
    }
    assert!(commands > 1000 && full > 0 && in_capsule > 100 && asked > 100);
}
