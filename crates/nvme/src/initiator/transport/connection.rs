//! State machine of one connection.

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

// Offsets of header fields, for termination requests.
const DGST: usize = 11;
const CCCID: usize = 8;
const TTAG: usize = 10;
const R2TL: usize = 16;
/// CID in the completion that a response has behind its eight bytes.
const RESPONSE_CID: usize = 8 + 12;

/// Result of received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportEvent<'a> {
    /// All bytes were taken; the next step needs at least this many more.
    NeedMore(usize),
    /// A piece of the data of a command, valid only when the command has succeeded.
    Data {
        /// The command.
        slot: Slot,
        /// Offset in the buffer of the command.
        offset_bytes: u32,
        /// The data.
        bytes: &'a [u8],
    },
    /// A command is over: its slot may be used again. If it succeeded, all of its data have been
    /// received or sent.
    Completed {
        /// The command.
        slot: Slot,
        /// Its completion.
        completion: CompletionEntry,
    },
    /// The connection is over, for the reason in [`Connection::end`]. Received bytes are dropped;
    /// [`Connection::poll_output`] has what is sent before the close. Commands in flight get no
    /// answer.
    Over,
}

/// Phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// ICResp is awaited.
    Greeting,
    /// Commands and data.
    Open,
    /// [`Output::Close`] is still to be returned.
    Closing,
    Closed,
}

/// One TCP connection as the host sees it.
///
/// Commands go to [`Self::submit`], also before the controller has answered ICReq; bytes go to
/// [`Self::handle_bytes`]. After each call, [`Self::poll_output`] has to be called until it is
/// empty. The machine holds no data. It checks everything that a controller sends against the
/// commands in flight. The connection ends at an answer to a command that is not in flight, data
/// out of order or beyond their room, a transfer that was not agreed, or a success without all of
/// the data.
///
/// The data of a write go into its capsule if they fit. Otherwise the controller has to request
/// them, in order and one part at a time (MAXR2T 0). Data of several writes take turns.
#[derive(Debug)]
pub struct Connection {
    terms: Terms,
    reader: PduReader,
    /// Framing of sent PDUs.
    framing: Framing,
    /// Framing of received PDUs.
    own_framing: Framing,
    /// MAXH2CDATA.
    host_data_max_bytes: u32,
    commands: Commands,
    /// Commands with something to send, each at most once.
    ready: VecDeque<Slot>,
    /// Command whose data the current PDU carries, and whether the PDU ends the command.
    receiving: Option<(Slot, bool)>,
    /// ICReq or H2CTermReq, which are sent before all others.
    first: Option<Header>,
    phase: Phase,
    end: Option<End>,
}

impl Connection {
    /// A new connection. ICReq is the first output.
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

    /// Memory of the connection in bytes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let ready = self.ready.capacity() * size_of::<Slot>();
        size_of::<Self>() + self.commands.held_bytes() + ready
    }

    /// Most memory of a connection with `commands` commands in flight, in bytes, whatever the
    /// controller sends.
    #[must_use]
    pub const fn held_bytes_max(commands: u16) -> usize {
        let commands = if commands == 0 { 1 } else { commands as usize };
        let ready = commands * size_of::<Slot>();
        size_of::<Self>() + Commands::held_bytes_max(commands) + ready
    }

    /// Commands without an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.len()
    }

    /// Whether [`Self::submit`] takes a command.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.is_alive() && self.commands.len() < self.commands.capacity()
    }

    /// Reason why the connection is over; `None` if it is not.
    #[must_use]
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// Submits a command. CID and data pointer of the entry are filled in. `None` if the most
    /// commands are in flight, or if the connection is over.
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

    /// Adds a command that had nothing to send before to those with something to send.
    fn note_ready(&mut self, slot: Slot) {
        let (ready, commands) = (self.ready.len(), self.commands.len());
        assert!(ready < commands, "{ready} of {commands} commands have something to send already");
        self.ready.push_back(slot);
    }

    /// Takes `bytes`. Returns the number of bytes taken, and the event. To be called again with the
    /// rest until the event is [`TransportEvent::NeedMore`] or [`TransportEvent::Over`].
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

    /// Ends the connection: nothing more is read, and unsent output is dropped.
    pub fn close(&mut self) {
        if self.is_alive() {
            self.over(End::Closed);
        }
    }

    /// The next output.
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

    /// Checks invariants that hold between any two steps.
    ///
    /// # Panics
    ///
    /// If one does not hold.
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
            // The reader lets no PDU of a host through.
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
            // A controller without all data of a write cannot have done it.
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
        // The rest of the data of a failed write is not sent.
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
        // The last data promise all that is left. Less would be a success without all of the data.
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
        // The bytes are at most as many as in the header, which was checked.
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

    /// Ends the connection because of a PDU that is valid in itself but may not come now.
    fn terminate(&mut self, fault: Fault, header: &Header) {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        self.own_framing.write(header, &mut prefix);
        let offending = OffendingHeader::new(&prefix[..header.kind().header_bytes().into()]);
        let termination = Termination { fault, offending };
        self.first = Some(Header::termination(Side::Host, termination));
        self.over(End::Broken(fault));
    }
}

/// Capsule of a command, with the data in it.
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

/// Next part of the requested data, at most `most` bytes.
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
