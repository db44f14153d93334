//! `--quiet` means the same in every command: results and errors, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{ioda, ioda_in};
use crate::fake_array;
use live::control::AdminCommand;
use live::operate::{Operate, Settings};
use std::collections::BTreeSet;
use std::path::Path;

/// For each command one that ends soon, whether it says more than its results without `--quiet`,
/// and whether its results are the same each time.
const COMMANDS: [(&str, bool, bool); 22] = [
    ("compare exch.csv --config tiny.toml --policy base,ioda --html=page.html", true, true),
    ("run exch.csv --config tiny.toml --json=run.json", true, true),
    ("explain exch.csv --config tiny.toml --worst 3", false, true),
    ("explain exch.csv --config tiny.toml --request 3 --html=life.html", true, true),
    ("plan --drive sim --html=plan.html", true, true),
    ("trace inspect exch.csv", false, true),
    ("trace convert exch.csv again.csv --to csv", true, true),
    ("presets drives", false, true),
    ("bench --quick", true, false),
    ("bench policies --quick", false, false),
    ("bench loading --quick", false, false),
    ("bench timer --seconds 1", true, false),
    ("reproduce figure-5b --quick --output pages", true, true),
    (
        "survey --config tiny.toml --workload exch --requests 300 --policy base --seeds 1",
        true,
        false,
    ),
    ("sweep exch.csv --config tiny.toml --vary width=4,5 --policy base", true, true),
    ("fit --script --loads 1000,2000,3000", false, true),
    ("torture --seeds 2 --steps 20", false, false),
    ("ctl status --control array.ctl", false, false),
    ("schema", false, true),
    ("schema --markdown reference", true, true),
    ("man pages", true, true),
    ("completions bash", false, true),
];

/// Commands that other tests run: they serve, or load what is served.
const SERVED: [&str; 4] = ["serve", "drive", "load", "plmlc"];

fn make_trace(folder: &Path) {
    let lines: String = (0..400)
        .map(|i| {
            let (op, offset) = (["read", "write"][i % 2], i * 4096 % 65536);
            format!("{},{op},{offset},4096\n", i * 500)
        })
        .collect();
    std::fs::write(folder.join("exch.csv"), format!("time_us,op,offset_bytes,size_bytes\n{lines}"))
        .unwrap();
    std::fs::copy(crate::common::data().join("tiny.toml"), folder.join("tiny.toml")).unwrap();
}

#[test]
fn only_results_are_printed_by_any_command() {
    let folder = tempfile::tempdir().unwrap();
    make_trace(folder.path());
    let (handle, array) = fake_array::start();
    let control = Some(folder.path().join("array.ctl"));
    let operate = Operate::start(&Settings { control, ..Settings::default() }, &handle).unwrap();
    for (command, says_more, is_same) in COMMANDS {
        let run = |flag: &[&str]| {
            let words: Vec<&str> = command.split(' ').chain(flag.iter().copied()).collect();
            let ran = ioda_in(folder.path(), &words);
            assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
            ran
        };
        let usual = run(&[]);
        assert_eq!(!usual.stderr.is_empty(), says_more, "{command}: {}", usual.stderr);
        for flag in ["--quiet", "-q"] {
            let quiet = run(&[flag]);
            assert_eq!(quiet.stderr, "", "{command} {flag}");
            assert_eq!(quiet.stdout.is_empty(), usual.stdout.is_empty(), "{command} {flag}");
            if is_same {
                let plain = |text: &str| text.replace(" --quiet", "").replace(" -q", "");
                assert_eq!(plain(&quiet.stdout), plain(&usual.stdout), "{command} {flag}");
            }
        }
    }
    handle.execute(AdminCommand::Shutdown).unwrap();
    operate.close();
    array.join().unwrap();
}

#[test]
fn no_command_is_left_out() {
    let help = ioda(&["--help"]).stdout;
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let all: BTreeSet<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let tested = COMMANDS.iter().filter_map(|(command, ..)| command.split(' ').next());
    assert_eq!(all, tested.chain(SERVED).collect());
}

#[test]
fn errors_and_refusals_are_said_all_the_same() {
    let wrong = ioda(&["run", "--quiet", "--drives", "65"]);
    assert!(wrong.code == 2 && wrong.stderr.starts_with("error: "), "{}", wrong.stderr);
    let nobody = ioda(&["ctl", "--quiet", "status", "--control", "/nowhere/array.ctl"]);
    assert!(nobody.code == 4 && nobody.stderr.starts_with("error: "), "{}", nobody.stderr);
    let nobody = ioda(&["load", "--quiet", "--address", "/nowhere/array.sock"]);
    assert!(nobody.code == 2 && nobody.stderr.starts_with("error: "), "{}", nobody.stderr);
}
