//! Which of the configured places are the drives of one array, and whether they are enough.
//!
//! A pure decision over what was found. The superblock of the highest generation says how each
//! drive takes part. A drive that it calls serving may be one generation behind: the process died
//! while it wrote a generation to all drives, and no data are written before all have it. More than
//! one behind is stale.

use super::superblock::{Geometry, MemberState, Superblock, SuperblockError, Uuid};
use std::fmt;
use thiserror::Error;

/// What was found at a configured place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// Nothing: no such file or device, or it does not open.
    Missing,
    /// A drive, and its superblock or why it has none.
    Drive(Result<Superblock, SuperblockError>),
}

/// How the array can be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembly {
    /// The array.
    pub uuid: Uuid,
    /// How it is laid out.
    pub geometry: Geometry,
    /// Bytes of a region of its intent record.
    pub region_bytes: u64,
    /// When it was made, in seconds since 1970.
    pub created_seconds: u64,
    /// For each drive of the array, the number of the configured place that has it.
    pub order: Vec<Option<usize>>,
    /// Drives whose data are not there, as bits: missing, failed, stale and rebuilding ones.
    pub absent: u64,
    /// Those of them that are in their place and were being rebuilt, as bits.
    pub rebuilding: u64,
    /// Those of `absent` that were serving when the array stopped, as bits.
    pub lost: u64,
    /// How each drive takes part from now on.
    pub states: Vec<MemberState>,
    /// The highest generation found; the next one to be written is one more.
    pub generation: u64,
    /// Whether the array was shut down, and nothing is to be repaired.
    pub clean: bool,
    /// What people should know.
    pub notes: Vec<Note>,
}

/// Something to know about an array that starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// A drive was not where the configuration has it.
    Moved {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
    },
    /// A drive is not there.
    Missing {
        /// The drive.
        member: usize,
    },
    /// A drive had failed before.
    Failed {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
    },
    /// A drive missed changes.
    Stale {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
        /// Its generation.
        generation: u64,
        /// That of the array.
        newest: u64,
    },
    /// A place that no drive can be started from.
    Unusable {
        /// The place.
        place: usize,
        /// Why.
        error: SuperblockError,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved { member, place } => {
                write!(
                    f,
                    "drive {member} of the array is at place {place}, and is used as drive {member}"
                )
            }
            Self::Missing { member } => {
                write!(f, "drive {member} is missing: the array starts degraded")
            }
            Self::Failed { member, place } => {
                write!(f, "drive {member} at place {place} had failed: replace it to rebuild it")
            }
            Self::Stale { member, place, generation, newest } => write!(
                f,
                "drive {member} at place {place} was left behind at generation {generation} of {newest}: replace it to rebuild it"
            ),
            Self::Unusable { place, error } => write!(f, "place {place} is not used: {error}"),
        }
    }
}

/// Why an array does not start. Nothing has been written.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// No superblock anywhere.
    #[error(
        "none of the {places} places holds a drive of an array; create the array first, or correct the paths"
    )]
    Nothing {
        /// Number of places.
        places: usize,
    },
    /// Drives of two arrays.
    #[error(
        "the drive at place {place} belongs to array {found}, the others to {expected}; correct the paths"
    )]
    ForeignArray {
        /// The place.
        place: usize,
        /// Its array.
        found: Uuid,
        /// The array of most.
        expected: Uuid,
    },
    /// A place that must not be touched.
    #[error("the drive at place {place} cannot be used: {error}")]
    Unusable {
        /// The place.
        place: usize,
        /// Why.
        error: SuperblockError,
    },
    /// One drive twice.
    #[error("places {first} and {second} both hold drive {member}: one is a copy; take it away")]
    Twice {
        /// The drive.
        member: usize,
        /// One place.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Drives of one array that do not agree.
    #[error(
        "the drives at places {first} and {second} disagree about the {what}; one of them was changed by something else"
    )]
    Disagree {
        /// One place.
        first: usize,
        /// The other.
        second: usize,
        /// About what.
        what: &'static str,
    },
    /// Another number of places than of drives.
    #[error(
        "the array has {drives} drives, and {places} places are configured; name all, also those that are missing"
    )]
    Width {
        /// Drives of the array.
        drives: usize,
        /// Places configured.
        places: usize,
    },
    /// The configuration asks for another array.
    #[error(
        "the array on the drives has {found} {what}, and the configuration asks for {asked}; change the configuration"
    )]
    Geometry {
        /// What differs.
        what: &'static str,
        /// On the drives.
        found: u64,
        /// In the configuration.
        asked: u64,
    },
    /// Another level.
    #[error(
        "the array on the drives is a {found}, and the configuration asks for a {asked}; change the configuration"
    )]
    Level {
        /// On the drives.
        found: &'static str,
        /// In the configuration.
        asked: &'static str,
    },
    /// Drives that each went on without the other.
    #[error(
        "the drives at places {first} and {second} each went on without the other: take away the one whose changes are not wanted"
    )]
    Split {
        /// One place.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Too few drives.
    #[error("{absent} drives are missing, failed or stale ({}), and this array can miss {spare} in a stripe: bring back the missing ones", list(*.members))]
    TooFew {
        /// How many.
        absent: u32,
        /// Which, as bits.
        members: u64,
        /// How many a stripe can miss.
        spare: u32,
    },
}

