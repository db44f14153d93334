//! The bound on the bytes that all clients together have the server hold: data of requests in flight, and
//! replies that are not sent.
//!
//! Three quarters of it are for whoever asks first. The rest is divided into equal shares, and within its
//! share a client goes on whatever others hold. So clients that send large requests and never read stop,
//! each by itself, and harm nobody else. A request that does not fit waits in the client's socket.

use std::fs;

/// Least bound that can be chosen: the largest request fits the common part.
pub const CLIENT_MEMORY_BYTES_MIN: u64 = 64 << 20;
/// Least bound that is chosen by default.
const DEFAULT_BYTES_MIN: u64 = 256 << 20;
/// One part in so many of the machine's memory is the bound by default.
const MACHINE_PARTS: u64 = 8;
/// There are at least so many shares. Those who come early would else have larger ones, and keep
/// what they hold when others come.
const SHARES_MIN: u64 = 64;

/// The bound unless one is chosen: an eighth of the machine's memory, and at least 256 MiB.
#[must_use]
pub fn default_client_memory_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine_bytes(&text));
    (machine.unwrap_or(0) / MACHINE_PARTS).max(DEFAULT_BYTES_MIN)
}

/// From the text of `/proc/meminfo`.
fn machine_bytes(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What all clients hold, and the bound on it.
#[derive(Debug)]
pub(super) struct ClientMemory {
    bound_bytes: u64,
    held_bytes: u64,
}

impl ClientMemory {
    pub(super) fn new(bound_bytes: u64) -> Self {
        Self { bound_bytes, held_bytes: 0 }
    }

    /// A client held `before_bytes`, and now holds `after_bytes`.
    pub(super) fn change(&mut self, before_bytes: u64, after_bytes: u64) {
        self.held_bytes = self.held_bytes - before_bytes + after_bytes;
    }

    /// What a client that holds `held_bytes` may take in addition, when so many are connected.
    pub(super) fn room_bytes(&self, held_bytes: u64, clients: u64) -> u64 {
        let for_shares = self.bound_bytes / 4;
        let common = self.bound_bytes - for_shares;
        let share = for_shares / clients.max(SHARES_MIN);
        common.saturating_sub(self.held_bytes).max(share.saturating_sub(held_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::LENGTH_BYTES_MAX;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_default_is_a_part_of_the_machine() {
        assert_eq!(machine_bytes("MemFree: 1 kB\nMemTotal:    8388608 kB\n"), Some(8 << 30));
        assert_eq!(machine_bytes("MemTotal: much\n"), None);
        assert!(default_client_memory_bytes() >= DEFAULT_BYTES_MIN);
    }

    #[test]
    fn who_holds_nothing_goes_on_whatever_others_hold() {
        let mut memory = ClientMemory::new(256 * MIB);
        assert_eq!(memory.room_bytes(0, 1), 192 * MIB);
        // Greedy ones take as much as they can, one after the other and each request alone.
        let mut held = [0u64; 100];
        for (index, held) in held.iter_mut().enumerate() {
            while memory.room_bytes(*held, index as u64 + 1) >= MIB / 8 {
                memory.change(*held, *held + MIB / 8);
                *held += MIB / 8;
            }
        }
        let all: u64 = held.iter().sum();
        assert!(all <= 256 * MIB + 256 * MIB / 8, "{} MiB", all / MIB);
        assert!(memory.room_bytes(0, 101) >= MIB / 2, "{}", memory.room_bytes(0, 101));
        assert_eq!(memory.room_bytes(held[50], 101), 0);
        memory.change(held[0], 0);
        assert!(memory.room_bytes(held[50], 100) > 100 * MIB);
    }

    #[test]
    fn the_largest_request_fits_the_least_bound() {
        let memory = ClientMemory::new(CLIENT_MEMORY_BYTES_MIN);
        assert!(memory.room_bytes(0, 1) >= u64::from(LENGTH_BYTES_MAX));
    }
}
