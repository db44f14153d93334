//! Format of the block of the head that names the owner of a drive.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | magic `ioda\0own` |
//! | 8..12 | CRC-32 of all other bytes of the block |
//! | 12..16 | version, 1 |
//! | 16..32 | owner |
//! | 32..40 | epoch |
//! | 40..48 | heartbeat |
//! | 48..56 | `L` in nanoseconds |
//! | 56..64 | `D` in nanoseconds |
//! | 64 | state: 1 bid, 2 held, 3 released |
//! | 65 | 1 if a bid demands the drive |
//! | 68..72 | process |
//! | 72..80 | start of the process |
//! | 80..88 | namespace of the process |
//! | 88..104 | start of the machine |
//! | 128..224 | name of the server, ASCII, zeros behind |
//!
//! All that differs between two blocks lies in the first sector, which a drive writes as a whole.
//! An array of an older version has zeros there.

use super::super::block::{BLOCK_BYTES, array, get_u32, get_u64, is_sealed, put, seal};
use super::super::uuid::Uuid;
use super::Terms;
use core::fmt;
use units::Duration;

/// Offset of the block from the start of the head.
pub const OWNER_AT: u64 = 32_768;

/// Longest name of a server.
pub const OWNER_NAME_BYTES: usize = 96;

const MAGIC: [u8; 8] = *b"ioda\0own";
const VERSION: u32 = 1;
const SUM_AT: usize = 8;
const NAME_AT: usize = 128;

/// State of an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerState {
    /// It claims the drive, and waits for objections of others.
    Bid {
        /// True by order of the administrator: a server that owns the drive has to stop.
        demands: bool,
    },
    /// It owns the drive.
    Held,
    /// It has released the drive in order.
    Released,
}

/// Identity of a process, so that a server on the same machine can detect its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Process {
    /// Random number that the machine drew at its start; zero if unknown.
    pub machine: [u8; 16],
    /// Number of the PID namespace of the process.
    pub namespace: u64,
    /// Process id in that namespace.
    pub number: u32,
    /// Start time of the process, in the unit of the machine.
    pub started: u64,
}

/// Content of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnerBlock {
    /// The server; it draws a new id at every start.
    pub owner: Uuid,
    /// Epoch: higher with every server.
    pub epoch: u64,
    /// Heartbeat: higher with every write.
    pub heartbeat: u64,
    /// State of the server.
    pub state: OwnerState,
    /// Times of its ownership.
    pub terms: Terms,
    /// Its process.
    pub process: Process,
    /// Its name for people.
    pub name: OwnerName,
}

/// The name of a server: printable ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OwnerName([u8; OWNER_NAME_BYTES]);

impl OwnerName {
    /// Takes as much of a text as fits; other characters than printable ASCII become question
    /// marks.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut name = [0; OWNER_NAME_BYTES];
        for (byte, character) in name.iter_mut().zip(text.chars()) {
            *byte = printable(u8::try_from(character).unwrap_or(b'?'));
        }
        Self(name)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        core::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Debug for OwnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Display for OwnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const fn printable(byte: u8) -> u8 {
    match byte {
        b' '..=b'~' => byte,
        _ => b'?',
    }
}

/// Content of the place of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Zeros: no server has owned the drive in this way.
    Nothing,
    /// Neither zeros nor a sound block.
    Damaged,
    /// A sound block.
    Owner(OwnerBlock),
}

impl Found {
    /// Decodes the block.
    ///
    /// # Panics
    ///
    /// If it has not [`BLOCK_BYTES`].
    #[must_use]
    pub fn decode(block: &[u8]) -> Self {
        assert_eq!(block.len(), BLOCK_BYTES);
        if block.iter().all(|&byte| byte == 0) {
            return Self::Nothing;
        }
        match OwnerBlock::decode(block) {
            Some(owner) => Self::Owner(owner),
            None => Self::Damaged,
        }
    }

    /// The block; `None` if there is no sound one.
    #[must_use]
    pub const fn owner(&self) -> Option<&OwnerBlock> {
        match self {
            Self::Owner(owner) => Some(owner),
            Self::Nothing | Self::Damaged => None,
        }
    }
}

impl OwnerBlock {
    /// Returns true if the block is of this server.
    #[must_use]
    pub fn is_of(&self, owner: &Uuid) -> bool {
        self.owner == *owner
    }

    fn decode(block: &[u8]) -> Option<Self> {
        if block[..8] != MAGIC || !is_sealed(block, SUM_AT) || get_u32(block, 12) != VERSION {
            return None;
        }
        let state = match (block[64], block[65]) {
            (1, demands @ (0 | 1)) => OwnerState::Bid { demands: demands == 1 },
            (2, 0) => OwnerState::Held,
            (3, 0) => OwnerState::Released,
            _ => return None,
        };
        let terms = Terms {
            lease: Duration::from_nanos(get_u64(block, 48)),
            in_flight: Duration::from_nanos(get_u64(block, 56)),
        };
        if terms.lease > Terms::LONGEST || terms.in_flight > Terms::LONGEST {
            return None;
        }
        let mut name: [u8; OWNER_NAME_BYTES] = array(block, NAME_AT);
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        name[end..].fill(0);
        name[..end].iter_mut().for_each(|byte| *byte = printable(*byte));
        Some(Self {
            owner: Uuid(array(block, 16)),
            epoch: get_u64(block, 32),
            heartbeat: get_u64(block, 40),
            state,
            terms,
            process: Process {
                number: get_u32(block, 68),
                started: get_u64(block, 72),
                namespace: get_u64(block, 80),
                machine: array(block, 88),
            },
            name: OwnerName(name),
        })
    }

    /// Encodes the block.
    #[must_use]
    pub fn encode(&self) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        put(&mut block, 0, &MAGIC);
        put(&mut block, 12, &VERSION.to_le_bytes());
        put(&mut block, 16, &self.owner.0);
        put(&mut block, 32, &self.epoch.to_le_bytes());
        put(&mut block, 40, &self.heartbeat.to_le_bytes());
        put(&mut block, 48, &self.terms.lease.as_nanos().to_le_bytes());
        put(&mut block, 56, &self.terms.in_flight.as_nanos().to_le_bytes());
        (block[64], block[65]) = match self.state {
            OwnerState::Bid { demands } => (1, demands.into()),
            OwnerState::Held => (2, 0),
            OwnerState::Released => (3, 0),
        };
        put(&mut block, 68, &self.process.number.to_le_bytes());
        put(&mut block, 72, &self.process.started.to_le_bytes());
        put(&mut block, 80, &self.process.namespace.to_le_bytes());
        put(&mut block, 88, &self.process.machine);
        put(&mut block, NAME_AT, &self.name.0);
        seal(&mut block, SUM_AT);
        block
    }
}
