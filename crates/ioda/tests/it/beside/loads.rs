//! What others ask for.

use super::MIB;
use crate::nvme_host::{BLOCK, Queue, in_capsule, io};
use live::nbd::client::Client;
use live::nbd::wire::{command, command_flag};
use nvme::wire::{
    BlockCount, BlockRange, DatasetManagement, DatasetRange, IoCommand, SglDescriptor, WriteZeroes,
};
use rustix::event::{PollFd, PollFlags, poll};

/// Most bytes of one request without data.
const LONGEST_BYTES: u64 = 4 << 30;

/// Requests over NBD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// TRIM of everything.
    Trim,
    /// WRITE_ZEROES of everything.
    Zeroes,
    /// WRITE_ZEROES that takes room.
    ZeroesInFull,
    /// Reads of 32 MiB.
    Reads32Mib,
    /// Writes of 32 MiB.
    Writes32Mib,
    /// A thousand TRIMs of 1 MiB.
    SmallTrims,
}

/// Sends `count` requests, or a thousand small ones.
pub(crate) fn send(client: &mut Client, load: Load, count: u64) {
    let size = client.size_bytes();
    let whole = size.min(LONGEST_BYTES - 4096) as u32;
    let large = 32 * MIB;
    let data = vec![7; if load == Load::Writes32Mib { large as usize } else { 0 }];
    for cookie in 0..count {
        let at = cookie * large % (size - large);
        match load {
            Load::Trim => client.send(command::TRIM, 0, cookie, 0, whole),
            Load::Zeroes => client.send(command::WRITE_ZEROES, 0, cookie, 0, whole),
            Load::ZeroesInFull => {
                client.send(command::WRITE_ZEROES, command_flag::NO_HOLE, cookie, 0, whole);
            }
            Load::Reads32Mib => client.send_read(cookie, at, large as u32),
            Load::Writes32Mib => client.send_write(cookie, at, &data, false),
            Load::SmallTrims => {
                let at = cookie * MIB % size;
                client.send(command::TRIM, 0, cookie, at, MIB as u32);
            }
        }
    }
}

/// Sends what is to be sent and waits for `count` answers, all of them good.
pub(crate) fn wait(client: &mut Client, count: u64) {
    let mut answered = 0;
    while answered < count {
        client.flush().unwrap();
        if let Some(reply) = client.receive().unwrap() {
            assert_eq!(reply.error, 0);
            answered += 1;
            continue;
        }
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, client.wants_write());
        let descriptor = client.fd();
        poll(&mut [PollFd::new(&descriptor, flags)], None).unwrap();
    }
}

/// Deallocates `blocks` blocks by commands of 256 ranges, in all `count` times. Waits for `answers`
/// of them.
pub(crate) fn deallocate(queue: &mut Queue, blocks: u64, count: usize, answers: usize) {
    let each = blocks / 256;
    let ranges: Vec<u8> = (0..256)
        .flat_map(|number| {
            DatasetRange { attributes: 0, blocks: each as u32, lba: number * each }.encode()
        })
        .collect();
    let command = IoCommand::DatasetManagement(DatasetManagement {
        ranges: 256,
        deallocate: true,
        read_together: false,
        write_together: false,
    });
    for _ in 0..count {
        queue.send(io(in_capsule(ranges.len()), command), &ranges);
    }
    (0..answers).for_each(|_| wait_for_any(queue));
}

/// Writes zeros to everything, 65536 blocks at a time, and waits for the first answer.
pub(crate) fn zero(queue: &mut Queue, blocks: u64) {
    const MOST: u64 = 1 << 16;
    for lba in (0..blocks).step_by(MOST as usize).take(100) {
        let count = BlockCount::new((blocks - lba).min(MOST) as u32).unwrap();
        let range = BlockRange { lba, blocks: count };
        let zeroes =
            WriteZeroes { range, deallocate: true, force_unit_access: false, limited_retry: false };
        queue.send(io(SglDescriptor::Transport { bytes: 0 }, IoCommand::WriteZeroes(zeroes)), &[]);
    }
    wait_for_any(queue);
}

fn wait_for_any(queue: &mut Queue) {
    let (_, answered) = queue.wait_any();
    assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
}

/// Number of blocks in `bytes`.
pub(crate) fn blocks(bytes: u64) -> u64 {
    bytes / BLOCK as u64
}