fn list(members: u64) -> String {
    let numbers = (0..64).filter(|bit| members >> bit & 1 == 1).map(|bit| bit.to_string());
    numbers.collect::<Vec<_>>().join(", ")
}

/// Decides how the drives found at the configured places, in order, make an array. `asked` is what
/// the configuration says of it, if it says anything.
///
/// # Errors
///
/// If they are not one array, or too few of it.
pub fn assemble(found: &[Found], asked: Option<&Geometry>) -> Result<Assembly, Refusal> {
    let mut notes = Vec::new();
    let mut drives: Vec<(usize, &Superblock)> = Vec::new();
    for (place, found) in found.iter().enumerate() {
        match found {
            Found::Missing => {}
            Found::Drive(Ok(superblock)) => drives.push((place, superblock)),
            Found::Drive(Err(
                error @ (SuperblockError::Foreign | SuperblockError::Version { .. }),
            )) => return Err(Refusal::Unusable { place, error: error.clone() }),
            Found::Drive(Err(error)) => notes.push(Note::Unusable { place, error: error.clone() }),
        }
    }
    let newest = newest(&drives).ok_or(Refusal::Nothing { places: found.len() })?;
    check_agreement(&drives, newest)?;
    let geometry = newest.1.geometry;
    let width = usize::from(geometry.width);
    if found.len() != width {
        return Err(Refusal::Width { drives: width, places: found.len() });
    }
    if let Some(asked) = asked {
        check_geometry(&geometry, asked)?;
    }
    let order = order(&drives, width)?;

    let mut states = newest.1.states.clone();
    let mut absent = 0u64;
    let mut rebuilding = 0u64;
    let serving = |(member, state): (usize, &MemberState)| {
        if *state == MemberState::Serving { 1 << member } else { 0u64 }
    };
    let served = states.iter().enumerate().map(serving).fold(0, |bits, bit| bits | bit);
    for (member, state) in states.iter_mut().enumerate() {
        let drive = order[member].and_then(|at| drives.iter().find(|(place, _)| *place == at));
        let Some(&(place, superblock)) = drive else {
            notes.push(Note::Missing { member });
            *state = MemberState::Failed;
            absent |= 1 << member;
            continue;
        };
        if place != member {
            notes.push(Note::Moved { member, place });
        }
        let (generation, newest) = (superblock.generation, newest.1.generation);
        match state {
            MemberState::Failed => {
                notes.push(Note::Failed { member, place });
                absent |= 1 << member;
            }
            _ if generation.saturating_add(1) < newest => {
                notes.push(Note::Stale { member, place, generation, newest });
                *state = MemberState::Failed;
                absent |= 1 << member;
            }
            MemberState::Serving => {}
            MemberState::Rebuilding { .. } => {
                absent |= 1 << member;
                rebuilding |= 1 << member;
            }
        }
    }
    check_enough(&geometry, absent)?;
    Ok(Assembly {
        uuid: newest.1.uuid,
        geometry,
        region_bytes: newest.1.region_bytes,
        created_seconds: newest.1.created_seconds,
        order,
        absent,
        rebuilding,
        lost: absent & served,
        states,
        generation: newest.1.generation,
        clean: newest.1.clean,
        notes,
    })
}

