//! Reader of PDUs from bytes as they come.

use super::common::{COMMON_BYTES, CommonHeader, PduKind, Side};
use super::fault::{FatalStatus, Fault};
use super::frame::{Frame, Limits, Phase, Rules};
use super::framing::{DIGEST_BYTES, Framing};
use super::header::Header;
use super::term::{OffendingHeader, TERM_BYTES_MAX, Termination};
use crate::wire::field::{get, get_u32};

/// Result of received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress<'a> {
    /// All bytes were taken. The next step needs this many more, at least one. If data are due, the
    /// number is exactly the rest of the data of this PDU, so they may be received directly into
    /// their buffer.
    NeedMore(usize),
    /// A header that is complete and, if it has a digest, valid. [`Header::data_bytes`] bytes of
    /// data follow in any number of pieces, then the end.
    Header(Header),
    /// A piece of data, not empty, in the order of the PDU.
    Data(&'a [u8]),
    /// The end of a PDU, with or without data.
    End {
        /// Whether the digest of the data was right; true without a digest. Data with a wrong
        /// digest fail their command
        /// ([`TransientTransport`](crate::wire::StatusCode::TransientTransport)), and the
        /// connection continues.
        sound: bool,
    },
    /// The connection cannot continue: [`PduReader::refusal`] has to be sent. All later bytes give
    /// the same result.
    Bad(Fault),
}

/// Part of a PDU that is being read. Each number is that of missing bytes.
#[derive(Clone, Copy, Debug)]
enum State {
    Common,
    Header(Frame),
    Padding(Frame, usize),
    Data(Frame, u32),
    Digest,
    End { sound: bool },
    Bad(Fault),
}

/// Decodes PDUs.
///
/// The first eight bytes of a PDU are checked against kind, phase, digests and limits before any
/// more of it is taken, so a PDU that announces too much data is refused at once. The reader holds
/// at most a header; it allocates nothing and copies no data.
#[derive(Debug)]
pub struct PduReader {
    rules: Rules,
    state: State,
    /// A header or a digest, as far as it has come.
    held: [u8; TERM_BYTES_MAX],
    held_bytes: usize,
    /// Checksum of the data so far.
    checksum: u32,
}

impl PduReader {
    /// A reader for the receiver of a new connection, on side `side`.
    #[must_use]
    pub const fn new(side: Side, limits: Limits) -> Self {
        let (phase, framing) = (Phase::Fresh, Framing::INITIAL);
        Self {
            rules: Rules { side, phase, framing, limits },
            state: State::Common,
            held: [0; TERM_BYTES_MAX],
            held_bytes: 0,
            checksum: 0,
        }
    }

    /// Sets the terms after ICReq or ICResp: the digests of the answer, and the alignment that
    /// **this** side requested. Until then only a termination is read.
    pub const fn establish(&mut self, framing: Framing) {
        self.rules.framing = framing;
        self.rules.phase = Phase::Established;
    }

