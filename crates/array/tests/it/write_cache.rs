//! Policies with a write cache: which pages are drained to which drive and when, where reads come
//! from, and which requests wait.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{PAGE, Script, config, fail, named, told};
use ioda_array::policy::{PlmLightSettings, PolicySettings, WriteCacheSettings};
use ioda_array::{
    Action, Array, CannotSwitch, Config, Coordination, Layout, Level, Request, RequestId,
    RequestKind,
};
use nvme::{Blocked, Cause, Completion, Delays, Opcode, Status};
use std::collections::BTreeMap;
use units::{Duration, Instant, Rng};

// In the log, D is a write that drains the write cache, W one of the host. In the script drives
// take turns of 100 ms, beginning with drive 0.

/// Advances the time to `millis`, and handles all deadlines until then.
fn pass_until(s: &mut Script, millis: u64) {
    let end = Instant::ZERO + Duration::from_millis(millis);
    while s.array.next_deadline() <= end {
        s.compute();
    }
    s.now = end;
}

#[test]
fn rails_drains_to_the_drive_whose_turn_it_is() {
    let mut s = Script::new(Level::Raid5, 4, named("rails"));
    // Page 1 is on drive 1, its parity on drive 3. The parity needs data of drive 0, which is
    // reconstructed, because it is drive 0's turn.
    s.request(RequestKind::Write, 1, 1);
    assert_eq!(s.log, "r2 r1 r3 ");
    for drive in [2, 1, 3] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "r2 r1 r3 ", "the new data is in the write cache");
    s.compute();
    assert_eq!(s.log, "r2 r1 r3 done ");
    s.log.clear();
    // Cached pages are read from the write cache, without a drive.
    s.request(RequestKind::Read, 1, 1);
    s.compute();
    assert_eq!(s.log, "done ");
    pass_until(&mut s, 99);
    assert_eq!(s.log, "done ", "drive 1 has to wait for its turn");
    pass_until(&mut s, 150);
    assert_eq!(s.log, "done D1 ");
    // Until the drain is done, the page is read from the write cache, and no other page from the
    // drive.
    s.log.clear();
    s.request(RequestKind::Read, 1, 1);
    s.request(RequestKind::Read, 5, 1);
    s.compute();
    assert_eq!(s.log, "r0 r2 r3 done ");
    assert_eq!(s.array.cached_pages(), 2);
    s.ok(1);
    assert_eq!(s.array.cached_pages(), 1);
    pass_until(&mut s, 301);
    assert!(s.log.ends_with("D3 "), "{}", s.log);
}

#[test]
fn a_drive_that_is_late_with_its_drains_holds_up_the_next() {
    let mut s = Script::new(Level::Raid5, 4, named("rails"));
    s.request(RequestKind::Write, 0, 3);
    assert_eq!(s.log, "D0 ");
    pass_until(&mut s, 120);
    assert_eq!(s.log, "D0 done ", "one drive at a time is written");
    s.ok(0);
    assert_eq!(s.log, "D0 done D1 ");
}

#[test]
fn nothing_is_drained_at_the_end_of_a_turn() {
    let mut s = Script::new(Level::Raid5, 4, named("rails"));
    s.now = Instant::ZERO + Duration::from_millis(98);
    s.request(RequestKind::Write, 0, 3);
    assert_eq!(s.log, "");
    pass_until(&mut s, 101);
    assert_eq!(s.log, "done D1 ");
}

#[test]
fn ioda_nvm_reads_with_the_flag_but_not_from_a_drive_that_is_written() {
    let mut s = Script::new(Level::Raid5, 4, named("ioda-nvm"));
    s.request(RequestKind::Read, 0, 1);
    assert_eq!(s.log, "R0 ");
    s.ok(0);
    s.log.clear();
    s.request(RequestKind::Write, 0, 3);
    s.request(RequestKind::Read, 4, 1);
    // Page 4 is on drive 0: stripe 1 has its parity on drive 2.
    assert_eq!(s.log.split(' ').filter(|word| *word == "R0").count(), 0, "{}", s.log);
    assert!(s.log.starts_with("D0 R"), "{}", s.log);
}

/// Rails with a cache for `pages` pages.
fn rails_with(pages: u64) -> Script {
    let capacity_bytes = Some(pages * PAGE);
    let write_cache = WriteCacheSettings { capacity_bytes, ..WriteCacheSettings::default() };
    let settings = PolicySettings { write_cache, ..PolicySettings::default() };
    Script::set(Level::Raid5, 4, named("rails"), settings)
}

