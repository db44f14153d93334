//! IODA's Table 2, to the printed precision, and the bounds behind its numbers.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_ssd::{Config, MODELS, Printed, Promise, Reason, Verdict, presets};
use nvme::ArrayDescription;
use units::{Duration, GIB, MIB};

/// The published rows: S_blk, S_t, S_p, T_gc, S_r, B_gc, B_norm, B_burst, TW_norm, TW_burst.
const TABLE: [[f64; 10]; 6] = [
    [8.0, 512.0, 128.0, 658.0, 32.0, 49.0, 137.0, 3200.0, 6259.0, 256.0],
    [8.0, 2048.0, 246.0, 617.0, 32.0, 52.0, 641.0, 4000.0, 5014.0, 790.0],
    [1.0, 16.0, 4.0, 57.0, 2.0, 35.0, 17.0, 536.0, 6206.0, 97.0],
    [6.0, 512.0, 102.0, 312.0, 12.0, 38.0, 146.0, 3200.0, 4622.0, 204.0],
    [4.0, 2048.0, 819.0, 425.0, 12.0, 28.0, 437.0, 3204.0, 24380.0, 3279.0],
    [4.0, 2048.0, 410.0, 408.0, 16.0, 39.0, 582.0, 4000.0, 9171.0, 1315.0],
];

/// The two rows of windows without any rounding, which are not published.
const UNROUNDED: [[f64; 2]; 6] = [
    [6279.5, 256.5],
    [5010.4, 789.0],
    [7882.0, 97.4],
    [4653.7, 205.1],
    [24394.6, 3279.7],
    [9154.0, 1313.9],
];

fn models() -> impl Iterator<Item = (usize, Config, ArrayDescription)> {
    MODELS.into_iter().enumerate().map(|(column, (name, width))| {
        (column, presets::preset(name).unwrap(), ArrayDescription { width, parities: 1 })
    })
}

fn rows(table: &Printed) -> [f64; 10] {
    [
        table.block_mib,
        table.flash_gib,
        table.over_provisioned_gib,
        table.unit_time_ms,
        table.reclaimed_mib,
        table.collection_mib_per_second,
        table.normal_mib_per_second,
        table.burst_mib_per_second,
        table.normal_window_ms.unwrap(),
        table.burst_window_ms.unwrap(),
    ]
}

#[test]
fn every_printed_figure_comes_out() {
    for (column, config, array) in models() {
        assert_eq!(rows(&config.printed_table(array)), TABLE[column], "{}", config.name);
    }
}

#[test]
fn the_unrounded_table_differs_by_what_rounding_did() {
    for (column, config, array) in models() {
        let terms = config.window_parameters();
        let window = |load| terms.longest_window(array, load).unwrap().as_millis_f64();
        let windows =
            [config.normal_bytes_per_second(), config.contract.burst_bytes_per_second].map(window);
        for (window, expected) in windows.into_iter().zip(UNROUNDED[column]) {
            assert!((window - expected).abs() < 0.06, "{}: {window} ms", config.name);
        }
        let unrounded = [
            config.block_bytes() as f64 / MIB as f64,
            config.geometry.raw_bytes() as f64 / GIB as f64,
            config.over_provisioned_bytes() / GIB as f64,
            config.unit_time(config.contract.valid_ratio).as_millis_f64(),
            config.reclaimed_bytes() / MIB as f64,
            config.collection_bytes_per_second() / MIB as f64,
            config.normal_bytes_per_second() / MIB as f64,
            config.contract.burst_bytes_per_second / MIB as f64,
            windows[0],
            windows[1],
        ];
        for (row, (value, printed)) in unrounded.into_iter().zip(TABLE[column]).enumerate() {
            // FEMU's S_r of 2.4 MB is printed as 2, so the values derived from it are off as well.
            let limit = match (config.name.as_str(), row) {
                ("femu", 4 | 5) => 0.21,
                ("femu", 8) => 0.28,
                _ => 0.014,
            };
            assert!((value / printed - 1.0).abs() < limit, "{} row {row}: {value}", config.name);
        }
    }
}

#[test]
fn the_bursts_of_the_table_come_from_rounded_channels() {
    // N_ch times S_pg / t_cpt. The quotient is rounded to whole MB/s, and KiB per ms count as MB/s.
    let channels = |config: &Config| {
        let per_channel =
            f64::from(config.geometry.page_bytes) / 1024.0 / config.timing.transfer.as_millis_f64();
        f64::from(config.geometry.channels) * per_channel.round()
    };
    for (column, config, _) in models() {
        let burst = TABLE[column][7];
        match config.name.as_str() {
            // 4272 from the channels and 8000 from PCIe: no rule of the paper gives 4000.
            "ocssd" | "sn260" => assert_eq!((channels(&config), burst), (4272.0, 4000.0)),
            _ => assert_eq!(channels(&config), burst, "{}", config.name),
        }
    }
}

fn promise(array: ArrayDescription, load_bytes_per_second: f64) -> Promise {
    Promise { array, guard: Duration::ZERO, load_bytes_per_second, window: None }
}

