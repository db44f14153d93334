//! The cache of SLC blocks: which writes use it, their times, when it is folded, and that no data
//! is lost.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::cells::{any_drive_with_cells, finish, modern, one_die, page, send, tlc};
use crate::common::{Host, come_to_rest, worn_out};
use ioda_ssd::{CollectionUnit, Config, Media, SlcCacheConfig, SlcOverflow, Ssd};
use nvme::{ArrayDescription, CollectionRight, Opcode, WindowSchedule};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{Duration, Instant, Lba, Ratio, Rng};

const SECOND: Instant = Instant::from_nanos(1_000_000_000);

fn cache(most_blocks: u32, fixed_blocks: u32) -> SlcCacheConfig {
    SlcCacheConfig {
        page: page(20, 100),
        most_blocks,
        fixed_blocks,
        fold_after: Duration::from_millis(5),
        low_blocks: 0,
        overflow: SlcOverflow::Bypass,
    }
}

fn with_cache(mut config: Config, slc: SlcCacheConfig) -> Config {
    config.cells.as_mut().unwrap().slc = Some(slc);
    config
}

/// One die with blocks of 48 logical blocks, 16 of them in SLC mode, in rows of 4.
fn one_die_with(slc: SlcCacheConfig) -> Config {
    with_cache(one_die(tlc(true, false)), slc)
}

/// Runs the drive until `until`, or until it is at rest.
fn go_on(drive: &mut Ssd, until: Instant) {
    while drive.next_deadline() <= until && drive.next_deadline() != Instant::NEVER {
        drive.handle_deadline(drive.next_deadline());
        drive.check_invariants();
    }
    while drive.poll_completion().is_some() {}
}

fn in_slc(drive: &Ssd) -> u64 {
    (0..drive.logical_blocks()).filter(|&lba| drive.is_in_slc(Lba(lba))).count() as u64
}

#[test]
fn writes_go_to_the_cache_first_in_its_own_time() {
    let mut drive = Ssd::new(one_die_with(cache(4, 1))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 12);
    let mut last = Instant::ZERO;
    while drive.buffered_pages() > 0 {
        last = drive.next_deadline();
        drive.handle_deadline(last);
    }
    // Three rows of four pages: 10 µs for each on the channel, and one bit in a cell.
    assert_eq!(last.since(Instant::ZERO).as_micros_f64(), 3.0 * (40.0 + 100.0));
    let counters = drive.counters();
    assert_eq!((counters.host_programs_pages, counters.slc_programs_pages), (12, 12));
    assert_eq!((in_slc(&drive), drive.slc_blocks()), (12, 1));
    while drive.poll_completion().is_some() {}
    // A row holds one page type only.
    for lba in [0, 5, 11] {
        let now = SECOND + Duration::from_millis(lba);
        send(&mut drive, now, lba, Opcode::Read, lba, 1);
        assert_eq!(finish(&mut drive)[0].1.since(now).as_micros_f64(), 20.0 + 10.0, "page {lba}");
    }
}

#[test]
fn an_idle_drive_folds_full_blocks_of_its_cache() {
    let mut drive = Ssd::new(one_die_with(cache(4, 1))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 48);
    go_on(&mut drive, Instant::from_nanos(4_000_000));
    assert_eq!((in_slc(&drive), drive.slc_blocks(), drive.counters().folded_pages), (48, 3, 0));
    go_on(&mut drive, SECOND);
    assert_eq!((in_slc(&drive), drive.slc_blocks(), drive.counters().folded_pages), (0, 0, 48));
    let counters = drive.counters();
    assert_eq!((counters.erases, counters.write_amplification()), (3, 2.0));
    assert_eq!(counters.contract_violations, 0);
    // The fold fills a third of the block, with 16 pages and 8 of filler.
    let first = drive.flash_page(Lba(0)).unwrap();
    for lba in 0..16 {
        assert_eq!(drive.flash_page(Lba(lba)), Some(first + lba as u32));
    }
    let now = SECOND + Duration::from_millis(1);
    send(&mut drive, now, 1, Opcode::Read, 4, 1);
    assert_eq!(finish(&mut drive)[0].1.since(now).as_micros_f64(), 60.0 + 10.0);
}

#[test]
fn a_busy_host_keeps_the_drive_from_folding() {
    let mut drive = Ssd::new(one_die_with(cache(8, 1))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 48);
    for at in 1..20 {
        let now = Instant::from_nanos(at * 4_000_000);
        go_on(&mut drive, now);
        send(&mut drive, now, at, Opcode::Read, 0, 1);
    }
    assert_eq!(drive.counters().folded_pages, 0);
    go_on(&mut drive, SECOND);
    assert_eq!(drive.counters().folded_pages, 48);
}

