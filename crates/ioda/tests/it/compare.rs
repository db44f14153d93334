//! Comparisons from end to end on tiny drives.

#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::{self, ioda_in, tiny};
use serde_json::Value;

fn hashes(document: &Value) -> Vec<String> {
    let runs = document["runs"].as_array().unwrap();
    runs.iter().map(|run| run["result_hash"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_comparison_has_six_runs_that_collect_and_keep_the_contract() {
    let ran = tiny("compare", &["dtrs", "--requests", "4000", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    let runs = document["runs"].as_array().unwrap();
    let policies: Vec<&str> = runs.iter().map(|run| run["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, ["base", "iod1", "iod3", "ioda", "quiet", "ideal"]);
    let labels: Vec<&str> = runs.iter().map(|run| run["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["Base", "IOD1", "IOD3", "IODA", "Quiet", "Ideal"]);
    for run in runs {
        assert!(run["collections"].as_u64().unwrap() > 0, "{} does not collect", run["policy"]);
        let reads = run["read"]["count"].as_u64().unwrap();
        assert_eq!(reads + run["write"]["count"].as_u64().unwrap(), 4000);
    }
    assert_eq!(document["manifest"]["replayed"], "4000 of 4000 requests replayed");
    assert!(runs[3]["timeline"]["windows"].as_array().unwrap().len() > 4);
    // Only Base lets reads wait for collections, and only Ideal has none that take time.
    let blocked = |run: &Value| run["blocked_reads"]["by_collection"].as_u64().unwrap();
    assert!(blocked(&runs[0]) > blocked(&runs[3]), "{} reads blocked", blocked(&runs[0]));
    assert_eq!(runs[5]["blocked_reads"], serde_json::json!({ "by_collection": 0, "by_queue": 0 }));
    let free = runs[0]["free_over_time"].as_array().unwrap();
    assert_eq!(free[0][1].as_array().unwrap().len(), 4);
}

/// A short run on drives that are on sale.
const ON_SALE: [&str; 10] = [
    "synthetic",
    "--config",
    "on-sale.toml",
    "--rate_iops",
    "2000",
    "--number_ios",
    "12000",
    "--rw",
    "randrw",
    "--quiet",
];

#[test]
fn firmware_that_drives_on_sale_lack_is_marked_in_each_table() {
    let arguments = [&["compare"], &ON_SALE[..], &["--policy", "base,ioda,quiet,ideal"]].concat();
    let text = common::ioda(&arguments).stdout;
    let heads: Vec<&str> =
        text.lines().filter(|line| line.trim_start().starts_with("Base")).collect();
    assert_eq!(heads.len(), 6, "{text}");
    for head in heads {
        let names: Vec<&str> = head.split_whitespace().collect();
        assert_eq!(names, ["Base", "IODA†", "Quiet†", "Ideal"]);
    }
    assert!(
        text.contains("† needs firmware that drives on sale lack, and the model of two dies has: "),
        "{text}"
    );
    let document = common::ioda(&[&arguments[..], &["--json"]].concat()).json();
    let labels =
        document["runs"].as_array().unwrap().iter().map(|run| run["label"].as_str().unwrap());
    assert_eq!(labels.collect::<Vec<_>>(), ["Base", "IODA†", "Quiet†", "Ideal"]);
    // The drives of papers are research drives.
    assert!(!tiny("compare", &["dtrs", "--requests", "200"]).stdout.contains('†'));
}

#[test]
fn drives_that_flush_are_busy_and_keep_the_contract() {
    let arguments = [&["compare"], &ON_SALE[..], &["--policy", "ioda"]].concat();
    let text = common::ioda(&arguments).stdout;
    let share = |row: &str| -> f64 {
        let line = text.lines().find(|line| line.trim_start().starts_with(row)).unwrap();
        line[line.find(row).unwrap() + row.len()..].trim().trim_end_matches(" %").parse().unwrap()
    };
    assert!(share("2 busy") > 0.0, "{text}");
    assert_eq!(share("2+ collect"), 0.0, "{text}");
    assert_eq!(share("contract violations"), 0.0, "{text}");
    assert!(text.contains("(none with two collections)"), "{text}");
}

#[test]
fn ratios_have_intervals_if_they_are_asked_for() {
    let arguments = ["dtrs", "--requests", "40000", "--policy", "base,ioda,ideal"];
    let plain = tiny("compare", &[&arguments[..], &["--json"]].concat()).json();
    let asked = tiny("compare", &[&arguments[..], &["--intervals", "--json"]].concat()).json();
    assert_eq!(hashes(&plain), hashes(&asked), "measuring changes nothing");
    assert_eq!(plain["runs"][0].get("ratios"), None);
    let ratios = |run: usize, to: &str| -> Vec<Value> {
        let all = asked["runs"][run]["ratios"].as_array().unwrap().clone();
        all.into_iter().filter(|ratio| ratio["to"] == to).collect()
    };
    for (run, to) in [(0, "Ideal"), (1, "Ideal"), (1, "Base"), (2, "Base")] {
        let ratios = ratios(run, to);
        assert_eq!(ratios.len(), 11, "ten percentiles and the mean");
        for ratio in &ratios {
            let value = ratio["ratio"].as_f64().unwrap();
            match ratio["interval"].as_array() {
                Some(ends) => {
                    let ends: Vec<f64> = ends.iter().map(|end| end.as_f64().unwrap()).collect();
                    assert!(ends[0] <= value && value <= ends[1], "{ratio}");
                    assert!(ends[1] < 100.0 * ends[0], "{ratio}");
                }
                None => assert!(!ratio["why_not"].as_str().unwrap().is_empty(), "{ratio}"),
            }
        }
        assert!(ratios[10]["interval"].is_array(), "the mean has one: {}", ratios[10]);
        // 26 thousand reads are 26 beyond p99.9.
        let few = &ratios[7];
        assert_eq!(few["why_not"], "fewer than 100 requests lie above p99.95", "{few}");
    }
    assert_eq!(ratios(2, "Ideal").len(), 0, "nothing is compared with itself");
    let shown = tiny("compare", &[&arguments[..], &["--intervals"]].concat()).stdout;
    let of_ideal = "Read latency as a multiple of that under Ideal, with 95 % intervals";
    assert!(shown.contains(of_ideal), "{shown}");
    assert!(shown.contains("because fewer than 100 requests lie above p99.9 (Base, "), "{shown}");
    let alone = tiny("run", &["dtrs", "--intervals"]);
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("--intervals shows how sure ratios are"), "{}", alone.stderr);
}

#[test]
fn a_drive_alone_is_a_whole_system() {
    let alone = ["dtrs", "--requests", "4000", "--drives", "1", "--json"];
    let compared = tiny("compare", &alone);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    let document = compared.json();
    let runs = document["runs"].as_array().unwrap();
    let policies: Vec<&str> = runs.iter().map(|run| run["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, ["base", "ideal"]);
    assert!(runs[0]["collections"].as_u64().unwrap() > 0);
    let requests = runs[0]["read"]["count"].as_u64().unwrap();
    // Few requests are cut; with chunks of 4 KiB there would be ten times as many.
    let parts = runs[0]["stripe_reads"].as_u64().unwrap();
    assert!((requests..requests * 5 / 4).contains(&parts), "{parts} parts of {requests} reads");
    let array = document["manifest"]["array"].as_str().unwrap();
    assert!(array.starts_with("a single drive, "), "{array}");
    let drive = document["manifest"]["drive"].as_str().unwrap();
    assert!(drive.contains("; collections block their "), "{drive}");

    let ran = tiny("run", &alone).json();
    assert_eq!(ran["runs"][0]["result_hash"], runs[0]["result_hash"]);
    let refused = tiny("run", &["dtrs", "--drives", "1", "--policy", "ioda"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("raid0 has none; choose raid4"), "{}", refused.stderr);
    let refused = tiny("run", &["dtrs", "--drives", "1", "--raid", "5"]);
    assert!(refused.stderr.contains("raid5 needs between 3 and 64 drives"), "{}", refused.stderr);
}

#[test]
fn results_do_not_depend_on_threads_but_on_the_seed() {
    let run = |extra: &[&str]| {
        let mut arguments = vec!["msnfs", "--requests", "2000", "--json"];
        arguments.extend(extra);
        hashes(&tiny("compare", &arguments).json())
    };
    let one = run(&["--threads", "1"]);
    assert_eq!(one, run(&["--threads", "2"]));
    assert_ne!(one, run(&["--seed", "2"]));
    assert_eq!(run(&["--seed", "2"]), run(&["--randseed", "2"]));
}

#[test]
fn the_configuration_in_the_manifest_repeats_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let document = tiny("run", &["exch", "--requests", "2000", "--seed", "5", "--json"]).json();
    let configuration = document["manifest"]["configuration_toml"].as_str().unwrap();
    std::fs::write(folder.path().join("again.toml"), configuration).unwrap();
    let again = ioda_in(folder.path(), &["run", "--config", "again.toml", "--json"]).json();
    assert_eq!(hashes(&document), hashes(&again));
}

#[test]
fn assertions_decide_the_exit_code() {
    let arguments = ["dtrs", "--requests", "3000", "--assert", "read.p50<10s", "--assert"];
    let with = |condition: &'static str| {
        let mut all = arguments.to_vec();
        all.push(condition);
        tiny("run", &all)
    };
    let ran = with("read.count>=1");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("assert read.p50<10s: ok: IODA has read.p50 = "), "{}", ran.stdout);
    let ran = with("ioda:read.p50<1ns");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("assert ioda:read.p50<1ns: FAILED"), "{}", ran.stdout);
    let ran = with("base:read.p50<1s");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "nothing was run");
    let sentence =
        "--assert \"base:read.p50<1s\" is about base, which is not run: add it to --policy";
    assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    let compared =
        tiny("compare", &["dtrs", "--requests", "3000", "--assert", "ideal:read.p90<=1*base"]);
    assert_eq!(compared.code, 0, "{}", compared.stdout);
    // A trace that cannot be read is not looked at before.
    let early = tiny("compare", &["no-such.csv", "--policy", "base", "--assert", "ioda:waf<2"]);
    assert_eq!(early.code, 2);
    assert!(early.stderr.contains("is about ioda, which is not run"), "{}", early.stderr);
}

#[test]
fn too_few_samples_are_an_exit_code_of_their_own() {
    let with = |extra: &[&str]| tiny("run", &[&["dtrs", "--requests", "3000"], extra].concat());
    let few =
        ["--assert", "read.p99.9<10s", "--assert", "read.max<10s", "--assert", "read.mean<10s"];
    let ran = with(&few);
    assert_eq!(ran.code, 5, "{}", ran.stdout);
    let line = "assert read.p99.9<10s: not enough: IODA has read.p99.9 = ";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    assert!(ran.stdout.contains("requests, and this run has 3000\n"), "{}", ran.stdout);
    for enough in ["assert read.max<10s: ok", "assert read.mean<10s: ok"] {
        assert!(ran.stdout.contains(enough), "{}", ran.stdout);
    }
    let failed = with(&[&few[..], &["--assert", "read.p50<1ns"]].concat());
    assert_eq!(failed.code, 1, "what fails wins: {}", failed.stdout);
    let judged = with(&[&few[..], &["--allow-few"]].concat());
    assert_eq!(judged.code, 0, "{}", judged.stdout);
    assert!(judged.stdout.contains("assert read.p99.9<10s: ok"), "{}", judged.stdout);
    let json = with(&[&few[..], &["--json"]].concat());
    assert_eq!(json.code, 5);
    assert!(json.stderr.contains(line), "{}", json.stderr);
    let assertion = &json.json()["assertions"][0];
    assert_eq!(
        (&assertion["verdict"], &assertion["samples_needed"]),
        (&"not-enough".into(), &100.into())
    );
    // As many requests as it asks for are enough.
    let needed = assertion["requests_needed"].as_u64().unwrap().to_string();
    let more = tiny("run", &["dtrs", "--requests", &needed, "--assert", "read.p99.9<10s"]);
    assert_eq!(more.code, 0, "{needed}: {}", more.stdout);
    let page = with(&[&few[..], &["--html=-"]].concat());
    assert!(page.stdout.contains("? not enough") && page.code == 5, "{}", page.stderr);
    assert_eq!(with(&["--allow-few"]).code, 2, "there is nothing to judge");
}

#[test]
fn a_run_that_proves_nothing_says_so() {
    let notes = |arguments: &[&str]| -> String {
        let ran =
            tiny("compare", &[&["dtrs", "--policy", "base,ioda", "--json"], arguments].concat());
        let document = ran.json();
        let notes = document["manifest"]["notes"].as_array().unwrap().iter();
        notes.map(|note| note.as_str().unwrap().to_owned() + "\n").collect()
    };
    let settled = notes(&["--requests", "20000"]);
    assert!(!settled.contains("no collection") && !settled.contains("free space"), "{settled}");
    let idle = notes(&["--requests", "300", "--precondition", "fresh"]);
    assert!(idle.contains("no collection took place under any policy"), "{idle}");
    let filling = notes(&["--requests", "20000", "--precondition", "fresh"]);
    assert!(filling.contains("free space still moves"), "{filling}");
    assert!(filling.contains("% of the blocks under Base, "), "{filling}");
}

/// The line about the array, the only run and the output for assertions of a short run.
fn coordinated(arguments: &[&str]) -> (String, Value) {
    let mut all = vec!["dtrs", "--requests", "4000", "--json"];
    all.extend(arguments);
    let ran = tiny("run", &all);
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    let document = ran.json();
    let array = document["manifest"]["array"].as_str().unwrap();
    let words = array.split_once("; ").map_or("", |(_, words)| words).to_owned();
    (words, document["runs"][0].clone())
}

#[test]
fn the_report_says_how_drives_are_coordinated() {
    let (words, run) = coordinated(&[]);
    assert_eq!(words, "windows of 30ms in turn");
    assert_eq!(run["windows"].as_array().unwrap().len(), 1);
    assert!(run["permits"].is_null() && run["buffer"].is_null());

    let (words, run) = coordinated(&["--tw-changes", "100ms=60ms", "--guard", "1ms"]);
    assert_eq!(words, "windows of 30ms in turn, 60ms from 100ms on, guard 1ms");
    let lengths: Vec<f64> = run["windows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|window| window["length_ms"].as_f64().unwrap())
        .collect();
    assert_eq!(lengths, [30.0, 60.0]);
    assert!(!run["p99_over_time"].as_array().unwrap().is_empty());

    let (words, run) = coordinated(&["--coordinate", "adaptive", "--raid", "6", "--busy-drives=1"]);
    assert_eq!(words, "windows in turn, adapted from 30ms every 50ms by 10ms, 1 busy at once");
    assert!(run["windows"].as_array().unwrap().len() > 2);

    let (words, run) = coordinated(&["--coordinate", "token", "--lease", "40ms"]);
    assert_eq!(words, "tokens leased for 40ms");
    assert!(run["permits"].as_u64().unwrap() > 4 && run["windows"].is_null());

    let (words, _) = coordinated(&["--policy", "base"]);
    assert_eq!(words, "");
}

#[test]
fn buffers_windows_and_tokens_can_be_asserted() {
    let holds = |arguments: &[&str], conditions: &[&str]| {
        let mut all = vec!["dtrs", "--requests", "4000"];
        all.extend(arguments);
        all.extend(conditions.iter().flat_map(|condition| ["--assert", condition]));
        let ran = tiny("run", &all);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    let stdout = holds(
        &["--tw-changes", "100ms=60ms"],
        &["window==60ms", "window_changes==1", "permits==0", "overloads==0", "forced_flushes==0"],
    );
    assert!(stdout.contains("window at the end"), "{stdout}");
    assert!(!stdout.contains("lease messages"), "{stdout}");
    let stdout = holds(&["--coordinate", "token"], &["permits>4", "window==0s"]);
    assert!(stdout.contains("lease messages"), "{stdout}");
    let buffer = ["--write-buffer", "64k", "--flush", "in-window"];
    let stdout = holds(&buffer, &["forced_flushes>0"]);
    assert!(stdout.contains("forced flushes"), "{stdout}");
}

#[test]
fn fio_words_are_understood_in_both_spellings() {
    for spelling in ["--rate_iops", "--rate-iops"] {
        let ran = tiny(
            "run",
            &[
                "--rw",
                "randrw",
                "--rwmixread",
                "70",
                "--bs",
                "4k",
                "--size",
                "16m",
                spelling,
                "2000",
                "--number_ios",
                "1000",
                "--fio-json",
                "-",
            ],
        );
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let job = &ran.foreign_json()["jobs"][0];
        assert!(job["read"]["clat_ns"]["percentile"]["99.000000"].as_u64().unwrap() > 0);
    }
    let closed = ["synthetic", "--rw", "randwrite", "--iodepth", "8", "--size", "16m"];
    let ran = tiny("run", &closed);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Megabytes per second that a run wrote to each of its four drives.
fn written_to_each_drive(arguments: &[&str]) -> (f64, serde_json::Value) {
    let mut all = arguments.to_vec();
    all.extend(["--json"]);
    let ran = tiny("run", &all);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    let run = &document["runs"][0];
    let bytes = run["device_writes"].as_f64().unwrap() * 4096.0 / 4.0;
    (bytes / run["simulated_seconds"].as_f64().unwrap() / 1e6, document)
}

#[test]
fn rates_can_be_loads_on_each_drive() {
    // Gaps by chance, so a short run is near its rate only; tpcc comes in bursts.
    let cases: [(&[&str], f64); 4] = [
        (&["tpcc", "--requests", "3000", "--rerate", "5MB/s", "--policy", "ideal"], 0.15),
        (&["exch", "--requests", "3000", "--rerate", "5MB/s", "--policy", "ideal"], 0.15),
        (
            &["tpcc", "--requests", "3000", "--rerate", "5MB/s", "--policy", "base", "--raid=0"],
            0.15,
        ),
        (
            &[
                "--rw=randrw",
                "--number_ios=9000",
                "--rate_iops=5MB/s",
                "--policy=ideal",
                "--size=16m",
            ],
            0.05,
        ),
    ];
    for (arguments, slack) in cases {
        let (written, document) = written_to_each_drive(arguments);
        assert!((written / 5.0 - 1.0).abs() < slack, "{arguments:?}: {written}");
        let notes = document["manifest"]["notes"].to_string();
        assert!(notes.contains("5.00 MB/s"), "{arguments:?}: {notes}");
    }
    let logical = 32.0 * 0.75 * 1.048576;
    let (written, document) = written_to_each_drive(&[
        "synthetic",
        "--rw=randwrite",
        "--size=16m",
        "--phases=2880dwpd:1s,5760dwpd:1s",
        "--rate_process=linear",
        "--policy=ideal",
    ]);
    // A tenth of the drive per second, then a fifth.
    assert!((written / (0.15 * logical) - 1.0).abs() < 0.03, "{written}: {document:#}");
    let notes = document["manifest"]["notes"].to_string();
    assert!(notes.contains("2880 drive writes per day"), "{notes}");
}

#[test]
fn verified_runs_say_so_on_every_level() {
    for (raid, policy) in
        [("0", "base"), ("1", "ioda"), ("4", "iod1"), ("5", "ioda"), ("6", "iod3"), ("10", "iod2")]
    {
        let ran = tiny(
            "run",
            &["msnfs", "--requests", "1500", "--raid", raid, "--policy", policy, "--verify"],
        );
        assert_eq!(ran.code, 0, "raid{raid} {policy}: {}", ran.stderr);
        assert!(ran.stdout.contains("pages read, all as they were written"), "{}", ran.stdout);
    }
}

#[test]
fn pages_and_documents_are_written_where_they_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let config = common::data().join("tiny.toml");
    let config = config.to_str().unwrap();
    let run = |extra: &[&str]| {
        let mut all = vec!["compare", "--config", config, "exch", "--requests", "1000"];
        all.extend(extra);
        ioda_in(folder.path(), &all)
    };
    let none = run(&[]);
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (0, ""),
        "a page is written where it is asked for"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    for said in ["wrote ioda-report.html\n", "wrote ioda-report.html (replaced)\n"] {
        let ran = run(&["--html"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, said));
        assert_eq!(ran.stdout, none.stdout, "the page is written beside the table");
    }
    let page = std::fs::read_to_string(folder.path().join("ioda-report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    assert_eq!(run(&["--html=x.html", "--json=x.json", "--fio-json", "f.json"]).code, 0);
    let document = std::fs::read_to_string(folder.path().join("x.json")).unwrap();
    assert!(report::json::from_str(&document).is_ok());
    let both = run(&["--html=-", "--json"]);
    assert_eq!((both.code, both.stdout.as_str()), (2, ""));
    assert!(both.stderr.starts_with("error: --json and --html cannot both go"), "{}", both.stderr);
    let printed = run(&["--html=-"]);
    assert!(printed.stdout.starts_with("<!doctype html>"), "{}", printed.stdout);
    assert_eq!(run(&["--html=no/such/folder.html"]).code, 4);
}

#[test]
fn progress_is_reported_where_it_is_asked_for() {
    let arguments = [
        "run",
        "--config",
        "tiny.toml",
        "tpcc",
        "--requests",
        "60000",
        "--rerate",
        "1",
        "--progress",
    ];
    let ran = common::ioda(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.lines().count() >= 2, "{}", ran.stderr);
    assert!(ran.stdout.contains("the load is more than busy windows can bear"), "{}", ran.stdout);
}

#[test]
fn a_preset_drive_can_be_printed_changed_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let printed = common::ioda(&["presets", "drives", "--toml", "femu"]);
    assert_eq!(printed.code, 0);
    let changed = printed.stdout.replace("blocks_per_plane = 256", "blocks_per_plane = 32");
    assert_ne!(changed, printed.stdout);
    std::fs::write(folder.path().join("mine.toml"), changed).unwrap();
    let arguments = ["run", "exch", "--drive", "mine.toml", "--requests", "500", "--json"];
    let ran = ioda_in(folder.path(), &arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let drive = ran.json()["manifest"]["drive"].as_str().unwrap().to_owned();
    assert!(drive.contains("of 2 GiB flash"), "{drive}");
}

#[test]
fn a_closed_loop_ends_with_its_runtime() {
    let arguments =
        ["synthetic", "--rw", "randrw", "--bs", "4k", "--iodepth", "8", "--runtime", "200ms"];
    let ran = tiny("compare", &[&arguments[..], &["--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    for run in document["runs"].as_array().unwrap() {
        // What is under way at the end is finished.
        let seconds = run["simulated_seconds"].as_f64().unwrap();
        assert!((0.19..0.5).contains(&seconds), "{seconds} s");
    }
    let replayed = document["manifest"]["replayed"].as_str().unwrap();
    assert!(replayed.ends_with("requests replayed in 200ms, by policy"), "{replayed}");
}

#[test]
fn an_array_with_a_drive_gone_says_what_it_promises_and_how_fast_it_is_rebuilt() {
    let load =
        ["synthetic", "--rw", "randrw", "--bs", "4k", "--iodepth", "8", "--number_ios", "3000"];
    let of = |more: &[&str]| tiny("compare", &[&load[..], more].concat());
    let six = ["--drives", "6", "--raid", "6", "--policy", "base,quiet,floor"];
    let faults = ["--fail", "2@0s", "--replace", "2@0s"];
    let ran = of(&[&six[..], &faults].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let cells = |row: &str| -> Vec<String> {
        let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(row)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect()
    };
    assert_eq!(cells("contract while"), ["contract while degraded", "–", "k = 1", "–"]);
    assert_eq!((cells("rebuild, MiB/s").len(), cells("rebuilt").len()), (4, 4));
    assert!(ran.stdout.contains("Quiet with drives missing: one drive was busy at a time"));
    let document = of(&[&six[..], &faults, &["--json"]].concat()).json();
    let degraded = &document["runs"][1]["degraded"];
    assert_eq!(degraded["contract"], "reduced");
    assert!(degraded["rebuilds"][0]["mib_per_second"].as_f64().unwrap() > 1.0, "{degraded}");
    // The same without a spare parity, and without anything amiss.
    let ran = of(&["--policy", "quiet,floor", "--fail", "1@10ms"]);
    assert!(ran.stdout.contains("none, 1 busy") && ran.stdout.contains("had to wait"));
    assert!(!ran.stdout.contains("rebuilt"));
    let document = of(&["--policy", "quiet", "--json"]).json();
    assert_eq!(document["runs"][0].get("degraded"), None);
    let ran = of(&["--fail", "4@0s"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there is no drive 4; the drives of this array are 0 to 3"));
}
