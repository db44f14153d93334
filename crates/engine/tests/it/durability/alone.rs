//! Starts without drives: of two starts that do not know of each other, at most one goes on by
//! itself.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use super::sectors::{Power, SectorDisk};
use super::world::{self, QUIET_FOR, UUID};
use array::Level;
use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::{Disk, Doubt, Geometry, Journalled, MemberState, create, find};
use units::Rng;

fn geometry(level: Level, width: u8) -> Geometry {
    let whole = world::geometry(level, width);
    Geometry { stripe_width: if level == Level::Raid10 { 2 } else { width }, ..whole }
}

fn created(geometry: &Geometry) -> Vec<SectorDisk> {
    let blank = vec![SectorDisk::new(&Power::lasting()); usize::from(geometry.width)];
    let opened = create(blank, geometry, UUID, 1, QUIET_FOR).unwrap();
    opened.disks.into_iter().flatten().collect()
}

/// Returns the drives of a set, each in its place.
fn only(disks: &[SectorDisk], present: u64) -> Vec<Option<SectorDisk>> {
    let all = disks.iter().enumerate();
    all.map(|(at, disk)| (present >> at & 1 == 1).then(|| disk.clone())).collect()
}

const LAYOUTS: [(Level, u8); 8] = [
    (Level::Raid0, 2),
    (Level::Raid1, 2),
    (Level::Raid1, 3),
    (Level::Raid10, 4),
    (Level::Raid4, 3),
    (Level::Raid5, 4),
    (Level::Raid6, 4),
    (Level::Raid6, 5),
];

/// Arrays are started again and again with random drives, and go on whenever no confirmation is
/// needed.
#[test]
fn no_start_by_itself_misses_what_another_start_did() {
    let (mut degraded, mut refused, mut too_few) = (0, 0, 0);
    for seed in testing::seeds(0..60) {
        let mut rng = Rng::stream(seed, "alone");
        for (level, width) in LAYOUTS {
            let mut disks = created(&geometry(level, width));
            let mut last = None;
            for _ in 0..12 {
                let present = rng.below(1 << width);
                let Ok(mut opening) = find(only(&disks, present), None) else {
                    too_few += 1;
                    continue;
                };
                match opening.doubt(QUIET_FOR).unwrap() {
                    Some(Doubt::Apart { away }) => {
                        refused += 1;
                        // The drives that are away could start too.
                        assert_eq!(away & present, 0, "{level:?}: {present:b}");
                        assert!(find(only(&disks, away), None).is_ok(), "{level:?}: {away:b}");
                        continue;
                    }
                    Some(hole) => panic!("nothing was written: {hole:?}"),
                    None => {}
                }
                let committed = opening.assembly.leader.committed;
                assert!(last.is_none_or(|last| last == committed), "{level:?}: {present:b}");
                degraded += u32::from(opening.assembly.absent != 0);
                let opened = opening.start(QUIET_FOR).unwrap();
                last = Some(opened.records.superblock.committed);
                for (disk, started) in disks.iter_mut().zip(opened.disks) {
                    started.into_iter().for_each(|started| *disk = started);
                }
            }
        }
    }
    assert!(testing::is_repeat() || degraded > 0 && refused > 0 && too_few > 0);
}

#[test]
fn a_lost_drive_is_no_reason_to_ask_where_it_cannot_go_on_alone() {
    // The drives found, and the drives away that could go on alone.
    let cases = [
        ((Level::Raid1, 2), 0b01, Some(0b10)),
        ((Level::Raid1, 3), 0b011, Some(0b100)),
        ((Level::Raid10, 4), 0b1110, None),
        ((Level::Raid10, 4), 0b0101, Some(0b1010)),
        ((Level::Raid5, 4), 0b1011, None),
        ((Level::Raid6, 4), 0b1110, None),
        ((Level::Raid6, 4), 0b0011, Some(0b1100)),
        ((Level::Raid6, 5), 0b00111, None),
    ];
    for ((level, width), present, away) in cases {
        let disks = created(&geometry(level, width));
        let mut opening = find(only(&disks, present), None).unwrap();
        let doubt = opening.doubt(QUIET_FOR).unwrap();
        assert_eq!(doubt, away.map(|away| Doubt::Apart { away }), "{level:?}: {present:b}");
        if doubt.is_none() {
            continue;
        }
        // Once the failure of the others is recorded, no confirmation is needed any more.
        let opened = opening.start(QUIET_FOR).unwrap();
        let mut again = find(opened.disks, None).unwrap();
        assert_eq!(again.doubt(QUIET_FOR).unwrap(), None, "{level:?}: {present:b}");
    }
}

/// A drive that was being rebuilt may be complete by now, and the only one left. The drives that
/// were read for its rebuild do not know that.
#[test]
fn a_drive_that_is_being_rebuilt_elsewhere_is_away() {
    let disks = created(&geometry(Level::Raid10, 4));
    let mut opening = find(only(&disks, 0b1110), None).unwrap();
    assert_eq!(opening.assembly.away(), 0b0001);
    opening.assembly.leader.states[0] = MemberState::Failed;
    assert_eq!(opening.assembly.away(), 0);
    opening.assembly.leader.states[0] = MemberState::Rebuilding { cursor_bytes: 0 };
    assert_eq!(opening.assembly.away(), 0b0001);
    opening.assembly.rebuilding = 0b0001;
    assert_eq!(opening.assembly.away(), 0, "it is here");
}

#[test]
fn a_write_hole_is_asked_about() {
    for (journalled, is_marked, holes) in [
        (Journalled::Degraded, true, true),
        (Journalled::Degraded, false, false),
        (Journalled::Always, true, false),
    ] {
        let geometry = Geometry { journalled, ..geometry(Level::Raid5, 4) };
        let mut disks = created(&geometry);
        if is_marked {
            for disk in &mut disks {
                // A block of zeros counts as all marked.
                disk.write(INTENT_OFFSET_BYTES, &[0; BLOCK]).unwrap();
                disk.sync().unwrap();
            }
        }
        let doubt = |present| find(only(&disks, present), None).unwrap().doubt(QUIET_FOR);
        assert_eq!(doubt(0b1111).unwrap(), None);
        match doubt(0b1110).unwrap() {
            Some(Doubt::WriteHole { lost, regions }) => {
                assert!(holes && lost == 1 && regions > 0, "{journalled:?}, {is_marked}");
            }
            other => assert!(!holes && other.is_none(), "{journalled:?}, {is_marked}: {other:?}"),
        }
    }
}