#[test]
fn overwritten_pages_are_not_folded() {
    let mut drive = Ssd::new(one_die_with(cache(8, 1))).unwrap();
    for round in 0..3 {
        send(&mut drive, Instant::from_nanos(round * 1_000_000), round, Opcode::Write, 0, 16);
    }
    go_on(&mut drive, SECOND);
    let counters = drive.counters();
    assert_eq!((counters.slc_programs_pages, counters.folded_pages, counters.erases), (48, 16, 3));
}

/// Writes `pages` pages row by row without a pause. Returns the times of the completions.
fn write_on(drive: &mut Ssd, pages: u64) -> Vec<Instant> {
    let mut answered = Vec::new();
    let mut now = Instant::ZERO;
    for row in 0..pages / 4 {
        let lba = row * 4 % (drive.logical_blocks() / 4 * 4);
        send(drive, now, row, Opcode::Write, lba, 4);
        while drive.commands_in_flight() > 0 {
            now = drive.next_deadline();
            drive.handle_deadline(now);
            drive.check_invariants();
            while let Some(completed) = drive.poll_completion() {
                answered.push(completed.at);
            }
        }
    }
    answered
}

#[test]
fn a_full_cache_is_gone_round() {
    let mut drive = Ssd::new(one_die_with(cache(4, 1))).unwrap();
    let answered = write_on(&mut drive, 480);
    let counters = drive.counters();
    assert_eq!(counters.slc_programs_pages, 4 * 16, "the cache was full after four blocks");
    assert_eq!((counters.folded_pages, counters.collections), (0, 0));
    // 12 pages: three rows of 140 µs in the cache, one program of 1.92 ms outside of it.
    let rate = |from: usize, to: usize| {
        4.0 * (to - from) as f64 / answered[to].since(answered[from]).as_micros_f64()
    };
    let (cached, behind) = (rate(13, 15), rate(60, 110));
    assert!((cached * 35.0 - 1.0).abs() < 0.2, "{cached} pages a microsecond");
    assert!((behind * 160.0 - 1.0).abs() < 0.1, "{behind} pages a microsecond");
}

#[test]
fn a_drive_whose_writes_wait_for_the_cache_folds_under_load() {
    let slc = SlcCacheConfig { low_blocks: 2, overflow: SlcOverflow::Wait, ..cache(4, 4) };
    let mut drive = Ssd::new(one_die_with(slc)).unwrap();
    let _answered = write_on(&mut drive, 1_200);
    drive.check_invariants();
    let counters = *drive.counters();
    assert_eq!(counters.slc_programs_pages, counters.host_programs_pages);
    assert!(counters.folded_pages > 1_000, "{counters:?}");
    assert_eq!(counters.contract_violations, 0);
}

/// Writes the first `pages` pages, 24 at a time, with a pause after each step. Returns the time at
/// the end.
fn write_rows(drive: &mut Ssd, mut now: Instant, pages: u64, pause: Duration) -> Instant {
    for row in 0..pages / 24 {
        send(drive, now, row, Opcode::Write, row * 24, 24);
        while drive.commands_in_flight() > 0 {
            now = drive.next_deadline();
            drive.handle_deadline(now);
            while drive.poll_completion().is_some() {}
        }
        now += pause;
        drive.handle_deadline(now);
    }
    now
}

/// The cache borrows free blocks; on a full drive it holds only the blocks that are kept for it.
#[test]
fn the_cache_shrinks_as_the_drive_fills_up() {
    let mut config = with_cache(modern(), cache(30, 2));
    config.over_provisioning = Ratio::from_percent(28);
    let used = |fill: u64| {
        let mut drive = Ssd::new(config.clone()).unwrap();
        let pages = drive.logical_blocks() * fill / 100;
        // First with pauses long enough to fold everything, and then without a pause.
        let now = write_rows(&mut drive, Instant::ZERO, pages, Duration::from_millis(40));
        let now = now + Duration::from_secs(5);
        drive.handle_deadline(now);
        assert!(drive.slc_blocks() <= 1, "{} blocks", drive.slc_blocks());
        drive.reset_counters();
        let again = pages.min(drive.logical_blocks() / 3);
        write_rows(&mut drive, now, again, Duration::ZERO);
        drive.check_invariants();
        drive.counters().slc_programs_pages / (4 * 80)
    };
    let blocks = [20, 60, 80, 100].map(used);
    assert!(blocks[0] > blocks[2] && blocks[2] > blocks[3], "{blocks:?}");
    assert!(blocks[3] >= 2 && blocks[0] > 3 * blocks[3], "{blocks:?}");
}

