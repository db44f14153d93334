//! CNS 03h: the names of a namespace.

use super::IDENTIFY_BYTES;
use crate::wire::field::put;

const EUI64: u8 = 1;
const NGUID: u8 = 2;
const UUID: u8 = 3;
const CSI: u8 = 4;

/// Bytes before each name: its type, its length, two reserved.
const HEAD_BYTES: usize = 4;

/// The names of a namespace (Linux `struct nvme_ns_id_desc`). Two emulated drives must not share a
/// name: Linux refuses the second or takes both for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamespaceIds {
    /// Type 1.
    pub eui64: Option<[u8; 8]>,
    /// Type 2.
    pub nguid: Option<[u8; 16]>,
    /// Type 3.
    pub uuid: Option<[u8; 16]>,
    /// Type 4: the command set, 0 for NVM.
    pub command_set: Option<u8>,
}

impl NamespaceIds {
    /// Reads the data of Identify. Unknown types are skipped; `None` if a length does not fit its
    /// type, or goes past the end.
    #[must_use]
    pub fn decode(data: &[u8; IDENTIFY_BYTES]) -> Option<Self> {
        let mut ids = Self::default();
        let mut rest = &data[..];
        while let [kind, length, _, _, names @ ..] = rest {
            let (name, behind) = names.split_at_checked(usize::from(*length))?;
            match *kind {
                0 => break,
                EUI64 => ids.eui64 = Some(name.try_into().ok()?),
                NGUID => ids.nguid = Some(name.try_into().ok()?),
                UUID => ids.uuid = Some(name.try_into().ok()?),
                CSI => {
                    let [command_set] = name.try_into().ok()?;
                    ids.command_set = Some(command_set);
                }
                _ => {}
            }
            rest = behind;
        }
        Some(ids)
    }

    /// Writes the data of Identify.
    #[must_use]
    pub fn encode(&self) -> [u8; IDENTIFY_BYTES] {
        let mut data = [0; IDENTIFY_BYTES];
        let mut at = 0;
        let mut add = |kind: u8, name: &[u8]| {
            put(&mut data, at, &[kind, name.len() as u8]);
            put(&mut data, at + HEAD_BYTES, name);
            at += HEAD_BYTES + name.len();
        };
        if let Some(name) = &self.eui64 {
            add(EUI64, name);
        }
        if let Some(name) = &self.nguid {
            add(NGUID, name);
        }
        if let Some(name) = &self.uuid {
            add(UUID, name);
        }
        if let Some(name) = self.command_set {
            add(CSI, &[name]);
        }
        data
    }
}
