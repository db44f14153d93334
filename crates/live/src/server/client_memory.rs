//! The bound on the bytes that all clients together have the server hold: data of requests in
//! flight, and replies that are not sent.
//!
//! Three quarters of it are for whoever asks first. The rest is divided into equal shares, and
//! within its share a client goes on whatever others hold. So clients that send large requests and
//! never read stop, each by itself, and harm nobody else. A request that does not fit waits in the
//! client's socket, and its client in line: what becomes free of the common part is for the first
//! in line, so a large request is not overtaken for ever by small ones.

use std::collections::BTreeMap;
use std::fs;

/// Least bound that can be chosen: the largest request fits the common part.
pub const CLIENT_MEMORY_BYTES_MIN: u64 = 64 << 20;
/// Of that, what NBD clients need: the largest request fits the common part.
const NBD_BYTES_MIN: u64 = 48 << 20;
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

/// The parts of a bound that are for NBD clients and for NVMe/TCP hosts, where an array has both:
/// half each, and for NBD clients enough for the largest request.
#[must_use]
pub fn split_client_memory(bound_bytes: u64) -> (u64, u64) {
    let nbd = (bound_bytes / 2).max(NBD_BYTES_MIN).min(bound_bytes);
    (nbd, bound_bytes - nbd)
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

    /// What a client that holds `held_bytes` may take in addition, when there are so many shares.
    /// The common part is for the first in line alone.
    pub(super) fn room_bytes(&self, held_bytes: u64, shares: u64, is_first: bool) -> u64 {
        let for_shares = self.bound_bytes / 4;
        let common = if is_first { self.bound_bytes - for_shares } else { 0 };
        let share = for_shares / shares;
        common.saturating_sub(self.held_bytes).max(share.saturating_sub(held_bytes))
    }
}

/// Number of shares when so many clients are connected. It changes seldom as clients come and go.
pub(super) fn shares(clients: u64) -> u64 {
    clients.max(SHARES_MIN).next_power_of_two()
}

/// A place in the [`Line`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Ticket(u64);

/// Clients that wait for room in the common part, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Line {
    clients: BTreeMap<Ticket, u32>,
    next: u64,
}

impl Line {
    /// A client stands behind all others.
    pub(super) fn join(&mut self, client: u32) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.clients.insert(ticket, client);
        ticket
    }

    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.clients.remove(&ticket);
    }

    pub(super) fn first(&self) -> Option<u32> {
        self.clients.first_key_value().map(|(_, client)| *client)
    }

    /// All that stand in it, the first one first.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.clients.values().copied()
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
        assert_eq!(memory.room_bytes(0, shares(1), true), 192 * MIB);
        // Greedy ones take as much as they can, one after the other and each request alone.
        let mut held = [0u64; 100];
        for (index, held) in held.iter_mut().enumerate() {
            while memory.room_bytes(*held, shares(index as u64 + 1), true) >= MIB / 8 {
                memory.change(*held, *held + MIB / 8);
                *held += MIB / 8;
            }
        }
        let all: u64 = held.iter().sum();
        assert!(all <= 256 * MIB + 256 * MIB / 8, "{} MiB", all / MIB);
        for is_first in [true, false] {
            let room = memory.room_bytes(0, shares(101), is_first);
            assert!(room >= MIB / 2, "{room}");
            assert_eq!(memory.room_bytes(held[50], shares(101), is_first), 0);
        }
        memory.change(held[0], 0);
        assert!(memory.room_bytes(held[50], shares(100), true) > 100 * MIB);
        assert_eq!(memory.room_bytes(held[50], shares(100), false), 0, "it is not its turn");
    }

    #[test]
    fn the_largest_request_fits_the_least_bound() {
        let memory = ClientMemory::new(CLIENT_MEMORY_BYTES_MIN);
        assert!(memory.room_bytes(0, shares(1), true) >= u64::from(LENGTH_BYTES_MAX));
    }

    #[test]
    fn both_kinds_of_clients_have_enough_of_the_least_bound() {
        let (nbd, hosts) = split_client_memory(CLIENT_MEMORY_BYTES_MIN);
        assert!(hosts >= crate::nvme_tcp::COMMAND_MEMORY_BYTES_MIN);
        let memory = ClientMemory::new(nbd);
        assert!(memory.room_bytes(0, shares(1), true) >= u64::from(LENGTH_BYTES_MAX));
        assert_eq!(split_client_memory(1 << 30), (512 * MIB, 512 * MIB));
    }

    #[test]
    fn who_came_first_is_first_until_it_leaves() {
        let mut line = Line::default();
        assert_eq!(line.first(), None);
        let tickets: Vec<Ticket> = [7, 3, 9].map(|client| line.join(client)).into();
        assert_eq!(line.all().collect::<Vec<_>>(), [7, 3, 9]);
        line.leave(tickets[1]);
        line.leave(tickets[0]);
        line.join(7);
        assert_eq!(line.all().collect::<Vec<_>>(), [9, 7]);
        assert_eq!(line.first(), Some(9));
    }
}