/// Folding is background work like collection: it keeps to busy windows.
#[test]
fn folding_keeps_to_the_windows() {
    let mut config = with_cache(modern(), cache(20, 4));
    config.scheduling.suspension = None;
    let mut drive = Ssd::new(config).unwrap();
    let busy_time_window = Duration::from_millis(60);
    let schedule = WindowSchedule {
        array: ArrayDescription { width: 4, parities: 1 },
        busy_time_window,
        cycle_start: Instant::ZERO,
        not_before: Instant::ZERO,
        guard: Duration::ZERO,
    };
    drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
    drive.record_collections();
    let mut now = Instant::ZERO;
    for turn in 0..20 {
        for row in 0..60 {
            send(&mut drive, now, row, Opcode::Write, row * 24, 24);
            go_on(&mut drive, now + Duration::from_micros(200));
            now += Duration::from_micros(200);
        }
        now += Duration::from_millis(51 + turn * 7);
        go_on(&mut drive, now);
    }
    let mut spans = Vec::new();
    drive.take_collections(&mut spans);
    assert!(drive.counters().folded_pages > 2_000, "{:?}", drive.counters());
    assert_eq!(drive.counters().contract_violations, 0);
    let cycle = busy_time_window * 4;
    for span in spans {
        let begin = span.began.as_nanos() % cycle.as_nanos();
        assert!(begin < busy_time_window.as_nanos(), "{span:?} begins outside of the window");
        let end = begin + span.ended.since(span.began).as_nanos();
        assert!(end <= busy_time_window.as_nanos(), "{span:?} ends outside of the window");
    }
}

/// Writes that wait for the cache force a fold outside of the window, which counts as a violation.
#[test]
fn folding_outside_of_a_window_is_a_violation() {
    let slc = SlcCacheConfig { low_blocks: 1, overflow: SlcOverflow::Wait, ..cache(2, 2) };
    let violations = |windows: bool| {
        let mut drive = Ssd::new(one_die_with(slc)).unwrap();
        if windows {
            let schedule = WindowSchedule {
                array: ArrayDescription { width: 4, parities: 1 },
                busy_time_window: Duration::from_millis(100),
                cycle_start: Instant::from_nanos(300_000_000),
                not_before: Instant::ZERO,
                guard: Duration::ZERO,
            };
            drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
        }
        let answered = write_on(&mut drive, 200);
        assert!(answered[49] < Instant::from_nanos(300_000_000), "before the window opens");
        assert!(drive.counters().folded_pages >= 100, "{:?}", drive.counters());
        drive.counters().contract_violations
    };
    assert_eq!(violations(false), 0);
    assert!(violations(true) >= 6);
}

/// If the host goes before collections, a read that arrives during a fold waits for one of its
/// steps at most, and writes are not paced by the fold.
#[test]
fn the_host_goes_before_folding() {
    let mut drive = Ssd::new(with_cache(modern(), cache(20, 1))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 960);
    send(&mut drive, Instant::ZERO, 1, Opcode::Write, 960, 960);
    while drive.counters().folded_pages == 0 {
        drive.handle_deadline(drive.next_deadline());
        while drive.poll_completion().is_some() {}
    }
    let now = drive.next_deadline();
    send(&mut drive, now, 2, Opcode::Read, 1_900, 1);
    while drive.commands_in_flight() > 0 {
        drive.handle_deadline(drive.next_deadline());
    }
    let waited = drive.poll_completion().unwrap().at.since(now);
    assert!(waited < Duration::from_micros(400), "{waited}");
    let folded = drive.counters().folded_pages;
    assert!(folded < 1_920, "{folded} pages");
    go_on(&mut drive, SECOND);
    assert_eq!(drive.counters().folded_pages, 1_920);
}

#[test]
fn a_drive_that_collects_in_no_time_folds_in_no_time() {
    let mut drive = Ssd::new(one_die_with(cache(4, 1))).unwrap();
    drive.set_untimed(nvme::Untimed::Collections);
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 48);
    go_on(&mut drive, Instant::from_nanos(4_900_000));
    assert_eq!(in_slc(&drive), 48);
    go_on(&mut drive, Instant::from_nanos(5_000_001));
    assert_eq!((in_slc(&drive), drive.counters().folded_pages), (0, 48));
}

