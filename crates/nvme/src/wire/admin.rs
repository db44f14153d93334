//! Commands of the admin queue.

use super::fabrics::{FABRICS, FabricsCommand};
use super::feature::{GetFeatures, SetFeatures};
use super::field::Bits;
use super::identify::Identify;
use super::log::GetLogPage;
use super::submission::{CommonFields, SubmissionEntry};

const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const ABORT: u8 = 0x08;
const SET_FEATURES: u8 = 0x09;
const GET_FEATURES: u8 = 0x0a;
const ASYNC_EVENT_REQUEST: u8 = 0x0c;
const KEEP_ALIVE: u8 = 0x18;

// CDW10 of Abort.
const SQID: Bits = Bits::new(15, 0);
const CID: Bits = Bits::new(31, 16);

/// Abort. DW0 bit 0 of its completion is 1 if the command was *not* aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abort {
    /// SQID: the queue of the command to abort.
    pub sq_id: u16,
    /// CID of the command to abort.
    pub cid: u16,
}

/// A command of the admin queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminCommand {
    /// 02h.
    GetLogPage(GetLogPage),
    /// 06h.
    Identify(Identify),
    /// 08h.
    Abort(Abort),
    /// 09h.
    SetFeatures(SetFeatures),
    /// 0Ah.
    GetFeatures(GetFeatures),
    /// 0Ch: to be answered at an event ([`AsyncEvent`](super::AsyncEvent)), or at a reset.
    AsyncEventRequest,
    /// 18h.
    KeepAlive,
    /// 7Fh.
    Fabrics(FabricsCommand),
    /// Any other: the answer is [`InvalidOpcode`](super::StatusCode::InvalidOpcode).
    Unsupported {
        /// Its opcode; never one of the above after decoding.
        opcode: u8,
    },
}

impl AdminCommand {
    /// Decodes an entry of the admin queue.
    #[must_use]
    pub fn decode(entry: &SubmissionEntry) -> Self {
        match entry.opcode {
            GET_LOG_PAGE => Self::GetLogPage(GetLogPage::decode(entry)),
            IDENTIFY => Self::Identify(Identify::decode(entry)),
            ABORT => Self::Abort(Abort {
                sq_id: SQID.get32(entry.cdw(10)) as u16,
                cid: CID.get32(entry.cdw(10)) as u16,
            }),
            SET_FEATURES => Self::SetFeatures(SetFeatures::decode(entry)),
            GET_FEATURES => Self::GetFeatures(GetFeatures::decode(entry)),
            ASYNC_EVENT_REQUEST => Self::AsyncEventRequest,
            KEEP_ALIVE => Self::KeepAlive,
            FABRICS => Self::Fabrics(FabricsCommand::decode(entry)),
            opcode => Self::Unsupported { opcode },
        }
    }

    /// Encodes the command as an entry. A fabrics command has its type in the place of the
    /// namespace.
    #[must_use]
    pub fn encode(&self, common: CommonFields) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, common);
        match self {
            Self::GetLogPage(command) => command.encode(entry(GET_LOG_PAGE)),
            Self::Identify(command) => command.encode(entry(IDENTIFY)),
            Self::Abort(abort) => {
                let mut entry = entry(ABORT);
                entry.set_cdw(10, SQID.put32(abort.sq_id.into()) | CID.put32(abort.cid.into()));
                entry
            }
            Self::SetFeatures(command) => command.encode(entry(SET_FEATURES)),
            Self::GetFeatures(command) => command.encode(entry(GET_FEATURES)),
            Self::AsyncEventRequest => entry(ASYNC_EVENT_REQUEST),
            Self::KeepAlive => entry(KEEP_ALIVE),
            Self::Fabrics(command) => command.encode(common.cid, common.data),
            Self::Unsupported { opcode } => entry(*opcode),
        }
    }
}
