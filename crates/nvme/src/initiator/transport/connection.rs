//! The machine of one connection.

use super::commands::{Asked, CommandData, Commands, InFlight, Slot};
use super::end::End;
use super::outgoing::{DataPiece, Output, OutputPdu};
use super::terms::Terms;
use crate::wire::pdu::{
    ADMIN_CAPSULE_DATA_BYTES, CommandCapsule, DataHeader, FatalStatus, Fault, Framing, Header,
    InitRequest, InitResponse, OffendingHeader, PREFIX_BYTES_MAX, PduReader, Progress,
    ReadyToTransfer, Side, Termination,
};
use crate::wire::{CompletionEntry, FABRICS, SglDescriptor, StatusCode, SubmissionEntry};
use alloc::collections::VecDeque;

// Places in headers, for termination requests.
const DGST: usize = 11;
const CCCID: usize = 8;
const TTAG: usize = 10;
const R2TL: usize = 16;
/// CID in the completion that a response has behind its eight bytes.
const RESPONSE_CID: usize = 8 + 12;

/// What came of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportEvent<'a> {
    /// All bytes were taken; the next step needs so many more at least.
    NeedMore(usize),
    /// A piece of the data of a command. They are worth something only once it has succeeded.
    Data {
        /// The command.
        slot: Slot,
        /// Where they belong in its buffer.
        offset_bytes: u32,
        /// They themselves.
        bytes: &'a [u8],
    },
    /// A command is over: its slot may be another command's from now on. If it succeeded, all of
    /// its data have come, or were sent.
    Completed {
        /// The command.
        slot: Slot,
        /// What became of it.
        completion: CompletionEntry,
    },
    /// The connection is over, and why is in [`Connection::end`]: what comes is dropped, what is to
    /// be sent before it closes is in [`Connection::poll_output`]. Commands in flight have no
    /// answer.
    Over,
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// ICResp has to come.
    Greeting,
    /// Commands and data.
    Open,
    /// [`Output::Close`] is to be told.
    Closing,
    Closed,
}

/// One TCP connection as the host sees it.
///
/// Commands go to [`Self::submit`], also before the controller has answered ICReq; bytes go to
/// [`Self::handle_bytes`]. After each of them [`Self::poll_output`] is to be called until it is
/// empty. The machine holds no data. Of what a controller says everything is checked against what
/// it was asked: an answer to a command that is not in flight, data out of order or beyond what
/// there is room for, a transfer that was not agreed, or a success without all of the data end the
/// connection.
///
/// A write whose data fit the capsule has them there; of others the controller has to ask, and may
/// do so for one part at a time (MAXR2T 0), in order. Data of several writes take turns.
#[derive(Debug)]
pub struct Connection {
    terms: Terms,
    reader: PduReader,
    /// Of what is sent.
    framing: Framing,
    /// Of what is received.
    own_framing: Framing,
    /// MAXH2CDATA.
    host_data_max_bytes: u32,
    commands: Commands,
    /// Commands with something to send. Each is in it at most once.
    ready: VecDeque<Slot>,
    /// Whose data the current PDU has, and whether it ends the command.
    receiving: Option<(Slot, bool)>,
    /// ICReq or H2CTermReq, which go before all others.
    first: Option<Header>,
    phase: Phase,
    end: Option<End>,
}

