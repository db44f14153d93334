//! Who may connect, who hears of what, and who is forgotten.

use super::host::{BLOCK, HOST_NQN, Host, Queue, read, records, write};
use super::served::{Plan, Served};
use nvme::target::HostList;
use nvme::wire::pdu::Digests;
use nvme::wire::{AdminCommand, CNTLID_DYNAMIC, ConnectRefusal, Nqn};
use std::io::Write;
use std::time::Duration;

#[test]
fn hosts_that_are_not_listed_neither_connect_nor_find_the_drive() {
    let allowed = Nqn::new("nqn.2026-01.example:friend").unwrap();
    let plan = Plan { hosts: HostList::Only(vec![allowed]), ..Plan::plain() };
    let served = Served::start(plan);
    let refused = Queue::connect(served.address, &served.terms(), (0, 31), CNTLID_DYNAMIC);
    let entry = refused.unwrap_err();
    let refusal = ConnectRefusal::decode(entry.status, entry.dw0());
    assert_eq!(refusal, Some(ConnectRefusal::InvalidHost));
    assert_eq!(records(served.address, HOST_NQN), []);
    let found = records(served.address, allowed.as_str());
    let [record] = &found[..] else { panic!("{found:?}") };
    assert_eq!(record.subsystem.unwrap().as_str(), served.nqn);
    assert_eq!(record.address.as_str(), "127.0.0.1");
    assert_eq!(record.service.as_str(), served.address.port().to_string());
    let mut terms = served.terms();
    terms.host = allowed.as_str().into();
    let mut host = Host::attach(served.address, &terms);
    write(&mut host.io, 3, &[3; BLOCK]);
    let mut other = terms.clone();
    other.subsystem = "nqn.2026-01.example:other".into();
    let refused = Queue::connect(served.address, &other, (0, 31), CNTLID_DYNAMIC);
    assert_eq!(
        ConnectRefusal::decode(refused.as_ref().unwrap_err().status, refused.unwrap_err().dw0()),
        Some(ConnectRefusal::NO_SUBSYSTEM)
    );
}

#[test]
fn two_hosts_see_the_same_bytes() {
    let served = Served::start(Plan::plain());
    let (mut first, mut second) = (served.attach(), served.attach());
    assert_ne!(first.admin.controller, second.admin.controller);
    write(&mut first.io, 7, &[1; 3 * BLOCK]);
    write(&mut second.io, 8, &[2; BLOCK]);
    assert_eq!(read(&mut first.io, 8, 1), [2; BLOCK]);
    assert_eq!(read(&mut second.io, 9, 1), [1; BLOCK]);
    // One that goes takes nothing from the other.
    drop(first);
    assert_eq!(read(&mut second.io, 7, 1), [1; BLOCK]);
}

#[test]
fn a_host_that_is_silent_loses_its_controller_and_one_that_is_not_keeps_it() {
    let served = Served::start(Plan::plain());
    let mut terms = served.terms();
    terms.keep_alive_ms = 1000;
    let mut silent = Host::attach(served.address, &terms);
    let mut lively = Host::attach(served.address, &terms);
    // The timeout, its granularity, and some more.
    for _ in 0..14 {
        std::thread::sleep(Duration::from_millis(200));
        let alive = lively.admin.admin(0, AdminCommand::KeepAlive, 0);
        assert!(alive.entry.status.is_success());
    }
    assert!(silent.io.is_closed() && silent.admin.is_closed());
    write(&mut lively.io, 0, &[1; BLOCK]);
}

#[test]
fn a_reset_closes_the_queues_of_its_controller_and_of_no_other() {
    let served = Served::start(Plan::plain());
    let (mut first, mut second) = (served.attach(), served.attach());
    first.admin.set_configuration(0);
    assert!(first.io.is_closed());
    write(&mut second.io, 0, &[1; BLOCK]);
    first.admin.enable();
    let mut again = first.queue(served.address, &served.terms(), 1);
    assert_eq!(read(&mut again, 0, 1), [1; BLOCK]);
}

#[test]
fn what_is_no_pdu_ends_its_connection_with_the_reason() {
    let served = Served::start(Plan::plain());
    let mut host = served.attach();
    let mut queue = Queue::greet(served.address, Digests::default());
    queue.stream.write_all(&[0x77; 200]).unwrap();
    assert!(queue.is_closed());
    write(&mut host.io, 0, &[1; BLOCK]);
}
