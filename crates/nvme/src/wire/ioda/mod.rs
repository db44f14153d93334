//! IODA's five fields and the scope of the window in bytes: `docs/ioda-on-the-wire.md`.
//!
//! | field | place |
//! |---|---|
//! | PL flag of a command | CDW2 bits 31:30 ([`flag_of_command`]) |
//! | PL flag of a completion | DW0 bits 1:0 ([`FastFail`]) |
//! | busy remaining time | DW1 ([`FastFail`]) |
//! | arrayType, arrayWidth, cycle start, scope | data of feature 13h from byte 56 on ([`ArraySettings`]) |
//! | busyTimeWindow | log page 0Ah from byte 152 on ([`WindowReport`]) |
//! | support by the drive | Identify Controller, byte 3072 on ([`IodaCapability`]) |
//!
//! All places are reserved in the specification, or vendor specific. A drive announces IODA in the
//! vendor's part of Identify Controller. All other fields are zero for a host that has not sent the
//! magic word in a Set Features, so that a host without IODA sees an ordinary drive.

mod capability;
mod flag;
mod report;
mod settings;

pub use capability::{CAPABILITY_BYTES, IodaCapability};
pub use flag::{FastFail, cdw2_of_flag, flag_of_command};
pub use report::{CollectionActivity, REPORT_BYTES, WindowReport};
pub use settings::{ArraySettings, SETTINGS_BYTES, SettingsError};

use super::field::{get, get_u16, put, put_u16};
use crate::WindowScope;

/// Magic word at the start of every block.
pub const MAGIC: [u8; 4] = *b"IODA";

/// Version of the blocks in this module.
pub const VERSION: u16 = 1;

// Offsets of the head of every block.
const AT_MAGIC: usize = 0;
const AT_VERSION: usize = 4;

/// Writes the head of a block.
fn put_head(block: &mut [u8]) {
    put(block, AT_MAGIC, &MAGIC);
    put_u16(block, AT_VERSION, VERSION);
}

/// Version of a block; `None` if it does not begin with the magic word.
fn version(block: &[u8]) -> Option<u16> {
    (get(block, AT_MAGIC) == MAGIC).then(|| get_u16(block, AT_VERSION))
}

/// Lowest bit of the scope's field.
const fn scope_bit(scope: WindowScope) -> u8 {
    match scope {
        WindowScope::Collections => 0,
        WindowScope::AllWork => 1,
    }
}

/// Scope of a bit.
const fn scope_of(bit: bool) -> WindowScope {
    if bit { WindowScope::AllWork } else { WindowScope::Collections }
}
