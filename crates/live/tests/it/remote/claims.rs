//! Claims of drives on the network: what is claimed and what is not, what people are told, and what
//! becomes of a claim when its drive is away for a while.

use super::target::{Kind, Medium, TestDrive, options};
use crate::nvme_drive::host::{Host, Terms, in_capsule, io};
use engine::durability::Disk;
use engine::durability::owner::{Found, OWNER_AT};
use live::buffer::Buffer;
use live::durable::{ClaimError, claim, claimant};
use live::storage::{
    Backing, ClaimStanding, Claims, DATA_OFFSET_BYTES, DriveLocation, IoMethod, RemoteOptions,
    Storage, StoredDrive, Work,
};
use nvme::PlFlag;
use nvme::target::Persistence;
use nvme::wire::{
    AcquireAction, AcquireKeys, IoCommand, PersistChange, RegisterAction, RegisterKeys,
    ReservationCommand,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::{Arc, Mutex};
use units::{DriveId, Duration};

const DATA_BYTES: u64 = 2 << 20;
const LEASE: Duration = Duration::from_secs(1);
const DRIVE: DriveId = DriveId(0);

fn medium() -> Arc<Mutex<Medium>> {
    Medium::new((DATA_OFFSET_BYTES + DATA_BYTES) as usize)
}

/// Another server at every call.
fn server() -> RemoteOptions {
    let claimant = claimant(LEASE).unwrap();
    RemoteOptions {
        host_id: claimant.owner.0,
        claims: Some(Claims::new(claimant)),
        keep_alive: LEASE,
        reconnect: Duration::from_secs(20),
        ..options()
    }
}

fn open(place: &DriveLocation) -> StoredDrive {
    let mut drive = StoredDrive::open_head(place).unwrap();
    drive.set_bytes(DATA_BYTES).unwrap();
    drive
}

fn storage(place: &DriveLocation) -> Storage {
    let StoredDrive::Remote(remote) = open(place) else { panic!("it is on the network") };
    let mut storage = Storage::new(IoMethod::Best);
    storage.add(DRIVE, Backing::Remote(remote)).unwrap();
    storage
}

/// Lets a storage go on until its claims are as wanted.
fn wait(storage: &mut Storage, is_wanted: impl Fn(&ClaimStanding) -> bool) -> ClaimStanding {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        storage.kick().unwrap();
        while storage.poll().is_some() {}
        let standing = storage.claims(1).expect("it is claimed");
        if is_wanted(&standing) {
            return standing;
        }
        assert!(std::time::Instant::now() < until, "{standing:?}");
        let fd = storage.fd().unwrap();
        let timeout = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).unwrap();
    }
}

fn is_held(standing: &ClaimStanding) -> bool {
    matches!(standing, ClaimStanding::Held(_))
}

fn is_lost(standing: &ClaimStanding) -> bool {
    matches!(standing, ClaimStanding::Lost { .. })
}

fn kinds() -> [Kind; 3] {
    [Persistence::Absent, Persistence::Impossible, Persistence::Possible]
        .map(|reservations| Kind { reservations, ..Kind::plain(0) })
}

#[test]
fn a_drive_is_claimed_by_one_server_and_given_up_for_the_next() {
    for kind in kinds() {
        let drive = TestDrive::start(kind, medium());
        let (one, two) = (drive.place(&server()), drive.place(&server()));
        let claimed = claim(std::slice::from_ref(&one), false).unwrap();
        let mut storage = storage(&one);
        assert!(is_held(&wait(&mut storage, |_| true)), "{kind:?}");
        // The other looks while the first goes on.
        let refused = std::thread::scope(|scope| {
            let other = scope.spawn(|| claim(std::slice::from_ref(&two), false));
            while !other.is_finished() {
                wait(&mut storage, |_| true);
            }
            other.join().unwrap().unwrap_err()
        });
        assert!(matches!(refused, ClaimError::InUse { drive: 0, .. }), "{kind:?}: {refused}");
        assert!(is_held(&wait(&mut storage, |_| true)), "{kind:?}");
        drop(storage);
        drop(claimed);
        let second = claim(std::slice::from_ref(&two), false).unwrap();
        drop(open(&two));
        drop(second);
        if kind.reservations == Persistence::Possible {
            let left = drive.medium.lock().unwrap().reservations.clone();
            assert!(left.registrants.is_empty() && left.held.is_none(), "{left:?}");
        }
    }
}

#[test]
fn a_drive_with_something_else_on_it_is_neither_claimed_nor_changed() {
    for kind in kinds() {
        let medium = medium();
        // A file system, and zeros where an owner would be named.
        medium.lock().unwrap().bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
        let before = medium.lock().unwrap().bytes.clone();
        let drive = TestDrive::start(kind, medium.clone());
        let place = drive.place(&server());
        let _claimed = claim(std::slice::from_ref(&place), false).unwrap();
        let mut stored = open(&place);
        let written = stored.write(0, Buffer::zeroed(4096).bytes());
        assert!(written.unwrap_err().to_string().contains("has not claimed"), "{kind:?}");
        assert!(medium.lock().unwrap().bytes == before, "{kind:?}");
    }
}

