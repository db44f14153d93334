//! One connection: its socket, the machine of its protocol, the buffers of its commands.

use super::admission::Stage;
use super::command_buffer::{CommandBuffer, Purpose};
use super::command_memory::{Account, CommandMemory};
use super::limits::{CAPSULE_BYTES, RECEIVE_BYTES, TRANSFER_BYTES_MAX};
use super::output::{Output, Sent};
use super::subsystems::{Joined, Which};
use crate::buffer::Pool;
use crate::clock::Interest;
use crate::crowd::Source;
use nvme::target::{
    CommandData, Connection, IoOperation, IoRequest, Output as MachineOutput, Request, Slot, Terms,
};
use nvme::wire::{AUTH_MESSAGE_BYTES_MAX, CONNECT_BYTES};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// What of headers may wait to be sent before nothing more is received: a host that does not read
/// its answers may send no more commands.
const UNSENT_HEADER_BYTES_MAX: usize = 64 << 10;

/// What an answer of discovery has room for whatever others hold: longer ones need what is common
/// to all.
const DISCOVERY_ANSWER_BYTES: u64 = 8 << 10;

/// Commands that are refused before a connection that is not served ends.
const REFUSALS_MAX: u8 = 16;

/// Most bytes that are received by one call of a connection that is not served: some dozens of
/// commands.
const STRANGER_RECEIVE_BYTES: usize = 2 << 10;

/// Bytes that are sent over a connection before it is the turn of the next.
const SEND_BYTES: usize = 256 << 10;

/// One connection for ever: the number of its place, and how often that was used before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ConnectionId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// The name of a command in flight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CommandName {
    pub(super) connection: ConnectionId,
    pub(super) slot: Slot,
}

impl CommandName {
    /// The number of the connection over which it came, which is used again after that was closed.
    pub(crate) const fn connection_number(&self) -> u32 {
        self.connection.index
    }
}

/// A command that the protocol has let through.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) nsid: u32,
    pub(super) request: Request,
    pub(super) data: CommandData,
    /// Its data, unless they are lent to whoever carries it out.
    pub(super) buffer: Option<CommandBuffer>,
}

/// What is held for the commands of a connection.
#[derive(Debug)]
struct Held {
    in_capsule: Account,
    granted: Account,
    /// Of both, what is with whoever carries out the commands.
    lent_bytes: u64,
}

/// How a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// It does not.
    No,
    /// What is to be sent is sent first.
    Sending,
    /// Nothing more is sent. The host has to close, or what it was sent may be lost.
    Waiting,
    /// The host has closed, or the socket is broken.
    Over,
}

/// What came of reading from the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Received {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
}

/// How far a connection is that may not use its queue yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// ICReq has come.
    pub(super) is_established: bool,
    /// Steps of its authentication that are done.
    pub(super) progress: u8,
    /// Commands that were refused.
    pub(super) refusals: u8,
    /// It is of no use any more, and waits for its end.
    pub(super) has_failed: bool,
}

/// One connection.
#[derive(Debug)]
pub(super) struct HostConnection {
    socket: TcpStream,
    pub(super) machine: Connection,
    pub(super) joined: Option<Joined>,
    pub(super) stage: Stage,
    pub(super) source: Source,
    pub(super) entry: Entry,
    pending: Vec<Option<Pending>>,
    /// Commands that wait for a buffer, the first one first.
    waiting: VecDeque<Slot>,
    output: Output,
    held: Held,
    /// The socket took less than it was given.
    is_full: bool,
    end: End,
}

impl Stage {
    /// Most bytes that are received by one call: little of those that others wait for in vain.
    pub(super) const fn receive_bytes(self) -> usize {
        match self {
            Self::Serving => RECEIVE_BYTES,
            Self::Entering | Self::Authenticating | Self::Discovering => STRANGER_RECEIVE_BYTES,
        }
    }

    /// What a connection may hold whatever others do: of data that come with commands, and of
    /// buffers that are granted. The former have room to receive while the rest of a capsule is on
    /// its way.
    const fn shares_bytes(self) -> (u64, u64) {
        let capsules_bytes = 2 * CAPSULE_BYTES as u64;
        match self {
            Self::Entering => (capsules_bytes, AUTH_MESSAGE_BYTES_MAX as u64),
            Self::Authenticating => {
                (self.receive_bytes() as u64 + capsules_bytes, AUTH_MESSAGE_BYTES_MAX as u64)
            }
            Self::Discovering => {
                (self.receive_bytes() as u64 + capsules_bytes, DISCOVERY_ANSWER_BYTES)
            }
            Self::Serving => (RECEIVE_BYTES as u64 + capsules_bytes, TRANSFER_BYTES_MAX as u64),
        }
    }

