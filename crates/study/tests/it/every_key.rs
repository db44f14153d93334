//! Each key of `[drive]`, over its range, on each preset and on a drive with a data sheet: it changes
//! a result, or it is refused.

use array::policy::PolicyKind;
use ioda_study::Silent;
use ioda_study::settings::{ArraySettings, DriveSettings, RunSettings, Settings, SlcSettings};
use ioda_study::setup::Setup;
use ioda_study::simulate::{self, Listeners};
use nvme::ArrayDescription;
use schemars::schema_for;
use ssd::Promise;
use std::collections::BTreeMap;
use toml::{Table, Value};
use units::Duration;

/// Values of each key, from small to large.
const VALUES: &[(&str, &str)] = &[
    ("base", "[]"),
    ("name", "[]"),
    ("on_sale", "[]"),
    ("scaled_down", "[1, 4, 16]"),
    ("channels", "[2, 16, 32]"),
    ("chips_per_channel", "[1, 4, 16]"),
    ("planes_per_chip", "[1, 2, 4]"),
    ("blocks_per_plane", "[40, 64, 100]"),
    ("pages_per_block", "[64, 96, 192, 384, 768]"),
    ("page_bytes", "['4k', '8k', '16k']"),
    ("read", "['1us', '1ms']"),
    ("program", "['10us', '5ms']"),
    ("erase", "['100us', '20ms']"),
    ("blocks_per_erase", "[0, 1, 4, 2000]"),
    ("transfer", "['0', '1us', '500us']"),
    ("pcie_bytes_per_second", "['100m', '1g', 'none']"),
    ("fail_fast", "['0', '1us', '50us']"),
    ("busy_time_step", "['0', '10ms', '1s']"),
    ("over_provisioning", "['8%', '20%', '40%']"),
    ("read_overhead", "['0', '20us']"),
    ("command_time", "['0', '10us']"),
    ("write_command_time", "['0', '5us']"),
    ("collection_unit", "['block', 'line']"),
    ("blocking", "['controller', 'channel', 'channel-for-copies', 'die']"),
    ("collection_trigger", "['free-space', 'host-command']"),
    ("soft", "['5%', '10%', '20%']"),
    ("restore", "['10%', '20%']"),
    ("hard", "['2%', '3%', '4%', '8%', '12%']"),
    ("copyback", "[true, false]"),
    ("min_invalid", "['0%', '50%', '99%']"),
    ("collections_per_channel", "[0, 1, 2]"),
    ("read_priority", "[true, false]"),
    ("preemptive_collection", "[true, false]"),
    ("paced_writes", "[true, false]"),
    ("turn_pages", "[0, 96, 500]"),
    ("least_turn_pages", "[1, 48, 96]"),
    ("in_order_when_full", "[true, false]"),
    ("preemption_scope", "['die', 'channel']"),
    ("suspensions", "[0, 1, 9]"),
    ("suspends", "['everything', 'programs', 'collection']"),
    ("suspend_program", "['1us', '1ms']"),
    ("suspend_erase", "['1us', '1ms']"),
    ("program_pulse", "['0', '50us', '10ms']"),
    ("erase_pulse", "['0', '500us']"),
    ("suspensions_apart", "['0', '300us']"),
    ("queue_depth", "[0, 1, 8]"),
    ("queue_arbitration", "['one-queue', 'round-robin', 'submitters', '4:1']"),
    ("scrub_after", "['none', '1ms', '10ms']"),
    ("allocation", "['next-die', 'static']"),
    ("lba_ranges", "[1, 2, 4]"),
    ("lba_range_placement", "['channels', 'chips']"),
    ("valid_ratio", "['30%', '90%']"),
    ("burst_bytes_per_second", "[1e8, 5e9]"),
    ("drive_writes_per_day", "[0.5, 60.0]"),
    ("usable_share", "['30%', '90%']"),
    ("write_buffer", "['none', '1m', '4m']"),
    ("flush", "['when-full', 'in-window']"),
    ("buffer_latency", "['1us', '100us']"),
    ("flush_high", "['50%', '100%']"),
    ("flush_low", "['0%', '40%']"),
    ("buffer_reopens", "['0%', '50%', '100%']"),
    ("rain", "[0, 4, 8]"),
    ("tolerant_reads", "[true, false]"),
    ("greedy_reads", "[true, false]"),
    ("rotating_collection", "['off', 'on', 'forced']"),
    ("xor", "['0', '50us']"),
    ("wear_leveling", "[0, 1]"),
    ("static_wear_leveling", "[0, 1, 100]"),
    ("cells.reads", "[['10us', '20us', '30us'], ['50us'], []]"),
    ("cells.programs", "[['100us', '200us', '300us'], ['500us'], []]"),
    ("cells.blocks_per_page", "[1, 2, 4]"),
    ("cells.planes", "[1, 2, 4]"),
    ("cells.one_shot", "[true, false]"),
    ("cells.read_groups", "[1, 2, 4]"),
    ("slc_cache.read", "['5us', '20us']"),
    ("slc_cache.program", "['50us', '200us']"),
    ("slc_cache.most_blocks", "[0, 4, 16]"),
    ("slc_cache.fixed_blocks", "[0, 2, 4]"),
    ("slc_cache.fold_after", "['1ms', '10s']"),
    ("slc_cache.low_blocks", "[0, 4, 8]"),
    ("slc_cache.overflow", "['bypass', 'wait']"),
    ("read_retry.share", "['0%', '20%']"),
    ("read_retry.wear_share", "['0%', '20%']"),
    ("read_retry.rated_erases", "[100, 10000]"),
    ("read_retry.worn_erases", "[0, 3000]"),
    ("read_retry.age_share", "['0%', '5%']"),
    ("read_retry.age_months", "[0, 12]"),
    ("read_retry.disturb_share", "['0%', '20%']"),
    ("read_retry.rated_reads", "[20, 2000]"),
    ("read_retry.most", "[0, 1, 20]"),
    ("data_sheet.capacity", "['100GB', '480GB', '3.84TB']"),
    ("data_sheet.sequential_read", "['3GB/s', '14GB/s']"),
    ("data_sheet.sequential_write", "['800MB/s', '2.5GB/s']"),
    ("data_sheet.random_read", "[100000, 1000000]"),
    // Only the calibration reads it.
    ("data_sheet.random_write", "[]"),
    ("data_sheet.read_latency", "['20us', '60us', '200us']"),
    ("data_sheet.write_latency", "['1us', '10us', '100us']"),
    ("data_sheet.drive_writes_per_day", "[0.3, 10.0]"),
    ("data_sheet.power_loss_protection", "[true, false]"),
    ("data_sheet.flash", "['tlc', 'qlc']"),
];

