//! The superblock: the state of an array, and the place of one drive in it. Every drive of an array
//! holds a superblock.
//!
//! # Layout
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | magic `ioda\0arr` |
//! | 8..12 | version: 5 |
//! | 12..16 | CRC-32 of all other bytes of the block |
//! | 16..32 | UUID of the array |
//! | 32..40 | generation |
//! | 40..48 | time of creation in seconds since 1970 |
//! | 48..56 | bytes of a drive |
//! | 56..64 | bytes of a chunk |
//! | 64..68 | bytes of a page |
//! | 68 | index of this drive |
//! | 69 | drives |
//! | 70 | members of a stripe |
//! | 71 | level: place in [`Level::ALL`] |
//! | 72 | 1 after a clean end |
//! | 73 | 1 while a drive without a superblock joins |
//! | 74 | 1 if changes are journalled always |
//! | 75 | 1 if data have checksums ([`checksums`](crate::checksums)), since version 4 |
//! | 76 | 1 if checksum tables are sealed by sectors and written by the format of a drive; since version 5 |
//! | 77..80 | zero |
//! | 80..88 | region bytes of the intent record |
//! | 88..96 | committed generation |
//! | 96..104 | branch of the prepared change; 0 without a prepared change |
//! | 104..112 | branch of the committed change, since version 5 |
//! | 112..120 | horizon of the past, since version 5 |
//! | 128..1152 | 16 bytes per drive: state (0 serving, 1 failed, 2 rebuilding), 7 zeros, cursor |
//! | 1152..1664 | 8 bytes per drive: number of its joining ([`Superblock::joined`]) |
//! | 1664..4096 | 16 bytes per past branch: its number, the generation of its end; then zeros |
//!
//! # Versions and generations
//!
//! During the creation of an array its drives have generation 0. The superblocks of these drives
//! and of joining drives differ from zeros in their first 512 bytes only. So the first superblock
//! of a blank drive is written as a whole or not at all.
//!
//! Version 1 had single generations, each written to all drives before data was. It did not record
//! with which numbers drives joined, nor past changes. It is read as if the generation before were
//! committed.
//!
//! Versions 2 to 4 listed past changes, 8 bytes each, instead of branches: a change counts as a
//! branch of its own.

use super::block::{BLOCK_BYTES, Block, array, get_u32, get_u64, is_sealed, put, seal};
use super::uuid::Uuid;
use crate::checksums::{TableSeal, table_bytes};
use alloc::string::String;
use alloc::vec::Vec;
use array::Level;
use core::fmt;
use units::DriveId;

const MAGIC: [u8; 8] = *b"ioda\0arr";
const VERSION: u32 = 5;
/// First version with branches and written checksum tables.
const VERSION_BRANCHES: u32 = 5;
/// First version with checksums.
const VERSION_CHECKSUMS: u32 = 4;
/// The version with single generations.
const VERSION_SINGLE: u32 = 1;
const SUM_AT: usize = 12;
const JOINS_AT: usize = 73;
const JOURNALLED_AT: usize = 74;
const CHECKSUMS_AT: usize = 75;
const TABLES_AT: usize = 76;
const PROPOSED_AT: usize = 96;
const BRANCH_AT: usize = 104;
const HORIZON_AT: usize = 112;
const STATES_AT: usize = 128;
const STATE_BYTES: usize = 16;
const JOINED_AT: usize = 1152;
const JOINED_BYTES: usize = 8;
const PAST_AT: usize = JOINED_AT + WIDTH_MAX * JOINED_BYTES;
/// Most drives of an array.
const WIDTH_MAX: usize = 64;
/// Places of the two copies, in bytes from the start of the file of a drive.
pub const COPIES_AT: [u64; 2] = [0, BLOCK_BYTES as u64];
/// Largest drive: 2^62 bytes.
const DRIVE_BYTES_MAX: u64 = 1 << 62;
/// Smallest region.
pub const REGION_BYTES_MIN: u64 = 1 << 20;