#[test]
fn impossible_caches_are_refused() {
    let refused = |change: fn(&mut SlcCacheConfig)| {
        let mut slc = cache(4, 1);
        change(&mut slc);
        one_die_with(slc).validate().unwrap_err().to_string()
    };
    one_die_with(cache(4, 1)).validate().unwrap();
    assert!(refused(|slc| slc.page.read = Duration::ZERO).contains("longer than zero"));
    assert!(refused(|slc| slc.page = page(81, 100)).contains("must not take longer"));
    assert!(refused(|slc| slc.most_blocks = 65).contains("the 64 blocks of a die"));
    assert!(refused(|slc| slc.fixed_blocks = 5).contains("at most most_blocks"));
    assert!(refused(|slc| slc.overflow = SlcOverflow::Wait).contains("slc_cache.low_blocks"));
    assert!(refused(|slc| slc.fold_after = Duration::ZERO).contains("at least 1ns"));
    let mut config = one_die_with(cache(4, 1));
    config.geometry.pages_per_block = 12;
    assert!(config.validate().unwrap_err().to_string().contains("at least 24"));
    config.cells.as_mut().unwrap().bits = 1;
    assert!(config.validate().unwrap_err().to_string().contains("one bit"));
}

fn any_cache() -> impl Strategy<Value = SlcCacheConfig> {
    (1u32..7, 0u32..4, 0u32..3, any::<bool>(), 1u64..3_000, 1u64..20).prop_map(
        |(most, fixed, low, waits, after, read)| {
            let fixed_blocks = if waits { fixed.max(1) } else { fixed }.min(most);
            SlcCacheConfig {
                page: page(read, 30 + read),
                most_blocks: most,
                fixed_blocks,
                fold_after: Duration::from_micros(after),
                low_blocks: if waits { low.max(1) } else { low }.min(most),
                overflow: if waits { SlcOverflow::Wait } else { SlcOverflow::Bypass },
            }
        },
    )
}

fn any_drive_with_cache() -> impl Strategy<Value = Config> {
    (any_drive_with_cells(), any_cache(), 2u32..5).prop_map(|(mut config, slc, units)| {
        let cells = config.cells.as_mut().unwrap();
        cells.bits = cells.bits.max(2);
        cells.slc = Some(slc);
        config.geometry.pages_per_block = cells.row_pages() * cells.bits * units;
        config.geometry.blocks_per_plane = 30;
        let pages = config.write_buffer.as_ref().unwrap().pages;
        config.write_buffer.as_mut().unwrap().pages = pages.max(2 * cells.unit_pages());
        config.over_provisioning = Ratio::from_percent(70);
        config
    })
}

/// Versions of pages: expected ones in a plain map, and those in the flash and the buffer of the
/// drive.
#[derive(Default)]
struct Shadow {
    expected: BTreeMap<u64, u64>,
    flash: BTreeMap<u32, u64>,
    buffer: BTreeMap<u32, u64>,
    media: Vec<Media>,
    /// Version that each command in flight writes or has read.
    commands: BTreeMap<u32, u64>,
}

impl Shadow {
    fn follow(&mut self, drive: &mut Ssd) {
        drive.take_media(&mut self.media);
        for media in self.media.drain(..) {
            match media {
                Media::Buffered { command, logical, .. } => {
                    self.buffer.insert(logical, self.commands[&command.0]);
                }
                Media::Flushed { logical, page } => {
                    self.flash.insert(page, self.buffer[&logical]);
                }
                Media::Unbuffered { logical } => {
                    self.buffer.remove(&logical);
                }
                Media::FromBuffer { command, logical, .. } => {
                    self.commands.insert(command.0, self.buffer[&logical]);
                }
                Media::Sensed { command, page, .. } => {
                    let version = page.map_or(0, |page| self.flash[&page]);
                    self.commands.insert(command.0, version);
                }
                Media::Copied { from, to } => {
                    let version = self.flash[&from];
                    self.flash.insert(to, version);
                }
                Media::Erased { first_page, pages } => {
                    self.flash.retain(|page, _| !(first_page..first_page + pages).contains(page));
                }
                other => panic!("{other:?} on a drive with cells"),
            }
        }
    }
}