/// A drive that is made from a data sheet.
const SHEET: &str = "[data_sheet]\ncapacity = '960GB'\nsequential_read = '6500MB/s'\n\
                     sequential_write = '1500MB/s'\nrandom_read = 580000\n";

/// Keys that count only without another, which [`small`] sets.
const WITHOUT: &[(&str, &str)] = &[
    ("data_sheet.write_latency", "write_buffer"),
    ("data_sheet.power_loss_protection", "write_buffer"),
];

/// Keys that count beside others only, or not in a short run without them.
const WITH: &[(&str, &str)] = &[
    ("read_retry.wear_share", "[read_retry]\nworn_erases = 3000\nwear_share = '1%'"),
    ("read_retry.rated_erases", "[read_retry]\nworn_erases = 3000\nwear_share = '1%'"),
    ("read_retry.worn_erases", "[read_retry]\nworn_erases = 100\nwear_share = '5%'"),
    ("read_retry.age_share", "[read_retry]\nage_months = 2\nage_share = '1%'"),
    ("read_retry.age_months", "[read_retry]\nage_months = 2\nage_share = '1%'"),
    ("read_retry.disturb_share", "[read_retry]\nrated_reads = 100\ndisturb_share = '5%'"),
    ("read_retry.rated_reads", "[read_retry]\nrated_reads = 100\ndisturb_share = '5%'"),
    ("suspend_erase", "erase = '100ms'"),
    ("collections_per_channel", "erase = '100ms'"),
    ("greedy_reads", "transfer = '2ms'"),
    ("read_retry.most", "[read_retry]\nshare = '50%'"),
];

