//! Log page 05h: which commands there are and what they change (Linux `struct nvme_effects_log`).

use crate::wire::structure::structure;

/// Bytes of the page.
pub const COMMAND_EFFECTS_BYTES: usize = 4096;

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
    /// ACS: admin commands.
    pub admin: [u32; 256],
    /// IOCS: I/O commands.
    pub io: [u32; 256],
}

structure! { CommandEffects, COMMAND_EFFECTS_BYTES;
    admin: "ACS" @ 0,
    io: "IOCS" @ 1024,
}

impl CommandEffects {
    /// No command at all.
    pub const NONE: Self = Self { admin: [0; 256], io: [0; 256] };
}
