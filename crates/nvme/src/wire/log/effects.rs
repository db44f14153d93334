//! Log page 05h: supported commands and their effects (Linux `struct nvme_effects_log`).

use crate::wire::structure::structure;

/// Bytes of the page.
pub const COMMAND_EFFECTS_BYTES: usize = 4096;

/// Bits of a command's effects.
pub mod effect {
    /// CSUPP: the command is supported.
    pub const SUPPORTED: u32 = 1 << 0;
    /// LBCC: the command may change data.
    pub const CHANGES_DATA: u32 = 1 << 1;
    /// NCC: the command may change the capabilities of a namespace.
    pub const CHANGES_NAMESPACE: u32 = 1 << 2;
    /// NIC: the command may change the set of namespaces.
    pub const CHANGES_INVENTORY: u32 = 1 << 3;
    /// CCC: the command may change the capabilities of the controller.
    pub const CHANGES_CONTROLLER: u32 = 1 << 4;
}

/// Effects of commands, by opcode.
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
    /// No command is supported.
    pub const NONE: Self = Self { admin: [0; 256], io: [0; 256] };
}
