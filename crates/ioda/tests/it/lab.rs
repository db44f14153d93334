//! `ioda reproduce lab` with a laboratory whose `boot` is a script that writes results at once:
//! what is run, what is kept, what fails, and what is said of it. What programs really do in
//! virtual time is for `lab/` itself.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::Ran;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Takes the words that the real one is given, notes them, and makes a result of them. What it does
/// besides is in files of its folder, so that a test can change it.
const BOOT: &str = r#"#!/bin/sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ "$1" = --memory ] && [ "$3" = --results ] && [ -x "$5" ] && [ -x "$IODA" ]
results=$4 system=$6 fs=$7 application=$8
echo "$2 $system $fs $application" >>"$here/.ran"
echo "running $application"
[ ! -e "$here/.hook" ] || . "$here/.hook"
case "$system" in md@plain) us=400 ;; base@plain) us=300 ;; ioda@plain) us=105 ;; *) us=100 ;; esac
echo "{\"application\": \"$application\", \"kind\": \"program\", \"file_system\": \"$fs\", \"system\": \"$system\",
 \"seconds\": $us, \"operations\": 5000, \"operations_per_second\": 50, \"operation\": \"read\", \"mean_us\": $us,
 \"percentiles_us\": {\"50\": $us, \"95\": $us, \"99\": $us, \"99.9\": $us, \"99.99\": $us},
 \"array\": {\"reads\": 7, \"writes\": 9, \"stripe_reads\": 8, \"met\": 1, \"mean_us\": null, \"percentiles_us\": null}}" >"$results/$application-$fs-$system.json"
"#;

/// Two applications under four systems, and claims of which one does not hold.
const EXPERIMENT: &str = r#"
id = "mine"
figure = "mine"
title = "a test"
applications = ["one", "two"]
file_systems = ["raw"]
systems = ["md", "base", "ioda", "ideal"]
memory = "123M"
ahead = ["ahead"]
shows = ["seconds", "own.p99", "array.p99", "array.reads"]
[[claims]]
id = "faster"
statement = "IODA is faster than Base."
kind = "ours"
limit = { from = "ours", because = "none" }
check.order = { metrics = ["own.p99"], series = ["base", "ioda"] }
[[claims]]
id = "slower"
statement = "IODA is slower than md under one."
kind = "ours"
limit = { from = "ours", because = "none" }
workloads = ["one"]
check.ratio = { metrics = ["seconds"], of = "ioda", to = "md", low = 2 }
[[claims]]
id = "second"
statement = "Of two alone."
kind = "ours"
limit = { from = "ours", because = "none" }
workloads = ["two"]
check.ratio = { metrics = ["own.p99"], of = "ioda", to = "ideal", high = 1.1 }
"#;

