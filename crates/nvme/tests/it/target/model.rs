//! A host that sends random commands, with random digests and in random pieces, to a drive that
//! answers in any order: every command has one answer, and reads return the data that were written.

use super::bench::{BLOCK, BLOCKS, Bench, NQN, config, terms};
use super::controllers::Admin;
use super::host::{Host, connect, host_data, in_capsule, io, transport};
use nvme::target::Terms;
use nvme::wire::pdu::{Digests, Header, ReadyToTransfer};
use nvme::wire::{BlockCount, BlockRange, CATTR_NO_SQ_FLOW, IoCommand, Transfer, WriteZeroes};
use std::collections::BTreeMap;
use units::Rng;

/// A command without its answer.
struct Sent {
    range: BlockRange,
    /// Expected data of a read, or data of a write.
    data: Vec<u8>,
    is_read: bool,
    /// Data of a read so far.
    received: Vec<u8>,
}

struct Model {
    bench: Bench,
    host: Host,
    socket: usize,
    /// Contents of the drive after all completed commands.
    expected: Vec<u8>,
    sent: BTreeMap<u16, Sent>,
    /// R2Ts whose data are to be sent.
    asked: Vec<(ReadyToTransfer, u32)>,
    /// Bytes on their way.
    stream: Vec<u8>,
    next_cid: u16,
    depth: usize,
    without_sq_flow: bool,
}

impl Model {
    fn draw(rng: &mut Rng) -> Self {
        let mut admin = Admin::enabled();
        let host_data_max_bytes = 4096 + 4 * rng.below(3000) as u32;
        let controller_data_max_bytes = 1 + rng.below(20_000) as u32;
        admin.bench.terms = Terms { host_data_max_bytes, controller_data_max_bytes, ..terms() };
        admin.bench.is_prompt = false;
        let digests = Digests { header: rng.below(2) == 0, data: rng.below(2) == 0 };
        let alignment = rng.below(32) as u8;
        let (socket, mut host) = admin.bench.greet(digests, alignment);
        let depth = 2 + rng.below(15) as u16;
        let without_sq_flow = rng.below(2) == 0;
        let attributes = if without_sq_flow { CATTR_NO_SQ_FLOW } else { 0 };
        let (entry, data) = connect(0, (1, depth - 1), (Some(admin.id), NQN), 0, attributes);
        let bytes = host.command(entry, &data);
        let pdus = admin.bench.talk(socket, &mut host, &bytes);
        assert!(super::host::completion(&pdus).status.is_success());
        Self {
            bench: admin.bench,
            host,
            socket,
            expected: vec![0; BLOCKS * BLOCK],
            sent: BTreeMap::new(),
            asked: Vec::new(),
            stream: Vec::new(),
            next_cid: rng.next_u64() as u16,
            depth: depth.into(),
            without_sq_flow,
        }
    }

    fn bytes(range: &BlockRange) -> std::ops::Range<usize> {
        let start = range.lba as usize * BLOCK;
        start..start + range.blocks.get() as usize * BLOCK
    }

    /// Sends a command on blocks that no command in flight uses, if there is room for it.
    fn send(&mut self, rng: &mut Rng) {
        let blocks = 1 + rng.below(32);
        let lba = rng.below(BLOCKS as u64 - blocks);
        let range = BlockRange { lba, blocks: BlockCount::new(blocks as u32).unwrap() };
        let is_taken =
            |sent: &Sent| sent.range.lba < lba + blocks && lba < sent.range.end().unwrap();
        if self.sent.len() >= self.depth || self.sent.values().any(is_taken) {
            return;
        }
        let place = Self::bytes(&range);
        let cid = self.next_cid;
        self.next_cid = cid.wrapping_add(1);
        let transfer = Transfer::new(range);
        let bytes = place.len();
        let kind = rng.below(8);
        let is_read = kind < 4;
        let mut data: Vec<u8> = match kind {
            0..4 => self.expected[place.clone()].to_vec(),
            4 => vec![0; bytes],
            _ => (0..bytes).map(|_| rng.next_u64() as u8).collect(),
        };
        let (entry, capsule) = match kind {
            0..4 => (io(cid, transport(bytes), IoCommand::Read(transfer)), &[][..]),
            4 => {
                let zeroes = WriteZeroes {
                    range,
                    deallocate: false,
                    force_unit_access: false,
                    limited_retry: false,
                };
                (io(cid, transport(0), IoCommand::WriteZeroes(zeroes)), &[][..])
            }
            _ if bytes <= config().capsule_bytes as usize && kind == 5 => {
                (io(cid, in_capsule(bytes), IoCommand::Write(transfer)), &data[..])
            }
            _ => (io(cid, transport(bytes), IoCommand::Write(transfer)), &[][..]),
        };
        self.stream.extend(self.host.command(entry, capsule));
        if !is_read {
            self.expected[place].copy_from_slice(&data);
        }
        let data = std::mem::take(&mut data);
        self.sent.insert(cid, Sent { range, data, is_read, received: Vec::new() });
    }