/// Layout of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// RAID level.
    pub level: Level,
    /// Drives: 1 to 64.
    pub width: u8,
    /// Members of a stripe: 1 to `width`.
    pub stripe_width: u8,
    /// Bytes of a chunk: a multiple of `page_bytes`, at most `drive_bytes`.
    pub chunk_bytes: u64,
    /// Bytes of a page: a multiple of 4096.
    pub page_bytes: u32,
    /// Bytes of a drive: a multiple of `page_bytes`, at most 2^62.
    pub drive_bytes: u64,
    /// Choice of the changes that are journalled.
    pub journalled: Journalled,
    /// True if every block of data has a checksum in a table behind the data of its drive.
    pub checksums: bool,
}

/// Conditions under which an array with parity writes its changes into its journal first. Mirrors
/// never do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Journalled {
    /// While drives are missing. If a drive is lost in a crash, stripes that were being written may
    /// be reconstructed wrong (the write hole).
    Degraded,
    /// Always: up to as many drives as there are parities may be lost in a crash.
    #[default]
    Always,
}

impl Journalled {
    /// Name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Degraded => "degraded",
            Self::Always => "always",
        }
    }
}

impl Geometry {
    /// Checks that all fields are possible together.
    ///
    /// # Errors
    ///
    /// The field that is impossible.
    pub fn check(&self) -> Result<(), SuperblockError> {
        let width = usize::from(self.width);
        let page = u64::from(self.page_bytes);
        let bad = |field, value| Err(SuperblockError::Field { field, value });
        if !(self.level.least_width() as usize..=WIDTH_MAX).contains(&width) {
            return bad("number of drives", u64::from(self.width));
        }
        if self.stripe_width == 0 || self.stripe_width > self.width {
            return bad("members of a stripe", u64::from(self.stripe_width));
        }
        if page == 0 || !page.is_multiple_of(BLOCK_BYTES as u64) {
            return bad("bytes of a page", page);
        }
        let drive = self.drive_bytes;
        if drive == 0 || drive > DRIVE_BYTES_MAX || !drive.is_multiple_of(page) {
            return bad("bytes of a drive", drive);
        }
        let chunk = self.chunk_bytes;
        if chunk == 0 || chunk > drive || !chunk.is_multiple_of(page) {
            return bad("bytes of a chunk", chunk);
        }
        Ok(())
    }
}

impl Geometry {
    /// Bytes of a drive behind its head: its data, and their checksums if it has any.
    #[must_use]
    pub const fn stored_bytes(&self) -> u64 {
        match self.checksums {
            true => self.drive_bytes + table_bytes(self.drive_bytes),
            false => self.drive_bytes,
        }
    }

    /// Bytes of each drive before the first chunk of this stripe or of any later one.
    #[must_use]
    pub fn bytes_before(&self, stripe: u64) -> u64 {
        let chunks = u128::from(stripe) * u128::from(self.stripe_width) / u128::from(self.width);
        u64::try_from(chunks * u128::from(self.chunk_bytes))
            .map_or(self.drive_bytes, |bytes| bytes.min(self.drive_bytes))
    }

    /// Returns true if the drives of `absent` (as bits) leave some stripe with too few members.
    /// Stripes narrower than the array lie on neighbouring drives in turn, so their places repeat
    /// after `width` stripes.
    #[must_use]
    pub fn misses_too_much(&self, absent: u64) -> bool {
        let (width, members) = (u64::from(self.width), u64::from(self.stripe_width));
        let spare = self.level.parities(u32::from(self.stripe_width));
        (0..width).any(|stripe| {
            let drive = |member: u64| (stripe * members + member) % width;
            let missing = (0..members).filter(|member| absent >> drive(*member) & 1 == 1);
            missing.count() as u32 > spare
        })
    }
}

/// Role of a drive in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemberState {
    /// It holds all its data.
    #[default]
    Serving,
    /// It does not take part.
    Failed,
    /// It is being rebuilt.
    Rebuilding {
        /// Bytes from its start that hold their data; 0 if that is not known.
        cursor_bytes: u64,
    },
}