impl Connection {
    /// A connection over which nothing has gone yet. ICReq is the first output.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        let commands = Commands::new(terms.commands);
        let (alignment, digests) = (0, terms.digests);
        let request = InitRequest { alignment, digests, ready_to_transfer_max: 0 };
        Self {
            reader: PduReader::new(Side::Host, terms.limits()),
            framing: Framing::INITIAL,
            own_framing: Framing::new(digests, alignment, terms.checksum),
            host_data_max_bytes: 0,
            ready: VecDeque::with_capacity(commands.capacity()),
            commands,
            receiving: None,
            first: Some(Header::InitRequest(request)),
            phase: Phase::Greeting,
            end: None,
            terms,
        }
    }

    /// Memory that it holds.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let ready = self.ready.capacity() * size_of::<Slot>();
        size_of::<Self>() + self.commands.held_bytes() + ready
    }

    /// Most memory that a connection for so many commands ever holds, whatever the controller
    /// sends.
    #[must_use]
    pub const fn held_bytes_max(commands: u16) -> usize {
        let commands = if commands == 0 { 1 } else { commands as usize };
        let ready = commands * size_of::<Slot>();
        size_of::<Self>() + Commands::held_bytes_max(commands) + ready
    }

    /// Commands that are not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.len()
    }

    /// Whether [`Self::submit`] takes a command.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.is_alive() && self.commands.len() < self.commands.capacity()
    }

    /// Why it is over; none if it is not.
    #[must_use]
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// Takes a command. CID and data pointer of the entry are filled in. None if as many are in
    /// flight as may be, or if the connection is over.
    pub fn submit(&mut self, mut entry: SubmissionEntry, data: CommandData) -> Option<Slot> {
        if !self.is_alive() {
            return None;
        }
        let capsule_bytes = match entry.opcode {
            FABRICS => ADMIN_CAPSULE_DATA_BYTES,
            _ => self.terms.capsule_bytes,
        };
        let is_in_capsule =
            matches!(data, CommandData::ToController { bytes } if bytes <= capsule_bytes);
        entry.common.data = match data {
            CommandData::None => SglDescriptor::NO_DATA,
            CommandData::ToController { bytes } if is_in_capsule => {
                SglDescriptor::InCapsule { offset: 0, bytes }
            }
            CommandData::ToController { bytes } | CommandData::ToHost { bytes } => {
                SglDescriptor::Transport { bytes }
            }
        };
        let (is_sent, moved, asked, is_sound) = (false, 0, None, true);
        let command = InFlight { entry, data, is_in_capsule, is_sent, moved, asked, is_sound };
        let slot = self.commands.insert(command)?;
        self.note_ready(slot);
        Some(slot)
    }

    /// A command has something to send, and had nothing before.
    fn note_ready(&mut self, slot: Slot) {
        let (ready, commands) = (self.ready.len(), self.commands.len());
        assert!(ready < commands, "{ready} of {commands} commands have something to send already");
        self.ready.push_back(slot);
    }

    /// The next step with `bytes`, and how many of them it took. To be called again with the rest
    /// until it says [`TransportEvent::NeedMore`] or [`TransportEvent::Over`].
    pub fn handle_bytes<'a>(&mut self, bytes: &'a [u8]) -> (usize, TransportEvent<'a>) {
        let mut taken = 0;
        while self.is_alive() {
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
                Progress::Bad(fault) => {
                    self.first = self.reader.refusal();
                    self.over(End::Broken(fault));
                    None
                }
            };
            if let Some(event) = event {
                return (taken, event);
            }
        }
        (bytes.len(), TransportEvent::Over)
    }

    /// Ends the connection: nothing more is read, and what is not sent is not.
    pub fn close(&mut self) {
        if self.is_alive() {
            self.over(End::Closed);
        }
    }

    /// The next thing to do.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(header) = self.first.take() {
            // Neither ICReq nor a termination has digests.
            return Some(Output::Send(OutputPdu::new(Framing::INITIAL, &header, None)));
        }
        match self.phase {
            Phase::Open => {}
            Phase::Closing => {
                self.phase = Phase::Closed;
                return Some(Output::Close);
            }
            Phase::Greeting | Phase::Closed => return None,
        }
        let slot = self.ready.pop_front()?;
        let (framing, most) = (self.framing, self.host_data_max_bytes);
        let command = self.commands.get_mut(slot).expect("what is ready is in flight");
        assert!(command.is_ready(), "{slot:?} has nothing to send");
        let pdu = match command.asked {
            Some(asked) if command.is_sent => {
                let (header, piece) = next_data(slot, command, asked, most);
                OutputPdu::new(framing, &header, Some(piece))
            }
            _ => {
                let (header, piece) = capsule(slot, command);
                OutputPdu::new(framing, &header, piece)
            }
        };
        if command.is_ready() {
            self.note_ready(slot);
        }
        Some(Output::Send(pdu))
    }

    /// Checks what has to hold between any two steps.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn check_invariants(&self) {
        assert!(self.held_bytes() <= Self::held_bytes_max(self.commands.capacity() as u16));
        assert_eq!(self.end.is_none(), self.is_alive());
        for (slot, command) in self.commands.iter() {
            let times = self.ready.iter().filter(|&&ready| ready == slot).count();
            assert_eq!(times, usize::from(command.is_ready()), "{command:?}");
            let bytes = match command.data {
                CommandData::None => 0,
                CommandData::ToController { bytes } | CommandData::ToHost { bytes } => bytes,
            };
            assert!(command.moved <= bytes);
            if let Some(asked) = command.asked {
                assert!(command.moved < asked.end && asked.end <= bytes && command.is_sent);
            }
        }
        assert!(self.ready.iter().all(|&slot| self.commands.get(slot).is_some()));
    }

    fn is_alive(&self) -> bool {
        matches!(self.phase, Phase::Greeting | Phase::Open)
    }

    fn over(&mut self, end: End) {
        let before = self.phase;
        assert!(self.is_alive(), "a connection ends that is {before:?}");
        self.phase = Phase::Closing;
        self.end = Some(end);
    }

    fn on_header(&mut self, header: Header) -> Result<Option<TransportEvent<'static>>, Fault> {
        match header {
            Header::InitResponse(response) => self.on_init(&response).map(|()| None),
            Header::Response(completion) => self.on_response(completion).map(Some),
            Header::ControllerData(data) => self.on_data_header(&data).map(|()| None),
            Header::ReadyToTransfer(ready) => self.on_ready(&ready).map(|()| None),
            Header::ControllerTermination(termination) => {
                self.over(End::Terminated(termination.fault));
                Ok(None)
            }
            // The reader lets none of those of a host through.
            Header::InitRequest(_)
            | Header::HostTermination(_)
            | Header::Command(_)
            | Header::HostData(_) => Err(Fault::of(FatalStatus::Sequence)),
        }
    }

    fn on_init(&mut self, response: &InitResponse) -> Result<(), Fault> {
        if response.digests != self.terms.digests {
            return Err(Fault::field(DGST));
        }
        // The reader lets only one ICResp through.
        let before = self.phase;
        assert!(before == Phase::Greeting, "a connection opens that is {before:?}");
        self.framing = Framing::new(response.digests, response.alignment, self.terms.checksum);
        self.reader.establish(self.own_framing);
        self.host_data_max_bytes = response.host_data_max_bytes;
        self.phase = Phase::Open;
        Ok(())
    }

    fn on_response(
        &mut self,
        mut completion: CompletionEntry,
    ) -> Result<TransportEvent<'static>, Fault> {
        let unknown = Fault::field(RESPONSE_CID);
        let (slot, command) = self.commands.named(completion.cid).ok_or(unknown)?;
        if completion.status.is_success() {
            // A controller that has not all data of a write cannot have done it.
            if !command.is_moved() {
                return Err(Fault::of(FatalStatus::Sequence));
            }
            if !command.is_sound {
                completion.status = StatusCode::TransientTransport.for_now();
            }
        }
        Ok(self.complete(slot, completion))
    }

    fn complete(&mut self, slot: Slot, completion: CompletionEntry) -> TransportEvent<'static> {
        // Of a write that failed the rest of the data is not wanted any more.
        if self.commands.get(slot).is_some_and(InFlight::is_ready) {
            self.ready.retain(|&ready| ready != slot);
        }
        self.commands.remove(slot);
        TransportEvent::Completed { slot, completion }
    }

    fn on_data_header(&mut self, data: &DataHeader) -> Result<(), Fault> {
        let (slot, command) = self.commands.named(data.cid).ok_or(Fault::field(CCCID))?;
        let CommandData::ToHost { bytes } = command.data else { return Err(Fault::field(CCCID)) };
        let left = bytes - command.moved;
        let is_all = data.data_bytes == left;
        // What is left may be less than the last data promise, which is a success without all of
        // them.
        if data.offset_bytes != command.moved
            || data.data_bytes > left
            || (data.last || data.success) && !is_all
        {
            return Err(Fault::of(FatalStatus::DataOutOfRange));
        }
        let before = self.receiving.replace((slot, data.success));
        assert!(before.is_none(), "data for {slot:?} come before those for {before:?} have ended");
        Ok(())
    }

    fn on_ready(&mut self, ready: &ReadyToTransfer) -> Result<(), Fault> {
        let (slot, command) = self.commands.named(ready.cid).ok_or(Fault::field(CCCID))?;
        let (CommandData::ToController { bytes }, false) = (command.data, command.is_in_capsule)
        else {
            return Err(Fault::field(CCCID));
        };
        if command.asked.is_some() {
            return Err(Fault { status: FatalStatus::LimitExceeded, information: TTAG as u32 });
        }
        if ready.data_bytes == 0 {
            return Err(Fault::field(R2TL));
        }
        let left = bytes - command.moved;
        if ready.offset_bytes != command.moved || ready.data_bytes > left {
            return Err(Fault::of(FatalStatus::DataOutOfRange));
        }
        let end = ready.offset_bytes + ready.data_bytes;
        let command = self.commands.get_mut(slot).expect("what was named is in flight");
        command.asked = Some(Asked { transfer_tag: ready.transfer_tag, end });
        self.note_ready(slot);
        Ok(())
    }

    fn on_data<'a>(&mut self, bytes: &'a [u8]) -> Option<TransportEvent<'a>> {
        let (slot, _) = self.receiving?;
        let command = self.commands.get_mut(slot).expect("what data come for is in flight");
        let offset_bytes = command.moved;
        // It is at most what the header said, which was checked.
        let left = command.data.to_host_bytes() - offset_bytes;
        assert!(bytes.len() <= left as usize, "more data for {slot:?} than its header promised");
        command.moved += bytes.len() as u32;
        Some(TransportEvent::Data { slot, offset_bytes, bytes })
    }

    fn on_end(&mut self, is_sound: bool) -> Option<TransportEvent<'static>> {
        let (slot, is_success) = self.receiving.take()?;
        let command = self.commands.get_mut(slot).expect("what data come for is in flight");
        command.is_sound &= is_sound;
        let status = match command.is_sound {
            true => StatusCode::Success.for_now(),
            false => StatusCode::TransientTransport.for_now(),
        };
        let completion = CompletionEntry::new(command.entry.common.cid, status);
        is_success.then(|| self.complete(slot, completion))
    }

    /// Ends the connection because of a PDU that is sound in itself and not in its place.
    fn terminate(&mut self, fault: Fault, header: &Header) {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        self.own_framing.write(header, &mut prefix);
        let offending = OffendingHeader::new(&prefix[..header.kind().header_bytes().into()]);
        let termination = Termination { fault, offending };
        self.first = Some(Header::termination(Side::Host, termination));
        self.over(End::Broken(fault));
    }
}

