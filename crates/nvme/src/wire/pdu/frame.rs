//! Offsets of header, data and digests in a PDU, as its first eight bytes announce them. They are
//! checked before any more of it is taken.

use super::common::{CommonHeader, FLAGS, HLEN, PDO, PLEN, PduKind, Side, TYPE, pdu_flag};
use super::fault::{FatalStatus, Fault};
use super::framing::Framing;
use super::term::TERM_BYTES_MAX;

/// Most data of PDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// In a capsule. It is [`ADMIN_CAPSULE_DATA_BYTES`](super::ADMIN_CAPSULE_DATA_BYTES) on the
    /// admin queue, and on other queues while fabrics commands may come, which have this limit
    /// everywhere. After that it is what IOCCSZ leaves. The reader cannot distinguish commands,
    /// because their kind is not in the first eight bytes.
    pub capsule_bytes: u32,
    /// In an H2CData: MAXH2CDATA. In a C2HData: the most data that a host requests with one
    /// command.
    pub data_bytes: u32,
}

/// Phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing has come yet: ICReq or ICResp is expected.
    Fresh,
    /// ICReq or ICResp has come, and the receiver has not set the terms yet.
    Introduced,
    /// Commands and data.
    Established,
}

/// Rules of the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) side: Side,
    pub(super) phase: Phase,
    pub(super) framing: Framing,
    pub(super) limits: Limits,
}

/// Parts of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub(super) kind: PduKind,
    /// Bytes of the header; the whole PDU for a termination request.
    pub(super) header_bytes: usize,
    pub(super) has_header_digest: bool,
    /// Bytes between header and data.
    pub(super) padding_bytes: usize,
    pub(super) data_bytes: u32,
    pub(super) has_data_digest: bool,
}

impl Frame {
    pub(super) fn check(common: &CommonHeader, rules: &Rules) -> Result<Self, Fault> {
        let kind = PduKind::from_bits(common.kind)
            .filter(|kind| kind.sender() != rules.side)
            .ok_or(Fault::field(TYPE))?;
        // A termination may come at any time.
        let is_due = kind.is_termination()
            || match rules.phase {
                Phase::Fresh => kind.is_init(),
                Phase::Introduced => false,
                Phase::Established => !kind.is_init(),
            };
        if !is_due {
            return Err(Fault::of(FatalStatus::Sequence));
        }
        if common.header_bytes != kind.header_bytes() {
            return Err(Fault::field(HLEN));
        }
        if kind.is_init() || kind.is_termination() {
            Self::check_alone(kind, common)
        } else {
            Self::check_framed(kind, common, rules)
        }
    }

    /// Checks a PDU that has neither digests nor data.
    fn check_alone(kind: PduKind, common: &CommonHeader) -> Result<Self, Fault> {
        if common.flags & (pdu_flag::HEADER_DIGEST | pdu_flag::DATA_DIGEST) != 0 {
            return Err(Fault::field(FLAGS));
        }
        let shortest = usize::from(kind.header_bytes());
        let longest = if kind.is_termination() { TERM_BYTES_MAX } else { shortest };
        let header_bytes = usize::try_from(common.pdu_bytes)
            .ok()
            .filter(|bytes| (shortest..=longest).contains(bytes))
            .ok_or(Fault::field(PLEN))?;
        Ok(Self {
            kind,
            header_bytes,
            has_header_digest: false,
            padding_bytes: 0,
            data_bytes: 0,
            has_data_digest: false,
        })
    }

    /// Checks a PDU that may have digests and data.
    fn check_framed(kind: PduKind, common: &CommonHeader, rules: &Rules) -> Result<Self, Fault> {
        let digests = rules.framing.digests;
        let has = |flag| common.flags & flag != 0;
        if has(pdu_flag::HEADER_DIGEST) != digests.header
            || has(pdu_flag::DATA_DIGEST) && !digests.data
        {
            return Err(Fault::field(FLAGS));
        }
        let header_bytes = usize::from(kind.header_bytes());
        let header_end = header_bytes + rules.framing.header_digest_bytes();
        let without_data = Self {
            kind,
            header_bytes,
            has_header_digest: digests.header,
            padding_bytes: 0,
            data_bytes: 0,
            has_data_digest: false,
        };
        // Number of bytes behind the header, if there is room for the header.
        let behind =
            u64::from(common.pdu_bytes).checked_sub(header_end as u64).ok_or(Fault::field(PLEN))?;
        match behind {
            // Without data, PDO is reserved, and the flag of a data digest has no meaning.
            0 if !kind.is_data() => Ok(without_data),
            1.. if kind.is_data() || kind == PduKind::Command => {
                without_data.with_data(common, header_end, behind, rules)
            }
            _ => Err(Fault::field(PLEN)),
        }
    }

    fn with_data(
        self,
        common: &CommonHeader,
        header_end: usize,
        behind: u64,
        rules: &Rules,
    ) -> Result<Self, Fault> {
        let has = |flag| common.flags & flag != 0;
        // SUCCESS is valid only with the last data of a read.
        let is_read = self.kind == PduKind::ControllerData;
        if rules.framing.digests.data != has(pdu_flag::DATA_DIGEST)
            || is_read && has(pdu_flag::SUCCESS) && !has(pdu_flag::LAST)
        {
            return Err(Fault::field(FLAGS));
        }
        let padding_bytes = usize::from(common.data_offset)
            .checked_sub(header_end)
            .filter(|_| common.data_offset.is_multiple_of(rules.framing.alignment_bytes.max(1)))
            .ok_or(Fault::field(PDO))?;
        let overhead = padding_bytes + rules.framing.data_digest_bytes();
        let data_bytes = behind
            .checked_sub(overhead as u64)
            .filter(|&bytes| bytes > 0)
            .ok_or(Fault::field(PLEN))?;
        let limit = match self.kind {
            PduKind::Command => rules.limits.capsule_bytes,
            _ => rules.limits.data_bytes,
        };
        if data_bytes > u64::from(limit) {
            return Err(Fault::of(FatalStatus::LimitExceeded));
        }
        let has_data_digest = rules.framing.digests.data;
        // The number fits, because PLEN has four bytes.
        Ok(Self { padding_bytes, data_bytes: data_bytes as u32, has_data_digest, ..self })
    }
}
