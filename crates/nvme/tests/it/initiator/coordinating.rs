//! A coordinator against our own target: it reads every window, and its counts arrive.

use super::pair::Pair;
use nvme::initiator::{ControllerAction, Coordinating, Heard, Purpose};
use nvme::target::Action;
use nvme::wire::{AsyncEvent, CompletionEntry, StatusCode, StatusField};
use nvme::{WindowCounts, WindowTraffic};
use units::{Duration, Instant};

fn traffic(window: u64) -> WindowTraffic {
    let ended = Instant::ZERO + Duration::from_millis(window);
    WindowTraffic { window, ended, reads: [window, 1, 0], writes: 2 }
}

/// Sends the commands of the coordinator, and returns the answers.
fn talk(pair: &mut Pair, coordinating: &mut Coordinating) -> Vec<Heard> {
    let mut heard = Vec::new();
    loop {
        while let Some(submission) = coordinating.poll(pair.now) {
            pair.submit(submission);
        }
        pair.settle();
        let told = std::mem::take(&mut pair.told);
        if told.contains(&ControllerAction::Event(AsyncEvent::TrafficLog)) {
            coordinating.handle_event();
        }
        let over = std::mem::take(&mut pair.over);
        if over.is_empty() && told.is_empty() {
            return heard;
        }
        for (purpose, completion, data) in over {
            heard.extend(coordinating.handle_completion(purpose, &completion, &data));
        }
    }
}

#[test]
fn an_array_is_coordinated_window_by_window() {
    let mut pair = Pair::ready();
    pair.bench.subsystem.begin_traffic(Some(Duration::from_millis(1)));
    let mut coordinating = Coordinating::new(pair.now);
    let heard = talk(&mut pair, &mut coordinating);
    let [Heard::Traffic(log)] = &heard[..] else { panic!("{heard:?}") };
    assert!(log.windows.is_empty());
    for window in 1..=5 {
        pair.bench.subsystem.handle_traffic(traffic(window));
        pair.bench.pump();
        // Time does not pass, so only the event makes it read the page.
        let heard = talk(&mut pair, &mut coordinating);
        let [Heard::Traffic(log)] = &heard[..] else { panic!("{heard:?}") };
        assert_eq!(log.windows.last(), Some(&traffic(window)));
        let counts = WindowCounts { window, reads: [window; 3], writes: 1 };
        coordinating.set(log.generation, counts);
        let heard = talk(&mut pair, &mut coordinating);
        assert_eq!(heard, [Heard::Counts(StatusField::SUCCESS)]);
        assert_eq!(pair.bench.actions.pop(), Some(Action::SetCounts(counts)));
    }
    // An array without events is asked at intervals.
    assert!(coordinating.next_deadline() > pair.now);
    pair.pass(Duration::from_millis(200));
    let heard = talk(&mut pair, &mut coordinating);
    assert!(matches!(heard[..], [Heard::Traffic(_)]));
}

#[test]
fn an_array_that_wants_no_coordinator_says_so() {
    let mut pair = Pair::ready();
    let heard = talk(&mut pair, &mut Coordinating::new(Instant::ZERO));
    assert_eq!(heard, [Heard::NoTraffic(StatusCode::InvalidLogPage.for_good())]);
}

#[test]
fn answers_that_were_not_asked_for_or_are_nonsense_do_no_harm() {
    let mut coordinating = Coordinating::new(Instant::ZERO);
    let success = CompletionEntry::new(0, StatusField::SUCCESS);
    let page = [0xff; 4096];
    for purpose in [Purpose::Traffic, Purpose::WindowCounts, Purpose::KeepAlive] {
        assert_eq!(coordinating.handle_completion(purpose, &success, &page), None);
    }
    for data in [&page[..], &page[..100], &[]] {
        assert!(coordinating.poll(Instant::ZERO).is_some());
        assert_eq!(coordinating.poll(Instant::ZERO), None, "one at a time");
        let heard = coordinating.handle_completion(Purpose::Traffic, &success, data);
        assert_eq!(heard, Some(Heard::Malformed));
        coordinating.handle_event();
    }
}