    /// The sum of the two. A connection that enters has one command at most, whose data are of one
    /// kind.
    pub(super) const fn share_bytes(self) -> u64 {
        let (in_capsule, granted) = self.shares_bytes();
        match self {
            Self::Entering => CAPSULE_BYTES as u64,
            Self::Authenticating | Self::Discovering | Self::Serving => in_capsule + granted,
        }
    }
}

impl HostConnection {
    /// The address of this machine that its host has connected to, for the discovery subsystem,
    /// which tells it.
    pub(super) fn local_ip(&self, which: Which) -> Option<IpAddr> {
        match which {
            Which::Own => None,
            Which::Discovery => self.socket.local_addr().ok().map(|address| address.ip()),
        }
    }

    pub(super) fn new(socket: TcpStream, source: Source, terms: Terms) -> Self {
        let stage = Stage::Entering;
        let (in_capsule, granted) = stage.shares_bytes();
        let (in_capsule, granted) = (Account::new(in_capsule), Account::new(granted));
        Self {
            socket,
            machine: Connection::new(terms),
            joined: None,
            stage,
            source,
            entry: Entry::default(),
            pending: Vec::new(),
            waiting: VecDeque::new(),
            output: Output::default(),
            held: Held { in_capsule, granted, lent_bytes: 0 },
            is_full: false,
            end: End::No,
        }
    }

    /// It may do something else from now on.
    pub(super) fn set_stage(&mut self, memory: &mut CommandMemory, stage: Stage) {
        self.stage = stage;
        let (in_capsule, granted) = stage.shares_bytes();
        memory.set_share(&mut self.held.in_capsule, in_capsule);
        memory.set_share(&mut self.held.granted, granted);
    }

    /// A command was refused. Returns whether a connection that is not served has had its last one
    /// refused.
    pub(super) const fn note_refusal(&mut self) -> bool {
        self.entry.refusals = self.entry.refusals.saturating_add(1);
        !matches!(self.stage, Stage::Serving) && self.entry.refusals > REFUSALS_MAX
    }

    /// The socket, to be watched.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// A command that the protocol has let through.
    pub(super) fn insert(&mut self, slot: Slot, pending: Pending) {
        let index = slot.index();
        if self.pending.len() <= index {
            self.pending.resize_with(index + 1, || None);
        }
        self.pending[index] = Some(pending);
    }

    /// A command in flight.
    pub(super) fn pending_mut(&mut self, slot: Slot) -> Option<&mut Pending> {
        self.pending.get_mut(slot.index())?.as_mut()
    }

    /// What a Connect says.
    pub(super) fn connect_data(&self, slot: Slot) -> Option<&[u8; CONNECT_BYTES]> {
        self.pending.get(slot.index())?.as_ref()?.buffer.as_ref()?.bytes().first_chunk()
    }

    /// Gives a command whose data come with it a buffer.
    pub(super) fn hold(&mut self, memory: &mut CommandMemory, pool: &mut Pool, slot: Slot) {
        let Some(Some(pending)) = self.pending.get_mut(slot.index()) else { return };
        let length = pending.data.to_controller_bytes() as usize;
        let buffer = match is_transfer(&pending.request) {
            true => CommandBuffer::pages(pool, length, Purpose::InCapsule),
            false => CommandBuffer::bytes_only(length, Purpose::InCapsule),
        };
        memory.take(&mut self.held.in_capsule, buffer.held_bytes());
        pending.buffer = Some(buffer);
    }

    /// Gives a command a buffer for which there has to be room. Returns whether there was.
    fn grant(&mut self, memory: &mut CommandMemory, pool: &mut Pool, slot: Slot) -> bool {
        let Some(Some(pending)) = self.pending.get_mut(slot.index()) else { return true };
        let length = bytes_of(pending.data);
        let needed = CommandBuffer::held_bytes_of_pages(length);
        if needed > memory.room_bytes(&self.held.granted) {
            return false;
        }
        let mut buffer = CommandBuffer::pages(pool, length, Purpose::Granted);
        if !is_transfer(&pending.request) {
            // Answers to admin commands may be shorter than they say.
            buffer.bytes_mut().fill(0);
        }
        memory.take(&mut self.held.granted, buffer.held_bytes());
        pending.buffer = Some(buffer);
        true
    }

    /// A command needs a buffer for which there has to be room.
    pub(super) fn wait_for_buffer(&mut self, slot: Slot) {
        self.waiting.push_back(slot);
    }

    /// The next command that has got the buffer that it waited for.
    pub(super) fn poll_grant(
        &mut self,
        memory: &mut CommandMemory,
        pool: &mut Pool,
    ) -> Option<Slot> {
        let slot = *self.waiting.front()?;
        if !self.grant(memory, pool, slot) {
            return None;
        }
        self.waiting.pop_front()
    }

