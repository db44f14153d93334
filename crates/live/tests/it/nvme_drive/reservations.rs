//! Reservations of a drive on real sockets: who is kept out, what is in progress, and what outlives
//! a process.

use super::host::{BLOCK, Host, Queue, Terms, in_capsule, io, range, read, write};
use super::served::{Plan, Served};
use live::storage::DriveLocation;
use nvme::wire::{
    AcquireAction, AcquireKeys, IoCommand, PersistChange, RegisterAction, RegisterKeys,
    ReservationCommand, ReservationHeader, ReservationType, SglDescriptor, StatusCode, StatusField,
    StatusFormat, Transfer, read_reservations,
};

const KIND: ReservationType = ReservationType::ExclusiveAccessRegistrants;
const CONFLICT: StatusField = StatusCode::ReservationConflict.for_good();

fn attach(served: &Served, number: u8) -> Host {
    let terms = Terms { host_id: [number; 16], ..served.terms() };
    Host::attach(served.address, &terms)
}

fn reserve(queue: &mut Queue, command: ReservationCommand, keys: &[u8]) -> StatusField {
    let entry = io(in_capsule(keys.len()), IoCommand::Reservation(command));
    queue.execute(entry, keys).entry.status
}

fn register(queue: &mut Queue, key: u64, persist: PersistChange) -> StatusField {
    let (action, ignore_key) = (RegisterAction::Register, false);
    let command = ReservationCommand::Register { action, ignore_key, persist };
    reserve(queue, command, &RegisterKeys { current: 0, new: key }.encode())
}

fn take(queue: &mut Queue, action: AcquireAction, key: u64, preempt: u64) -> StatusField {
    let (ignore_key, kind) = (false, KIND.encode());
    let command = ReservationCommand::Acquire { action, ignore_key, kind };
    reserve(queue, command, &AcquireKeys { current: key, preempt }.encode())
}

fn report(queue: &mut Queue) -> (ReservationHeader, Vec<(u64, bool)>) {
    let command = ReservationCommand::Report { dwords: 1023, extended: true };
    let descriptor = SglDescriptor::Transport { bytes: 4096 };
    let answered = queue.execute(io(descriptor, IoCommand::Reservation(command)), &[]);
    let (header, entries) = read_reservations(&answered.data, StatusFormat::Extended).unwrap();
    (header, entries.map(|entry| (entry.key, entry.holds)).collect())
}

fn write_command(lba: u64, blocks: usize) -> IoCommand {
    IoCommand::Write(Transfer::new(range(lba, blocks)))
}

#[test]
fn a_write_whose_data_come_after_the_preemption_is_not_done() {
    let served = Served::start(Plan::plain());
    let (mut first, mut second) = (attach(&served, 1), attach(&served, 2));
    assert_eq!(register(&mut first.io, 1, PersistChange::Keep), StatusField::SUCCESS);
    assert_eq!(take(&mut first.io, AcquireAction::Acquire, 1, 0), StatusField::SUCCESS);
    write(&mut first.io, 5, &[1; BLOCK]);
    // The drive asks for these data, and gets them when another host has the reservation.
    let late = vec![2; 8 * BLOCK];
    let descriptor = SglDescriptor::Transport { bytes: late.len() as u32 };
    let cid = first.io.send(io(descriptor, write_command(0, 8)), &late);
    assert_eq!(register(&mut second.io, 2, PersistChange::Keep), StatusField::SUCCESS);
    let abort = AcquireAction::PreemptAndAbort;
    assert_eq!(take(&mut second.io, abort, 2, 1), StatusField::SUCCESS);
    assert_eq!(first.io.wait(cid).entry.status, CONFLICT);
    assert_eq!(read(&mut second.io, 5, 1), [1; BLOCK], "nothing of it was written");
    let descriptor = SglDescriptor::Transport { bytes: BLOCK as u32 };
    let command = IoCommand::Read(Transfer::new(range(5, 1)));
    assert_eq!(first.io.execute(io(descriptor, command), &[]).entry.status, CONFLICT);
    assert_eq!(report(&mut second.io).1, [(2, true)]);
}

#[test]
fn what_a_preempted_host_has_in_progress_ends_before_the_other_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let location = DriveLocation::File(folder.path().join("drive"));
    let served = Served::start(Plan { location, ..Plan::plain() });
    for round in 0..20_u8 {
        let (mut first, mut second) = (attach(&served, 1), attach(&served, 2));
        assert_eq!(register(&mut first.io, 1, PersistChange::Keep), StatusField::SUCCESS);
        assert_eq!(register(&mut second.io, 2, PersistChange::Keep), StatusField::SUCCESS);
        assert_eq!(take(&mut first.io, AcquireAction::Acquire, 1, 0), StatusField::SUCCESS);
        let old = vec![round; 2 * BLOCK];
        for _ in 0..100 {
            first.io.send(io(in_capsule(old.len()), write_command(8, 2)), &old);
        }
        let abort = AcquireAction::PreemptAndAbort;
        assert_eq!(take(&mut second.io, abort, 2, 1), StatusField::SUCCESS);
        let new = vec![0xee; 2 * BLOCK];
        write(&mut second.io, 8, &new);
        for _ in 0..20 {
            assert_eq!(read(&mut second.io, 8, 2), new, "round {round}");
        }
        let unregister = ReservationCommand::Register {
            action: RegisterAction::Unregister,
            ignore_key: false,
            persist: PersistChange::Keep,
        };
        let keys = RegisterKeys { current: 2, new: 0 }.encode();
        assert_eq!(reserve(&mut second.io, unregister, &keys), StatusField::SUCCESS);
    }
}

#[test]
fn a_drive_in_a_file_keeps_what_it_was_told_to_keep() {
    let folder = tempfile::tempdir().unwrap();
    let location = DriveLocation::File(folder.path().join("drive"));
    let plan = || Plan { location: location.clone(), ..Plan::plain() };
    for persist in [PersistChange::Set, PersistChange::Clear] {
        let served = Served::start(plan());
        let mut host = attach(&served, 1);
        assert_eq!(register(&mut host.io, 0x77, persist), StatusField::SUCCESS);
        assert_eq!(take(&mut host.io, AcquireAction::Acquire, 0x77, 0), StatusField::SUCCESS);
        served.stop();
        let served = Served::start(plan());
        let (mut first, mut second) = (attach(&served, 1), attach(&served, 2));
        let (header, entries) = report(&mut second.io);
        if persist == PersistChange::Set {
            assert_eq!((header.kind, header.persists), (KIND.encode(), 1));
            assert_eq!(entries, [(0x77, true)]);
            let answered =
                second.io.execute(io(in_capsule(BLOCK), write_command(0, 1)), &[0; BLOCK]);
            assert_eq!(answered.entry.status, CONFLICT);
            write(&mut first.io, 0, &[1; BLOCK]);
        } else {
            assert_eq!((header, entries), (ReservationHeader::default(), vec![]));
            write(&mut second.io, 0, &[2; BLOCK]);
        }
    }
    // One in memory cannot, and says so.
    let served = Served::start(Plan::plain());
    let mut host = attach(&served, 1);
    let refused = register(&mut host.io, 1, PersistChange::Set);
    assert_eq!(refused, StatusCode::InvalidField.for_good());
}
