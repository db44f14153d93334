//! CNS 02h: the active namespaces.

use super::IDENTIFY_BYTES;
use crate::wire::field::{get_u32, put_u32};

/// Most namespaces of one list. After a full list, the next command asks from its last identifier
/// on.
pub const NAMESPACES_MAX: usize = IDENTIFY_BYTES / 4;

/// Identifiers of namespaces in rising order, with zeroes behind the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamespaceList {
    ids: [u32; NAMESPACES_MAX],
    length: usize,
}

impl NamespaceList {
    /// The list of those of `ids` that are above `after`, the identifier of the command. `ids`
    /// rise. Identifiers without room are for the next list.
    #[must_use]
    pub fn new(after: u32, ids: impl IntoIterator<Item = u32>) -> Self {
        let mut list = Self { ids: [0; NAMESPACES_MAX], length: 0 };
        for id in ids.into_iter().filter(|&id| id > after).take(NAMESPACES_MAX) {
            list.ids[list.length] = id;
            list.length += 1;
        }
        list
    }

    /// The identifiers.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids[..self.length]
    }

    /// Reads the data of Identify, up to the first zero.
    #[must_use]
    pub fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        let ids = (0..NAMESPACES_MAX).map(|number| get_u32(data, 4 * number));
        Self::new(0, ids.take_while(|&id| id != 0))
    }

    /// Writes the data of Identify.
    #[must_use]
    pub fn encode(&self) -> [u8; IDENTIFY_BYTES] {
        let mut data = [0; IDENTIFY_BYTES];
        for (number, &id) in self.ids().iter().enumerate() {
            put_u32(&mut data, 4 * number, id);
        }
        data
    }
}