/// State of an array as a drive records it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// The array.
    pub uuid: Uuid,
    /// Index of this drive, below the geometry's width.
    pub member: DriveId,
    /// Geometry of the array.
    pub geometry: Geometry,
    /// Bytes of a region of the intent record: a power of two.
    pub region_bytes: u64,
    /// Grows with every superblock: once when a change is prepared, once when it is committed.
    pub generation: u64,
    /// Generation in which this state was prepared: all drives that take part by it have at least
    /// this generation. At most `generation`.
    pub committed: u64,
    /// State of each drive, `width` entries.
    pub states: Vec<MemberState>,
    /// Number with which each drive joined, `width` entries: unique for its place, and 0 for drives
    /// of the creation.
    pub joined: Vec<u64>,
    /// The branch of the committed change: number of the change with which it began. 0 in
    /// superblocks before version 5, where [`Superblock::branch`] is the number of the committed
    /// change.
    pub began: u64,
    /// Branches that have ended, and branches that were prepared and dropped.
    pub past: Past,
    /// Branch of the prepared change; 0 without one.
    pub proposed: u64,
    /// True if the sectors of checksum tables are sealed one by one, and were written when their
    /// drive was formatted.
    pub seals_sectors: bool,
    /// True if the array was shut down, and nothing needs to be repaired.
    pub clean: bool,
    /// Time of the array's creation, in seconds since 1970.
    pub created_seconds: u64,
}

/// Reason for which a block is not the superblock of a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SuperblockError {
    /// The block is all zeros.
    Blank,
    /// The block holds other data.
    Foreign,
    /// The block is torn or damaged.
    Checksum,
    /// A later program wrote it.
    Version {
        /// The version.
        version: u32,
    },
    /// A field has a value that no program of this version writes.
    Field {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The drive was being made part of an array, and holds nothing.
    Unfinished,
    /// The block cannot be read.
    Unreadable(String),
}

impl fmt::Display for SuperblockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("there is no array on it: it is blank"),
            Self::Foreign => f.write_str("it holds data that are not of an array"),
            Self::Checksum => f.write_str("its superblock is damaged: the checksum is wrong"),
            Self::Version { version } => write!(
                f,
                "its superblock has version {version}, and this program knows versions up to {VERSION}; use a newer program"
            ),
            Self::Field { field, value } => {
                write!(f, "its superblock says that the {field} is {value}, which is impossible")
            }
            Self::Unfinished => f.write_str(
                "it was being made a drive of an array, which was cut short: it holds nothing",
            ),
            Self::Unreadable(error) => write!(f, "its superblock cannot be read: {error}"),
        }
    }
}

impl core::error::Error for SuperblockError {}

impl Superblock {
    /// Encodes the superblock.
    #[must_use]
    pub fn encode(&self) -> [u8; 4096] {
        let mut block: Block = [0; BLOCK_BYTES];
        put(&mut block, 0, &MAGIC);
        put(&mut block, 8, &VERSION.to_le_bytes());
        put(&mut block, 16, &self.uuid.0);
        put(&mut block, 32, &self.generation.to_le_bytes());
        put(&mut block, 40, &self.created_seconds.to_le_bytes());
        put(&mut block, 48, &self.geometry.drive_bytes.to_le_bytes());
        put(&mut block, 56, &self.geometry.chunk_bytes.to_le_bytes());
        put(&mut block, 64, &self.geometry.page_bytes.to_le_bytes());
        block[68] = self.member.0;
        block[69] = self.geometry.width;
        block[70] = self.geometry.stripe_width;
        block[71] = level_number(self.geometry.level);
        block[72] = u8::from(self.clean);
        block[JOURNALLED_AT] = u8::from(self.geometry.journalled == Journalled::Always);
        block[CHECKSUMS_AT] = u8::from(self.geometry.checksums);
        block[TABLES_AT] = u8::from(self.seals_sectors);
        put(&mut block, 80, &self.region_bytes.to_le_bytes());
        put(&mut block, 88, &self.committed.to_le_bytes());
        put(&mut block, PROPOSED_AT, &self.proposed.to_le_bytes());
        put(&mut block, BRANCH_AT, &self.began.to_le_bytes());
        for (index, state) in self.states.iter().take(WIDTH_MAX).enumerate() {
            let at = STATES_AT + index * STATE_BYTES;
            let (number, cursor_bytes) = match state {
                MemberState::Serving => (0, 0),
                MemberState::Failed => (1, 0),
                MemberState::Rebuilding { cursor_bytes } => (2, *cursor_bytes),
            };
            block[at] = number;
            put(&mut block, at + 8, &cursor_bytes.to_le_bytes());
        }
        for (index, joined) in self.joined.iter().take(WIDTH_MAX).enumerate() {
            put(&mut block, JOINED_AT + index * JOINED_BYTES, &joined.to_le_bytes());
        }
        self.past.encode(&mut block);
        seal(&mut block, SUM_AT);
        block
    }

