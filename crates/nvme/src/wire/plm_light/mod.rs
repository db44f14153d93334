//! PLM-light's coordinator in NVMe's terms (PLM-light §III-A: it "communicates with the storage
//! server using NVMe-OF").
//!
//! | message | place |
//! |---|---|
//! | traffic of windows that have ended | log page C0h ([`TrafficLog`]) |
//! | event of another such window | Asynchronous Event of the vendor ([`AsyncEvent::TrafficLog`](super::AsyncEvent::TrafficLog)) |
//! | counts for the windows to come | feature C0h ([`CountsData`]) |
//!
//! All three are vendor specific. A host that does not read the page gets no events and changes
//! nothing.

mod counts;
mod traffic;

pub use counts::{COUNTS_BYTES, CountsData};
pub use traffic::{Answered, TRAFFIC_LOG_BYTES, TRAFFIC_MAX, TrafficLog};

use super::field::{get, get_u16, get_u64, put, put_u16, put_u64};
use crate::QOS_CLASSES;

/// Magic word at the start of page and data.
pub const MAGIC: [u8; 4] = *b"PLML";

/// Version of page and data in this module.
pub const VERSION: u16 = 1;

const AT_MAGIC: usize = 0;
const AT_VERSION: usize = 4;

fn put_head(bytes: &mut [u8]) {
    put(bytes, AT_MAGIC, &MAGIC);
    put_u16(bytes, AT_VERSION, VERSION);
}

/// Whether bytes begin with the magic word and the version.
fn is_known(bytes: &[u8]) -> bool {
    get(bytes, AT_MAGIC) == MAGIC && get_u16(bytes, AT_VERSION) == VERSION
}

/// Numbers of all classes, one after the other from byte `at` on.
fn get_classes(bytes: &[u8], at: usize) -> [u64; QOS_CLASSES] {
    core::array::from_fn(|class| get_u64(bytes, at + 8 * class))
}

fn put_classes(bytes: &mut [u8], at: usize, numbers: &[u64; QOS_CLASSES]) {
    for (class, number) in numbers.iter().enumerate() {
        put_u64(bytes, at + 8 * class, *number);
    }
}
