//! Connect: the command for a queue, its 1024 bytes of data, and the answer.

use super::field::{Bits, get, get_u16, put, put_u16};
use super::status::{StatusCode, StatusField};
use super::submission::SubmissionEntry;
use super::text::{NQN_FIELD_BYTES, Nqn};

/// Bytes of the data of Connect.
pub const CONNECT_BYTES: usize = 1024;

/// Controller ID that requests any controller.
pub const CNTLID_DYNAMIC: u16 = 0xffff;

// Bits of the entry, from CDW10 at byte 40 on.
const RECFMT: Bits = Bits::new(15, 0);
const QID: Bits = Bits::new(31, 16);
const SQSIZE: Bits = Bits::new(15, 0);
const CATTR: Bits = Bits::new(23, 16);

// Offsets in the data.
const HOSTID: usize = 0;
const CNTLID: usize = 16;
const SUBNQN: usize = 256;
const HOSTNQN: usize = 512;

/// Bit of the attributes: the host accepts completions without SQHD, so that C2HData may end a read
/// with its SUCCESS flag.
pub const CATTR_NO_SQ_FLOW: u8 = 1 << 2;

/// The Connect command (Linux `struct nvmf_connect_command`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connect {
    /// RECFMT at byte 40: 0.
    pub format: u16,
    /// QID at byte 42: 0 is the admin queue.
    pub queue: u16,
    /// SQSIZE at byte 44: entries of the queue, 0's based.
    pub size: u16,
    /// CATTR at byte 46.
    pub attributes: u8,
    /// KATO at byte 48: longest silence of the host in milliseconds; 0 for no limit.
    pub keep_alive_ms: u32,
}

impl Connect {
    pub(crate) const fn decode(entry: &SubmissionEntry) -> Self {
        Self {
            format: RECFMT.get32(entry.cdw(10)) as u16,
            queue: QID.get32(entry.cdw(10)) as u16,
            size: SQSIZE.get32(entry.cdw(11)) as u16,
            attributes: CATTR.get32(entry.cdw(11)) as u8,
            keep_alive_ms: entry.cdw(12),
        }
    }

    pub(crate) const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.set_cdw(10, RECFMT.put32(self.format as u32) | QID.put32(self.queue as u32));
        entry.set_cdw(11, SQSIZE.put32(self.size as u32) | CATTR.put32(self.attributes as u32));
        entry.set_cdw(12, self.keep_alive_ms);
        entry
    }
}

/// The data of Connect (Linux `struct nvmf_connect_data`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectData {
    /// HOSTID at byte 0: a UUID.
    pub host_id: [u8; 16],
    /// CNTLID at byte 16: [`CNTLID_DYNAMIC`] on the admin queue, the ID of the controller on
    /// others.
    pub controller: u16,
    /// SUBNQN at byte 256: the subsystem.
    pub subsystem: Nqn,
    /// HOSTNQN at byte 512: name of the host, by its own account.
    pub host: Nqn,
}

impl ConnectData {
    /// Reads the data.
    ///
    /// # Errors
    ///
    /// If a name is not valid, with the refusal.
    pub fn decode(data: &[u8; CONNECT_BYTES]) -> Result<Self, ConnectRefusal> {
        let name = |at| {
            Nqn::decode(&get::<NQN_FIELD_BYTES>(data, at))
                .ok_or(ConnectRefusal::InvalidParameter { offset: at as u16, in_data: true })
        };
        Ok(Self {
            host_id: get(data, HOSTID),
            controller: get_u16(data, CNTLID),
            subsystem: name(SUBNQN)?,
            host: name(HOSTNQN)?,
        })
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; CONNECT_BYTES] {
        let mut data = [0; CONNECT_BYTES];
        put(&mut data, HOSTID, &self.host_id);
        put_u16(&mut data, CNTLID, self.controller);
        put(&mut data, SUBNQN, &self.subsystem.encode());
        put(&mut data, HOSTNQN, &self.host.encode());
        data
    }
}

// Bits of DW0 of an answer.
const ANSWER_CNTLID: Bits = Bits::new(15, 0);
const ATR: Bits = Bits::bit(17);
const ASCR: Bits = Bits::bit(18);
const IPO: Bits = Bits::new(15, 0);
const IATTR: Bits = Bits::bit(16);

/// DW0 of the answer to a successful Connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connected {
    /// CNTLID, which Identify Controller has to repeat.
    pub controller: u16,
    /// ATR: the host has to authenticate before any other command.
    pub authenticate: bool,
    /// ASCR: the host has to authenticate over a secure channel.
    pub secure_channel: bool,
}

impl Connected {
    /// Decodes DW0.
    #[must_use]
    pub const fn decode(dw0: u32) -> Self {
        Self {
            controller: ANSWER_CNTLID.get32(dw0) as u16,
            authenticate: ATR.is_set32(dw0),
            secure_channel: ASCR.is_set32(dw0),
        }
    }

    /// Encodes DW0.
    #[must_use]
    pub const fn encode(&self) -> u32 {
        ANSWER_CNTLID.put32(self.controller as u32)
            | ATR.flag32(self.authenticate)
            | ASCR.flag32(self.secure_channel)
    }
}

/// Reason why a Connect was refused: the status, and for some statuses the wrong field in DW0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectRefusal {
    /// 180h: unknown format of the command.
    Format,
    /// 181h: no controller or queue is free at present.
    Busy,
    /// 182h: a field is wrong.
    InvalidParameter {
        /// IPO: its offset in bytes.
        offset: u16,
        /// IATTR: whether it is in the data instead of the entry.
        in_data: bool,
    },
    /// 184h: the host is not allowed; the field is its name.
    InvalidHost,
}

impl ConnectRefusal {
    /// The subsystem does not exist: `4182h` with DW0 `10100h`.
    pub const NO_SUBSYSTEM: Self = Self::InvalidParameter { offset: SUBNQN as u16, in_data: true };

    /// Offset of the wrong field, and whether it is in the data; `None` if no field is wrong.
    const fn place(&self) -> Option<(u16, bool)> {
        match *self {
            Self::Format | Self::Busy => None,
            Self::InvalidParameter { offset, in_data } => Some((offset, in_data)),
            Self::InvalidHost => Some((HOSTNQN as u16, true)),
        }
    }

    /// Refusal in a completion; `None` for another status. The name in an invalid-host refusal is
    /// not read: it is always the host's.
    #[must_use]
    pub fn decode(status: StatusField, dw0: u32) -> Option<Self> {
        match status.code()? {
            StatusCode::ConnectFormat => Some(Self::Format),
            StatusCode::ConnectBusy => Some(Self::Busy),
            StatusCode::ConnectInvalidParameters => Some(Self::InvalidParameter {
                offset: IPO.get32(dw0) as u16,
                in_data: IATTR.is_set32(dw0),
            }),
            StatusCode::ConnectInvalidHost => Some(Self::InvalidHost),
            _ => None,
        }
    }

    /// Status and DW0. Only a busy controller is worth a retry.
    #[must_use]
    pub const fn encode(&self) -> (StatusField, u32) {
        let status = match self {
            Self::Format => StatusCode::ConnectFormat.for_good(),
            Self::Busy => StatusCode::ConnectBusy.for_now(),
            Self::InvalidParameter { .. } => StatusCode::ConnectInvalidParameters.for_good(),
            Self::InvalidHost => StatusCode::ConnectInvalidHost.for_good(),
        };
        let dw0 = match self.place() {
            Some((offset, in_data)) => IPO.put32(offset as u32) | IATTR.flag32(in_data),
            None => 0,
        };
        (status, dw0)
    }
}
