//! From the first byte to a usable drive, and its life after that.

use super::pair::{HOST, Pair, config};
use crate::target::bench::{BLOCKS, Bench, config as target, terms};
use nvme::WindowScope;
use nvme::initiator::{
    ControllerAction, ControllerConfig, ControllerError, Outgoing, WindowAnswer,
};
use nvme::target::{Action, HostList};
use nvme::wire::ioda::{ArraySettings, FastFail};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    AsyncEvent, BlockCount, BlockRange, ConnectRefusal, IoCommand, Nqn, StatusField, Transfer,
    window_event,
};
use units::{Duration, Instant};

fn told(bench: Bench, config: ControllerConfig) -> Vec<ControllerAction> {
    let mut pair = Pair::new(bench, config, Digests::default());
    pair.settle();
    pair.told
}

#[test]
fn a_drive_is_what_it_says_it_is() {
    for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut pair = Pair::new(Bench::new(), config(), Digests { header, data });
        assert!(pair.controller.facts().is_none());
        pair.settle();
        assert_eq!(pair.told, [ControllerAction::Ready]);
        let facts = *pair.controller.facts().unwrap();
        assert_eq!((facts.nsid, facts.blocks, facts.block_shift), (1, BLOCKS as u64, 9));
        assert_eq!((facts.transfer_max_bytes, facts.nguid), (131_072, [7; 16]));
        assert!(facts.write_cache && facts.write_zeroes && facts.deallocates_to_zeroes);
        assert_eq!((facts.nvm_set, facts.ioda), (1, target().ioda));
        assert_eq!((pair.controller.io_queues(), pair.links.len()), (1, 2));
    }
}

#[test]
fn as_many_queues_are_connected_as_are_granted() {
    let mut pair =
        Pair::new(Bench::new(), ControllerConfig { io_queues: 7, ..config() }, Digests::default());
    pair.settle();
    assert_eq!((pair.controller.io_queues(), pair.links.len()), (2, 3));
}

#[test]
fn what_the_drive_does_not_want_is_told() {
    let nobody = Nqn::new("nqn.2026-01.example:nobody").unwrap();
    let over = |error| vec![ControllerAction::Over(error)];
    let refused = told(Bench::new(), ControllerConfig { subsystem: nobody, ..config() });
    assert_eq!(refused, over(ControllerError::Refused(ConnectRefusal::NO_SUBSYSTEM)));

    let hosts = HostList::Only(vec![nobody]);
    let refused =
        told(Bench::with(nvme::target::SubsystemConfig { hosts, ..target() }, terms()), config());
    let error = ControllerError::Refused(ConnectRefusal::InvalidHost);
    assert_eq!(refused, over(error));
    assert!(!error.may_pass());
    assert_eq!(error.to_string(), "this host is not allowed to use it");

    let hosts = HostList::Only(vec![Nqn::new(HOST).unwrap()]);
    let taken =
        told(Bench::with(nvme::target::SubsystemConfig { hosts, ..target() }, terms()), config());
    assert_eq!(taken, [ControllerAction::Ready]);

    let other = told(Bench::new(), ControllerConfig { namespace: Some(2), ..config() });
    assert!(matches!(other[..], [ControllerAction::Over(_)]), "{other:?}");
    let discovery = Nqn::new(Nqn::DISCOVERY).unwrap();
    let other = told(Bench::new(), ControllerConfig { subsystem: discovery, ..config() });
    assert_eq!(other, over(ControllerError::Discovery));
}

#[test]
fn a_drive_that_does_not_answer_is_given_up_in_time() {
    // The target stops answering after `bytes` bytes.
    for bytes in (0..40).map(|number| number * 97) {
        let mut pair = Pair::new(Bench::new(), config(), Digests::default());
        let mut left: usize = bytes;
        while left > 0 && pair.told.is_empty() {
            let before = left;
            for number in 0..pair.links.len() {
                let most = left.min(50);
                left -= most;
                pair.deliver_to_target(number, usize::MAX);
                pair.deliver_to_host(number, most);
            }
            if left == before {
                pair.settle_nothing();
            }
        }
        pair.is_cut = true;
        pair.pass(Duration::from_secs(60));
        let is_last = |told: &[ControllerAction]| {
            matches!(told, [.., ControllerAction::Over(ControllerError::Timeout)])
        };
        assert!(is_last(&pair.told), "after {bytes} bytes: {:?}", pair.told);
        assert_eq!(pair.controller.next_deadline(), Instant::NEVER);
    }
}

impl Pair {
    /// Carries out the actions of the controller while nothing arrives.
    fn settle_nothing(&mut self) {
        self.is_cut = true;
        self.settle();
        self.is_cut = false;
    }
}

