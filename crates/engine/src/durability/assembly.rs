//! Assembly: which of the configured places hold the drives of one array, and if they are enough.
//!
//! A pure decision over what was found. One drive leads: its superblock says how each drive takes
//! part. [`lineage`](super::lineage) decides which drive leads, and which others are current.

use super::intent::Intent;
use super::lineage::{Claim, is_current, leader};
use super::refusal::{Note, Refusal};
use super::superblock::{Geometry, MemberState, Superblock, SuperblockError};
use super::uuid::Uuid;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Content of a configured place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// The file or device does not exist, or does not open.
    Missing,
    /// A drive: its superblock, or the reason why it has none.
    Drive(Result<Superblock, SuperblockError>),
}

/// Plan of an array's start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembly {
    /// The array.
    pub uuid: Uuid,
    /// Geometry of the array.
    pub geometry: Geometry,
    /// Bytes of a region of the intent record.
    pub region_bytes: u64,
    /// Time of its creation, in seconds since 1970.
    pub created_seconds: u64,
    /// Number of the configured place of each drive of the array; `None` if the drive was not
    /// found.
    pub order: Vec<Option<usize>>,
    /// Drives without usable data, as bits: missing, failed, stale and rebuilding ones.
    pub absent: u64,
    /// Drives of `absent` that are in their place and were being rebuilt, as bits.
    pub rebuilding: u64,
    /// Drives of `absent` that served when the array stopped, as bits.
    pub lost: u64,
    /// State of each drive from now on.
    pub states: Vec<MemberState>,
    /// The highest generation found; the next one to be written is one more.
    pub generation: u64,
    /// True if the array was shut down, and nothing needs to be repaired.
    pub clean: bool,
    /// Superblock of the leading drive, with the past changes that other drives know.
    pub leader: Superblock,
    /// Notes for the administrator.
    pub notes: Vec<Note>,
    /// Outdated drives that a forced start takes, as bits; `None` unless the start is forced.
    pub forced: Option<u64>,
    /// Bytes of the drives that the start replayed from the journal.
    pub replayed: Vec<Range<u64>>,
}

impl Assembly {
    /// Assembly of a new array; `leader` is its state before it runs.
    pub(super) fn new(leader: Superblock) -> Self {
        Self {
            uuid: leader.uuid,
            geometry: leader.geometry,
            region_bytes: leader.region_bytes,
            created_seconds: leader.created_seconds,
            order: (0..leader.states.len()).map(Some).collect(),
            absent: 0,
            rebuilding: 0,
            lost: 0,
            states: leader.states.clone(),
            generation: leader.generation,
            clean: leader.clean,
            notes: Vec::new(),
            forced: None,
            replayed: Vec::new(),
            leader,
        }
    }

    /// Last generation that the last clean shutdown wrote, if it was one.
    #[must_use]
    pub fn end_generation(&self) -> u64 {
        self.leader.committed.saturating_add(1)
    }
}

/// Decides how the drives found at the configured places, in order, form an array. `asked` is the
/// configured geometry, if any.
///
/// # Errors
///
/// If they are not one array, or too few of its drives.
pub fn assemble(found: &[Found], asked: Option<&Geometry>) -> Result<Assembly, Refusal> {
    let mut notes = Vec::new();
    let Gathered { drives, geometry, order } = gather(found, asked, &mut notes)?;
    let leader = leader(&drives).map_err(|(first, second)| Refusal::Split { first, second })?;
    let (_, leader) = leader.ok_or_else(|| nothing(found))?;
    check_states(&drives, leader)?;
    let leader = with_histories(leader, &drives);

    let mut states = leader.states.clone();
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
        match state {
            MemberState::Failed => {
                notes.push(Note::Failed { member, place });
                absent |= 1 << member;
            }
            _ if !is_current(superblock, &leader) => {
                let (generation, newest) = (superblock.generation, leader.generation);
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
        uuid: leader.uuid,
        geometry,
        region_bytes: leader.region_bytes,
        created_seconds: leader.created_seconds,
        order,
        absent,
        rebuilding,
        lost: absent & served,
        states,
        generation: drives.iter().map(|(_, drive)| drive.generation).max().unwrap_or(0),
        clean: leader.clean,
        leader,
        notes,
        forced: None,
        replayed: Vec::new(),
    })
}