    /// A piece of the data of a command.
    pub(super) fn put_data(&mut self, slot: Slot, offset_bytes: u32, bytes: &[u8]) {
        let buffer = self.pending_mut(slot).and_then(|pending| pending.buffer.as_mut());
        if let Some(buffer) = buffer {
            buffer.bytes_mut()[offset_bytes as usize..][..bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Lends the buffer of a command to whoever carries it out.
    pub(super) fn lend(&mut self, slot: Slot) -> Option<CommandBuffer> {
        let buffer = self.pending_mut(slot)?.buffer.take()?;
        self.held.lent_bytes += buffer.held_bytes();
        Some(buffer)
    }

    /// A buffer that was lent is back.
    pub(super) fn returned(&mut self, buffer: &CommandBuffer) {
        self.held.lent_bytes -= buffer.held_bytes();
    }

    /// A buffer is needed no longer.
    pub(super) fn give(
        &mut self,
        memory: &mut CommandMemory,
        pool: &mut Pool,
        buffer: CommandBuffer,
    ) {
        let account = match buffer.purpose {
            Purpose::InCapsule => &mut self.held.in_capsule,
            Purpose::Granted => &mut self.held.granted,
        };
        memory.give(account, buffer.held_bytes());
        buffer.recycle(pool);
    }

    /// Gives back all memory that is not lent.
    pub(super) fn close(&mut self, memory: &mut CommandMemory, pool: &mut Pool) {
        self.output.discard();
        while let Some(buffer) = self.output.pop_over() {
            self.give(memory, pool, buffer);
        }
        for pending in std::mem::take(&mut self.pending).into_iter().flatten() {
            if let Some(buffer) = pending.buffer {
                self.give(memory, pool, buffer);
            }
        }
        // Lent is lent of either; what is beyond both shares is of the common part.
        memory.close(self.held.in_capsule, self.held.lent_bytes);
        memory.close(self.held.granted, 0);
    }

    /// Whether it has a command that waits for a buffer.
    pub(super) fn waits_for_buffer(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether it waits for nothing but memory.
    pub(super) fn waits_for_memory(&self, memory: &CommandMemory) -> bool {
        self.end == End::No
            && (self.waits_for_buffer() || (self.takes_bytes() && !self.has_room(memory)))
    }

    /// Whether it would go on now with what it waits for.
    pub(super) fn would_go_on(&self, memory: &CommandMemory) -> bool {
        let next = self.waiting.front().and_then(|slot| self.pending.get(slot.index())?.as_ref());
        let fits = |pending: &Pending| {
            let needed = CommandBuffer::held_bytes_of_pages(bytes_of(pending.data));
            needed <= memory.room_bytes(&self.held.granted)
        };
        // Who waits for a buffer is woken for that alone: it would stand in line again at once.
        next.map_or_else(|| self.has_room(memory), fits)
    }

    fn takes_bytes(&self) -> bool {
        !self.entry.has_failed
            && self.machine.is_open()
            && self.output.header_bytes() < UNSENT_HEADER_BYTES_MAX
    }

    /// Whether what comes with commands has room.
    fn has_room(&self, memory: &CommandMemory) -> bool {
        let most = match self.stage {
            // Its one command.
            Stage::Entering => u64::from(CAPSULE_BYTES),
            stage => stage.receive_bytes() as u64 + u64::from(CAPSULE_BYTES),
        };
        memory.room_bytes(&self.held.in_capsule) >= most
    }

    /// Whether bytes are to be received.
    pub(super) fn may_receive(&self, memory: &CommandMemory) -> bool {
        match self.end {
            End::No => self.takes_bytes() && self.has_room(memory),
            End::Waiting => true,
            End::Sending | End::Over => false,
        }
    }

    /// Ends the connection if its host has closed it, or is gone. What it sent last is not looked
    /// at: the host may have sent it again over another path, and then something newer, which that
    /// must not overwrite.
    pub(super) fn notice_hang_up(&mut self) {
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let polled = poll(&mut fds, Some(&Timespec::default()));
        if polled.is_ok() && fds[0].revents().intersects(gone) {
            tracing::debug!("a host has closed its connection");
            self.end = End::Over;
        }
    }

    /// Reads what there is, by one call. What comes at the end of the connection is dropped.
    pub(super) fn receive(&mut self, into: &mut [u8]) -> Received {
        loop {
            match (&self.socket).read(into) {
                Ok(0) => self.end = End::Over,
                Ok(_) if self.end != End::No => {}
                Ok(count) => return Received::Bytes(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    tracing::debug!(%error, "a host is gone");
                    self.end = End::Over;
                }
            }
            return Received::Nothing;
        }
    }

    /// The socket takes bytes again.
    pub(super) fn set_writable(&mut self) {
        self.is_full = false;
    }

    /// Takes what the machine wants to send, and sends what the socket takes, up to some hundred
    /// KiB. Returns how many bytes were sent.
    pub(super) fn send(&mut self, memory: &mut CommandMemory, pool: &mut Pool) -> u64 {
        while let Some(output) = self.machine.poll_output() {
            self.take_output(output);
        }
        let mut sent = 0;
        while !self.is_full && !self.output.is_empty() && self.end != End::Over && sent < SEND_BYTES
        {
            match self.output.send(SEND_BYTES, |slices| (&self.socket).write_vectored(slices)) {
                Ok(Sent { bytes, all }) => {
                    self.is_full = !all;
                    sent += bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_full = true,
                Err(error) => {
                    tracing::debug!(%error, "a host takes no answers any more");
                    self.end = End::Over;
                }
            }
        }
        while let Some(buffer) = self.output.pop_over() {
            self.give(memory, pool, buffer);
        }
        if self.end == End::Sending && self.output.is_empty() {
            // The host reads to the end, and closes.
            self.end = match self.socket.shutdown(Shutdown::Write) {
                Ok(()) => End::Waiting,
                Err(_) => End::Over,
            };
        }
        sent as u64
    }

    /// Whether more could be sent at once than [`HostConnection::send`] has.
    pub(super) fn has_more_to_send(&self) -> bool {
        !self.is_full && !self.output.is_empty() && self.end != End::Over
    }

    fn take_output(&mut self, output: MachineOutput) {
        match output {
            MachineOutput::Send(pdu) => {
                self.output.put(pdu.prefix());
                let Some(piece) = pdu.data() else { return };
                let pending = self.pending.get(piece.slot.index()).and_then(Option::as_ref);
                let Some(buffer) = pending.and_then(|pending| pending.buffer.as_ref()) else {
                    unreachable!("an answer with data has a buffer: {piece:?}")
                };
                let start = piece.offset_bytes as usize;
                let range = start..start + piece.bytes as usize;
                let digest = pdu.data_digest(&buffer.bytes()[range.clone()]);
                if let Some(pages) = buffer.share() {
                    self.output.put_data(pages, range);
                }
                if let Some(digest) = digest {
                    self.output.put(&digest);
                }
            }
            MachineOutput::Released(slot) => {
                let pending = self.pending.get_mut(slot.index()).and_then(Option::take);
                if let Some(buffer) = pending.and_then(|pending| pending.buffer) {
                    self.output.put_over(buffer);
                }
            }
            MachineOutput::Close => {
                if self.end == End::No {
                    self.end = End::Sending;
                }
            }
        }
    }

    /// Whether something is to be sent that the socket does not take.
    pub(super) fn has_unsent(&self) -> bool {
        !self.output.is_empty()
    }

    /// Whether it ends, and waits for the host to take what was sent and to close.
    pub(super) fn is_ending(&self) -> bool {
        self.end != End::No
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        self.end == End::Over
    }

    /// What it waits for at its socket; none if it is to be taken out of an epoll, which reports
    /// hang-ups to everyone in it.
    pub(super) fn interest(&self, memory: &CommandMemory) -> Option<Interest> {
        let interest = Interest {
            readable: self.may_receive(memory),
            writable: self.is_full && !self.output.is_empty(),
        };
        (interest.readable || interest.writable).then_some(interest)
    }
}

/// Whether the data are those of blocks.
const fn is_transfer(request: &Request) -> bool {
    matches!(
        request,
        Request::Io(IoRequest { operation: IoOperation::Read(_) | IoOperation::Write(_), .. })
    )
}

fn bytes_of(data: CommandData) -> usize {
    data.to_controller_bytes().max(data.to_host_bytes()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_came_before_the_end_of_a_connection_is_not_received() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut host = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let terms = Terms {
            host_data_max_bytes: TRANSFER_BYTES_MAX,
            controller_data_max_bytes: TRANSFER_BYTES_MAX,
            transfer_max_bytes: TRANSFER_BYTES_MAX,
            checksum: crc32c::crc32c_append,
        };
        let memory = CommandMemory::new(0);
        let mut own = HostConnection::new(listener.accept().unwrap().0, Source::Local, terms);
        own.notice_hang_up();
        assert!(own.may_receive(&memory), "a host that says nothing is still there");
        host.write_all(b"a command").unwrap();
        own.notice_hang_up();
        assert!(own.may_receive(&memory), "so is one that says something");
        drop(host);
        own.notice_hang_up();
        assert!(own.is_over() && !own.may_receive(&memory));
    }
}