#[test]
fn keep_alive_keeps_alive() {
    let mut pair = Pair::ready();
    pair.pass(Duration::from_secs(100));
    assert!(pair.told.is_empty() && pair.controller.is_ready());
    let is_expiry = |action: &Action| matches!(action, Action::CloseController { .. });
    assert!(!pair.bench.actions.iter().any(is_expiry));
    pair.is_cut = true;
    pair.pass(Duration::from_secs(6));
    assert_eq!(pair.told, [ControllerAction::Over(ControllerError::Timeout)]);
}

#[test]
fn an_end_in_order_is_told_to_the_drive() {
    let mut pair = Pair::ready();
    pair.controller.shut_down(pair.now);
    pair.settle();
    assert_eq!(pair.told, [ControllerAction::ShutDown]);
    assert!(matches!(pair.bench.actions[..], [Action::ShutDown { abrupt: false, .. }]));
}

fn settings() -> ArraySettings {
    ArraySettings {
        parities: 1,
        width: 4,
        slot: 2,
        scope: WindowScope::Collections,
        cycle_start: Instant::from_nanos(5_000_000),
        busy_time_window: Some(Duration::from_millis(100)),
        guard: Duration::from_micros(50),
    }
}

#[test]
fn windows_are_agreed_as_the_page_says() {
    let mut pair = Pair::ready();
    pair.controller.ask_windows(pair.now);
    pair.settle();
    let [ControllerAction::Windows(WindowAnswer::Log(log, None))] = pair.told[..] else {
        panic!("{:?}", pair.told)
    };
    assert!(log.ioda.is_none(), "the word was not said");
    pair.told.clear();

    let unset = ArraySettings { busy_time_window: None, ..settings() };
    assert!(pair.controller.set_windows(pair.now, false, unset));
    assert!(!pair.controller.set_windows(pair.now, false, unset), "one at a time");
    pair.settle();
    pair.controller.ask_windows(pair.now);
    pair.settle();
    let [
        ControllerAction::Windows(WindowAnswer::Set(StatusField::SUCCESS)),
        ControllerAction::Windows(WindowAnswer::Log(log, Some(reading))),
    ] = pair.told[..]
    else {
        panic!("{:?}", pair.told)
    };
    assert_eq!(log.ioda.unwrap().advertised.shortest, Duration::from_millis(5));
    assert_eq!(reading.told, pair.bench.report.clock);
    pair.told.clear();

    assert!(pair.controller.set_windows(pair.now, true, settings()));
    pair.settle();
    assert_eq!(pair.told, [ControllerAction::Windows(WindowAnswer::Set(StatusField::SUCCESS))]);
    let Some(Action::SetWindows(order)) = pair.bench.actions.last() else { panic!() };
    assert_eq!((order.enabled, order.config.ioda), (true, Some(settings())));

    // A window that is too short is refused, and there is no other effect.
    pair.told.clear();
    let short = ArraySettings { busy_time_window: Some(Duration::from_millis(1)), ..settings() };
    assert!(pair.controller.set_windows(pair.now, true, short));
    pair.settle();
    let [ControllerAction::Windows(WindowAnswer::Set(status))] = pair.told[..] else { panic!() };
    assert!(!status.is_success() && pair.controller.is_ready());
}

#[test]
fn a_read_that_may_fails_fast_with_its_time() {
    let mut pair = Pair::ready();
    assert!(pair.controller.set_windows(pair.now, true, settings()));
    pair.settle();
    pair.bench.is_collecting = true;
    let range = BlockRange { lba: 8, blocks: BlockCount::new(8).unwrap() };
    for (tag, pl) in [(1, nvme::PlFlag::Predictable), (2, nvme::PlFlag::Off)] {
        let read = IoCommand::Read(Transfer { pl, ..Transfer::new(range) });
        assert!(pair.send(tag, read, Outgoing::Room(4096)));
    }
    pair.settle();
    let fast = |tag| pair.done.iter().find(|done| done.tag == tag).unwrap().completion;
    let failed = FastFail::decode(&fast(1)).unwrap();
    assert_eq!(failed.busy_remaining(), Duration::from_micros(1500));
    assert_eq!(fast(2).status, StatusField::SUCCESS);
}

#[test]
fn a_drive_that_collects_outside_of_its_window_tells() {
    let mut pair = Pair::ready();
    assert!(pair.controller.set_windows(pair.now, true, settings()));
    pair.settle();
    pair.told.clear();
    for _ in 0..3 {
        pair.bench.subsystem.handle_window_events(window_event::LEFT_EXCURSION);
        pair.bench.subsystem.handle_window_events(window_event::LEFT_EXCURSION);
        pair.bench.pump();
        pair.settle();
        assert_eq!(pair.told, [ControllerAction::Event(AsyncEvent::WindowAggregate)]);
        pair.told.clear();
        pair.controller.ask_windows(pair.now);
        pair.settle();
        let [ControllerAction::Windows(WindowAnswer::Log(log, _))] = pair.told[..] else {
            panic!()
        };
        assert_eq!(log.events, window_event::LEFT_EXCURSION);
        pair.told.clear();
    }
}