proptest! {
    #![proptest_config(testing::cases(300))]

    #[test]
    fn a_full_drive_with_a_cache_never_gets_stuck(
        config in any_drive_with_cache(),
        seed in 0u64..1000,
        windows in 0u64..3,
    ) {
        prop_assume!(config.validate().is_ok());
        let mut drive = worn_out(config, seed, windows);
        come_to_rest(&mut drive);
    }

    /// Whatever is cached, folded and collected: a read returns the data that was written last.
    #[test]
    fn nothing_is_lost_in_the_cache(config in any_drive_with_cache(), seed in any::<u64>()) {
        prop_assume!(config.validate().is_ok());
        let mut drive = Ssd::new(config).unwrap();
        drive.record_media();
        let mut shadow = Shadow::default();
        let mut rng = Rng::stream(seed, "shadow");
        let mut now = Instant::ZERO;
        let pages = drive.logical_blocks();
        for version in 1..=(3 * pages).min(2_000) {
            let lba = if rng.below(3) == 0 { rng.below(pages) } else { rng.below(1 + pages / 3) };
            let id = version as u32;
            let writes = rng.below(3) > 0;
            let opcode = if writes { Opcode::Write } else { Opcode::Read };
            shadow.commands.insert(id, version);
            send(&mut drive, now, u64::from(id), opcode, lba, 1);
            while drive.commands_in_flight() > 0 {
                shadow.follow(&mut drive);
                now = drive.next_deadline();
                drive.handle_deadline(now);
                while drive.poll_completion().is_some() {}
            }
            shadow.follow(&mut drive);
            let seen = shadow.commands.remove(&id).unwrap();
            if writes {
                shadow.expected.insert(lba, version);
            } else {
                prop_assert_eq!(seen, shadow.expected.get(&lba).copied().unwrap_or(0));
            }
            // From time to time a pause that is long enough to fold.
            if rng.below(50) == 0 {
                now += Duration::from_micros(rng.below(20_000));
                drive.handle_deadline(now);
            }
        }
        shadow.follow(&mut drive);
        drive.check_invariants();
        for (&lba, &version) in &shadow.expected {
            let found = match drive.is_buffered(Lba(lba)) {
                true => shadow.buffer[&(lba as u32)],
                false => shadow.flash[&drive.flash_page(Lba(lba)).unwrap()],
            };
            prop_assert_eq!(found, version, "page {}", lba);
        }
        let counters = drive.counters();
        prop_assert!(counters.folded_pages <= counters.collection_programs_pages);
        prop_assert!(counters.slc_programs_pages <= counters.host_programs_pages);
    }

    /// A drive that is switched off and on continues with the state of its cache.
    #[test]
    fn the_state_of_a_drive_has_its_cache(config in any_drive_with_cache(), seed in 0u64..1000) {
        prop_assume!(config.validate().is_ok());
        let mut before = Ssd::new(config.clone()).unwrap();
        let pages = before.logical_blocks();
        let mut host = Host::new(seed, 4, 80);
        host.run(&mut before, (pages * (1 + seed % 3)).min(2_000), |_, _| {});
        host.drain(&mut before);
        before.settle();
        let state = before.state().unwrap();
        let mut after = Ssd::restore(config, &state).unwrap();
        after.check_invariants();
        prop_assert_eq!(after.slc_blocks(), before.slc_blocks());
        for lba in (0..pages).map(Lba) {
            prop_assert_eq!(after.flash_page(lba), before.flash_page(lba));
            prop_assert_eq!(after.is_in_slc(lba), before.is_in_slc(lba));
        }
        prop_assert_eq!(after.state().unwrap(), state);
        let mut host = Host::new(seed + 1, 4, 80);
        host.run(&mut after, pages.min(1_000), |_, _| {});
        host.drain(&mut after);
        after.check_invariants();
    }
}

/// Folding beside collections at the speed of the host, for lines and for blocks.
#[test]
fn a_worn_drive_goes_on_folding_and_collecting() {
    for unit in [CollectionUnit::Line, CollectionUnit::Block] {
        let mut config = with_cache(modern(), cache(20, 3));
        config.collection.unit = unit;
        let mut drive = Ssd::new(config).unwrap();
        drive.age(1);
        let mut host = Host::new(2, 32, 70);
        for _ in 0..20 {
            host.run(&mut drive, 3_000, |_, _| {});
            host.drain(&mut drive);
            host.now += Duration::from_millis(100);
            drive.handle_deadline(host.now);
        }
        let counters = drive.counters();
        assert!(counters.folded_pages > 1_000, "{unit:?}: {counters:?}");
        assert!(counters.collection_programs_pages > 2 * counters.folded_pages, "{counters:?}");
        assert!(counters.slc_programs_pages < counters.host_programs_pages / 2, "{counters:?}");
    }
}