    /// Sends a part of the data of an R2T.
    fn send_data(&mut self, rng: &mut Rng) {
        if self.asked.is_empty() {
            return;
        }
        let place = rng.below(self.asked.len() as u64) as usize;
        let (ready, offset) = self.asked[place];
        let left = ready.data_bytes - offset;
        let most = left.min(self.bench.terms.host_data_max_bytes);
        let bytes = if rng.below(2) == 0 { most } else { 1 + rng.below(most.into()) as u32 };
        let is_last = bytes == left;
        let header = host_data((ready.cid, ready.transfer_tag), offset, bytes as usize, is_last);
        let data = &self.sent[&ready.cid].data[offset as usize..][..bytes as usize];
        self.stream.extend(self.host.pdu(&header, data));
        match is_last {
            true => drop(self.asked.swap_remove(place)),
            false => self.asked[place].1 += bytes,
        }
    }

    /// Delivers a part of the bytes.
    fn deliver(&mut self, rng: &mut Rng) {
        let shift = rng.below(16);
        let most = 1 + rng.below(1 << shift);
        let bytes = self.stream.len().min(most as usize);
        let piece: Vec<u8> = self.stream.drain(..bytes).collect();
        self.bench.feed(self.socket, &piece);
    }

    /// Lets the drive serve any of its commands.
    fn work(&mut self, rng: &mut Rng) {
        let waiting = self.bench.sockets[self.socket].at_drive.len();
        if waiting > 0 {
            self.bench.work(self.socket, rng.below(waiting as u64) as usize);
        }
    }

    /// Checks that the target sends only what is due.
    fn receive(&mut self) {
        let bytes = self.bench.take(self.socket);
        for (header, data) in self.host.read(&bytes) {
            match header {
                Header::ReadyToTransfer(ready) => {
                    let sent = &self.sent[&ready.cid];
                    assert_eq!(ready.data_bytes as usize, sent.data.len());
                    let twice = self.asked.iter().any(|(other, _)| other.cid == ready.cid);
                    assert!(!sent.is_read && !twice && ready.offset_bytes == 0);
                    self.asked.push((ready, 0));
                }
                Header::ControllerData(header) => {
                    let sent = self.sent.get_mut(&header.cid).unwrap();
                    assert_eq!(header.offset_bytes as usize, sent.received.len());
                    sent.received.extend_from_slice(&data);
                    assert_eq!(header.last, sent.received.len() == sent.data.len());
                    assert_eq!(header.success, header.last && self.without_sq_flow);
                    if header.success {
                        self.end(header.cid);
                    }
                }
                Header::Response(completion) => {
                    assert!(completion.status.is_success(), "{completion:?}");
                    self.end(completion.cid);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Ends a command, which must be in the table and so is answered only once.
    fn end(&mut self, cid: u16) {
        let sent = self.sent.remove(&cid).unwrap_or_else(|| panic!("{cid} was answered twice"));
        let place = Self::bytes(&sent.range);
        match sent.is_read {
            true => assert!(sent.received == sent.data, "wrong data"),
            false => assert!(self.bench.drive[place] == sent.data, "not written"),
        }
    }
}

#[test]
fn every_command_has_one_answer_with_the_right_data() {
    for seed in testing::seeds(0..60) {
        let mut rng = Rng::stream(seed, "host");
        let mut model = Model::draw(&mut rng);
        for _ in 0..400 {
            match rng.below(5) {
                0 => model.send(&mut rng),
                1 => model.send_data(&mut rng),
                2 => model.work(&mut rng),
                _ => model.deliver(&mut rng),
            }
            model.receive();
        }
        // Runs until all commands have completed.
        for _ in 0..100_000 {
            if model.sent.is_empty() {
                break;
            }
            model.send_data(&mut rng);
            model.deliver(&mut rng);
            model.work(&mut rng);
            model.receive();
        }
        assert!(model.sent.is_empty(), "{} commands hang", model.sent.len());
        assert!(model.host.is_sound);
        let own = &model.bench.sockets[model.socket];
        assert_eq!((own.connection.in_flight(), own.buffers()), (0, 0));
        assert!(model.bench.drive == model.expected);
    }
}