/// A laboratory in a folder of its own.
struct Lab {
    folder: tempfile::TempDir,
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Lab {
    fn new() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["lab/experiments", "mine", "tools"] {
            fs::create_dir_all(lab.at(folder)).unwrap();
        }
        script(&lab.at("lab/boot"), BOOT);
        script(&lab.at("lab/build-kernel"), "#!/bin/sh\necho /somewhere/linux-0123\n");
        script(&lab.at("lab/ahead"), "#!/bin/sh\necho ahead >>\"$(dirname \"$0\")/.ran\"\n");
        script(&lab.at("lab/experiments/application"), "#!/bin/sh\n");
        fs::write(lab.at("mine/mine.toml"), EXPERIMENT).unwrap();
        for tool in ["nbd-client", "mdadm", "python3"] {
            script(&lab.at("tools").join(tool), "#!/bin/sh\n");
        }
        lab
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// What runs do besides.
    fn hook(&self, text: &str) {
        fs::write(self.at("lab/.hook"), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ioda"));
        let tools = self.at("tools");
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        command
            .args(["reproduce", "lab", "--experiments", "mine"])
            .args(arguments)
            .args(if arguments.contains(&"--threads") { &[][..] } else { &["--threads", "2"] })
            .env("PATH", path)
            .env_remove("IODA_LAB_KERNEL")
            .current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
    }

    /// What was run since the last time that this was asked, in the order of the alphabet.
    fn ran(&self) -> Vec<String> {
        let path = self.at("lab/.ran");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// Folders and files among the results.
    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("target/lab/results")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }
}

/// What runs once of everything.
const ALL: [&str; 9] = [
    "123M base@plain raw one",
    "123M base@plain raw two",
    "123M ideal@plain raw one",
    "123M ideal@plain raw two",
    "123M ioda@plain raw one",
    "123M ioda@plain raw two",
    "123M md@plain raw one",
    "123M md@plain raw two",
    "ahead",
];

#[test]
fn every_run_is_made_once_and_judged() {
    let lab = Lab::new();
    let ran = lab.run(&["--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(lab.ran(), ALL);
    insta::assert_snapshot!("lab", ran.stdout);
    assert_eq!(lab.kept().len(), 8);
    // What is there is not made again, whatever is asked of it.
    assert_eq!(lab.run(&["--strict", "--quiet"]).code, 1, "one claim does not hold");
    assert_eq!(lab.run(&["--filter", "faster", "--strict", "--quiet"]).code, 0);
    assert_eq!(lab.ran(), ["ahead"; 2]);
    let document = lab.run(&["--json", "--quiet"]).json();
    assert_eq!(document["schema"], "ioda.reproduce-lab/1");
    let experiment = &document["experiments"][0];
    assert_eq!(experiment["applications"][1]["runs"][2]["measured"]["seconds"], 105.0);
    let verdicts: Vec<&Value> =
        experiment["claims"].as_array().unwrap().iter().map(|claim| &claim["holds"]).collect();
    assert_eq!(verdicts, [true, false, true]);
    assert_eq!(
        (&document["failed"], &document["twice"]),
        (&Value::Array(Vec::new()), &Value::Null)
    );
    lab.ran();
    assert_eq!(lab.run(&["--fresh", "--quiet"]).code, 0);
    assert_eq!(lab.ran(), ALL);
    // A file of the laboratory determines what comes of it; what people read does not.
    fs::write(lab.at("lab/README.md"), "words").unwrap();
    lab.run(&["--quiet"]);
    assert_eq!(lab.ran(), ["ahead"]);
    fs::write(lab.at("lab/experiments/one"), "another application").unwrap();
    lab.run(&["--quiet"]);
    assert_eq!(lab.ran(), ALL);
}

#[test]
fn a_smoke_is_one_application() {
    let lab = Lab::new();
    let refused = lab.run(&["--quick"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("name one for --quick"), "{}", refused.stderr);
    let ran = lab.run(&["mine", "--quick", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(lab.ran().len(), 4 + 1);
    assert!(!ran.stdout.contains("second:"), "it is about the other application");
}

#[test]
fn runs_that_fail_do_not_stop_the_others() {
    let lab = Lab::new();
    lab.hook(
        "[ \"$system $application\" != 'md@plain one' ] || { echo the disk is gone >&2; exit 7; }\n\
         [ \"$system $application\" != 'ideal@plain two' ] || { echo '{\"seconds\": ' >\"$results/two-raw-ideal@plain.json\"; exit 0; }\n\
         [ \"$system $application\" != 'base@plain two' ] || exit 0\n",
    );
    let ran = lab.run(&["--quiet", "--json"]);
    assert_eq!(ran.code, 4);
    let results = fs::canonicalize(lab.at("target/lab/results")).unwrap();
    for part in [
        "failed: one on the device under md, plain: it exited with 7; it said last: running one | the disk is gone (all of it: ",
        "two-raw-ideal@plain.json is no result of the laboratory: EOF while parsing",
        "failed: two on the device under Base, plain: it ended well, but wrote no ",
        "error: 3 of 8 runs failed: one on the device under md, plain, two on the device under Base, plain, two on the device under Ideal, plain; \
         they are tried again the next time",
    ] {
        assert!(ran.stderr.contains(part), "no {part}\nin {}", ran.stderr);
    }
    // What was said is where the message says.
    let at = ran.stderr.split("(all of it: ").nth(1).unwrap().split(')').next().unwrap();
    assert!(Path::new(at).starts_with(&results));
    assert_eq!(fs::read_to_string(at).unwrap(), "running one\nthe disk is gone\n");
    let document = ran.json();
    assert_eq!(document["failed"].as_array().unwrap().len(), 3);
    let experiment = &document["experiments"][0];
    assert_eq!(experiment["claims"], Value::Array(Vec::new()));
    let unjudged: Vec<&str> = experiment["unjudged"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["why"].as_str().unwrap())
        .collect();
    assert_eq!(
        unjudged,
        ["no run of two under Base", "no run of one under md", "no run of two under Ideal"]
    );
    assert_eq!(lab.ran(), ALL);
    // The others are kept, and only these are made again.
    fs::remove_file(lab.at("lab/.hook")).unwrap();
    let ran = lab.run(&["--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        lab.ran(),
        ["123M base@plain raw two", "123M ideal@plain raw two", "123M md@plain raw one", "ahead"]
    );
    assert!(lab.kept().iter().all(|name| !name.ends_with(".failed")), "{:?}", lab.kept());
}

#[test]
fn a_number_that_was_not_measured_leaves_a_claim_unjudged() {
    let lab = Lab::new();
    let text = EXPERIMENT.replace("metrics = [\"own.p99\"], of", "metrics = [\"array.p99\"], of");
    fs::write(lab.at("mine/mine.toml"), text).unwrap();
    let ran = lab.run(&["--quiet", "--filter", "second"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let sentence = "second: cannot be judged: no array.p99 of two under IODA, two under Ideal\n";
    assert!(ran.stdout.contains(sentence), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("1 cannot be judged: second.\n"), "{}", ran.stdout);
    let strict = lab.run(&["--quiet", "--filter", "second", "--strict", "--junit", "-"]);
    assert_eq!(strict.code, 1, "what was not judged does not hold");
    assert!(strict.stdout.contains("<skipped message="), "{}", strict.stdout);
}

#[test]
fn a_result_that_was_damaged_is_named() {
    let lab = Lab::new();
    lab.run(&["--quiet"]);
    let name = lab.kept().into_iter().find(|name| name.starts_with("two-raw-ioda@plain")).unwrap();
    let path = lab.at("target/lab/results").join(name).join("two-raw-ioda@plain.json");
    fs::write(&path, "{}").unwrap();
    let ran = lab.run(&["--quiet"]);
    assert_eq!(ran.code, 4);
    let path = fs::canonicalize(path).unwrap();
    let sentence = format!(
        "{} is no result of the laboratory: its application is null, but two was run; --fresh makes it again",
        path.display()
    );
    assert!(ran.stderr.contains(&sentence), "{}", ran.stderr);
}

#[test]
fn runs_are_made_twice_and_compared() {
    let lab = Lab::new();
    let ran = lab.run(&["--twice", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(lab.ran().len(), 16 + 1);
    assert!(
        ran.stdout.ends_with("each experiment twice: equal figures (8 runs)\n"),
        "{}",
        ran.stdout
    );
    // The second is of its own, and so it may differ.
    let boot = BOOT.replace("us=105 ;;", "us=105; case \"$results\" in *again*) us=106 ;; esac ;;");
    script(&lab.at("lab/boot"), &boot);
    let ran = lab.run(&["--twice", "--quiet"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("each experiment twice: 2 of 8 runs differ\n"), "{}", ran.stdout);
    let line = "one on the device under IODA, plain: seconds: 105 and 106; mean_us: 105 and 106; percentiles_us.50: ";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    let document = lab.run(&["--twice", "--quiet", "--json"]).json();
    assert_eq!(document["twice"]["equal"].as_array().unwrap().len(), 6);
    assert_eq!(document["twice"]["different"][0]["fields"][0], "seconds: 105 and 106");
}

#[test]
fn pages_are_written_for_each_experiment() {
    let lab = Lab::new();
    let ran = lab.run(&["--output", "pages", "--junit", "claims.xml"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("0 of 8 runs found in /"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("\nwrote pages/mine.html\n"), "{}", ran.stderr);
    let again = lab.run(&[]);
    assert!(again.stderr.starts_with("8 of 8 runs found in /"), "{}", again.stderr);
    let page = fs::read_to_string(lab.at("pages/mine.html")).unwrap();
    for part in
        ["<h1>mine: a test</h1>", "linux-0123", "IODA is faster than Base.", "does not hold"]
    {
        assert!(page.contains(part), "no {part}");
    }
    let xml = fs::read_to_string(lab.at("claims.xml")).unwrap();
    assert!(xml.contains("<testsuite name=\"mine\" tests=\"3\""), "{xml}");
}

#[test]
fn an_interrupt_ends_all_processes_and_keeps_what_has_ended() {
    let lab = Lab::new();
    // The first two end; the others have a child in a group of its own, and wait.
    lab.hook(
        "[ \"$application\" = two ] || case \"$system\" in md@plain|base@plain) ;; *) echo $$ >\"$here/.pid-$system\";\n\
         timeout 600 sleep 600 || true ;; esac\n",
    );
    let mut child =
        lab.command(&["--quiet"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = |system: &str| fs::read_to_string(lab.at("lab").join(format!(".pid-{system}"))).ok();
    while !["ioda@plain", "ideal@plain"]
        .iter()
        .all(|system| pid(system).is_some_and(|pid| pid.ends_with('\n')))
    {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        crate::common::pause(10);
    }
    let asked = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(asked, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: interrupted; what has ended is kept in "), "{said}");
    for system in ["ioda@plain", "ideal@plain"] {
        let path = format!("/proc/{}", pid(system).unwrap().trim());
        assert!(!Path::new(&path).exists(), "{system} is left");
    }
    let kept = lab.kept();
    assert_eq!(kept.len(), 2, "{kept:?}");
    fs::remove_file(lab.at("lab/.hook")).unwrap();
    lab.ran();
    assert_eq!(lab.run(&["--quiet"]).code, 0);
    assert_eq!(lab.ran().len(), 6 + 1, "it goes on");
}

#[test]
fn what_is_not_there_is_said() {
    let lab = Lab::new();
    let refused = |arguments: &[&str], code: i32, sentence: &str| {
        let ran = lab.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(sentence), "{sentence}\nin {}", ran.stderr);
        assert_eq!(lab.ran(), Vec::<String>::new(), "nothing was run");
    };
    let missing = "there is no laboratory in elsewhere, because elsewhere/boot is missing; run this in a copy of ioda's \
        sources, or say where theirs is with --lab FOLDER";
    refused(&["--lab", "elsewhere"], 2, missing);
    refused(&["--seed", "7"], 2, "--seed is not for `lab`");
    refused(&["--requests", "7"], 2, "--requests is not for `lab`");
    refused(&["nine"], 2, "there is no experiment of the laboratory \"nine\"");
    refused(&["--filter", "nothing at all"], 2, "no experiment of the laboratory and no claim has");
    refused(&["--threads", "0"], 2, "--threads is 0; it must be 1 to 1024");
    script(&lab.at("lab/ahead"), "#!/bin/sh\necho there is no compiler >&2\nexit 2\n");
    refused(&[], 2, "lab/ahead failed: there is no compiler");
    fs::write(
        lab.at("mine/mine.toml"),
        EXPERIMENT.replace("shows", "needs = { no-such-program = 'a-package' }\nshows"),
    )
    .unwrap();
    refused(
        &[],
        2,
        "programs that the laboratory needs are missing: no-such-program; on Debian: apt-get install a-package",
    );
    script(&lab.at("lab/build-kernel"), "#!/bin/sh\necho there is no kernel >&2\nexit 2\n");
    refused(&[], 2, "the laboratory has no kernel; build it with ");
    fs::write(lab.at("mine/mine.toml"), "id = 'x'").unwrap();
    refused(&[], 2, "mine/mine.toml, line 1: missing field `figure`");
    let ioda = |arguments: &[&str]| crate::common::ioda(arguments).stderr;
    assert!(ioda(&["reproduce", "5a", "lab"]).starts_with("error: `lab` is a laboratory"));
    let others = ioda(&["reproduce", "5a", "--twice"]);
    assert_eq!(others, "error: --twice is for `ioda reproduce lab` only\n");
    let there = ioda(&["reproduce", "9b"]);
    assert_eq!(there, "error: 9b is an experiment of the laboratory: ioda reproduce lab 9b\n");
}

#[test]
fn the_experiments_of_the_laboratory_are_listed() {
    let ran = crate::common::ioda(&["reproduce", "lab", "--list"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!("lab_experiments", ran.stdout);
    let one = crate::common::ioda(&["reproduce", "lab", "9b", "--list"]);
    assert!(one.stdout.starts_with("figure-9b: ") && !one.stdout.contains("figure-9c"));
}