#[test]
fn a_blank_drive_is_claimed_and_still_counts_as_blank() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let place = drive.place(&server());
    let claimed = claim(std::slice::from_ref(&place), false).unwrap();
    let mut stored = open(&place);
    engine::durability::check_blank(0, &mut stored).unwrap();
    let mut block = vec![0; 4096];
    stored.read(OWNER_AT, &mut block).unwrap();
    let Found::Owner(owner) = Found::decode(&block) else { panic!("it is claimed") };
    assert!(owner.name.as_str().contains(&format!("process {}", std::process::id())));
    stored.write(0, &[1; 4096]).unwrap();
    drop(stored);
    drop(claimed);
}

#[test]
fn a_claim_outlives_a_drive_that_forgets_its_reservations() {
    let kind = Kind { reservations: Persistence::Impossible, ..Kind::plain(0) };
    let mut drive = TestDrive::start(kind, medium());
    let (one, two) = (drive.place(&server()), drive.place(&server()));
    let _claimed = claim(std::slice::from_ref(&one), false).unwrap();
    let mut storage = storage(&one);
    wait(&mut storage, is_held);
    drive.kill();
    let _again = TestDrive::start_at(drive.address, kind, drive.medium.clone());
    // A read is done over the new connection, which found the reservation gone.
    let (offset_bytes, length_bytes, pl) = (0, 4096, PlFlag::Off);
    let buffer = Buffer::zeroed(4096);
    storage.submit(1, DRIVE, Work::Read { offset_bytes, buffer, length_bytes, pl });
    wait(&mut storage, is_held);
    while storage.in_flight() > 0 {
        wait(&mut storage, |_| true);
    }
    let refused = std::thread::scope(|scope| {
        let other = scope.spawn(|| claim(std::slice::from_ref(&two), false));
        while !other.is_finished() {
            wait(&mut storage, |_| true);
        }
        other.join().unwrap().unwrap_err()
    });
    assert!(matches!(refused, ClaimError::InUse { .. }), "{refused}");
}

#[test]
fn a_drive_that_another_server_has_meanwhile_is_lost_and_never_failed() {
    for kind in kinds() {
        let drive = TestDrive::start(kind, medium());
        let (one, two) = (drive.place(&server()), drive.place(&server()));
        let first = claim(std::slice::from_ref(&one), false).unwrap();
        let mut storage = storage(&one);
        wait(&mut storage, is_held);
        let buffer = Buffer::zeroed(4096);
        storage.submit(7, DRIVE, Work::Write { offset_bytes: 0, buffer, length_bytes: 4096 });
        // This server stands still: nobody turns its storage.
        let second = claim(std::slice::from_ref(&two), false).unwrap();
        let mut other = open(&two);
        other.write(DATA_OFFSET_BYTES, &[2; 4096]).unwrap();
        let lost = wait(&mut storage, is_lost);
        assert!(is_lost(&lost), "{kind:?}");
        // What it was to write is neither done nor failed.
        assert!(storage.poll().is_none() && storage.in_flight() == 1, "{kind:?}");
        let at = DATA_OFFSET_BYTES as usize;
        assert_eq!(drive.medium.lock().unwrap().bytes[at..at + 4096], [2; 4096], "{kind:?}");
        first.keep();
        drop(other);
        drop(second);
    }
}

#[test]
fn a_server_may_answer_nobody_any_more_when_another_has_its_drive() {
    for kind in kinds() {
        for takes_over in [false, true] {
            let drive = TestDrive::start(kind, medium());
            let (one, two) = (drive.place(&server()), drive.place(&server()));
            let first = claim(std::slice::from_ref(&one), false).unwrap();
            let mut storage = storage(&one);
            let ClaimStanding::Held(certainty) = wait(&mut storage, is_held) else {
                panic!("it is claimed")
            };
            assert!(certainty.holds(), "{kind:?} {takes_over}");
            // It stands still, and looks at nothing but its clock when it goes on.
            let second = claim(std::slice::from_ref(&two), takes_over).unwrap();
            assert!(!certainty.holds(), "{kind:?} {takes_over}");
            let standing = storage.claims(1);
            assert!(matches!(standing, Some(ClaimStanding::Lapsed)), "{kind:?} {standing:?}");
            first.keep();
            drop(second);
        }
    }
}

#[test]
fn a_reservation_of_another_host_is_left_alone_unless_people_say_otherwise() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let nqn = drive.remote().subsystem.to_string();
    let mut host = Host::attach(drive.address, &Terms { host_id: [0x5a; 16], ..Terms::new(&nqn) });
    let mut reserve = |command, keys: &[u8]| {
        let entry = io(in_capsule(keys.len()), IoCommand::Reservation(command));
        assert!(host.io.execute(entry, keys).entry.status.is_success());
    };
    let (action, ignore_key) = (RegisterAction::Register, false);
    let persist = PersistChange::Keep;
    let register = ReservationCommand::Register { action, ignore_key, persist };
    reserve(register, &RegisterKeys { current: 0, new: 0x77 }.encode());
    let acquire =
        ReservationCommand::Acquire { action: AcquireAction::Acquire, ignore_key, kind: 1 };
    reserve(acquire, &AcquireKeys { current: 0x77, preempt: 0 }.encode());
    let place = drive.place(&server());
    let refused = claim(std::slice::from_ref(&place), false).unwrap_err().to_string();
    assert!(
        refused.contains(
            "is reserved by the host 5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a with the key 0x77"
        ),
        "{refused}"
    );
    assert!(refused.contains("--take-over"), "{refused}");
    let claimed = claim(std::slice::from_ref(&place), true).unwrap();
    drop(claimed);
}
