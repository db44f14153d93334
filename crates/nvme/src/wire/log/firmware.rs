//! Log page 03h: firmware slots (Linux `struct nvme_fw_slot_info_log`).

use crate::wire::field::{Bits, get, put};
use crate::wire::text::Ascii;

/// Bytes of the page.
pub const FIRMWARE_SLOTS_BYTES: usize = 512;

/// Most firmware slots.
pub const FIRMWARE_SLOTS: usize = 7;

const AFI: usize = 0;
const REVISIONS: usize = 8;
const REVISION_BYTES: usize = 8;

const ACTIVE: Bits = Bits::new(2, 0);
const NEXT: Bits = Bits::new(6, 4);

/// The firmware of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FirmwareSlots {
    /// Slot of the running firmware, from 1.
    pub active: u8,
    /// Slot that becomes active at the next reset; 0 for no change.
    pub next: u8,
    /// Revision in each slot; a slot without one is zeroes.
    pub revisions: [Option<Ascii<REVISION_BYTES>>; FIRMWARE_SLOTS],
}

impl FirmwareSlots {
    /// Reads the page.
    #[must_use]
    pub fn decode(page: &[u8; FIRMWARE_SLOTS_BYTES]) -> Self {
        let slots = u32::from(page[AFI]);
        Self {
            active: ACTIVE.get32(slots) as u8,
            next: NEXT.get32(slots) as u8,
            revisions: core::array::from_fn(|slot| {
                let field = get(page, REVISIONS + REVISION_BYTES * slot);
                (field != [0; REVISION_BYTES]).then(|| Ascii::decode(&field))
            }),
        }
    }

    /// Writes the page.
    #[must_use]
    pub fn encode(&self) -> [u8; FIRMWARE_SLOTS_BYTES] {
        let mut page = [0; FIRMWARE_SLOTS_BYTES];
        page[AFI] = (ACTIVE.put32(self.active.into()) | NEXT.put32(self.next.into())) as u8;
        for (slot, revision) in self.revisions.iter().enumerate() {
            if let Some(revision) = revision {
                put(&mut page, REVISIONS + REVISION_BYTES * slot, &revision.encode());
            }
        }
        page
    }
}