#[test]
fn what_finds_no_room_waits_in_order() {
    let mut s = rails_with(2);
    // Four pages for a write cache of two: those of drives 0 and 1 are in it.
    s.request(RequestKind::Write, 0, 3);
    assert_eq!((s.array.cached_pages(), s.log.as_str()), (2, "D0 "));
    s.ok(0);
    // Drive 2 has taken the room of drive 0; drive 3 waits until drive 1 has had its turn.
    assert_eq!(s.array.cached_pages(), 2);
    pass_until(&mut s, 110);
    assert_eq!(s.log, "D0 D1 ");
    s.ok(1);
    pass_until(&mut s, 111);
    assert_eq!(s.log, "D0 D1 done ", "all four are in or drained");
    let counters = s.array.write_cache_counters().unwrap();
    assert_eq!((counters.waits, counters.peak_bytes, counters.cached_pages), (2, 2 * PAGE, 4));
}

#[test]
fn large_writes_go_past_the_stage_after_what_is_being_drained() {
    let settings = PolicySettings {
        write_cache: WriteCacheSettings {
            largest_write_bytes: Some(PAGE),
            ..WriteCacheSettings::default()
        },
        ..PolicySettings::default()
    };
    let layout = Layout::new(Level::Raid0, 2, 4, 1000).unwrap();
    let config = config(layout, named("plm-light"));
    let array = Array::new(Config { policy_settings: settings, ..config });
    let mut s = Script::of(array);
    s.request(RequestKind::Write, 2, 1);
    // The first deterministic window ends after 1 ms.
    pass_until(&mut s, 1);
    assert_eq!(s.log, "done D0 ");
    // Two writes of one page at once could end in either order.
    s.request(RequestKind::Write, 0, 4);
    assert_eq!(s.log, "done D0 ");
    s.ok(0);
    assert_eq!(s.log, "done D0 W0 ");
    // A version that waits is not drained any more: the large write replaces it.
    s.ok(0);
    s.log.clear();
    s.now = Instant::ZERO + Duration::from_micros(1_200);
    s.array.handle_deadline(s.now);
    s.request(RequestKind::Write, 1, 1);
    s.request(RequestKind::Write, 0, 4);
    pass_until(&mut s, 4);
    assert_eq!(s.log, "done W0 ");
    s.ok(0);
    assert_eq!(s.array.cached_pages(), 0);
}

/// PLM-light §III-C.2: "small writes (4K to 64K IO size in our case) are done in Optane and large
/// writes (larger than 64K) in SSD". Each drive gets a piece of a write that crosses a chunk.
#[test]
fn plm_light_decides_by_what_a_request_writes_and_not_by_its_pieces() {
    let layout = Layout::new(Level::Raid0, 2, 32, 1000).unwrap();
    let mut s = Script::of(Array::new(config(layout, named("plm-light"))));
    let counted = |s: &Script| {
        let counters = s.array.write_cache_counters().unwrap();
        (counters.cached_pages, counters.bypassed_pages)
    };
    // 64 KiB, once on one drive and once over the end of a chunk.
    s.request(RequestKind::Write, 64, 16);
    s.request(RequestKind::Write, 24, 16);
    assert_eq!((s.log.as_str(), counted(&s)), ("", (32, 0)));
    // 68 KiB likewise: pieces of 32 and 36.
    s.request(RequestKind::Write, 192, 17);
    s.request(RequestKind::Write, 152, 17);
    assert_eq!((s.log.as_str(), counted(&s)), ("W0 W1 W0 ", (32, 34)));
    // 128 KiB whose second piece is one page, of which an older version is cached.
    s.compute();
    assert_eq!(told(&mut s), "W0 W1 W0 done done");
    s.request(RequestKind::Write, 33, 32);
    assert_eq!((s.log.as_str(), counted(&s)), ("W1 W0 ", (32, 66)));
    while let Some(&(drive, ..)) = s.out.first() {
        s.ok(drive.0);
    }
    assert_eq!(s.array.cached_pages(), 32 - 7 - 1, "what the last one has replaced");
}

/// Parity of a request goes where its data goes: to the cache or to the drives.
#[test]
fn parity_of_a_large_request_goes_past_the_cache_with_its_data() {
    let mut s = Script::new(Level::Raid5, 4, named("plm-light"));
    // 48 KiB are four stripes of three pages and parity, 72 KiB are six.
    s.request(RequestKind::Write, 0, 12);
    assert_eq!((s.log.as_str(), s.array.cached_pages()), ("", 16));
    s.request(RequestKind::Write, 12, 18);
    assert_eq!((s.log.matches('W').count(), s.array.cached_pages()), (24, 16), "{}", s.log);
}