#[test]
fn two_models_cannot_promise_their_own_burst() {
    for (column, config, array) in models() {
        let burst = promise(array, config.contract.burst_bytes_per_second);
        let outlook = config.outlook(burst);
        let infeasible = TABLE[column][9] < TABLE[column][3];
        assert_eq!(infeasible, ["sim", "970"].contains(&config.name.as_str()));
        let fails = outlook.verdict == Verdict::Fails(Reason::NoWindow);
        assert!(fails || !infeasible, "{}: {:?}", config.name, outlook.verdict);
        // Five of the six bursts are more than the dies can program; FEMU's is only rounded up.
        let beyond = outlook.beyond_flash.unwrap();
        let limits = if config.name == "femu" { 1.0..1.05 } else { 1.5..20.0 };
        assert!(limits.contains(&beyond), "{}: {beyond}", config.name);
        if fails {
            assert_eq!((outlook.window, outlook.sustainable_bytes_per_second), (None, 0.0));
        }
    }
}

#[test]
fn advice_makes_the_promise_possible() {
    let mut seen = 0;
    for (_, config, array) in models() {
        for load in [config.contract.burst_bytes_per_second, config.normal_bytes_per_second()] {
            let asked = Promise { guard: Duration::from_millis(2), ..promise(array, load) };
            if !matches!(config.outlook(asked).verdict, Verdict::Fails(_)) {
                continue;
            }
            seen += 1;
            let possible = |config: &Config, promise| {
                !matches!(config.outlook(promise).verdict, Verdict::Fails(_))
            };
            let advice = config.advice(asked);
            let lower = advice.load_bytes_per_second * 0.999;
            assert!(possible(&config, Promise { load_bytes_per_second: lower, ..asked }));
            let share = advice.usable_share.unwrap() * 1.001;
            let mut better = config.clone();
            better.contract.usable_share = share;
            assert!(possible(&better, asked), "{}", config.name);
            if let Some(width) = advice.width {
                let narrow =
                    |width| Promise { array: ArrayDescription { width, ..array }, ..asked };
                assert!(possible(&config, narrow(width)));
                assert!(!possible(&config, narrow(width + 1)), "{} {width}", config.name);
            }
            if let Some(parities) = advice.busy_drives {
                let array = ArrayDescription { parities, ..array };
                assert!(possible(&config, Promise { array, ..asked }));
            }
        }
    }
    assert!(seen >= 2, "no promise failed, so nothing was tested");
}

#[test]
fn the_best_window_is_the_best_of_all() {
    let mut seen = 0;
    for (_, config, array) in models() {
        for guard in [0, 3].map(Duration::from_millis) {
            let load = config.normal_bytes_per_second();
            let outlook = config.outlook(Promise { guard, ..promise(array, load) });
            let Some(best) = outlook.window else { continue };
            assert!(outlook.shortest <= best && best <= outlook.longest);
            let rate = |window| config.sustainable_bytes_per_second(array, window, guard);
            let steps = 1_000;
            let width = outlook.longest.saturating_sub(outlook.shortest).as_nanos();
            for step in 0..=steps {
                let window = outlook.shortest + Duration::from_nanos(width / steps * step);
                // Rates are searched to a part in a million.
                let limit = outlook.sustainable_bytes_per_second * 1.000_01;
                assert!(rate(window) <= limit, "{}: {window} beats {best}", config.name);
            }
            seen += 1;
        }
    }
    assert!(seen >= 6, "nothing was compared");
}

#[test]
fn a_promise_for_ever_is_one_that_the_windows_sustain() {
    let config = presets::preset("femu").unwrap();
    let array = ArrayDescription { width: 4, parities: 1 };
    let window = Duration::from_millis(300);
    let judged = |load| config.outlook(Promise { window: Some(window), ..promise(array, load) });
    let sustainable = judged(1e6).sustainable_bytes_per_second;
    assert!(sustainable > 0.0);
    assert_eq!(judged(sustainable * 0.99).verdict, Verdict::Holds);
    let Verdict::Bursts { lasts } = judged(sustainable * 2.0).verdict else {
        panic!("twice the sustainable load is not for ever")
    };
    let usable = config.window_parameters().usable_bytes();
    assert!((lasts.as_secs_f64() * sustainable / usable - 1.0).abs() < 1e-6);
    assert!(lasts >= window * 4, "a promise that holds for one cycle lasts for one: {lasts}");
    assert_eq!(judged(500e6).verdict, Verdict::Fails(Reason::TooLong));
    let short = Promise { window: Some(Duration::from_millis(1)), ..promise(array, 1e6) };
    assert_eq!(config.outlook(short).verdict, Verdict::Fails(Reason::TooShort));
}

#[test]
fn what_holds_for_a_burst_lasts_for_a_cycle() {
    let mut seen = 0;
    for name in presets::names() {
        let config = presets::preset(name).unwrap();
        for (width, parities) in [(4, 1), (4, 2), (8, 1), (24, 2)] {
            for daily in [1.0, 5.0, 20.0, 200.0] {
                let array = ArrayDescription { width, parities };
                let outlook = config.outlook(promise(array, config.bytes_per_second(daily)));
                let Verdict::Bursts { lasts } = outlook.verdict else { continue };
                // Between the shortest window and one collection in steady state, the rest of the
                // window is lost.
                let unit = config.unit_time(config.full_valid_ratio()).as_secs_f64();
                let window = outlook.window.unwrap().as_secs_f64();
                let whole = (window / unit + 1e-6).floor() * unit / window;
                let cycle = window * array.windows_per_cycle();
                let least = if whole > 0.999 { cycle * 0.999 } else { cycle * whole * 0.9 };
                let lasts = lasts.as_secs_f64();
                assert!(lasts >= least, "{name} {width} {parities} {daily}: {lasts} of {cycle} s");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} bursts");
}