    /// Superblock of a drive whose creation or joining is not finished.
    pub(super) fn unfinished(&self) -> Self {
        let drives = self.states.len();
        Self {
            generation: 0,
            committed: 0,
            states: alloc::vec![MemberState::Serving; drives],
            joined: alloc::vec![0; drives],
            began: 0,
            past: Past::default(),
            proposed: 0,
            clean: false,
            ..self.clone()
        }
    }

    /// Block of a drive that is joining, and holds nothing.
    pub(super) fn encode_joining(&self) -> [u8; 4096] {
        let mut block = self.unfinished().encode();
        block[JOINS_AT] = 1;
        seal(&mut block, SUM_AT);
        block
    }

    /// Returns true if the array was being created, and no drive of it was served.
    #[must_use]
    pub fn is_being_created(&self) -> bool {
        self.generation == 0
    }

    /// Decodes a block.
    ///
    /// # Errors
    ///
    /// If this program cannot have written the block as a superblock.
    pub fn decode(block: &[u8; 4096]) -> Result<Self, SuperblockError> {
        if block[..8] != MAGIC {
            let blank = block.iter().all(|&byte| byte == 0);
            return Err(if blank { SuperblockError::Blank } else { SuperblockError::Foreign });
        }
        if !is_sealed(block, SUM_AT) {
            return Err(SuperblockError::Checksum);
        }
        let version = get_u32(block, 8);
        if !(VERSION_SINGLE..=VERSION).contains(&version) {
            return Err(SuperblockError::Version { version });
        }
        let bad = |field, value| Err(SuperblockError::Field { field, value });
        match block[JOINS_AT] {
            0 => {}
            1 => return Err(SuperblockError::Unfinished),
            other => return bad("mark of a joining drive", u64::from(other)),
        }
        let Some(&level) = Level::ALL.get(usize::from(block[71])) else {
            return bad("level", u64::from(block[71]));
        };
        let journalled = match block[JOURNALLED_AT] {
            0 => Journalled::Degraded,
            1 => Journalled::Always,
            other => return bad("use of the journal", u64::from(other)),
        };
        let checksums = match (version, block[CHECKSUMS_AT]) {
            (VERSION_CHECKSUMS.., 1) => true,
            (_, 0) | (VERSION_SINGLE, _) => false,
            (_, other) => return bad("use of checksums", u64::from(other)),
        };
        let seals_sectors = match (version, block[TABLES_AT]) {
            (VERSION_BRANCHES.., 1) => true,
            (..VERSION_BRANCHES, _) | (_, 0) => false,
            (_, other) => return bad("format of checksum tables", u64::from(other)),
        };
        let geometry = Geometry {
            checksums,
            journalled,
            level,
            width: block[69],
            stripe_width: block[70],
            chunk_bytes: get_u64(block, 56),
            page_bytes: get_u32(block, 64),
            drive_bytes: get_u64(block, 48),
        };
        geometry.check()?;
        if block[68] >= geometry.width {
            return bad("index of the drive", u64::from(block[68]));
        }
        let region_bytes = get_u64(block, 80);
        if !region_bytes.is_power_of_two() || region_bytes < REGION_BYTES_MIN {
            return bad("bytes of a region", region_bytes);
        }
        let mut states = Vec::with_capacity(usize::from(geometry.width));
        for index in 0..usize::from(geometry.width) {
            let at = STATES_AT + index * STATE_BYTES;
            let cursor_bytes = get_u64(block, at + 8);
            states.push(match block[at] {
                0 => MemberState::Serving,
                1 => MemberState::Failed,
                2 if cursor_bytes <= geometry.drive_bytes => {
                    MemberState::Rebuilding { cursor_bytes }
                }
                2 => return bad("progress of a rebuild", cursor_bytes),
                other => return bad("state of a drive", u64::from(other)),
            });
        }
        let generation = get_u64(block, 32);
        let committed = match version {
            VERSION_SINGLE => generation.saturating_sub(1),
            _ => get_u64(block, 88),
        };
        if committed > generation {
            return bad("committed generation", committed);
        }
        let joined = (0..states.len()).map(|index| match version {
            VERSION_SINGLE => 0,
            _ => get_u64(block, JOINED_AT + index * JOINED_BYTES),
        });
        let began = if version >= VERSION_BRANCHES { get_u64(block, BRANCH_AT) } else { 0 };
        Ok(Self {
            uuid: Uuid(array(block, 16)),
            began,
            past: Past::decode(block, version, generation),
            proposed: get_u64(block, PROPOSED_AT),
            seals_sectors,
            member: DriveId(block[68]),
            geometry,
            region_bytes,
            generation,
            committed,
            joined: joined.collect(),
            states,
            clean: match block[72] {
                0 => false,
                1 => true,
                other => return bad("mark of a clean end", u64::from(other)),
            },
            created_seconds: get_u64(block, 40),
        })
    }