#[test]
fn plm_reads_the_copy_that_does_not_collect_and_writes_both_in_their_turns() {
    let mut s = Script::new(Level::Raid1, 2, named("plm"));
    s.request(RequestKind::Read, 0, 1);
    assert_eq!(s.log, "r1 ", "it is drive 0's turn");
    s.ok(1);
    s.log.clear();
    s.request(RequestKind::Write, 0, 1);
    pass_until(&mut s, 50);
    assert_eq!(s.log, "D0 done ");
    s.ok(0);
    pass_until(&mut s, 110);
    assert_eq!(s.log, "D0 done D1 ");
}

#[test]
fn plm_light_counts_reads_by_class() {
    let mut s = Script::new(Level::Raid0, 2, named("plm-light"));
    let ask = |s: &mut Script, host, reads: u64| {
        let before = s.out.len();
        for page in 0..reads {
            s.request_of(host, RequestKind::Read, page, 1);
        }
        s.out.len() - before
    };
    // Nothing is known in the first window, so nothing is held back.
    for host in 0..3 {
        assert_eq!(ask(&mut s, host, 10), 10);
    }
    // The window ends; nothing is cached, so the next begins 100 µs later.
    pass_until(&mut s, 1);
    s.now += Duration::from_micros(200);
    s.array.handle_deadline(s.now);
    // C = 24 of 30. Base 22.5 and the rest by 50, 30 and 20 %: 12, 7.2 and 4.8.
    assert_eq!(ask(&mut s, 2, 7), 5);
    assert_eq!(ask(&mut s, 0, 13), 12);
    assert_eq!(ask(&mut s, 1, 9), 7);
    assert_eq!(s.array.counters().held_back, 2 + 1 + 2);
    // When the window is over all may go, the first class first.
    s.log.clear();
    s.compute();
    assert_eq!(s.log, "r0 r1 r0 r1 r0 ", "page 12 of host 0, 7 and 8 of host 1, 5 and 6 of host 2");
}

/// All writes of up to 64 KiB are cached, so that under such a workload their latency is constant.
#[test]
fn a_cached_write_takes_the_time_of_the_memory_however_many_there_are() {
    let mut s = Script::new(Level::Raid0, 2, named("plm-light"));
    // Each to a stripe of its own: writes of one stripe take turns.
    for stripe in 0..50 {
        s.request(RequestKind::Write, 2 * stripe, 1);
    }
    let mut wait_until = |micros| {
        let end = Instant::ZERO + Duration::from_micros(micros);
        while s.array.next_deadline() <= end {
            s.compute();
        }
        s.log.clone()
    };
    assert_eq!(wait_until(9), "");
    assert_eq!(wait_until(10), "done ".repeat(50));
}

#[test]
fn plm_light_ends_its_window_early_when_large_writes_are_too_many() {
    let settings = PolicySettings {
        write_cache: WriteCacheSettings {
            largest_write_bytes: Some(1),
            ..WriteCacheSettings::default()
        },
        ..PolicySettings::default()
    };
    let mut s = Script::set(Level::Raid0, 2, named("plm-light"), settings);
    for page in 0..10 {
        s.request(RequestKind::Write, page, 1);
    }
    pass_until(&mut s, 1);
    s.now += Duration::from_micros(200);
    s.array.handle_deadline(s.now);
    // A read of a host from which none was expected waits …
    s.log.clear();
    s.request(RequestKind::Read, 0, 1);
    for page in 10..18 {
        s.request(RequestKind::Write, page, 1);
    }
    assert_eq!(s.log.matches('r').count(), 0, "{}", s.log);
    // … until the ninth write of a window that takes eight.
    s.request(RequestKind::Write, 18, 1);
    assert_eq!(s.log.matches('r').count(), 1, "{}", s.log);
}

