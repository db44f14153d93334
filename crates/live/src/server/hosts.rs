//! Hosts that attach to the array over NVMe/TCP: what their commands ask of it, and what they are
//! told.
//!
//! Knows: which requests a command is made of, and which status goes with which end of it. Does not
//! know: the protocol ([`crate::nvme_tcp`], [`nvme::target`]), how the array carries out requests.
//!
//! A command that the array refuses because it is being shut down is not answered: its connection
//! closes with the array, and the host sends the command again over another path or after the next
//! start.

use super::array_io::ArrayIo;
use super::counts::Counting;
use super::requests::Asker;
use crate::buffer::Buffer;
use crate::certainty::Certainty;
use crate::clock::{Event, Waiter};
use crate::control::StrangerStatus;
use crate::nvme_tcp::{
    BLOCK_SHIFT, CommandBuffer, CommandName, Counters, Target, TargetEvent, TargetSetup,
    plain_report,
};
use engine::{ByteRequest, ByteRequestKind};
use nvme::WindowCounts;
use nvme::target::{Action, IoOperation, IoOutcome, IoRequest, Namespace};
use nvme::wire::{BlockRange, DatasetRange, StatusCode, StatusField};
use std::collections::VecDeque;
use std::io;
use units::{Instant, Slab};

/// Of the waiter's tokens the first of a host: behind all NBD clients.
const FIRST_HOST: u64 = 1 << 33;

/// What the array is asked.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Data.
    Data {
        /// By whom.
        asker: Asker,
        /// What.
        request: ByteRequest<Buffer>,
        /// Whether it is done when it is on stable storage.
        forced: bool,
    },
    /// What was written before is to be on stable storage.
    Flush(Asker),
    /// Counts for the windows to come.
    Counts(WindowCounts),
}

/// A command that is not answered.
#[derive(Debug)]
struct Command {
    name: CommandName,
    /// Of which host, by its place among those that may attach.
    host: u8,
    request: IoRequest,
    /// Its data, or room for them.
    buffer: Option<CommandBuffer>,
    /// What it deallocates and was not begun, the first range last. One after the other, so that a
    /// command is one request whatever it says.
    ranges: Vec<DatasetRange>,
}

/// All hosts.
#[derive(Debug)]
pub(super) struct Hosts {
    target: Target,
    namespace: Namespace,
    commands: Slab<Command>,
    wanted: VecDeque<Wanted>,
    counters: Counters,
    counting: Counting,
    /// Commands were answered since [`Hosts::settle`].
    answered: bool,
}

impl Hosts {
    /// Hosts that may begin to connect.
    pub(super) fn new(setup: TargetSetup, waiter: &mut Waiter) -> io::Result<Self> {
        let namespace = setup.config.namespace;
        Ok(Self {
            target: Target::new(setup, FIRST_HOST, waiter)?,
            namespace,
            commands: Slab::new(),
            wanted: VecDeque::new(),
            counters: Counters::default(),
            counting: Counting::default(),
            answered: false,
        })
    }

    /// Paths of hosts that are connected: each is a controller.
    pub(super) fn paths(&self) -> u64 {
        self.target.served_controllers() as u64
    }

    /// How many connections ended before they were of use.
    pub(super) const fn strangers(&self) -> StrangerStatus {
        self.target.strangers()
    }

    /// Whether an event is for one of them.
    pub(super) const fn owns(&self, event: &Event) -> bool {
        self.target.owns(event)
    }

    /// A socket is ready. Returns how many bytes were received.
    pub(super) fn handle_ready(&mut self, now: Instant, event: &Event) -> u64 {
        self.target.handle_ready(now, event)
    }

    /// When [`Hosts::handle_deadline`] wants to be called.
    pub(super) fn next_deadline(&mut self) -> Instant {
        self.target.next_deadline()
    }