    /// Changes the limits from the next PDU on: Connect determines the queue of a connection.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.rules.limits = limits;
    }

    /// Takes `bytes`. Returns the number of bytes taken, and the progress. To be called again with
    /// the rest until it returns [`Progress::NeedMore`] or [`Progress::Bad`].
    pub fn advance<'a>(&mut self, bytes: &'a [u8]) -> (usize, Progress<'a>) {
        let mut taken = 0;
        let progress = loop {
            let rest = &bytes[taken..];
            let step = match self.state {
                State::Common => self.common(rest),
                State::Header(frame) => self.header(rest, frame),
                State::Padding(frame, missing) => self.padding(rest, frame, missing),
                State::Data(frame, missing) => self.data(rest, frame, missing),
                State::Digest => self.digest(rest),
                State::End { sound } => {
                    self.begin(State::Common);
                    (0, Some(Progress::End { sound }))
                }
                State::Bad(fault) => (0, Some(Progress::Bad(fault))),
            };
            taken += step.0;
            if let Some(progress) = step.1 {
                break progress;
            }
        };
        (taken, progress)
    }

    /// Termination request to send before the close; `None` if nothing is wrong, or if the faulty
    /// PDU was itself a termination request.
    #[must_use]
    pub fn refusal(&self) -> Option<Header> {
        let State::Bad(fault) = self.state else { return None };
        let header = &self.held[..self.held_bytes];
        if PduKind::from_bits(header[0]).is_some_and(PduKind::is_termination) {
            return None;
        }
        let offending = OffendingHeader::new(header);
        Some(Header::termination(self.rules.side, Termination { fault, offending }))
    }

    /// Enters a state that holds nothing yet.
    const fn begin(&mut self, state: State) {
        self.state = state;
        self.held_bytes = 0;
    }

    /// Takes bytes until `end` bytes are held. Returns the number of bytes taken, and the number of
    /// missing ones.
    fn hold(&mut self, bytes: &[u8], end: usize) -> (usize, usize) {
        let take = bytes.len().min(end - self.held_bytes);
        self.held[self.held_bytes..][..take].copy_from_slice(&bytes[..take]);
        self.held_bytes += take;
        (take, end - self.held_bytes)
    }

    fn fail<'a>(&mut self, fault: Fault) -> Progress<'a> {
        self.state = State::Bad(fault);
        Progress::Bad(fault)
    }

    fn common<'a>(&mut self, bytes: &'a [u8]) -> (usize, Option<Progress<'a>>) {
        let (taken, missing) = self.hold(bytes, COMMON_BYTES);
        if missing > 0 {
            return (taken, Some(Progress::NeedMore(missing)));
        }
        let common = CommonHeader::decode(&get(&self.held, 0));
        match Frame::check(&common, &self.rules) {
            Ok(frame) => {
                self.state = State::Header(frame);
                (taken, None)
            }
            Err(fault) => (taken, Some(self.fail(fault))),
        }
    }

    fn header<'a>(&mut self, bytes: &'a [u8], frame: Frame) -> (usize, Option<Progress<'a>>) {
        let digest_bytes = if frame.has_header_digest { DIGEST_BYTES } else { 0 };
        let (taken, missing) = self.hold(bytes, frame.header_bytes + digest_bytes);
        if missing > 0 {
            return (taken, Some(Progress::NeedMore(missing)));
        }
        let (header, digest) = self.held[..self.held_bytes].split_at(frame.header_bytes);
        if frame.has_header_digest {
            let received = get_u32(digest, 0);
            if (self.rules.framing.checksum)(0, header) != received {
                // The digest is reported separately, so it is not part of the reported header.
                self.held_bytes = frame.header_bytes;
                let status = FatalStatus::HeaderDigest;
                return (taken, Some(self.fail(Fault { status, information: received })));
            }
        }
        match Header::decode(frame.kind, header, frame.data_bytes) {
            Ok(header) => {
                if frame.kind.is_init() {
                    self.rules.phase = Phase::Introduced;
                }
                self.state = match frame.data_bytes {
                    0 => State::End { sound: true },
                    _ => State::Padding(frame, frame.padding_bytes),
                };
                (taken, Some(Progress::Header(header)))
            }
            Err(fault) => {
                self.held_bytes = frame.header_bytes;
                (taken, Some(self.fail(fault)))
            }
        }
    }

    fn padding<'a>(
        &mut self,
        bytes: &'a [u8],
        frame: Frame,
        missing: usize,
    ) -> (usize, Option<Progress<'a>>) {
        let taken = bytes.len().min(missing);
        match missing - taken {
            0 => {
                self.checksum = 0;
                self.begin(State::Data(frame, frame.data_bytes));
                (taken, None)
            }
            missing => {
                self.state = State::Padding(frame, missing);
                (taken, Some(Progress::NeedMore(missing)))
            }
        }
    }

    fn data<'a>(
        &mut self,
        bytes: &'a [u8],
        frame: Frame,
        missing: u32,
    ) -> (usize, Option<Progress<'a>>) {
        if bytes.is_empty() {
            return (0, Some(Progress::NeedMore(missing as usize)));
        }
        let taken = bytes.len().min(missing as usize);
        let piece = &bytes[..taken];
        if frame.has_data_digest {
            self.checksum = (self.rules.framing.checksum)(self.checksum, piece);
        }
        // The number fits, because it is at most that of the missing bytes.
        let missing = missing - taken as u32;
        self.state = match (missing, frame.has_data_digest) {
            (0, true) => State::Digest,
            (0, false) => State::End { sound: true },
            _ => State::Data(frame, missing),
        };
        (taken, Some(Progress::Data(piece)))
    }

    fn digest<'a>(&mut self, bytes: &'a [u8]) -> (usize, Option<Progress<'a>>) {
        let (taken, missing) = self.hold(bytes, DIGEST_BYTES);
        if missing > 0 {
            return (taken, Some(Progress::NeedMore(missing)));
        }
        let sound = get_u32(&self.held, 0) == self.checksum;
        self.state = State::End { sound };
        (taken, None)
    }
}