/// Whatever hosts ask and however slow drives are, a request held back goes on within a window.
#[test]
fn nobody_is_held_back_for_longer_than_a_window() {
    let window = Duration::from_micros(700);
    let mut held_back = 0;
    for seed in testing::seeds(0..60) {
        let mut rng = Rng::new(seed);
        let plm_light =
            PlmLightSettings { deterministic_window: window, ..PlmLightSettings::default() };
        let capacity_bytes = Some(PAGE * (1 + rng.below(40)));
        let policy_settings = PolicySettings {
            plm_light,
            write_cache: WriteCacheSettings { capacity_bytes, ..WriteCacheSettings::default() },
            ..PolicySettings::default()
        };
        let reconstruct_compute = Duration::ZERO;
        let config = config(Layout::new(Level::Raid5, 4, 2, 400).unwrap(), named("plm-light"));
        let mut array = Array::new(Config { policy_settings, reconstruct_compute, ..config });
        let (mut now, mut next, mut asked) = (Instant::ZERO, Instant::ZERO, 0);
        let mut answers: BTreeMap<(Instant, u32), Completion> = BTreeMap::new();
        let mut done = 0;
        while asked < 400 || array.requests_in_flight() > 0 {
            let answer = answers.keys().next().map_or(Instant::NEVER, |&(due, _)| due);
            let arrival = if asked < 400 { next } else { Instant::NEVER };
            now = answer.min(arrival).min(array.next_deadline()).max(now);
            if now == answer {
                let (_, completion) = answers.pop_first().unwrap();
                array.handle_completion(now, &completion);
            } else if now == arrival {
                let kind = if rng.below(3) == 0 { RequestKind::Write } else { RequestKind::Read };
                let pages = 1 + rng.below(4);
                let request = Request {
                    id: RequestId(asked),
                    host: rng.below(4) as u8,
                    kind,
                    offset_bytes: rng.below(1000) * PAGE,
                    size_bytes: pages * PAGE,
                };
                array.handle_request(now, &request);
                asked += 1;
                // Bursts and silence.
                next = now + Duration::from_micros(rng.below(2) * rng.below(300));
            } else {
                array.handle_deadline(now);
            }
            while let Some(action) = array.poll_action() {
                match action {
                    Action::Submit { command, .. } | Action::SubmitCached { command, .. } => {
                        let latency = Duration::from_micros(1 + rng.below(3_000));
                        let mut delays = Delays::ZERO;
                        if command.opcode == Opcode::Read {
                            delays.add(Cause::NandRead, latency);
                        }
                        let completion = Completion {
                            id: command.id,
                            status: Status::Success,
                            busy_remaining: Duration::ZERO,
                            met_collection: false,
                            held_up: false,
                            delays,
                        };
                        assert_eq!(completion.blocked(), Blocked::No);
                        answers.insert((now + latency, command.id.0), completion);
                    }
                    Action::Complete(outcome) => {
                        done += 1;
                        assert!(outcome.delays.get(Cause::HeldBack) <= window, "seed {seed}");
                        if outcome.kind == RequestKind::Read {
                            let latency = outcome.completed.since(outcome.arrived);
                            assert_eq!(outcome.delays.total(), latency, "seed {seed}");
                        }
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(done, 400, "seed {seed}");
        held_back += array.counters().held_back;
    }
    assert!(held_back > 1_000, "{held_back} requests held back");
}

#[test]
fn what_is_cached_for_a_drive_that_fails_is_forgotten_and_who_waits_goes_on() {
    let mut s = rails_with(3);
    // Four pages for a cache of three: the page of drive 3 waits.
    s.request(RequestKind::Write, 0, 3);
    assert_eq!((s.array.cached_pages(), s.log.as_str()), (3, "D0 "));
    fail(&mut s, 1);
    assert_eq!(s.array.cached_pages(), 3, "that of drive 3 has its room");
    fail(&mut s, 3);
    assert_eq!(s.array.cached_pages(), 2);
    pass_until(&mut s, 1);
    assert_eq!(s.log, "D0 gone1 gone3 failed ", "two drives are too many");
    s.ok(0);
    pass_until(&mut s, 1000);
    assert_eq!(s.log, "D0 gone1 gone3 failed D2 ");
}

#[test]
fn a_write_that_waits_for_room_is_over_when_its_drive_fails_and_others_wait_on() {
    let mut s = rails_with(2);
    // The pages of drives 0 and 1 are cached, those of drives 2 and 3 wait.
    s.request(RequestKind::Write, 0, 3);
    fail(&mut s, 2);
    pass_until(&mut s, 1);
    assert_eq!((s.array.cached_pages(), s.log.as_str()), (2, "D0 gone2 "));
    s.ok(0);
    pass_until(&mut s, 2);
    assert_eq!((s.array.cached_pages(), s.log.as_str()), (2, "D0 gone2 done "));
}

#[test]
fn deallocated_pages_are_not_drained_any_more() {
    let mut s = Script::new(Level::Raid5, 4, named("rails"));
    s.now = Instant::ZERO + Duration::from_millis(98);
    s.request(RequestKind::Write, 0, 3);
    pass_until(&mut s, 99);
    assert_eq!((s.array.cached_pages(), s.log.as_str()), (4, "done "));
    s.request(RequestKind::Deallocate, 0, 3);
    assert_eq!(s.log, "done d0 d1 d2 d3 ");
    pass_until(&mut s, 150);
    assert_eq!(s.log, "done d0 d1 d2 d3 ", "it is drive 1's turn, and its page is old");
    (0..4).for_each(|drive| s.ok(drive));
    assert_eq!(s.array.cached_pages(), 0);
    pass_until(&mut s, 1000);
    assert_eq!(s.log, "done d0 d1 d2 d3 done ");
    // A drain in flight could reach its drive after the deallocation.
    s.log.clear();
    s.request(RequestKind::Write, 0, 3);
    pass_until(&mut s, 1001);
    let drains = s.log.clone();
    let drained: Vec<u8> = s.out.iter().map(|(drive, ..)| drive.0).collect();
    assert_eq!((drains.matches('D').count(), drained.len()), (1, 1), "{drains}");
    s.log.clear();
    s.request(RequestKind::Deallocate, 0, 3);
    assert_eq!(s.log.matches('d').count(), 3, "{}", s.log);
    s.ok(drained[0]);
    assert!(s.log.ends_with(&format!("d{} ", drained[0])), "{}", s.log);
}

/// The window for drains lasts until the cached pages are on the drives.
#[test]
fn plm_light_goes_on_draining_while_something_is_cached() {
    let mut s = Script::new(Level::Raid0, 2, named("plm-light"));
    s.request(RequestKind::Write, 0, 1);
    pass_until(&mut s, 1);
    assert_eq!(s.log, "done D0 ");
    s.now += Duration::from_micros(200);
    s.array.handle_deadline(s.now);
    s.request(RequestKind::Write, 1, 1);
    assert_eq!(s.log, "done D0 D1 ");
}

#[test]
fn a_policy_leaves_when_all_that_it_cached_is_on_the_drives() {
    let mut s = Script::new(Level::Raid5, 4, named("rails"));
    let to_base = |s: &mut Script| {
        let settings = PolicySettings::default();
        s.array.set_policy(s.now, named("base"), &settings, Coordination::Free)
    };
    s.request(RequestKind::Write, 0, 3);
    pass_until(&mut s, 1);
    assert_eq!(s.log, "D0 done ");
    assert_eq!(to_base(&mut s), Err(CannotSwitch::Cached { pages: 4 }));
    s.array.prepare_to_switch(s.now);
    s.collect();
    assert_eq!(s.log, "D0 done D1 D2 D3 ", "whoever's turn it is");
    // Nothing is taken in meanwhile.
    s.request(RequestKind::Write, 3, 3);
    assert!(s.log.ends_with("W0 W1 W2 W3 "), "{}", s.log);
    while let Some(&(drive, ..)) = s.out.first() {
        assert!(to_base(&mut s).is_err(), "{} commands are out", s.out.len());
        s.ok(drive.0);
    }
    assert_eq!((s.array.cached_pages(), to_base(&mut s)), (0, Ok(())));
}

#[test]
fn a_policy_that_stays_after_all_goes_on_as_before() {
    let mut s = Script::new(Level::Raid5, 4, named("rails"));
    s.array.prepare_to_switch(s.now);
    s.array.stay_with_policy(s.now);
    s.request(RequestKind::Write, 0, 3);
    pass_until(&mut s, 1);
    assert_eq!(s.log, "D0 done ", "cached again");
}

#[test]
fn a_policy_does_not_leave_requests_behind_that_it_holds_back() {
    let mut s = Script::new(Level::Raid0, 2, named("plm-light"));
    for host in 0..3 {
        for page in 0..10 {
            s.request_of(host, RequestKind::Read, page, 1);
        }
    }
    pass_until(&mut s, 1);
    s.now += Duration::from_micros(200);
    s.array.handle_deadline(s.now);
    for page in 0..7 {
        s.request_of(2, RequestKind::Read, page, 1);
    }
    assert_eq!((s.array.counters().held_back, s.array.requests_in_flight()), (2, 30 + 7));
    while let Some(&(drive, ..)) = s.out.first() {
        s.ok(drive.0);
    }
    assert_eq!(s.array.requests_in_flight(), 2);
    let settings = PolicySettings::default();
    let left = s.array.set_policy(s.now, named("base"), &settings, Coordination::Free);
    assert_eq!(left, Err(CannotSwitch::HeldBack { requests: 2 }));
    assert!(left.unwrap_err().to_string().contains('2'));
}
