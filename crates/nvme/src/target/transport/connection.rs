//! State machine of one connection.

use super::commands::{Answer, Commands, InFlight, Slot, Stage};
use super::outgoing::{DataPiece, Output, OutputPdu};
use super::pointer::CommandData;
use super::terms::{QueueTerms, Terms};
use crate::wire::pdu::{
    CommandCapsule, DataHeader, FatalStatus, Fault, Framing, Header, InitRequest, InitResponse,
    OffendingHeader, PREFIX_BYTES_MAX, PduReader, Progress, ReadyToTransfer, Side, Termination,
};
use crate::wire::{StatusCode, StatusField, SubmissionEntry};
use alloc::collections::VecDeque;

// Offsets in the header of H2CData, for termination requests.
const FLAGS: usize = 1;
const CCCID: usize = 8;
const TTAG: usize = 10;

/// Result of received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportEvent<'a> {
    /// All bytes were taken; the next step needs at least this many more.
    NeedMore(usize),
    /// A command. [`CommandData::InCapsule`] data follow at once; all others wait for
    /// [`Connection::receive`] or [`Connection::complete`].
    Command {
        /// Its slot.
        slot: Slot,
        /// Its entry.
        entry: SubmissionEntry,
        /// Place of its data.
        data: CommandData,
    },
    /// A piece of the data of a command.
    Data {
        /// The command.
        slot: Slot,
        /// Offset in the buffer of the command.
        offset_bytes: u32,
        /// The data.
        bytes: &'a [u8],
    },
    /// All data of a command are there and valid.
    Received(Slot),
    /// The connection is over. Received bytes are dropped; [`Connection::poll_output`] has what is
    /// sent before the close.
    Over,
}

/// Phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// [`Output::Close`] is still to be returned.
    Closing,
    Closed,
}

/// One TCP connection as the target sees it.
///
/// Bytes go to [`Self::handle_bytes`], the driver's decisions to [`Self::start_queue`],
/// [`Self::receive`] and [`Self::complete`]; after each call, [`Self::poll_output`] has to be
/// called until it is empty. It checks the announced lengths of a host before it takes any data,
/// and holds no data itself.
///
/// A write has one R2T for all its data: Linux takes one at a time, so several would gain nothing.
/// Answers are sent as they come, in any order of the commands; C2HData of several reads take
/// turns. A command beyond the depth of the queue ends the connection, as every breach of the
/// protocol does, with a termination request that names the breach.
#[derive(Debug)]
pub struct Connection {
    terms: Terms,
    queue: QueueTerms,
    reader: PduReader,
    /// Framing of sent PDUs.
    framing: Framing,
    /// Framing of received PDUs.
    host_framing: Framing,
    commands: Commands,
    /// Commands with something to send, each at most once.
    ready: VecDeque<Slot>,
    /// Command whose data the current PDU carries.
    receiving: Option<Slot>,
    sq_head: u16,
    /// ICResp, which is sent before all others.
    welcome: Option<Header>,
    /// C2HTermReq, after which nothing is sent.
    termination: Option<Header>,
    released: Option<Slot>,
    is_established: bool,
    phase: Phase,
}