/// The drive with the highest generation of the array that most drives belong to.
fn newest<'a>(drives: &[(usize, &'a Superblock)]) -> Option<(usize, &'a Superblock)> {
    let votes = |uuid: Uuid| drives.iter().filter(|(_, other)| other.uuid == uuid).count();
    // Of equals the first place, so that the answer does not depend on how a maximum is found.
    let rank = |&(place, superblock): &(usize, &Superblock)| {
        (votes(superblock.uuid), superblock.generation, std::cmp::Reverse(place))
    };
    drives.iter().copied().max_by_key(rank)
}

fn check_agreement(
    drives: &[(usize, &Superblock)],
    newest: (usize, &Superblock),
) -> Result<(), Refusal> {
    let (first, leader) = newest;
    for &(place, drive) in drives {
        if drive.uuid != leader.uuid {
            let (found, expected) = (drive.uuid, leader.uuid);
            return Err(Refusal::ForeignArray { place, found, expected });
        }
    }
    for &(second, drive) in drives {
        let disagree = |what| Err(Refusal::Disagree { first, second, what });
        if drive.geometry != leader.geometry {
            return disagree("layout");
        }
        if drive.region_bytes != leader.region_bytes {
            return disagree("intent record");
        }
        if drive.created_seconds != leader.created_seconds {
            return disagree("time of creation");
        }
    }
    for &(second, drive) in drives {
        // Each has seen the other fail: both went on, one after the other or apart.
        let gave_up = |by: &Superblock, on: &Superblock| {
            by.states.get(on.member.index()) == Some(&MemberState::Failed)
        };
        if drive.member != leader.member && gave_up(drive, leader) && gave_up(leader, drive) {
            return Err(Refusal::Split { first, second });
        }
        let same_generation = drive.generation == leader.generation;
        if same_generation && (drive.states != leader.states || drive.clean != leader.clean) {
            return Err(Refusal::Disagree { first, second, what: "state of the drives" });
        }
    }
    Ok(())
}

fn check_geometry(found: &Geometry, asked: &Geometry) -> Result<(), Refusal> {
    if found.level != asked.level {
        return Err(Refusal::Level { found: found.level.name(), asked: asked.level.name() });
    }
    let fields = [
        ("drives", u64::from(found.width), u64::from(asked.width)),
        ("members in a stripe", u64::from(found.stripe_width), u64::from(asked.stripe_width)),
        ("bytes in a chunk", found.chunk_bytes, asked.chunk_bytes),
        ("bytes in a page", u64::from(found.page_bytes), u64::from(asked.page_bytes)),
        ("bytes on a drive", found.drive_bytes, asked.drive_bytes),
    ];
    for (what, found, asked) in fields {
        if found != asked {
            return Err(Refusal::Geometry { what, found, asked });
        }
    }
    Ok(())
}

/// The place of each drive.
fn order(drives: &[(usize, &Superblock)], width: usize) -> Result<Vec<Option<usize>>, Refusal> {
    let mut order: Vec<Option<usize>> = vec![None; width];
    for &(second, drive) in drives {
        let member = drive.member.index();
        if let Some(first) = order[member] {
            return Err(Refusal::Twice { member, first, second });
        }
        order[member] = Some(second);
    }
    Ok(order)
}

/// Whether every stripe has enough drives. Stripes narrower than the array lie on neighbouring
/// drives and are dealt in turn, so their places repeat after as many stripes as there are drives.
fn check_enough(geometry: &Geometry, absent: u64) -> Result<(), Refusal> {
    let (width, members) = (u64::from(geometry.width), u64::from(geometry.stripe_width));
    let spare = geometry.level.parities(u32::from(geometry.stripe_width));
    for stripe in 0..width {
        let missing = (0..members)
            .filter(|member| absent >> ((stripe * members + member) % width) & 1 == 1)
            .count();
        if missing as u32 > spare {
            return Err(Refusal::TooFew { absent: absent.count_ones(), members: absent, spare });
        }
    }
    Ok(())
}
