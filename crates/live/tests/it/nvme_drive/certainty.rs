//! A target of an array whose drives another server may have.

use super::host::blind;
use super::served::{Plan, target_of};
use live::Certainty;
use live::clock::{Clock, Spin, Waiter};
use live::nvme_tcp::{SubsystemNames, Target};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use units::Duration;

/// Bytes of ICResp.
const RESPONSE_BYTES: u64 = 128;

#[test]
fn a_target_sends_nothing_as_soon_as_its_drives_may_be_anothers() {
    let (clock, mut events) = (Clock::new(), Vec::new());
    let mut waiter = Waiter::new(Spin::Fixed(Duration::ZERO)).unwrap();
    let names = SubsystemNames::new(&live::durable::random_uuid().unwrap(), None);
    let (setup, address) = target_of(&Plan::plain(), &names);
    let mut target = Target::new(setup, 0, &mut waiter).unwrap();
    let mut host = TcpStream::connect(address).unwrap();
    let over = Certainty::until(clock, clock.now());
    let later = Certainty::until(clock, clock.now() + Duration::from_secs(3600));
    host.write_all(&blind(&[])).unwrap();
    let mut received = 0;
    while received == 0 {
        assert_eq!(target.settle(clock.now(), later, &mut waiter).unwrap(), 0);
        waiter.wait(&clock, clock.now() + Duration::from_secs(1), false, &mut events).unwrap();
        for event in &events {
            received += target.handle_ready(clock.now(), event);
        }
        assert!(clock.now().as_nanos() < 60_000_000_000, "nothing was received");
    }
    // The answer is ready. The process may have been stopped here.
    assert_eq!(target.settle(clock.now(), over, &mut waiter).unwrap(), 0);
    host.set_nonblocking(true).unwrap();
    let mut bytes = [0; 2 * RESPONSE_BYTES as usize];
    assert_eq!(host.read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
    // It stays ready until the drives are certain again.
    assert_eq!(target.settle(clock.now(), later, &mut waiter).unwrap(), RESPONSE_BYTES);
    host.set_nonblocking(false).unwrap();
    host.read_exact(&mut bytes[..RESPONSE_BYTES as usize]).unwrap();
}