impl Connection {
    /// A new connection, before its first byte.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        let queue = QueueTerms::FRESH;
        Self {
            reader: PduReader::new(Side::Controller, terms.limits(queue.capsule_bytes)),
            framing: Framing::INITIAL,
            host_framing: Framing::INITIAL,
            commands: Commands::new(queue.entries),
            ready: VecDeque::with_capacity(usize::from(queue.entries)),
            receiving: None,
            sq_head: 0,
            welcome: None,
            termination: None,
            released: None,
            is_established: false,
            phase: Phase::Open,
            terms,
            queue,
        }
    }

    /// Sets the queue of the connection: once, after a Connect that succeeds and before its
    /// completion.
    pub fn start_queue(&mut self, queue: QueueTerms) {
        let queue = QueueTerms { entries: queue.entries.max(1), ..queue };
        self.queue = queue;
        self.reader.set_limits(self.terms.limits(queue.capsule_bytes));
        self.commands.grow(queue.entries);
        self.ready.reserve_exact(usize::from(queue.entries).saturating_sub(self.ready.len()));
        // Connect was the first entry.
        self.sq_head = if queue.without_sq_flow { u16::MAX } else { 1 % queue.entries };
    }

    /// Memory of the connection in bytes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let ready = self.ready.capacity() * size_of::<Slot>();
        size_of::<Self>() + self.commands.held_bytes() + ready
    }

    /// Most memory of a connection whose queue has `entries` entries, in bytes, whatever the host
    /// sends.
    #[must_use]
    pub const fn held_bytes_max(entries: u16) -> usize {
        let entries = entries as usize;
        let ready = entries * size_of::<Slot>();
        size_of::<Self>() + Commands::held_bytes_max(entries) + ready
    }

    /// Commands without an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.len()
    }

    /// Whether ICReq has come.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        self.is_established
    }

    /// Whether the connection still takes bytes.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Takes `bytes`. Returns the number of bytes taken, and the event. To be called again with the
    /// rest until the event is [`TransportEvent::NeedMore`] or [`TransportEvent::Over`].
    pub fn handle_bytes<'a>(&mut self, bytes: &'a [u8]) -> (usize, TransportEvent<'a>) {
        let mut taken = 0;
        while self.is_open() {
            let (took, progress) = self.reader.advance(&bytes[taken..]);
            taken += took;
            let event = match progress {
                Progress::NeedMore(missing) => Some(TransportEvent::NeedMore(missing)),
                Progress::Header(header) => match self.on_header(header) {
                    Ok(event) => event,
                    Err(fault) => {
                        self.terminate(fault, &header);
                        None
                    }
                },
                Progress::Data(bytes) => self.on_data(bytes),
                Progress::End { sound } => self.on_end(sound),
                Progress::Bad(_) => {
                    self.termination = self.reader.refusal();
                    self.close();
                    None
                }
            };
            if let Some(event) = event {
                return (taken, event);
            }
        }
        (bytes.len(), TransportEvent::Over)
    }

    /// Ends the connection: nothing more is read, and unsent answers are dropped.
    pub fn close(&mut self) {
        if self.is_open() {
            self.phase = Phase::Closing;
        }
    }

    /// Requests the data of a command from the host, because there is a buffer for them.
    ///
    /// # Panics
    ///
    /// If the command has no data at the host, or they were requested before.
    pub fn receive(&mut self, slot: Slot) {
        if !self.is_open() {
            return;
        }
        let command = self.commands.get_mut(slot).expect("a command in flight");
        let is_waiting = command.stage == Stage::AtDriver;
        assert!(
            is_waiting && matches!(command.data, CommandData::AtHost { .. }),
            "data at the host"
        );
        command.stage = Stage::ToAsk;
        self.note_ready(slot);
    }

    /// Adds a command that had nothing to send before to those with something to send.
    fn note_ready(&mut self, slot: Slot) {
        let (ready, commands) = (self.ready.len(), self.commands.len());
        assert!(ready < commands, "{ready} of {commands} commands have something to send already");
        self.ready.push_back(slot);
    }

    /// Answers a command. Data that are still to come are received and dropped. After the end of
    /// the connection the call has no effect.
    ///
    /// # Panics
    ///
    /// If the command is not in flight or has been answered, or if the host has no room for the
    /// data.
    pub fn complete(&mut self, slot: Slot, answer: Answer) {
        if !self.is_open() {
            return;
        }
        let command = self.commands.get_mut(slot).expect("a command in flight");
        let room = if answer.status.is_success() { command.data.to_host_bytes() } else { 0 };
        assert!(answer.data_bytes <= room, "{} bytes of data", answer.data_bytes);
        let answering = Stage::Answering { answer, sent: 0 };
        match &mut command.stage {
            Stage::AtDriver => {
                command.stage = answering;
                self.note_ready(slot);
            }
            // The command is among those with something to send already.
            Stage::ToAsk => command.stage = answering,
            Stage::Receiving { answer: known @ None, .. } => *known = Some(answer),
            Stage::Receiving { .. } | Stage::Answering { .. } => panic!("answered twice"),
        }
    }

    /// The next output.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(header) = self.welcome.take().or_else(|| self.termination.take()) {
            // Neither PDU has digests; ICResp is sent before they are agreed.
            return Some(Output::Send(OutputPdu::new(Framing::INITIAL, &header, None)));
        }
        match self.phase {
            Phase::Open => {}
            Phase::Closing => {
                self.phase = Phase::Closed;
                return Some(Output::Close);
            }
            Phase::Closed => return None,
        }
        if let Some(slot) = self.released.take() {
            return Some(Output::Released(slot));
        }
        let slot = self.ready.pop_front()?;
        let command = *self.commands.get(slot).expect("what is ready is in flight");
        Some(Output::Send(match command.stage {
            Stage::Answering { answer, sent } => self.next_of_answer(slot, command, answer, sent),
            _ => self.ask(slot, &command),
        }))
    }

    /// Checks invariants that hold between any two steps.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub fn check_invariants(&self) {
        assert!(self.commands.len() <= usize::from(self.queue.entries));
        assert!(self.held_bytes() <= Self::held_bytes_max(self.queue.entries));
        for (slot, command) in self.commands.iter() {
            let times = self.ready.iter().filter(|&&ready| ready == slot).count();
            let is_ready = matches!(command.stage, Stage::ToAsk | Stage::Answering { .. });
            assert_eq!(times, usize::from(is_ready), "{command:?}");
            if let Stage::Receiving { received, .. } = command.stage {
                assert!(received <= command.data.to_controller_bytes() || !command.is_known);
            }
        }
    }

    fn ask(&mut self, slot: Slot, command: &InFlight) -> OutputPdu {
        let stage = command.stage;
        assert!(stage == Stage::ToAsk, "data of {slot:?} are asked for, which is {stage:?}");
        let ready = ReadyToTransfer {
            cid: command.cid,
            transfer_tag: slot.tag(),
            offset_bytes: 0,
            data_bytes: command.data.to_controller_bytes(),
        };
        self.set_stage(slot, Stage::Receiving { received: 0, sound: true, answer: None });
        OutputPdu::new(self.framing, &Header::ReadyToTransfer(ready), None)
    }

    /// Next data of an answer, or its completion.
    fn next_of_answer(
        &mut self,
        slot: Slot,
        command: InFlight,
        answer: Answer,
        sent: u32,
    ) -> OutputPdu {
        let cid = command.cid;
        let all = answer.data_bytes;
        assert!(sent <= all, "of {slot:?} {sent} bytes are sent, and it has {all}");
        let left = all - sent;
        if left == 0 {
            self.release(slot, &command);
            let header = Header::Response(answer.entry(cid, self.sq_head));
            return OutputPdu::new(self.framing, &header, None);
        }
        let data_bytes = left.min(self.terms.controller_data_max_bytes.max(1));
        let last = data_bytes == left;
        // A completion with a value in DW0 or DW1 has to be sent.
        let success = last && self.queue.without_sq_flow && answer.result == 0;
        let header = Header::ControllerData(DataHeader {
            cid,
            transfer_tag: 0,
            offset_bytes: sent,
            data_bytes,
            last,
            success,
        });
        if success {
            self.release(slot, &command);
        } else {
            self.set_stage(slot, Stage::Answering { answer, sent: sent + data_bytes });
            self.note_ready(slot);
        }
        let piece = DataPiece { slot, offset_bytes: sent, bytes: data_bytes };
        OutputPdu::new(self.framing, &header, Some(piece))
    }

    fn release(&mut self, slot: Slot, command: &InFlight) {
        let before = self.released;
        assert!(before.is_none(), "{slot:?} is released before {before:?} was told");
        self.commands.remove(slot);
        self.released = command.is_known.then_some(slot);
    }

    fn set_stage(&mut self, slot: Slot, stage: Stage) {
        self.commands.get_mut(slot).expect("a command in flight").stage = stage;
    }

    fn on_header(&mut self, header: Header) -> Result<Option<TransportEvent<'static>>, Fault> {
        match header {
            Header::InitRequest(request) => {
                self.on_init(&request);
                Ok(None)
            }
            Header::Command(capsule) => self.on_command(&capsule),
            Header::HostData(data) => self.on_host_data(&data).map(|()| None),
            Header::HostTermination(_) => {
                self.close();
                Ok(None)
            }
            // The reader lets no PDU of a controller through.
            Header::InitResponse(_)
            | Header::ControllerTermination(_)
            | Header::Response(_)
            | Header::ControllerData(_)
            | Header::ReadyToTransfer(_) => Err(Fault::of(FatalStatus::Sequence)),
        }
    }

    fn on_init(&mut self, request: &InitRequest) {
        // The reader lets only one ICReq through.
        assert!(!self.is_established, "a connection is established twice");
        let digests = request.digests;
        self.framing = Framing::new(digests, request.alignment, self.terms.checksum);
        self.host_framing = Framing::new(digests, 0, self.terms.checksum);
        self.reader.establish(self.host_framing);
        self.is_established = true;
        let host_data_max_bytes = self.terms.host_data_max_bytes;
        self.welcome =
            Some(Header::InitResponse(InitResponse { alignment: 0, digests, host_data_max_bytes }));
    }

    fn on_command(
        &mut self,
        capsule: &CommandCapsule,
    ) -> Result<Option<TransportEvent<'static>>, Fault> {
        let cid = capsule.entry.common.cid;
        let checked = match self.commands.has_cid(cid) {
            true => Err(StatusCode::CommandIdConflict.for_good()),
            false => CommandData::of(capsule, &self.terms),
        };
        let stage = match (checked, capsule.data_bytes) {
            (Ok(_), 0) => Stage::AtDriver,
            (Ok(_), _) => Stage::Receiving { received: 0, sound: true, answer: None },
            (Err(status), 0) => Stage::Answering { answer: Answer::new(status), sent: 0 },
            (Err(status), _) => {
                let answer = Some(Answer::new(status));
                Stage::Receiving { received: 0, sound: true, answer }
            }
        };
        // The data in the capsule of a refused command are counted as well, to find their end.
        let bytes = capsule.data_bytes;
        let data = checked.unwrap_or(CommandData::InCapsule { bytes });
        let command = InFlight { cid, data, is_known: checked.is_ok(), stage };
        let slot = self.commands.insert(command).ok_or(Fault::of(FatalStatus::Sequence))?;
        if !self.queue.without_sq_flow {
            self.sq_head = (self.sq_head + 1) % self.queue.entries;
        }
        if capsule.data_bytes > 0 {
            self.begin_receiving(slot);
        } else if checked.is_err() {
            self.note_ready(slot);
        }
        let entry = capsule.entry;
        Ok(checked.ok().map(|data| TransportEvent::Command { slot, entry, data }))
    }

    fn on_host_data(&mut self, data: &DataHeader) -> Result<(), Fault> {
        let slot = Slot::new(data.transfer_tag);
        let command = self.commands.get(slot).ok_or(Fault::field(TTAG))?;
        let CommandData::AtHost { bytes } = command.data else { return Err(Fault::field(TTAG)) };
        let Stage::Receiving { received, .. } = command.stage else {
            return Err(Fault::field(TTAG));
        };
        if command.cid != data.cid {
            return Err(Fault::field(CCCID));
        }
        let left = bytes - received;
        if data.offset_bytes != received || data.data_bytes > left {
            return Err(Fault::of(FatalStatus::DataOutOfRange));
        }
        if data.last != (data.data_bytes == left) {
            return Err(Fault::field(FLAGS));
        }
        self.begin_receiving(slot);
        Ok(())
    }

    /// Begins to receive the data of a command, behind a header that was checked.
    fn begin_receiving(&mut self, slot: Slot) {
        let before = self.receiving.replace(slot);
        assert!(before.is_none(), "data for {slot:?} come before those for {before:?} have ended");
    }

    fn on_data<'a>(&mut self, bytes: &'a [u8]) -> Option<TransportEvent<'a>> {
        let slot = self.receiving?;
        let command = self.commands.get_mut(slot).expect("what data come for is in flight");
        let all = command.data.to_controller_bytes();
        let Stage::Receiving { received, answer, .. } = &mut command.stage else {
            panic!("data come for {slot:?}, which is {:?}", command.stage)
        };
        let offset_bytes = *received;
        // The bytes are at most as many as in the header, which was checked.
        let left = (all - offset_bytes) as usize;
        assert!(bytes.len() <= left, "more data for {slot:?} than its header promised");
        *received += bytes.len() as u32;
        answer.is_none().then_some(TransportEvent::Data { slot, offset_bytes, bytes })
    }

    fn on_end(&mut self, pdu_is_sound: bool) -> Option<TransportEvent<'static>> {
        let slot = self.receiving.take()?;
        let command = self.commands.get_mut(slot).expect("what data come for is in flight");
        let all = command.data.to_controller_bytes();
        let Stage::Receiving { received, sound, answer } = &mut command.stage else {
            panic!("data of {slot:?} end, which is {:?}", command.stage)
        };
        *sound &= pdu_is_sound;
        if *received < all {
            return None;
        }
        let damaged = (!*sound).then_some(Answer::new(DAMAGED));
        match answer.or(damaged) {
            Some(answer) => {
                command.stage = Stage::Answering { answer, sent: 0 };
                self.note_ready(slot);
                None
            }
            None => {
                command.stage = Stage::AtDriver;
                Some(TransportEvent::Received(slot))
            }
        }
    }

    /// Ends the connection because of a PDU that is valid in itself but may not come now.
    fn terminate(&mut self, fault: Fault, header: &Header) {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        self.host_framing.write(header, &mut prefix);
        let offending = OffendingHeader::new(&prefix[..header.kind().header_bytes().into()]);
        let termination = Termination { fault, offending };
        self.termination = Some(Header::termination(Side::Controller, termination));
        self.close();
    }
}

/// Status of a command whose data have a wrong digest.
const DAMAGED: StatusField = StatusCode::TransientTransport.for_now();
