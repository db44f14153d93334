//! Encoding of numbers in a row of an array: each member holds a multiple of its own, so that
//! parity fits.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use array::{Layout, Role, gf};
use engine::durability::Geometry;
use units::{DriveId, Lba};

/// Encoding of numbers on one drive.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) drive: DriveId,
}

impl Code<'_> {
    /// Factor of the block at this offset in the data of the drive; not 0.
    fn factor(self, offset_bytes: u64) -> u8 {
        let block = BLOCK as u64;
        let layout = Layout::striped(
            self.geometry.level,
            u32::from(self.geometry.width),
            u32::from(self.geometry.stripe_width),
            (self.geometry.chunk_bytes / block) as u32,
            self.geometry.drive_bytes / block,
        );
        let layout = layout.unwrap();
        let Some((stripe, _)) = layout.row_of(self.drive, Lba(offset_bytes / block)) else {
            return 1;
        };
        let rest = 1..layout.data_chunks();
        let p = rest.clone().fold(0, |sum, _| sum ^ 1);
        let q = rest.fold(0, |sum, chunk| sum ^ gf::power(chunk));
        let first = (1..=255).find(|first| first ^ p != 0 && first ^ q != 0).unwrap();
        match layout.role(stripe, self.drive) {
            Role::Data(0) => first,
            Role::Data(_) => 1,
            Role::P => first ^ p,
            Role::Q => first ^ q,
        }
    }

    /// First bytes of the block at this offset when it holds `number`.
    pub(crate) fn encode(self, offset_bytes: u64, number: u64) -> [u8; 8] {
        let factor = self.factor(offset_bytes);
        number.to_le_bytes().map(|byte| gf::multiply(byte, factor))
    }

    /// Number of the block that begins with these bytes.
    pub(crate) fn decode(self, offset_bytes: u64, bytes: &[u8]) -> u64 {
        let factor = gf::inverse(self.factor(offset_bytes));
        let bytes: [u8; 8] = bytes[..8].try_into().unwrap();
        u64::from_le_bytes(bytes.map(|byte| gf::multiply(byte, factor)))
    }
}
