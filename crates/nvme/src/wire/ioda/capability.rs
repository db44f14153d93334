//! IODA capability of a drive, in Identify Controller.

use super::{VERSION, put_head, version};
use crate::wire::field::{Bits, get, get_u32, put, put_u32};
use crate::wire::structure::Value;

/// Bytes of the block.
pub const CAPABILITY_BYTES: usize = 16;

const ABILITIES: usize = 8;
const PATIENT: Bits = Bits::bit(0);
const ALL_WORK: Bits = Bits::bit(1);

/// IODA capability of a drive, with its extensions of the paper. Failing fast (PL flag 01b), busy
/// remaining time and windows are part of every version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IodaCapability {
    /// Byte 8 bit 0: the drive supports the PL flag 10b
    /// ([`PlFlag::Patient`](crate::PlFlag::Patient)).
    pub patient: bool,
    /// Byte 8 bit 1: the drive can keep all changes of flash in its windows
    /// ([`WindowScope::AllWork`](crate::WindowScope::AllWork)).
    pub all_work: bool,
}

/// `None` is written as zeroes. Bytes that are no block are read as `None`.
impl Value for Option<IodaCapability> {
    const BYTES: usize = CAPABILITY_BYTES;

    fn read(bytes: &[u8]) -> Self {
        IodaCapability::decode(&get(bytes, 0))
    }

    fn write(&self, bytes: &mut [u8]) {
        if let Some(block) = self {
            put(bytes, 0, &block.encode());
        }
    }
}

impl IodaCapability {
    /// Reads the block; `None` if the bytes are no block, or of an unknown version.
    #[must_use]
    pub fn decode(block: &[u8; CAPABILITY_BYTES]) -> Option<Self> {
        let abilities = get_u32(block, ABILITIES);
        (version(block) == Some(VERSION)).then(|| Self {
            patient: PATIENT.is_set32(abilities),
            all_work: ALL_WORK.is_set32(abilities),
        })
    }

    /// Writes the block.
    #[must_use]
    pub fn encode(&self) -> [u8; CAPABILITY_BYTES] {
        let mut block = [0; CAPABILITY_BYTES];
        put_head(&mut block);
        let abilities = PATIENT.flag32(self.patient) | ALL_WORK.flag32(self.all_work);
        put_u32(&mut block, ABILITIES, abilities);
        block
    }
}