/// The presets and a drive with a data sheet, by their names.
fn drives() -> Vec<(&'static str, DriveSettings)> {
    let sheet = toml::from_str(SHEET).expect("SHEET has keys of [drive]");
    let presets = ssd::presets::names().map(|name| (name, DriveSettings::preset(name)));
    presets.chain([("data sheet", sheet)]).collect()
}

/// A drive like `whole` that is prepared in milliseconds.
fn small(whole: &DriveSettings) -> DriveSettings {
    let is_possible =
        |drive: &DriveSettings| drive.build().is_ok_and(|config| config.validate().is_ok());
    let mut drive = whole.clone();
    let mut try_with = |change: &dyn Fn(&mut DriveSettings)| {
        let mut changed = drive.clone();
        change(&mut changed);
        let is_possible = is_possible(&changed);
        if is_possible {
            drive = changed;
        }
        is_possible
    };
    let sizes = [(2, 2), (4, 2), (8, 1), (8, 2)];
    let _ = sizes.into_iter().find(|&(channels, chips)| {
        try_with(&|drive| {
            drive.channels = Some(channels);
            drive.chips_per_channel = Some(chips);
        })
    });
    let preset = whole.build().expect("a listed drive exists");
    if preset.write_buffer.is_some() {
        try_with(&|drive| drive.write_buffer = "1m".parse().ok());
    }
    if let Some(cells) = preset.cells {
        try_with(&|drive| {
            drive.pages_per_block = Some(cells.unit_pages() * cells.bits * 4);
            drive.slc_cache = cells.slc.map(|_| SlcSettings {
                most_blocks: Some(8),
                fixed_blocks: Some(2),
                ..SlcSettings::default()
            });
        });
    }
    for blocks in [96, 256, 512] {
        if try_with(&|drive| drive.blocks_per_plane = Some(blocks)) {
            break;
        }
    }
    drive
}

/// The preset with the keys of [`WITH`], and without those of [`WITHOUT`].
fn base(preset: &DriveSettings, key: &str) -> DriveSettings {
    let mut table = Table::try_from(preset).expect("settings are a table");
    if let Some((_, with)) = WITH.iter().find(|(of, _)| *of == key) {
        table.extend(toml::from_str::<Table>(with).expect("WITH is TOML"));
    }
    if let Some((_, without)) = WITHOUT.iter().find(|(of, _)| *of == key) {
        table.remove(*without);
    }
    table.try_into().expect("WITH has keys of [drive]")
}