/// Drives of one array, each found once.
pub(super) struct Gathered<'a> {
    pub(super) drives: Vec<Claim<'a>>,
    pub(super) geometry: Geometry,
    /// Place of each drive.
    pub(super) order: Vec<Option<usize>>,
}

/// Finds the drives of one array, whatever they say about how each takes part.
pub(super) fn gather<'a>(
    found: &'a [Found],
    asked: Option<&Geometry>,
    notes: &mut Vec<Note>,
) -> Result<Gathered<'a>, Refusal> {
    let mut drives: Vec<Claim> = Vec::new();
    for (place, found) in found.iter().enumerate() {
        match found {
            Found::Missing => {}
            Found::Drive(Ok(superblock)) => drives.push((place, superblock)),
            Found::Drive(Err(error @ SuperblockError::Version { .. })) => {
                return Err(Refusal::Unusable { place, error: error.clone() });
            }
            // An unreadable head does not keep the other drives from serving: it may be torn, if
            // the power failed while the drive joined. It is not written to.
            Found::Drive(Err(error)) => notes.push(Note::Unusable { place, error: error.clone() }),
        }
    }
    let finished: Vec<Claim> =
        drives.iter().copied().filter(|(_, drive)| !drive.is_being_created()).collect();
    let first = match of_most(&finished) {
        Some(first) => first,
        None if drives.is_empty() => return Err(nothing(found)),
        None => return Err(Refusal::BeingCreated),
    };
    // A drive of another array whose creation did not finish counts as missing.
    drives.retain(|&(place, drive)| {
        let counts = !drive.is_being_created() || drive.uuid == first.1.uuid;
        if !counts {
            notes.push(Note::Unusable { place, error: SuperblockError::Unfinished });
        }
        counts
    });
    check_agreement(&drives, first)?;
    let geometry = first.1.geometry;
    let width = usize::from(geometry.width);
    if found.len() != width {
        return Err(Refusal::Width { drives: width, places: found.len() });
    }
    if let Some(asked) = asked {
        check_geometry(&geometry, asked)?;
    }
    let order = order(&drives, width)?;
    Ok(Gathered { drives, geometry, order })
}

/// Refusal of a start at which no place has a superblock.
fn nothing(found: &[Found]) -> Refusal {
    let missing = found.iter().filter(|found| **found == Found::Missing).count();
    Refusal::Nothing { places: found.len(), missing }
}

/// Returns the leader's superblock, with past changes from other drives that take part: changes
/// that were prepared on some of them and then dropped.
fn with_histories(leader: &Superblock, drives: &[Claim]) -> Superblock {
    let mut known = leader.clone();
    for (_, drive) in drives.iter().filter(|(_, drive)| is_current(drive, leader)) {
        known.add_past_of(drive);
    }
    known
}

impl Assembly {
    /// Assembly of an example with all drives.
    #[cfg(test)]
    pub(crate) fn example(geometry: &Geometry) -> Self {
        let drives = usize::from(geometry.width);
        Self::new(Superblock {
            geometry: *geometry,
            states: vec![MemberState::Serving; drives],
            joined: vec![0; drives],
            ..super::superblock::tests::example()
        })
    }

    /// Returns the offset before which a drive that is being rebuilt certainly holds its data. It
    /// is the cursor, or the start of the first range that a crash may have left different from
    /// other drives.
    pub(crate) fn rebuilt_up_to(&self, cursor_bytes: u64, intent: &Intent) -> u64 {
        let region_bytes = intent.region_bytes();
        let marked =
            intent.dirty_regions().into_iter().map(|region| u64::from(region) * region_bytes);
        let replayed = self.replayed.iter().map(|range| range.start);
        marked.chain(replayed).fold(cursor_bytes, u64::min)
    }
}

