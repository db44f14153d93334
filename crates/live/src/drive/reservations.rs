//! Reservations of a drive in a file that outlive its process (Persist Through Power Loss).
//!
//! Two blocks of the head have them, written in turn, so that one is whole when the power goes
//! during a write. The state with the higher number counts. An older drive has zeros there.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | magic `ioda\0rsv` |
//! | 8..12 | CRC-32 of all other bytes of the block |
//! | 12..16 | version, 1 |
//! | 16..24 | number of the state |
//! | 24..28 | generation of the registrations |
//! | 28 | whether the state persists |
//! | 29 | type of the reservation, 0 if there is none |
//! | 30..32 | registrants |
//! | 32..48 | host that holds the reservation |
//! | from 64 | registrants: host, 16 bytes, and key, 8 bytes |

use crate::buffer::{Buffer, PAGE_BYTES};
use ::engine::durability::block::{array, get_u32, get_u64, is_sealed, put, seal};
use nvme::target::{Held, REGISTRANTS_MAX, Registrant, ReservationState};
use nvme::wire::ReservationType;

const MAGIC: [u8; 8] = *b"ioda\0rsv";
const VERSION: u32 = 1;
const SUM_AT: usize = 8;
const REGISTRANTS_AT: usize = 64;
const REGISTRANT_BYTES: usize = 24;
const _: () = assert!(REGISTRANTS_AT + REGISTRANTS_MAX * REGISTRANT_BYTES <= PAGE_BYTES);

/// Where the two blocks are, from the start of the file.
pub(super) const PLACES: [u64; 2] = [4096, 8192];

/// Reservations as they were kept last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptReservations {
    /// The state.
    pub state: ReservationState,
    /// Its number; 0 if none was ever kept.
    pub number: u64,
}

impl KeptReservations {
    /// What one of two blocks holds.
    pub(super) fn of(blocks: [&[u8]; 2]) -> Self {
        let found = blocks.into_iter().filter_map(Self::decode);
        found.max_by_key(|kept| kept.number).unwrap_or_default()
    }

    /// The next state: where it is to be written, and as which block.
    pub(super) fn next(&mut self, state: &ReservationState) -> (u64, Buffer) {
        self.number += 1;
        self.state = state.clone();
        (PLACES[(self.number % 2) as usize], self.encode())
    }

    fn encode(&self) -> Buffer {
        let mut block = Buffer::zeroed(PAGE_BYTES);
        let bytes = block.bytes_mut();
        let state = &self.state;
        put(bytes, 0, &MAGIC);
        put(bytes, 12, &VERSION.to_le_bytes());
        put(bytes, 16, &self.number.to_le_bytes());
        put(bytes, 24, &state.generation.to_le_bytes());
        bytes[28] = state.persists.into();
        if let Some(held) = state.held {
            bytes[29] = held.kind.encode();
            put(bytes, 32, &held.holder);
        }
        put(bytes, 30, &(state.registrants.len() as u16).to_le_bytes());
        for (index, registrant) in state.registrants.iter().take(REGISTRANTS_MAX).enumerate() {
            let at = REGISTRANTS_AT + REGISTRANT_BYTES * index;
            put(bytes, at, &registrant.host);
            put(bytes, at + 16, &registrant.key.to_le_bytes());
        }
        seal(bytes, SUM_AT);
        block
    }

    fn decode(block: &[u8]) -> Option<Self> {
        if block[..8] != MAGIC || !is_sealed(block, SUM_AT) || get_u32(block, 12) != VERSION {
            return None;
        }
        let count = usize::from(u16::from_le_bytes(array(block, 30)));
        if count > REGISTRANTS_MAX {
            return None;
        }
        let registrants = (0..count).map(|index| {
            let at = REGISTRANTS_AT + REGISTRANT_BYTES * index;
            Registrant { host: array(block, at), key: get_u64(block, at + 16) }
        });
        let registrants: Vec<Registrant> = registrants.collect();
        let holder = array(block, 32);
        let held = match block[29] {
            0 => None,
            number => Some(Held { kind: ReservationType::decode(number)?, holder }),
        };
        let state = ReservationState {
            generation: get_u32(block, 24),
            persists: block[28] == 1,
            registrants,
            held,
        };
        // A block that is whole says nothing else, unless somebody else wrote it.
        let is_sound = state.held.is_none_or(|held| state.has(&held.holder));
        is_sound.then(|| Self { state, number: get_u64(block, 16) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    fn state(registrants: u8) -> ReservationState {
        let registrants: Vec<_> = (0..registrants)
            .map(|n| Registrant { host: [n; 16], key: u64::from(n) << 40 })
            .collect();
        let kind = ReservationType::ExclusiveAccessRegistrants;
        let held = registrants.last().map(|last| Held { kind, holder: last.host });
        ReservationState { generation: 7, persists: true, registrants, held }
    }

    #[test]
    fn the_last_state_that_is_whole_counts() {
        let mut kept = KeptReservations::default();
        let mut blocks = [vec![0; PAGE_BYTES], vec![0; PAGE_BYTES]];
        for registrants in [0, 1, 2, REGISTRANTS_MAX as u8] {
            let before = kept.clone();
            let (place, block) = kept.next(&state(registrants));
            let torn = PLACES.iter().position(|other| *other == place).unwrap();
            // The power goes in the middle of the write.
            let mut half = blocks.clone();
            half[torn][..512].copy_from_slice(&block.bytes()[..512]);
            let found = KeptReservations::of([&half[0], &half[1]]);
            assert!(found == before || found == kept, "{registrants}");
            blocks[torn] = block.bytes().to_vec();
            assert_eq!(KeptReservations::of([&blocks[0], &blocks[1]]), kept, "{registrants}");
        }
    }

    #[test]
    fn anything_else_in_a_block_is_no_state_or_a_sound_one() {
        for seed in testing::seeds(0..2_000) {
            let mut rng = Rng::stream(seed, "kept reservations");
            let mut kept = KeptReservations::default();
            let (_, block) = kept.next(&state(rng.below(6) as u8));
            let mut bytes = block.bytes().to_vec();
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(200) as usize;
                bytes[at] = rng.next_u64() as u8;
            }
            if rng.below(2) == 0 {
                seal(&mut bytes, SUM_AT);
            }
            let Some(found) = KeptReservations::decode(&bytes) else { continue };
            let state = &found.state;
            assert!(state.held.is_none_or(|held| state.has(&held.holder)));
            let again = found.encode();
            assert_eq!(KeptReservations::decode(again.bytes()), Some(found));
        }
    }
}