/// All keys of `[drive]`, those of its tables with the table in front.
fn keys() -> Vec<String> {
    let schema = schema_for!(DriveSettings);
    let properties = |of: &serde_json::Value| -> Vec<String> {
        of["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let mut keys = properties(schema.as_value());
    for (table, definition) in [
        ("cells", "CellSettings"),
        ("slc_cache", "SlcSettings"),
        ("read_retry", "RetrySettings"),
        ("data_sheet", "DataSheetSettings"),
    ] {
        keys.retain(|key| key != table);
        let inner = properties(&schema.as_value()["$defs"][definition]);
        keys.extend(inner.into_iter().map(|key| format!("{table}.{key}")));
    }
    keys
}

fn set(drive: &DriveSettings, key: &str, value: &Value) -> Option<DriveSettings> {
    let mut table = Table::try_from(drive).ok()?;
    match key.split_once('.') {
        None => _ = table.insert(key.to_owned(), value.clone()),
        Some((outer, inner)) => {
            let within = table.entry(outer).or_insert(Value::Table(Table::new()));
            within.as_table_mut()?.insert(inner.to_owned(), value.clone());
        }
    }
    table.try_into().ok()
}

/// Loads under which keys are tried. [`WEARING`] overwrites few data until blocks wear.
const MIXED: &str = "rwmixread = 50\nbs = '32k'\niodepth = 16\nrequests = 2000\n\
                     random_distribution = 'zipf:1.1'";
const FILLING: &str = "rwmixread = 15\nbs = '128k'\niodepth = 64\nrequests = 4000";
const WEARING: &str = "rwmixread = 5\nbs = '128k'\niodepth = 64\nsize = '32m'\nrequests = 20000";
const CROWDED: &str = "rwmixread = 30\nbs = '16k'\niodepth = 64\nrequests = 8000";
const PAUSING: &str = "rwmixread = 50\nbs = '32k'\nphases = '4000:250ms,10:1s,4000:250ms'\n\
                       random_distribution = 'zipf:1.1'";

/// Results of a short run under `policy`; `None` for a drive that is refused.
fn result(drive: &DriveSettings, policy: &str, workload: &str) -> Option<String> {
    drive.build().ok().filter(|config| config.validate().is_ok())?;
    let workload = format!("name = 'synthetic'\nrw = 'randrw'\n{workload}\n");
    let settings = Settings {
        drive: drive.clone(),
        workload: toml::from_str(&workload).expect("the workload is TOML"),
        run: RunSettings {
            threads: Some(1),
            policy: vec![policy.parse().expect("the policy exists")],
            ..RunSettings::default()
        },
        array: ArraySettings { drives: Some(3), ..ArraySettings::default() },
        ..Settings::default()
    };
    let setup = Setup::new(&settings, &[PolicyKind::BASE], &Silent).ok()?;
    let run = simulate::run(&setup, "", &Silent, Listeners::default())
        .expect("a set-up that was made can be run");
    let [result] = run.results.as_slice() else { unreachable!("one policy") };
    Some(format!("{} {:?}", result.hash, result.drives))
}

/// The verdicts of `ioda plan` on the whole drive.
fn outlook(drive: &DriveSettings) -> Option<String> {
    let config = drive.build().ok().filter(|config| config.validate().is_ok())?.whole();
    let loads = [config.contract.burst_bytes_per_second, config.normal_bytes_per_second()];
    Some(format!(
        "{:?}",
        loads.map(|load_bytes_per_second| {
            config.outlook(Promise {
                array: ArrayDescription { width: 4, parities: 1 },
                guard: Duration::ZERO,
                load_bytes_per_second,
                window: None,
            })
        })
    ))
}

/// Questions about a drive, the cheapest first.
const ASKED: [fn(&DriveSettings) -> Option<String>; 7] = [
    outlook,
    |drive| result(drive, "ioda", MIXED),
    |drive| result(drive, "ioda", FILLING),
    |drive| result(drive, "base", PAUSING),
    |drive| result(drive, "base", FILLING),
    |drive| result(drive, "iod2", CROWDED),
    |drive| result(drive, "base", WEARING),
];

#[test]
fn every_key_changes_a_result_or_is_refused() {
    let values: BTreeMap<&str, Vec<Value>> = VALUES
        .iter()
        .map(|&(key, values)| {
            let table: Table = toml::from_str(&format!("values = {values}")).unwrap();
            (key, table["values"].as_array().unwrap().clone())
        })
        .collect();
    let keys = keys();
    for key in &keys {
        assert!(values.contains_key(key.as_str()), "{key} has no values to try");
    }
    assert_eq!(keys.len(), values.len(), "each value is of a key");
    let mut idle = Vec::new();
    let (mut changed, mut refused) = (0, 0);
    for (name, whole) in drives() {
        let preset = small(&whole);
        let usual = ASKED.map(|ask| ask(&preset));
        for (key, values) in &values {
            let base = base(&preset, key);
            let config = base.build().unwrap();
            let mut before =
                if base == preset { usual.clone() } else { [const { None }; ASKED.len()] };
            let (mut tried, mut has_changed) = (Vec::new(), false);
            for value in values {
                let other =
                    set(&base, key, value).and_then(|drive| Some((drive.build().ok()?, drive)));
                let Some((mut other, drive)) = other else {
                    refused += 1;
                    continue;
                };
                other.name.clone_from(&config.name);
                if other == config {
                    continue;
                }
                if other.validate().is_err() {
                    refused += 1;
                    continue;
                }
                let changes = ASKED.iter().zip(&mut before).any(|(ask, before)| {
                    let before = before.get_or_insert_with(|| ask(&base).unwrap());
                    ask(&drive).is_none_or(|after| after != *before)
                });
                has_changed |= changes;
                changed += usize::from(changes);
                tried.push(value.to_string());
            }
            if !tried.is_empty() && !has_changed {
                idle.push(format!("{name}: {key} = {}", tried.join(", ")));
            }
        }
    }
    println!("{changed} changed, {refused} refused");
    assert!(idle.is_empty(), "{} change nothing:\n{}", idle.len(), idle.join("\n"));
}
