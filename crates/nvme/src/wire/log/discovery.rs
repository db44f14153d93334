//! Log page 70h: which subsystems there are, and where (Linux `struct nvmf_disc_rsp_page_entry`).

use super::Excerpt;
use crate::wire::field::{get, get_u16, get_u64, put, put_u16, put_u64};
use crate::wire::text::{Ascii, NQN_FIELD_BYTES, Nqn};

/// Bytes of the head of the page, and of each record behind it.
pub const DISCOVERY_BYTES: usize = 1024;

const GENCTR: usize = 0;
const NUMREC: usize = 8;
const RECFMT: usize = 16;

const TRTYPE: usize = 0;
const ADRFAM: usize = 1;
const SUBTYPE: usize = 2;
const TREQ: usize = 3;
const PORTID: usize = 4;
const CNTLID: usize = 6;
const ASQSZ: usize = 8;
const EFLAGS: usize = 10;
const TRSVCID: usize = 32;
const SUBNQN: usize = 256;
const TRADDR: usize = 512;
// The first byte of TSAS is all that TCP has.
const SECTYPE: usize = 768;

/// The head of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiscoveryHeader {
    /// GENCTR: changes whenever the page does. A host that reads it in parts compares it at the
    /// end.
    pub generation: u64,
    /// NUMREC: records behind it.
    pub records: u64,
    /// RECFMT: 0.
    pub format: u16,
}

impl DiscoveryHeader {
    /// Reads the head.
    #[must_use]
    pub fn decode(head: &[u8; DISCOVERY_BYTES]) -> Self {
        Self {
            generation: get_u64(head, GENCTR),
            records: get_u64(head, NUMREC),
            format: get_u16(head, RECFMT),
        }
    }

    /// Writes the head.
    #[must_use]
    pub fn encode(&self) -> [u8; DISCOVERY_BYTES] {
        let mut head = [0; DISCOVERY_BYTES];
        put_u64(&mut head, GENCTR, self.generation);
        put_u64(&mut head, NUMREC, self.records);
        put_u16(&mut head, RECFMT, self.format);
        head
    }
}

/// TRTYPE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// 3.
    Tcp,
    /// RDMA, Fibre Channel, loop, …
    Other(u8),
}

/// ADRFAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressFamily {
    /// 1.
    Ipv4,
    /// 2.
    Ipv6,
    /// Any other.
    Other(u8),
}

/// SUBTYPE: what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubsystemKind {
    /// 1: another discovery subsystem.
    Referral,
    /// 2: a subsystem with namespaces.
    Nvm,
    /// 3: this discovery subsystem.
    CurrentDiscovery,
    /// Any other.
    Other(u8),
}

/// A subsystem at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiscoveryRecord {
    /// TRTYPE @0.
    pub transport: Transport,
    /// ADRFAM @1.
    pub family: AddressFamily,
    /// SUBTYPE @2.
    pub kind: SubsystemKind,
    /// TREQ @3: bits 1:0 secure channel, 1 required, 2 not required.
    pub requirements: u8,
    /// PORTID @4.
    pub port: u16,
    /// CNTLID @6: `FFFFh` for any.
    pub controller: u16,
    /// ASQSZ @8: most entries of the admin queue, at least 32.
    pub admin_queue: u16,
    /// EFLAGS @10.
    pub flags: u16,
    /// TRSVCID @32: the TCP port in decimal.
    pub service: Ascii<32>,
    /// SUBNQN @256; none is zeroes.
    pub subsystem: Option<Nqn>,
    /// TRADDR @512: the address in its usual notation.
    pub address: Ascii<256>,
    /// SECTYPE @768: 0 none, 1 TLS 1.2, 2 TLS 1.3.
    pub security: u8,
}

impl DiscoveryRecord {
    /// Reads a record.
    #[must_use]
    pub fn decode(record: &[u8; DISCOVERY_BYTES]) -> Self {
        Self {
            transport: match record[TRTYPE] {
                3 => Transport::Tcp,
                other => Transport::Other(other),
            },
            family: match record[ADRFAM] {
                1 => AddressFamily::Ipv4,
                2 => AddressFamily::Ipv6,
                other => AddressFamily::Other(other),
            },
            kind: match record[SUBTYPE] {
                1 => SubsystemKind::Referral,
                2 => SubsystemKind::Nvm,
                3 => SubsystemKind::CurrentDiscovery,
                other => SubsystemKind::Other(other),
            },
            requirements: record[TREQ],
            port: get_u16(record, PORTID),
            controller: get_u16(record, CNTLID),
            admin_queue: get_u16(record, ASQSZ),
            flags: get_u16(record, EFLAGS),
            service: Ascii::decode(&get(record, TRSVCID)),
            subsystem: Nqn::decode(&get::<NQN_FIELD_BYTES>(record, SUBNQN)),
            address: Ascii::decode(&get(record, TRADDR)),
            security: record[SECTYPE],
        }
    }

    /// Writes the record. Text is padded with spaces, as ASCII is in all of NVMe; Linux pads these
    /// two with zero bytes and takes either.
    #[must_use]
    pub fn encode(&self) -> [u8; DISCOVERY_BYTES] {
        let mut record = [0; DISCOVERY_BYTES];
        record[TRTYPE] = match self.transport {
            Transport::Tcp => 3,
            Transport::Other(other) => other,
        };
        record[ADRFAM] = match self.family {
            AddressFamily::Ipv4 => 1,
            AddressFamily::Ipv6 => 2,
            AddressFamily::Other(other) => other,
        };
        record[SUBTYPE] = match self.kind {
            SubsystemKind::Referral => 1,
            SubsystemKind::Nvm => 2,
            SubsystemKind::CurrentDiscovery => 3,
            SubsystemKind::Other(other) => other,
        };
        record[TREQ] = self.requirements;
        put_u16(&mut record, PORTID, self.port);
        put_u16(&mut record, CNTLID, self.controller);
        put_u16(&mut record, ASQSZ, self.admin_queue);
        put_u16(&mut record, EFLAGS, self.flags);
        put(&mut record, TRSVCID, &self.service.encode());
        if let Some(subsystem) = &self.subsystem {
            put(&mut record, SUBNQN, &subsystem.encode());
        }
        put(&mut record, TRADDR, &self.address.encode());
        record[SECTYPE] = self.security;
        record
    }
}

/// Writes the part of the page that a host asked for.
pub fn put_discovery(
    generation: u64,
    records: impl IntoIterator<Item = DiscoveryRecord>,
    page: &mut Excerpt<'_>,
) {
    let mut header = DiscoveryHeader { generation, records: 0, format: 0 };
    for record in records {
        header.records += 1;
        page.put(DISCOVERY_BYTES as u64 * header.records, &record.encode());
    }
    page.put(0, &header.encode());
}