/// The capsule of a command, and the data in it.
fn capsule(slot: Slot, command: &mut InFlight) -> (Header, Option<DataPiece>) {
    assert!(!command.is_sent, "the capsule of {slot:?} is sent twice");
    command.is_sent = true;
    let entry = command.entry;
    let (CommandData::ToController { bytes }, true) = (command.data, command.is_in_capsule) else {
        return (Header::Command(CommandCapsule { entry, data_bytes: 0 }), None);
    };
    command.moved = bytes;
    let header = Header::Command(CommandCapsule { entry, data_bytes: bytes });
    (header, Some(DataPiece { slot, offset_bytes: 0, bytes }))
}

/// The next data that were asked for, at most so many.
fn next_data(slot: Slot, command: &mut InFlight, asked: Asked, most: u32) -> (Header, DataPiece) {
    let offset_bytes = command.moved;
    let end = asked.end;
    assert!(offset_bytes < end, "of {slot:?} {end} bytes are asked for, and {offset_bytes} sent");
    let data_bytes = (end - offset_bytes).min(most.max(1));
    command.moved += data_bytes;
    let last = command.moved == asked.end;
    if last {
        command.asked = None;
    }
    let header = Header::HostData(DataHeader {
        cid: command.entry.common.cid,
        transfer_tag: asked.transfer_tag,
        offset_bytes,
        data_bytes,
        last,
        success: false,
    });
    (header, DataPiece { slot, offset_bytes, bytes: data_bytes })
}
