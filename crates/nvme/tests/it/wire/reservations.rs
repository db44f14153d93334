//! The data of reservation commands, field by field.

use super::layout::Layout;
use nvme::wire::{
    AcquireKeys, RegisterKeys, RegistrantEntry, ReleaseKey, ReservationHeader, ReservationLog,
    ReservationNotice, ReservationType, StatusFormat, put_reservations, read_reservations,
};

const ENTRY: RegistrantEntry = RegistrantEntry {
    controller: 0xffff,
    holds: true,
    key: 0x1122_3344_5566_7788,
    host_id: *b"0123456789abcdef",
};

#[test]
fn keys() {
    let layout = Layout::of(16, RegisterKeys::FIELDS);
    let register = RegisterKeys { current: 0x0102_0304_0506_0708, new: 9 };
    layout.check(|bytes| Some(RegisterKeys::decode(bytes)), RegisterKeys::encode, &[register]);
    let layout = Layout::of(16, AcquireKeys::FIELDS);
    let acquire = AcquireKeys { current: 7, preempt: 0x0102_0304_0506_0708 };
    layout.check(|bytes| Some(AcquireKeys::decode(bytes)), AcquireKeys::encode, &[acquire]);
    let layout = Layout::of(8, ReleaseKey::FIELDS);
    let release = ReleaseKey { current: 0x0102_0304_0506_0708 };
    layout.check(|bytes| Some(ReleaseKey::decode(bytes)), ReleaseKey::encode, &[release]);
    assert_eq!(release.encode(), [8, 7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn a_report() {
    let header = ReservationHeader { generation: 7, kind: 4, registrants: 2, persists: 1 };
    let layout = Layout::of(24, ReservationHeader::FIELDS);
    layout.check(
        |bytes| Some(ReservationHeader::decode(bytes)),
        ReservationHeader::encode,
        &[header],
    );
    assert_eq!(header.reservation(), Some(ReservationType::ExclusiveAccessRegistrants));
    let basic = Layout::new(24, "0 2 CNTLID\n+ 1 RCSTS &01\n8 8 HOSTID\n+ 8 RKEY");
    let short = RegistrantEntry { host_id: *b"01234567\0\0\0\0\0\0\0\0", ..ENTRY };
    basic.check(
        |bytes| Some(RegistrantEntry::decode_basic(bytes)),
        RegistrantEntry::encode_basic,
        &[short],
    );
    let extended = Layout::new(64, "0 2 CNTLID\n+ 1 RCSTS &01\n8 8 RKEY\n+ 16 HOSTID");
    extended.check(
        |bytes| Some(RegistrantEntry::decode_extended(bytes)),
        RegistrantEntry::encode_extended,
        &[ENTRY],
    );
    for (format, entry, bytes) in
        [(StatusFormat::Basic, short, 72), (StatusFormat::Extended, ENTRY, 192)]
    {
        let other = RegistrantEntry { holds: false, key: 2, ..entry };
        let mut data = vec![0xee; bytes];
        put_reservations(header, [entry, other], format, &mut data);
        let (read, entries) = read_reservations(&data, format).unwrap();
        assert_eq!((read, entries.collect::<Vec<_>>()), (header, vec![entry, other]));
        // With less room, the count is still that of all registrants.
        for room in 0..bytes {
            let mut part = vec![0xee; room];
            put_reservations(header, [entry, other], format, &mut part);
            assert_eq!(part, data[..room], "{format:?}, {room}");
        }
    }
}

#[test]
fn notices() {
    let layout = Layout::of(64, ReservationLog::FIELDS);
    let page = ReservationLog { count: 3, kind: 1, available: 2, nsid: 1 };
    layout.check(|bytes| Some(ReservationLog::decode(bytes)), ReservationLog::encode, &[page]);
    let notices = [
        ReservationNotice::RegistrationPreempted,
        ReservationNotice::Released,
        ReservationNotice::Preempted,
    ];
    assert_eq!(notices.map(ReservationNotice::encode), [1, 2, 3]);
    assert_eq!(notices.map(ReservationNotice::mask), [2, 4, 8]);
}
