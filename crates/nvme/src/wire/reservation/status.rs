//! Data of Reservation Report: a header, and an entry for each registrant.

use super::super::Excerpt;
use super::super::field::{get, get_u16, get_u64, put, put_u16, put_u64};
use super::super::structure::structure;
use super::kind::ReservationType;

/// Bytes of the header. Entries of the extended format begin at byte 64, others directly behind it.
pub const STATUS_HEADER_BYTES: usize = 24;

// Offsets in an entry.
const CNTLID: usize = 0;
const RCSTS: usize = 2;
const HOSTID_64: usize = 8;
const RKEY_64: usize = 16;
const RKEY_128: usize = 8;
const HOSTID_128: usize = 16;

const HOLDS: u8 = 1;

/// Format of the entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusFormat {
    /// Entries of 24 bytes, with host identifiers of 64 bits.
    Basic,
    /// Entries of 64 bytes, with host identifiers of 128 bits. A host over fabrics needs this one.
    Extended,
}

impl StatusFormat {
    /// Offset of the first entry.
    #[must_use]
    pub const fn first_entry(self) -> usize {
        match self {
            Self::Basic => STATUS_HEADER_BYTES,
            Self::Extended => 64,
        }
    }

    /// Bytes of an entry.
    #[must_use]
    pub const fn entry_bytes(self) -> usize {
        match self {
            Self::Basic => 24,
            Self::Extended => 64,
        }
    }
}

/// Header of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReservationHeader {
    /// GEN: counts changes of registrations.
    pub generation: u32,
    /// RTYPE: number of the type; 0 without a reservation.
    pub kind: u8,
    /// REGCTL: number of entries.
    pub registrants: u16,
    /// PTPLS: the unchanged byte; 1 if this state outlives a loss of power.
    pub persists: u8,
}

structure! { ReservationHeader, STATUS_HEADER_BYTES;
    generation: "GEN" @ 0,
    kind: "RTYPE" @ 4,
    registrants: "REGCTL" @ 5,
    persists: "PTPLS" @ 9,
}

impl ReservationHeader {
    /// Type of the reservation; `None` without one, or of an unknown type.
    #[must_use]
    pub const fn reservation(&self) -> Option<ReservationType> {
        ReservationType::decode(self.kind)
    }
}

/// A registrant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegistrantEntry {
    /// CNTLID; `FFFFh` for a dynamic controller.
    pub controller: u16,
    /// RCSTS bit 0: it holds the reservation.
    pub holds: bool,
    /// RKEY.
    pub key: u64,
    /// HOSTID. The basic format has only the first eight bytes.
    pub host_id: [u8; 16],
}

impl RegistrantEntry {
    /// Reads an entry of the basic format.
    #[must_use]
    pub fn decode_basic(entry: &[u8; 24]) -> Self {
        let mut host_id = [0; 16];
        put(&mut host_id, 0, &get::<8>(entry, HOSTID_64));
        Self {
            controller: get_u16(entry, CNTLID),
            holds: entry[RCSTS] & HOLDS != 0,
            key: get_u64(entry, RKEY_64),
            host_id,
        }
    }

    /// Writes an entry of the basic format.
    #[must_use]
    pub fn encode_basic(&self) -> [u8; 24] {
        let mut entry = [0; 24];
        put_u16(&mut entry, CNTLID, self.controller);
        entry[RCSTS] = self.holds.into();
        put(&mut entry, HOSTID_64, &self.host_id[..8]);
        put_u64(&mut entry, RKEY_64, self.key);
        entry
    }

    /// Reads an entry of the extended format.
    #[must_use]
    pub fn decode_extended(entry: &[u8; 64]) -> Self {
        Self {
            controller: get_u16(entry, CNTLID),
            holds: entry[RCSTS] & HOLDS != 0,
            key: get_u64(entry, RKEY_128),
            host_id: get(entry, HOSTID_128),
        }
    }

    /// Writes an entry of the extended format.
    #[must_use]
    pub fn encode_extended(&self) -> [u8; 64] {
        let mut entry = [0; 64];
        put_u16(&mut entry, CNTLID, self.controller);
        entry[RCSTS] = self.holds.into();
        put_u64(&mut entry, RKEY_128, self.key);
        put(&mut entry, HOSTID_128, &self.host_id);
        entry
    }
}

/// Writes as much of a report as there is room for. Sets the number of registrants in `header`.
pub fn put_reservations(
    header: ReservationHeader,
    entries: impl IntoIterator<Item = RegistrantEntry>,
    format: StatusFormat,
    into: &mut [u8],
) {
    let mut page = Excerpt::new(0, into);
    let mut registrants = 0;
    for entry in entries {
        let at = format.first_entry() + format.entry_bytes() * usize::from(registrants);
        match format {
            StatusFormat::Basic => page.put(at as u64, &entry.encode_basic()),
            StatusFormat::Extended => page.put(at as u64, &entry.encode_extended()),
        }
        registrants += 1;
    }
    page.put(0, &ReservationHeader { registrants, ..header }.encode());
}

/// Header and entries of a report, as far as it was read; `None` if not even the header was.
#[must_use]
pub fn read_reservations(
    data: &[u8],
    format: StatusFormat,
) -> Option<(ReservationHeader, impl Iterator<Item = RegistrantEntry>)> {
    let header = ReservationHeader::decode(data.first_chunk()?);
    let rest = data.get(format.first_entry()..).unwrap_or_default();
    let entries = rest.chunks_exact(format.entry_bytes()).take(header.registrants.into());
    let entries = entries.filter_map(move |entry| match format {
        StatusFormat::Basic => entry.first_chunk().map(RegistrantEntry::decode_basic),
        StatusFormat::Extended => entry.first_chunk().map(RegistrantEntry::decode_extended),
    });
    Some((header, entries))
}