/// Returns a drive of the array that most drives belong to.
fn of_most<'a>(drives: &[Claim<'a>]) -> Option<Claim<'a>> {
    let votes = |uuid: Uuid| drives.iter().filter(|(_, other)| other.uuid == uuid).count();
    // Of equals the first place, so that the answer does not depend on how a maximum is found.
    let rank = |&(place, superblock): &Claim| {
        (votes(superblock.uuid), superblock.generation, core::cmp::Reverse(place))
    };
    drives.iter().copied().max_by_key(rank)
}

fn check_agreement(drives: &[Claim], (first, expected): Claim) -> Result<(), Refusal> {
    for &(place, drive) in drives {
        if drive.uuid != expected.uuid {
            let (found, expected) = (drive.uuid, expected.uuid);
            return Err(Refusal::ForeignArray { place, found, expected });
        }
    }
    for &(second, drive) in drives {
        let disagree = |what| Err(Refusal::Disagree { first, second, what });
        if drive.geometry != expected.geometry {
            return disagree("layout");
        }
        if drive.region_bytes != expected.region_bytes {
            return disagree("intent record");
        }
        if drive.created_seconds != expected.created_seconds {
            return disagree("time of creation");
        }
    }
    Ok(())
}

/// Checks that drives that committed the same generation committed the same states.
fn check_states(drives: &[Claim], leader: &Superblock) -> Result<(), Refusal> {
    let says = |drive: &Superblock| (drive.states.clone(), drive.joined.clone(), drive.clean);
    let first = drives.iter().find(|(_, drive)| drive.member == leader.member);
    let first = first.map_or(0, |(place, _)| *place);
    for &(second, drive) in drives {
        let same = drive.committed == leader.committed && is_current(drive, leader);
        if same && says(drive) != says(leader) {
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

/// Returns the place of each drive.
fn order(drives: &[Claim], width: usize) -> Result<Vec<Option<usize>>, Refusal> {
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

/// Checks that every stripe has enough drives.
pub(super) fn check_enough(geometry: &Geometry, absent: u64) -> Result<(), Refusal> {
    if !geometry.misses_too_much(absent) {
        return Ok(());
    }
    let spare = geometry.level.parities(u32::from(geometry.stripe_width));
    Err(Refusal::TooFew { absent: absent.count_ones(), members: absent, spare })
}

#[cfg(test)]
mod tests {
    use super::super::superblock::PastBranch;
    use super::super::superblock::tests::example;
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;
    use array::Level;
    use proptest::prelude::*;
    use units::DriveId;

    fn drives(change: impl Fn(usize, &mut Superblock)) -> Vec<Found> {
        let drive = |member: usize| {
            let mut superblock = Superblock { member: DriveId(member as u8), ..example() };
            change(member, &mut superblock);
            Found::Drive(Ok(superblock))
        };
        (0..4).map(drive).collect()
    }

    fn superblock(found: &mut Found) -> &mut Superblock {
        match found {
            Found::Drive(Ok(superblock)) => superblock,
            _ => panic!("no superblock"),
        }
    }

    fn refusal(found: &[Found]) -> String {
        assemble(found, None).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_array_is_taken_in_any_order() {
        let mut found = drives(|_, _| {});
        let assembly = assemble(&found, Some(&example().geometry)).unwrap();
        assert_eq!(assembly.order, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!((assembly.absent, assembly.clean, assembly.generation), (0, false, 12));
        assert_eq!(assembly.notes, []);

        found.swap(1, 3);
        let assembly = assemble(&found, None).unwrap();
        assert_eq!(assembly.order, [Some(0), Some(3), Some(2), Some(1)]);
        assert_eq!(assembly.absent, 0);
        assert_eq!(
            assembly.notes,
            [Note::Moved { member: 1, place: 3 }, Note::Moved { member: 3, place: 1 }]
        );
    }

    #[test]
    fn one_drive_may_be_missing_blank_damaged_failed_or_stale() {
        let generation = example().generation;
        let cases: [(&str, Found, &str); 6] = [
            ("missing", Found::Missing, "drive 2 is missing: the array starts degraded"),
            ("blank", Found::Drive(Err(SuperblockError::Blank)), "place 2 is not used"),
            ("damaged", Found::Drive(Err(SuperblockError::Checksum)), "checksum is wrong"),
            ("unreadable", Found::Drive(Err(SuperblockError::Unreadable("no".into()))), "read: no"),
            (
                "stale",
                Found::Drive(Ok(Superblock {
                    member: DriveId(2),
                    generation: generation - 2,
                    committed: generation - 3,
                    ..example()
                })),
                "was left behind at generation 10 of 12",
            ),
            (
                "failed",
                Found::Drive(Ok(Superblock {
                    member: DriveId(2),
                    generation: 7,
                    committed: 6,
                    ..example()
                })),
                "drive 2 at place 2",
            ),
        ];
        for (name, case, words) in cases {
            let mut found = drives(|_, superblock| {
                if name == "failed" {
                    superblock.states[2] = MemberState::Failed;
                }
            });
            found[2] = case;
            let assembly = assemble(&found, None).unwrap();
            assert_eq!(assembly.absent, 0b100, "{name}");
            assert_eq!(assembly.states[2], MemberState::Failed, "{name}");
            assert_eq!(assembly.lost, if name == "failed" { 0 } else { 0b100 }, "{name}");
            let notes: Vec<String> = assembly.notes.iter().map(Note::to_string).collect();
            assert!(notes.iter().any(|note| note.contains(words)), "{name}: {notes:?}");
            found[3] = Found::Missing;
            assert_eq!(
                refusal(&found),
                "2 drives are missing, failed or stale (2, 3), and this array can miss 1 in a stripe: bring back the missing ones"
            );
        }
    }

    #[test]
    fn a_drive_that_was_prepared_for_the_last_commit_is_current() {
        // The process died while it committed generation 11 on all.
        let found = drives(|member, superblock| {
            if member != 3 {
                (superblock.generation, superblock.committed) = (11, 9);
                superblock.clean = true;
            }
        });
        let assembly = assemble(&found, None).unwrap();
        assert_eq!((assembly.absent, assembly.generation, assembly.clean), (0, 12, false));
    }

    /// A change that is only prepared goes on; what other drives prepared before is dropped.
    #[test]
    fn what_others_know_to_be_over_is_over_for_all() {
        let found = drives(|member, superblock| {
            superblock.proposed = 9;
            if member == 2 {
                superblock.past.add([PastBranch { branch: 4, until: 3 }]);
                superblock.proposed = 7;
            }
        });
        let past = assemble(&found, None).unwrap().leader.past;
        assert!(past.branches().map(|past| past.branch).eq([4, 7]), "{past:?}");
    }

    #[test]
    fn a_rebuild_that_was_cut_short_is_known() {
        let rebuilding = MemberState::Rebuilding { cursor_bytes: 0 };
        let found = drives(|_, superblock| superblock.states[1] = rebuilding);
        let assembly = assemble(&found, None).unwrap();
        assert_eq!((assembly.absent, assembly.rebuilding, assembly.lost), (0b10, 0b10, 0));
        assert_eq!(assembly.states[1], rebuilding);
    }

    #[test]
    fn what_is_not_one_array_is_refused() {
        assert!(refusal(&[]).contains("none of the 0 places"));
        let blank = || Found::Drive(Err(SuperblockError::Blank));
        let missing = || Found::Missing;
        for (found, said) in [
            ([missing(), missing(), missing(), missing()], "none of the 4 drives is there"),
            ([blank(), missing(), blank(), blank()], "and 1 of them are not there"),
            ([blank(), blank(), blank(), blank()], "holds a drive of an array: correct the paths"),
        ] {
            let sentence = refusal(&found);
            assert!(sentence.contains(said) && !sentence.contains("create"), "{sentence}");
        }

        let foreign = drives(|member, superblock| {
            if member == 0 {
                superblock.uuid = Uuid([8; 16]);
                superblock.generation = 99;
            }
        });
        assert!(refusal(&foreign).starts_with("the drive at place 0 belongs to array 08080808"));

        let mut other = drives(|_, _| {});
        other[1] = Found::Drive(Err(SuperblockError::Foreign));
        let assembly = assemble(&other, None).unwrap();
        assert_eq!(assembly.absent, 0b10, "the others are served without it");
        assert!(assembly.notes.iter().any(|note| matches!(note, Note::Unusable { place: 1, .. })));
        other[1] = Found::Drive(Err(SuperblockError::Version { version: 9 }));
        assert!(refusal(&other).contains("place 1 cannot be used: its superblock has version 9"));

        let mut twice = drives(|_, _| {});
        superblock(&mut twice[3]).member = DriveId(0);
        assert!(refusal(&twice).contains("places 0 and 3 both hold drive 0"));

        let mut narrow = drives(|_, _| {});
        narrow.pop();
        assert!(refusal(&narrow).contains("has 4 drives, and 3 places are configured"));

        let mut layout = drives(|_, _| {});
        superblock(&mut layout[2]).geometry.chunk_bytes *= 2;
        assert!(refusal(&layout).contains("places 0 and 2 disagree about the layout"));

        let mut states = drives(|_, _| {});
        superblock(&mut states[2]).states[1] = MemberState::Failed;
        assert!(refusal(&states).contains("disagree about the state of the drives"));
        let moved: Vec<Found> = [3, 1, 0, 2].map(|place: usize| states[place].clone()).into();
        let said = refusal(&moved);
        assert!(said.contains("places 0 and 3 disagree about the state"), "{said}");
    }

    #[test]
    fn an_array_is_created_to_its_end_when_one_drive_says_so() {
        let created = |generations: [u64; 4]| {
            drives(|member, superblock| {
                (superblock.generation, superblock.committed) = (generations[member], 0);
            })
        };
        let words = "the creation of the array was cut short";
        assert!(refusal(&created([0, 0, 0, 0])).starts_with(words));
        let assembly = assemble(&created([0, 0, 1, 0]), None).unwrap();
        assert_eq!((assembly.absent, assembly.generation), (0, 1));

        let mut found = drives(|_, _| {});
        superblock(&mut found[1]).uuid = Uuid([8; 16]);
        (superblock(&mut found[1]).generation, superblock(&mut found[1]).committed) = (0, 0);
        let assembly = assemble(&found, None).unwrap();
        assert_eq!(assembly.absent, 0b10, "another array was being created there");
    }

    #[test]
    fn drives_that_each_went_on_alone_are_refused() {
        let mut found = drives(|member, superblock| {
            superblock.geometry.level = Level::Raid1;
            superblock.geometry.width = 2;
            superblock.geometry.stripe_width = 2;
            superblock.states = vec![MemberState::Serving; 2];
            superblock.joined = vec![0; 2];
            superblock.member = DriveId(member as u8 % 2);
        });
        found.truncate(2);
        superblock(&mut found[0]).states[1] = MemberState::Failed;
        superblock(&mut found[1]).states[0] = MemberState::Failed;
        superblock(&mut found[1]).generation += 5;
        superblock(&mut found[1]).committed += 5;
        assert!(refusal(&found).contains("places 1 and 0 each went on without the other"));
        found[0] = Found::Missing;
        assert_eq!(assemble(&found, None).unwrap().absent, 1, "either alone will do");
    }

    type Change = fn(&mut Geometry);

    #[test]
    fn another_configuration_is_refused() {
        let found = drives(|_, _| {});
        let changes: [(Change, &str); 6] = [
            (|g| g.level = Level::Raid6, "is a raid5, and the configuration asks for a raid6"),
            (|g| g.width = 5, "has 4 drives, and the configuration asks for 5"),
            (|g| g.stripe_width = 3, "has 4 members in a stripe"),
            (|g| g.chunk_bytes = 4096, "has 65536 bytes in a chunk"),
            (|g| g.page_bytes = 8192, "has 4096 bytes in a page"),
            (|g| g.drive_bytes = 4096, "has 1073741824 bytes on a drive"),
        ];
        for (change, words) in changes {
            let mut asked = example().geometry;
            change(&mut asked);
            let said = assemble(&found, Some(&asked)).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn mirrors_may_miss_a_half_of_each_pair() {
        let pairs = |missing: &[usize]| {
            let mut found = drives(|_, superblock| {
                superblock.geometry.level = Level::Raid10;
                superblock.geometry.stripe_width = 2;
            });
            missing.iter().for_each(|&place| found[place] = Found::Missing);
            assemble(&found, None).map(|assembly| assembly.absent)
        };
        assert_eq!(pairs(&[0, 3]), Ok(0b1001));
        assert!(matches!(pairs(&[2, 3]), Err(Refusal::TooFew { .. })));
    }

    /// History of a drive in the random test.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fate {
        Whole,
        Behind,
        Missing,
        Blank,
        Stale,
        Failed,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        use Fate::{Behind, Blank, Failed, Missing, Stale, Whole};
        prop_oneof![
            8 => Just(Whole),
            2 => Just(Behind),
            1 => Just(Missing),
            1 => Just(Blank),
            1 => Just(Stale),
            1 => Just(Failed),
        ]
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn every_array_starts_with_enough_drives_and_never_with_fewer(
            (fates, places, raid6) in (4usize..9).prop_flat_map(|width| (
                proptest::collection::vec(fate(), width),
                Just((0..width).collect::<Vec<_>>()).prop_shuffle(),
                any::<bool>(),
            )),
        ) {
            let width = fates.len();
            let mut common = example();
            common.geometry.level = if raid6 { Level::Raid6 } else { Level::Raid5 };
            common.geometry.width = width as u8;
            common.geometry.stripe_width = width as u8;
            common.joined = vec![0; width];
            common.states = fates
                .iter()
                .map(|fate| match fate {
                    Fate::Failed => MemberState::Failed,
                    _ => MemberState::Serving,
                })
                .collect();
            let mut found = vec![Found::Missing; width];
            for (member, fate) in fates.iter().enumerate() {
                let behind = match fate {
                    Fate::Behind => 1,
                    Fate::Stale | Fate::Failed => 4,
                    _ => 0,
                };
                let mut superblock = common.clone();
                superblock.member = DriveId(member as u8);
                superblock.generation -= behind;
                superblock.committed -= behind;
                found[places[member]] = match fate {
                    Fate::Missing => Found::Missing,
                    Fate::Blank => Found::Drive(Err(SuperblockError::Blank)),
                    _ => Found::Drive(Ok(superblock)),
                };
            }
            let whole = |fate: &&Fate| matches!(fate, Fate::Whole | Fate::Behind);
            // A whole drive must have the newest generation.
            prop_assume!(fates.contains(&Fate::Whole));
            let absent = (width - fates.iter().filter(whole).count()) as u32;
            let spare = if raid6 { 2 } else { 1 };
            match assemble(&found, None) {
                Ok(assembly) => {
                    prop_assert!(absent <= spare);
                    prop_assert_eq!(assembly.absent.count_ones(), absent);
                    for (member, fate) in fates.iter().enumerate() {
                        let bit = assembly.absent >> member & 1 == 0;
                        prop_assert_eq!(bit, whole(&fate), "drive {}", member);
                        if whole(&fate) {
                            prop_assert_eq!(assembly.order[member], Some(places[member]));
                        }
                    }
                }
                Err(error) => {
                    prop_assert!(matches!(error, Refusal::TooFew { .. }), "{}", error);
                    prop_assert!(absent > spare);
                }
            }
        }
    }
}