    /// Ends what has taken too long.
    pub(super) fn handle_deadline(&mut self, now: Instant) {
        self.target.handle_deadline(now);
    }

    /// Another policy begins.
    pub(super) fn begin_policy(&mut self) {
        self.counting = Counting::default();
    }

    /// Tells hosts of windows that have ended, if the policy wants a coordinator.
    pub(super) fn tell_traffic(&mut self, io: &mut ArrayIo) {
        self.counting.tell(io, &mut self.target);
    }

    /// Whether there is something to do before the thread waits.
    pub(super) fn has_work(&self) -> bool {
        self.answered || self.has_commands() || self.target.has_more_to_send()
    }

    /// Whether there are commands to begin.
    pub(super) fn has_commands(&self) -> bool {
        !self.wanted.is_empty() || self.target.has_events()
    }

    /// The number of the connection over which a command came.
    pub(super) fn connection_of(&self, slot: u32) -> u32 {
        self.commands.get(slot).name.connection_number()
    }

    /// The next thing that a host wants of the array.
    pub(super) fn poll_wanted(&mut self, now: Instant) -> Option<Wanted> {
        loop {
            if let Some(wanted) = self.wanted.pop_front() {
                return Some(wanted);
            }
            match self.target.poll_event()? {
                TargetEvent::Admin(name) => {
                    let report = plain_report(now, self.counters.health(now));
                    self.target.handle_admin(now, name, &report);
                }
                TargetEvent::Io { name, request, buffer } => self.begin(now, name, request, buffer),
                TargetEvent::Action(Action::ShutDown { controller, .. }) => {
                    return Some(Wanted::Flush(Asker::Controller(controller)));
                }
                TargetEvent::Action(Action::SetCounts(counts)) => {
                    return Some(Wanted::Counts(counts));
                }
                // A subsystem that knows nothing of IODA has no windows.
                TargetEvent::Action(_) => {}
            }
        }
    }

    fn begin(
        &mut self,
        now: Instant,
        name: CommandName,
        request: IoRequest,
        buffer: Option<CommandBuffer>,
    ) {
        self.counters.set_busy(now, true);
        let mut ranges = Vec::new();
        if let IoOperation::Deallocate { ranges: count } = request.operation {
            let data = buffer.as_ref().map(CommandBuffer::bytes).unwrap_or_default();
            let all = self.namespace.dataset(count, data).map(Iterator::collect::<Vec<_>>);
            match all {
                Ok(all) => ranges.extend(all.iter().rev().filter(|range| range.blocks > 0)),
                Err(status) => {
                    return self.target.complete(name, IoOutcome::Failed(status), buffer);
                }
            }
        }
        let host = self.target.place_of_host(name).min(u8::MAX.into()) as u8;
        let command = self.commands.insert(Command { name, host, request, buffer, ranges });
        self.go_on(command);
    }

    /// Asks the array for what comes next of a command, or answers it.
    fn go_on(&mut self, slot: u32) {
        let asker = Asker::Host(slot);
        let Command { host, request, buffer, ranges, .. } = self.commands.get_mut(slot);
        let host = *host;
        let of = |kind, range: &BlockRange, data| {
            let (first, blocks) = (range.lba, u64::from(range.blocks.get()));
            byte_request(host, kind, first, blocks, data)
        };
        let data = match &request.operation {
            IoOperation::Read(range) => of(ByteRequestKind::Read, range, None),
            IoOperation::Write(range) => {
                let data = buffer.as_ref().and_then(CommandBuffer::share);
                of(ByteRequestKind::Write, range, data)
            }
            IoOperation::WriteZeroes { range, deallocate } => {
                of(ByteRequestKind::Zeroes { may_deallocate: *deallocate }, range, None)
            }
            IoOperation::Deallocate { .. } => match ranges.pop() {
                None => return self.end(slot, IoOutcome::Done),
                Some(range) => {
                    let kind = ByteRequestKind::Deallocate;
                    byte_request(host, kind, range.lba, range.blocks.into(), None)
                }
            },
            IoOperation::Flush => return self.wanted.push_back(Wanted::Flush(asker)),
            IoOperation::Nothing => return self.end(slot, IoOutcome::Done),
        };
        let forced = request.force_unit_access && data.kind != ByteRequestKind::Read;
        self.wanted.push_back(Wanted::Data { asker, request: data, forced });
    }

