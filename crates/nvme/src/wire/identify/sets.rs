//! CNS 04h: the NVM Sets, which windows belong to.

use super::IDENTIFY_BYTES;
use crate::wire::field::{get_u16, get_u32, get_u128, put_u16, put_u32, put_u128};

/// Sets of one list.
pub const NVM_SETS_MAX: usize = 31;

const COUNT: usize = 0;
const ENTRIES: usize = 128;
const ENTRY_BYTES: usize = 128;

const NVMSETID: usize = 0;
const ENDGID: usize = 2;
const RR4KT: usize = 8;
const OWS: usize = 12;
const TNVMSETCAP: usize = 16;
const UNVMSETCAP: usize = 32;

/// An NVM Set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NvmSet {
    /// NVMSETID @0.
    pub id: u16,
    /// ENDGID @2: its endurance group.
    pub endurance_group: u16,
    /// RR4KT @8: what a random read of 4 KiB takes, in units of 100 ns, alone and in a
    /// deterministic window.
    pub random_read_100ns: u32,
    /// OWS @12: bytes of the best write; the log of windows counts writes in it.
    pub write_bytes: u32,
    /// TNVMSETCAP @16: bytes in all.
    pub capacity_bytes: u128,
    /// UNVMSETCAP @32: bytes that no namespace has.
    pub free_bytes: u128,
}

/// The list that Identify returns, rising, from the set of the command on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NvmSetList {
    sets: [NvmSet; NVM_SETS_MAX],
    length: usize,
}

impl NvmSetList {
    /// The list of those of `sets` from `first` on. What has no room is for the next list.
    #[must_use]
    pub fn new(first: u16, sets: impl IntoIterator<Item = NvmSet>) -> Self {
        let mut list = Self::default();
        for set in sets.into_iter().filter(|set| set.id >= first).take(NVM_SETS_MAX) {
            list.sets[list.length] = set;
            list.length += 1;
        }
        list
    }

    /// The sets.
    #[must_use]
    pub fn sets(&self) -> &[NvmSet] {
        &self.sets[..self.length]
    }

    /// Reads what Identify returned; of a number that is too high as many sets as there is room
    /// for.
    #[must_use]
    pub fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        let count = usize::from(data[COUNT]);
        let entries = data[ENTRIES..].chunks_exact(ENTRY_BYTES).take(count);
        Self::new(
            0,
            entries.map(|entry| NvmSet {
                id: get_u16(entry, NVMSETID),
                endurance_group: get_u16(entry, ENDGID),
                random_read_100ns: get_u32(entry, RR4KT),
                write_bytes: get_u32(entry, OWS),
                capacity_bytes: get_u128(entry, TNVMSETCAP),
                free_bytes: get_u128(entry, UNVMSETCAP),
            }),
        )
    }

    /// What Identify returns.
    #[must_use]
    pub fn encode(&self) -> [u8; IDENTIFY_BYTES] {
        let mut data = [0; IDENTIFY_BYTES];
        data[COUNT] = self.length as u8;
        let entries = data[ENTRIES..].chunks_exact_mut(ENTRY_BYTES);
        for (entry, set) in entries.zip(self.sets()) {
            put_u16(entry, NVMSETID, set.id);
            put_u16(entry, ENDGID, set.endurance_group);
            put_u32(entry, RR4KT, set.random_read_100ns);
            put_u32(entry, OWS, set.write_bytes);
            put_u128(entry, TNVMSETCAP, set.capacity_bytes);
            put_u128(entry, UNVMSETCAP, set.free_bytes);
        }
        data
    }
}
