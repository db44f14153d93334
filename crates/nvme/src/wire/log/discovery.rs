//! Log page 70h: subsystems and their addresses (Linux `struct nvmf_disc_rsp_page_entry`).

use super::Excerpt;
use crate::wire::structure::{Value, structure};
use crate::wire::text::{Ascii, Nqn};

/// Bytes of the head of the page, and of each record behind it.
pub const DISCOVERY_BYTES: usize = 1024;

/// The head of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiscoveryHeader {
    /// GENCTR: changes whenever the page does. A host that reads the page in parts compares it at
    /// the end.
    pub generation: u64,
    /// NUMREC: number of records.
    pub records: u64,
    /// RECFMT: 0.
    pub format: u16,
}

structure! { DiscoveryHeader, DISCOVERY_BYTES;
    generation: "GENCTR" @ 0,
    records: "NUMREC" @ 8,
    format: "RECFMT" @ 16,
}

/// TRTYPE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// 3.
    Tcp,
    /// RDMA, Fibre Channel, loop, …
    Other(u8),
}

impl Value for Transport {
    const BYTES: usize = 1;

    fn read(bytes: &[u8]) -> Self {
        match bytes[0] {
            3 => Self::Tcp,
            other => Self::Other(other),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = match *self {
            Self::Tcp => 3,
            Self::Other(other) => other,
        };
    }
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

impl Value for AddressFamily {
    const BYTES: usize = 1;

    fn read(bytes: &[u8]) -> Self {
        match bytes[0] {
            1 => Self::Ipv4,
            2 => Self::Ipv6,
            other => Self::Other(other),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = match *self {
            Self::Ipv4 => 1,
            Self::Ipv6 => 2,
            Self::Other(other) => other,
        };
    }
}

/// SUBTYPE: kind of a subsystem.
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

impl Value for SubsystemKind {
    const BYTES: usize = 1;

    fn read(bytes: &[u8]) -> Self {
        match bytes[0] {
            1 => Self::Referral,
            2 => Self::Nvm,
            3 => Self::CurrentDiscovery,
            other => Self::Other(other),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = match *self {
            Self::Referral => 1,
            Self::Nvm => 2,
            Self::CurrentDiscovery => 3,
            Self::Other(other) => other,
        };
    }
}

/// A subsystem at an address. Text is padded with spaces, as all ASCII in NVMe; Linux pads its port
/// and address with zero bytes and accepts either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiscoveryRecord {
    /// TRTYPE.
    pub transport: Transport,
    /// ADRFAM.
    pub family: AddressFamily,
    /// SUBTYPE.
    pub kind: SubsystemKind,
    /// TREQ: bits 1:0 secure channel, 1 required, 2 not required.
    pub requirements: u8,
    /// PORTID.
    pub port: u16,
    /// CNTLID: `FFFFh` for any.
    pub controller: u16,
    /// ASQSZ: most entries of the admin queue, at least 32.
    pub admin_queue: u16,
    /// EFLAGS.
    pub flags: u16,
    /// TRSVCID: the TCP port in decimal.
    pub service: Ascii<32>,
    /// SUBNQN; zeroes for `None`.
    pub subsystem: Option<Nqn>,
    /// TRADDR: the address in its usual notation.
    pub address: Ascii<256>,
    /// SECTYPE, the first byte of TSAS and its only one with TCP: 0 none, 1 TLS 1.2, 2 TLS 1.3.
    pub security: u8,
}

structure! { DiscoveryRecord, DISCOVERY_BYTES;
    transport: "TRTYPE" @ 0,
    family: "ADRFAM" @ 1,
    kind: "SUBTYPE" @ 2,
    requirements: "TREQ" @ 3,
    port: "PORTID" @ 4,
    controller: "CNTLID" @ 6,
    admin_queue: "ASQSZ" @ 8,
    flags: "EFLAGS" @ 10,
    service: "TRSVCID" @ 32,
    subsystem: "SUBNQN" @ 256,
    address: "TRADDR" @ 512,
    security: "SECTYPE" @ 768,
}

/// Writes the requested part of the page.
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