    /// What a command asked for was read.
    pub(super) fn handle_data(&mut self, slot: u32, data: &[u8]) {
        if let Some(buffer) = &mut self.commands.get_mut(slot).buffer {
            buffer.bytes_mut().copy_from_slice(data);
        }
        self.end(slot, IoOutcome::Done);
    }

    /// A part of a command is done.
    pub(super) fn handle_done(&mut self, slot: u32) {
        match self.commands.get(slot).request.operation {
            IoOperation::Deallocate { .. } => self.go_on(slot),
            _ => self.end(slot, IoOutcome::Done),
        }
    }

    /// The array cannot carry out a command: more drives are missing than it can do without.
    pub(super) fn handle_failed(&mut self, slot: u32) {
        let status = match self.commands.get(slot).request.operation {
            IoOperation::Read(_) => StatusCode::UnrecoveredRead,
            _ => StatusCode::WriteFault,
        };
        self.fail(slot, status.for_good());
    }

    /// The array has stopped: it takes no requests any more, and may have lost one that it had
    /// begun.
    pub(super) fn handle_stopped(&mut self, slot: u32) {
        self.fail(slot, StatusCode::Internal.for_good());
    }

    /// What was written is on stable storage, as a controller that is to be shut down wants it.
    pub(super) fn handle_shut_down(&mut self, controller: u16) {
        self.target.handle_shut_down(controller);
        self.answered = true;
    }

    fn fail(&mut self, slot: u32, status: StatusField) {
        self.counters.count_error();
        self.end(slot, IoOutcome::Failed(status));
    }

    fn end(&mut self, slot: u32, outcome: IoOutcome) {
        let command = self.commands.get_mut(slot);
        let (name, request, buffer) = (command.name, command.request, command.buffer.take());
        command.ranges = Vec::new();
        self.commands.release(slot);
        if outcome == IoOutcome::Done {
            self.counters.count(&request);
        }
        self.target.complete(name, outcome, buffer);
        self.answered = true;
    }

    /// Sends what there is to be sent, as long as the drives are this server's. Returns whether
    /// commands were answered, and how many bytes were sent.
    pub(super) fn settle(
        &mut self,
        now: Instant,
        certainty: Certainty,
        waiter: &mut Waiter,
    ) -> io::Result<(bool, u64)> {
        if self.commands.is_empty() {
            self.counters.set_busy(now, false);
        }
        let sent = self.target.settle(now, certainty, waiter)?;
        Ok((std::mem::take(&mut self.answered), sent))
    }

    /// Nobody else may connect: the array is about to end.
    pub(super) fn stop_listening(&mut self) {
        self.target.stop_listening();
    }

    /// Ends all connections.
    pub(super) fn close(
        &mut self,
        now: Instant,
        certainty: Certainty,
        waiter: &mut Waiter,
    ) -> io::Result<()> {
        self.target.close_all();
        self.target.settle(now, certainty, waiter)?;
        while self.target.has_more_to_send() && certainty.holds() {
            self.target.settle(now, certainty, waiter)?;
        }
        Ok(())
    }
}

fn byte_request(
    host: u8,
    kind: ByteRequestKind,
    first: u64,
    blocks: u64,
    data: Option<Buffer>,
) -> ByteRequest<Buffer> {
    let (offset_bytes, length_bytes) = (first << BLOCK_SHIFT, blocks << BLOCK_SHIFT);
    ByteRequest { host, kind, offset_bytes, length_bytes, data }
}