    /// Returns true if this superblock says that the other's drive takes part: that very drive, not
    /// another one in its place.
    #[must_use]
    pub fn knows(&self, other: &Self) -> bool {
        let index = other.member.index();
        self.states.get(index).is_some_and(|state| *state != MemberState::Failed)
            && self.joined.get(index) == other.joined.get(index)
    }

    /// Returns true if all that this drive ever held is in the history of `other`. That drive takes
    /// part in the commit of this one, was prepared for it, or went through it.
    #[must_use]
    pub fn is_contained_in(&self, other: &Self) -> bool {
        let branch = self.branch();
        self.knows(other)
            || other.branch() == branch && self.committed <= other.generation
            || other.past.covers(branch, self.committed)
    }

    /// Branch of the committed change. Arrays that went on apart are in different branches.
    #[must_use]
    pub fn branch(&self) -> u64 {
        match self.began {
            0 => self.change(),
            began => began,
        }
    }

    /// Seal of the array's checksum tables.
    #[must_use]
    pub const fn table_seal(&self) -> TableSeal {
        if self.seals_sectors { TableSeal::Sectors } else { TableSeal::Block }
    }

    /// Number of the committed change. Arrays that went on apart have different numbers.
    #[must_use]
    pub fn change(&self) -> u64 {
        self.number(self.committed, u64::MAX)
    }

    /// Number with which a drive joins in `generation`; no other drive joins with it.
    pub(super) fn joining(&self, generation: u64, drive: DriveId) -> u64 {
        self.number(generation, u64::from(drive.0))
    }

