//! `ioda plan`: what it says, what it refuses, and what its documents hold.

#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::{ioda, ioda_in};
use std::fmt::Write;

#[test]
fn without_arguments_it_is_table_2_and_more() {
    let ran = ioda(&["plan"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("plan", ran.stdout);
}

#[test]
fn one_array_is_judged_with_guards_and_windows() {
    let mut text = String::new();
    let cases: [&[&str]; 6] = [
        &["--drive", "femu", "--drives", "8", "--load", "1dwpd,20dwpd"],
        &["--drive", "p4600", "--raid", "6", "--drives", "12", "--clock-skew", "2ms"],
        &["--drive", "sim", "--tw", "burst", "--load", "flash"],
        &["--drive", "femu", "--tw", "10s", "--load", "30MB/s"],
        &["--drive", "970", "--usable-share", "watermarks", "--load", "burst"],
        &["--config", "tiny.toml", "--load", "norm"],
    ];
    for arguments in cases {
        let ran = ioda(&[&["plan"], arguments].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        let verdicts = ran.stdout.split("\n\n").next().unwrap_or_default();
        writeln!(text, "$ ioda plan {}\n{verdicts}\n", arguments.join(" ")).unwrap();
    }
    insta::assert_snapshot!("verdicts", text);
}

#[test]
fn a_simulation_stands_beside_the_formula() {
    let drive = ["plan", "--drive", "femu", "--blocks-per-plane", "64", "--drives", "8"];
    let arguments = [&drive[..], &["--load", "norm,30MB/s", "--simulate"]].concat();
    let ran = ioda(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("simulated", ran.stdout);
    let document = ioda(&[&arguments[..], &["--json"]].concat()).json();
    let plan = &document["plans"][0];
    assert_eq!(plan["derived"]["usable_share"], plan["derived"]["watermark_share"]);
    for load in plan["loads"].as_array().unwrap() {
        let number = |key: &str| load[key].as_f64().unwrap();
        assert_eq!(load["simulated_scale"], 1.0);
        let ratio = number("simulated_window_ms") / number("longest_window_ms");
        assert!((ratio / number("simulated_over_formula") - 1.0).abs() < 1e-6);
        assert!((0.95..1.5).contains(&ratio), "{load:#}");
    }
}

#[test]
fn what_cannot_be_simulated_says_why() {
    let large = ["--drive", "p4600", "--load", "1000000MB/s"];
    let none = ["--drive", "femu", "--guard", "60s", "--load", "burst"];
    let of = |arguments: &[&str]| {
        let ran = ioda(&[&["plan", "--simulate", "--json"], arguments].concat());
        let load = ran.json()["plans"][0]["loads"][0].clone();
        assert!(load["simulated_window_ms"].is_null());
        load["sentence"].as_str().unwrap().to_owned()
    };
    assert!(of(&large).contains("more than 30 million; lower --load."));
    assert!(of(&none).contains("Not simulated: the guards alone use up the space"));
}

#[test]
fn contradictions_are_refused_with_the_parameter_and_the_limit() {
    let cases: [(&[&str], &str); 16] = [
        (
            &["--simulate", "--usable-share", "5%"],
            "--usable-share is 5%, but drives that --simulate runs have what lies between their \
             watermarks; leave it out or set it to watermarks",
        ),
        (
            &["--drive", "sim", "--tw", "100ms"],
            "--tw is 100ms, but one collection of sim (T_gc) takes 658.24ms; choose at least 658.24ms",
        ),
        (
            &["--drive", "sim", "--tw", "659ms", "--guard", "1ms"],
            "--tw is 659ms, but one collection of sim (T_gc) takes 658.24ms and its two guards 2ms; \
             choose at least 660.24ms",
        ),
        (
            &["--over-provisioning", "0"],
            "over_provisioning (R_p) of sim, changed is 0%; it must be above 0% and below 100%, \
             or there is nothing that may fill between two windows",
        ),
        (
            &["--over-provisioning", "100%"],
            "over_provisioning (R_p) of sim, changed is 100%; it must be above 0% and below 100%, \
             or there is nothing that may fill between two windows",
        ),
        (
            &["--over-provisioning", "120%"],
            "invalid value '120%' for '--over-provisioning <PERCENT>': share \"120%\" is not a \
             share from 0% to 100%, such as 25%",
        ),
        (&["--drives", "2"], "--drives (N_ssd) is 2; raid5 needs 3 to 64 drives"),
        (&["--raid", "6", "--drives", "3"], "--drives (N_ssd) is 3; raid6 needs 4 to 64 drives"),
        (&["--drives", "65"], "--drives (N_ssd) is 65; raid5 needs 3 to 64 drives"),
        (
            &["--busy-drives", "2"],
            "--busy-drives is 2, but raid5 can rebuild 1 of a stripe; choose 1",
        ),
        (
            &["--raid", "6", "--busy-drives", "3"],
            "--busy-drives is 3, but raid6 can rebuild 2 of a stripe; choose 1 to 2",
        ),
        (
            &["--raid", "0"],
            "--raid is raid0, which has no parity to rebuild what a busy drive holds; choose 4, 5 \
             or 6, or the mirrors 1 or 10",
        ),
        (
            &["--load", "0dwpd"],
            "invalid value '0dwpd' for '--load <LOAD>': load \"0dwpd\" is not `burst`, `norm`, \
             `flash`, or a number above 0 and up to 1e9 with dwpd, MB/s or MiB/s, such as 10dwpd \
             or 30MB/s",
        ),
        (
            &["--usable-share", "1.5"],
            "invalid value '1.5' for '--usable-share <SHARE>': share \"1.5\" has no unit; write 1.5%",
        ),
        (
            &["--usable-share", "150%"],
            "invalid value '150%' for '--usable-share <SHARE>': usable share \"150%\" is not \
             `watermarks`, or a share above 0% and at most 100%",
        ),
        (
            &["--clock-skew", "2ms", "--guard", "1ms"],
            "--guard is 1ms, but clocks that are off by --clock-skew 2ms let windows overlap unless \
             it is at least 2ms",
        ),
    ];
    for (arguments, sentence) in cases {
        let ran = ioda(&[&["plan"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        let first = ran.stderr.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: {sentence}"), "{arguments:?}");
    }
}

#[test]
fn the_json_document_has_units_and_every_number() {
    let document = ioda(&["plan", "--json"]).json();
    let plans = document["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 6);
    for plan in plans {
        let printed = &plan["printed_table"];
        assert!(printed["tw_burst_ms"].is_f64() && printed["tw_norm_ms"].is_f64());
        let loads = plan["loads"].as_array().unwrap();
        assert_eq!(loads.len(), 2);
        for load in loads {
            let fails = load["verdict"] == "fails";
            assert_eq!(load["advice"].is_object(), fails, "{load:#}");
            assert_eq!(load["window_ms"].is_null(), load["reason"] == "no-window");
        }
        assert_eq!(plan["tw_burst_ms_by_drives"].as_array().unwrap().len(), 21);
    }
    assert_eq!(plans[0]["printed_table"]["tw_norm_ms"], 6259.0);
    assert_eq!(plans[0]["loads"][0]["reason"], "no-window");
    // The keys are an interface: whoever changes them says so in the changelog.
    let keys = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join("\n")
    };
    let sections = [
        ("plan", &plans[0]),
        ("derived", &plans[0]["derived"]),
        ("printed_table", &plans[0]["printed_table"]),
        ("loads[]", &plans[0]["loads"][0]),
        ("advice", &plans[0]["loads"][0]["advice"]),
    ];
    let text: Vec<String> =
        sections.iter().map(|(name, value)| format!("{name}:\n{}\n", keys(value))).collect();
    insta::assert_snapshot!("json-keys", text.join("\n"));
}

#[test]
fn documents_go_to_files_and_the_table_stays() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["plan", "--drive", "femu", "--html=windows.html", "--json=plan.json"];
    let ran = ioda_in(folder.path(), &arguments);
    assert_eq!((ran.code, ran.stderr.trim()), (0, "wrote plan.json, windows.html"));
    assert!(ran.stdout.contains("TW_burst ms"));
    let page = std::fs::read_to_string(folder.path().join("windows.html")).unwrap();
    assert!(page.contains("id=\"plot-width\"") && page.contains("4 × femu, burst"));
    let both = ioda(&["plan", "--json", "--html=-"]);
    assert_eq!((both.code, both.stdout.as_str()), (2, ""));
}

#[test]
fn the_presets_and_the_planner_agree() {
    let presets = ioda(&["presets", "drives", "--drives", "8", "--json"]).json();
    for drive in presets["drives"].as_array().unwrap() {
        let name = drive["name"].as_str().unwrap();
        let plan = ioda(&["plan", "--drive", name, "--drives", "8", "--json"]).json();
        assert_eq!(plan["plans"][0]["derived"]["tw_burst_ms"], drive["tw_burst_ms"], "{name}");
    }
}
