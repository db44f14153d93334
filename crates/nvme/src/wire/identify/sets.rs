//! CNS 04h: the NVM Sets. Windows belong to NVM Sets.

use super::IDENTIFY_BYTES;
use crate::wire::structure::{read_at, structure, write_at};

/// Most sets of one list.
pub const NVM_SETS_MAX: usize = 31;

const COUNT: usize = 0;
const ENTRIES: usize = 128;
/// Bytes of a set.
const NVM_SET_BYTES: usize = 128;

/// An NVM Set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NvmSet {
    /// NVMSETID.
    pub id: u16,
    /// ENDGID: its endurance group.
    pub endurance_group: u16,
    /// RR4KT: time of a random read of 4 KiB, alone and in a deterministic window, in units of 100
    /// ns.
    pub random_read_100ns: u32,
    /// OWS: bytes of the optimal write; the log of windows counts writes in this unit.
    pub write_bytes: u32,
    /// TNVMSETCAP: total bytes.
    pub capacity_bytes: u128,
    /// UNVMSETCAP: bytes that belong to no namespace.
    pub free_bytes: u128,
}

structure! { NvmSet, NVM_SET_BYTES;
    id: "NVMSETID" @ 0,
    endurance_group: "ENDGID" @ 2,
    random_read_100ns: "RR4KT" @ 8,
    write_bytes: "OWS" @ 12,
    capacity_bytes: "TNVMSETCAP" @ 16,
    free_bytes: "UNVMSETCAP" @ 32,
}

/// The list in the data of Identify, in rising order, from the set of the command on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NvmSetList {
    sets: [NvmSet; NVM_SETS_MAX],
    length: usize,
}

impl NvmSetList {
    /// The list of those of `sets` from `first` on. Sets without room are for the next list.
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

    /// Reads the data of Identify; if the count is too high, all sets that there is room for.
    #[must_use]
    pub fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        let count = usize::from(data[COUNT]);
        let places = (ENTRIES..IDENTIFY_BYTES).step_by(NVM_SET_BYTES).take(count);
        Self::new(0, places.map(|at| read_at(data, at)))
    }

    /// Writes the data of Identify.
    #[must_use]
    pub fn encode(&self) -> [u8; IDENTIFY_BYTES] {
        let mut data = [0; IDENTIFY_BYTES];
        data[COUNT] = self.length as u8;
        for (number, set) in self.sets().iter().enumerate() {
            write_at(&mut data, ENTRIES + NVM_SET_BYTES * number, set);
        }
        data
    }
}