    /// Number that depends on the states of all drives, which differ wherever drives went on
    /// without each other.
    fn number(&self, generation: u64, about: u64) -> u64 {
        let states = self.states.iter().map(|state| match state {
            MemberState::Serving => 1,
            MemberState::Failed => 2,
            MemberState::Rebuilding { .. } => 3,
        });
        let words = [generation, about].into_iter().chain(states);
        // The mixing step is that of splitmix64; 0 stands for none.
        let mixed = words.chain(self.joined.iter().copied()).fold(0, |sum: u64, word| {
            let sum = (sum ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let sum = (sum ^ sum >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let sum = (sum ^ sum >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            sum ^ sum >> 31
        });
        mixed.max(1)
    }

    /// Returns true if this change removes a drive that takes part.
    fn loses_drive(&self, states: &[MemberState], joined: &[u64]) -> bool {
        let before = self.states.iter().zip(&self.joined);
        let mut both = before.zip(states.iter().zip(joined));
        both.any(|((old, old_joined), (new, new_joined))| {
            let stays = *new != MemberState::Failed && old_joined == new_joined;
            *old != MemberState::Failed && !stays
        })
    }

    /// Names the branch of the change that is being prepared in `generation`. If the array then
    /// goes on without the change, this entry identifies a drive that alone had committed it.
    pub(super) fn propose(&mut self, states: &[MemberState], joined: &[u64]) {
        self.drop_proposed();
        self.proposed = match self.loses_drive(states, joined) {
            true => {
                let new = Self { states: states.to_vec(), joined: joined.to_vec(), ..self.clone() };
                new.number(self.generation, u64::MAX)
            }
            false => self.branch(),
        };
    }

    /// Lists the branch of the prepared change as past: the array goes on without the change, in a
    /// later generation.
    fn drop_proposed(&mut self) {
        let branch = core::mem::take(&mut self.proposed);
        if branch != self.branch() {
            self.past.add([PastBranch { branch, until: self.generation }]);
        }
    }

    /// Adds the past branches of a drive that takes part, and the branch of its prepared change if
    /// the array goes on without that.
    pub(super) fn add_past_of(&mut self, drive: &Self) {
        let own = self.branch();
        self.past.merge(&drive.past, own);
        // The array goes on in a branch that this drive has reached or is prepared for.
        if drive.proposed != self.proposed && drive.proposed != own {
            let until = drive.generation.saturating_add(1);
            self.past.add([PastBranch { branch: drive.proposed, until }]);
        }
    }

    /// Adds all branches of a drive, its own included: the array goes on in a new lineage.
    pub(super) fn add_forced_past(&mut self, drive: &Self) {
        self.past.merge(&drive.past, 0);
        let until = drive.generation.saturating_add(1);
        let said = [drive.proposed, drive.branch()];
        self.past.add(said.map(|branch| PastBranch { branch, until }));
    }

    /// Commits new states: all drives that take part are prepared for `generation`.
    pub(super) fn commit(&mut self, states: Vec<MemberState>, joined: Vec<u64>, clean: bool) {
        let branch = self.branch();
        let ends = self.loses_drive(&states, &joined);
        self.proposed = 0;
        self.committed = self.generation;
        self.generation = self.generation.saturating_add(1);
        self.states = states;
        self.joined = joined;
        self.clean = clean;
        self.began = branch;
        if ends {
            self.began = self.change();
            self.past.add([PastBranch { branch, until: self.committed }]);
        }
    }

    /// Offset in the file of the copy of this generation; the copy of the generation before stays.
    #[must_use]
    pub fn offset_bytes(&self) -> u64 {
        COPIES_AT[(self.generation % 2) as usize]
    }
}

/// The two copies of a drive, at [`COPIES_AT`].
pub type Copies = [Result<Superblock, SuperblockError>; 2];

/// Offset of the superblock that counts on a drive; `None` if neither copy counts.
pub(super) fn newest_offset_bytes(copies: &Copies) -> Option<u64> {
    let counts = |copy: &Result<Superblock, SuperblockError>| match copy {
        Ok(found) => Some(found.generation.saturating_add(1)),
        Err(SuperblockError::Unfinished) => Some(0),
        Err(_) => None,
    };
    let copies = copies.iter().zip(COPIES_AT);
    let counting = copies.filter_map(|(copy, at)| Some((counts(copy)?, at)));
    counting.max_by_key(|(generation, _)| *generation).map(|(_, offset_bytes)| offset_bytes)
}

/// Returns the copy that counts of the two on a drive. A copy of a newer program comes first,
/// because it may hold more; then the later generation; then the more telling error.
///
/// # Errors
///
/// If neither is a superblock of this program.
pub fn newer(copies: Copies) -> Result<Superblock, SuperblockError> {
    let telling = |error: &SuperblockError| match error {
        SuperblockError::Version { .. } => 6,
        // The other copy was torn.
        SuperblockError::Unfinished => 5,
        SuperblockError::Field { .. } => 4,
        SuperblockError::Checksum => 3,
        SuperblockError::Unreadable(_) => 2,
        SuperblockError::Foreign => 1,
        SuperblockError::Blank => 0,
    };
    match copies {
        [Err(error @ SuperblockError::Version { .. }), _]
        | [_, Err(error @ SuperblockError::Version { .. })] => Err(error),
        [Ok(one), Ok(other)] => Ok(if one.generation >= other.generation { one } else { other }),
        [Ok(one), Err(_)] | [Err(_), Ok(one)] => Ok(one),
        [Err(one), Err(other)] => Err(if telling(&one) >= telling(&other) { one } else { other }),
    }
}

fn level_number(level: Level) -> u8 {
    let place = Level::ALL.iter().position(|&other| other == level);
    place.map_or(u8::MAX, |place| place as u8)
}

mod past;
#[cfg(test)]
pub(super) mod tests;

pub use past::{Past, PastBranch};
