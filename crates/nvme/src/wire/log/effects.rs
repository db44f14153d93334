//! Log page 05h: which commands there are and what they change (Linux `struct nvme_effects_log`).

use crate::wire::field::{get_u32, put_u32};

/// Bytes of the page.
pub const COMMAND_EFFECTS_BYTES: usize = 4096;

const ADMIN: usize = 0;
const IO: usize = 1024;

/// Bits of a command.
pub mod effect {
    /// CSUPP: it is supported.
    pub const SUPPORTED: u32 = 1 << 0;
    /// LBCC: it may change data.
    pub const CHANGES_DATA: u32 = 1 << 1;
    /// NCC: it may change what a namespace can.
    pub const CHANGES_NAMESPACE: u32 = 1 << 2;
    /// NIC: it may change which namespaces there are.
    pub const CHANGES_INVENTORY: u32 = 1 << 3;
    /// CCC: it may change what the controller can.
    pub const CHANGES_CONTROLLER: u32 = 1 << 4;
}

/// What commands change, by opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandEffects {
    /// ACS @0: admin commands.
    pub admin: [u32; 256],
    /// IOCS @1024: I/O commands.
    pub io: [u32; 256],
}

impl CommandEffects {
    /// No command at all.
    pub const NONE: Self = Self { admin: [0; 256], io: [0; 256] };

    /// Reads the page.
    #[must_use]
    pub fn decode(page: &[u8; COMMAND_EFFECTS_BYTES]) -> Self {
        Self {
            admin: core::array::from_fn(|opcode| get_u32(page, ADMIN + 4 * opcode)),
            io: core::array::from_fn(|opcode| get_u32(page, IO + 4 * opcode)),
        }
    }

    /// Writes the page.
    #[must_use]
    pub fn encode(&self) -> [u8; COMMAND_EFFECTS_BYTES] {
        let mut page = [0; COMMAND_EFFECTS_BYTES];
        for opcode in 0..256 {
            put_u32(&mut page, ADMIN + 4 * opcode, self.admin[opcode]);
            put_u32(&mut page, IO + 4 * opcode, self.io[opcode]);
        }
        page
    }
}
