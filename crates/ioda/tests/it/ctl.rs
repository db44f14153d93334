//! `ioda ctl` against a thread that answers as an array would.

#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{Ran, ioda};
use crate::fake_array;
use live::control::AdminCommand;
use live::operate::{Operate, Settings};
use std::path::Path;

fn ctl(socket: &Path, arguments: &[&str]) -> Ran {
    let mut all = vec!["ctl", "--control", socket.to_str().unwrap()];
    all.extend(arguments);
    ioda(&all)
}

#[test]
fn orders_are_given_and_answers_told() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("array.ctl");
    let (handle, array) = fake_array::start();
    let settings = Settings { control: Some(socket.clone()), ..Settings::default() };
    let operate = Operate::start(&settings, &handle).unwrap();

    let ran = ctl(&socket, &["status"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let bar = "rebuild of drive 3 [#######-----------------------] 25.0 %, 25 of 100 stripes";
    let prefill = "prefill: 25.0 % of 4 GiB of memory, going on\n";
    for part in [
        "Base on raid5 of 4 drives, 3 GiB",
        "all drives serve",
        bar,
        prefill,
        "p99.9",
        "rebuilding",
    ] {
        assert!(ran.stdout.contains(part), "no {part} in\n{}", ran.stdout);
    }
    let row = |name: &str| ran.stdout.lines().find(|line| line.trim().starts_with(name)).unwrap();
    assert!(row("read").contains("20ms") || row("read").contains("20.0ms"), "{}", row("read"));
    let document = ctl(&socket, &["status", "--json"]).json();
    assert_eq!(document["answer"], "status");
    assert_eq!(document["drives"].as_array().unwrap().len(), 4);
    assert_eq!(document["prefill"]["done_bytes"], 1u64 << 30);
    assert_eq!(document["level"], "raid5");

    let replaced = folder.path().join("new");
    for (arguments, said) in [
        (&["fail", "1"][..], "done\n"),
        (&["replace", "1", replaced.to_str().unwrap()], "done\n"),
        (&["policy", "IODA"], "done\n"),
        (&["window", "50ms"], "done\n"),
        (&["slow", "2", "10"], "done\n"),
        (
            &["scrub", "--json"],
            "{\"schema\":\"ioda.answer/1\",\"answer\":\"done\",\"text\":\"done\"}\n",
        ),
    ] {
        let ran = ctl(&socket, arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, said), "{arguments:?}: {}", ran.stderr);
    }
    let refused = ctl(&socket, &["fail", "9"]);
    assert_eq!((refused.code, refused.stderr.as_str()), (1, "refused: there is no drive 9\n"));
    // What cannot be meant reaches no array.
    for arguments in [
        &["policy", "iodb"][..],
        &["window", "0"],
        &["window", "fast"],
        &["fail", "300"],
        &["fail"],
        &["status", "--log", "loud"],
    ] {
        let ran = ctl(&socket, arguments);
        assert!(ran.code == 2 && ran.stdout.is_empty(), "{arguments:?}: {}", ran.stdout);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    assert_eq!(ctl(&socket, &["shutdown"]).code, 0);
    let expected = [
        AdminCommand::Fail { drive: 1, force: false },
        AdminCommand::Replace { drive: 1, path: Some(replaced) },
        AdminCommand::Policy { name: "ioda".to_owned() },
        AdminCommand::Window { nanoseconds: 50_000_000 },
        AdminCommand::Slow { drive: 2, factor: 10 },
        AdminCommand::Scrub { repair: false },
        AdminCommand::Fail { drive: 9, force: false },
        AdminCommand::Shutdown,
    ];
    assert_eq!(array.join().unwrap(), expected);
    operate.close();
    let nobody = ctl(&socket, &["status"]);
    assert_eq!(nobody.code, 4);
    let network = ioda(&["ctl", "status", "--address", "nbd://127.0.0.1:10809"]);
    assert_eq!((network.code, network.stdout.as_str()), (2, ""));
    assert!(network.stderr.contains("at its control socket only"), "{}", network.stderr);
    assert!(nobody.stderr.starts_with("error: no array can be reached at "), "{}", nobody.stderr);
}

#[test]
fn a_watch_ends_with_the_array_and_tells_the_time_between() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("array.ctl");
    let (handle, array) = fake_array::start();
    let settings = Settings { control: Some(socket.clone()), ..Settings::default() };
    let operate = Operate::start(&settings, &handle).unwrap();
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            handle.execute(AdminCommand::Shutdown).unwrap();
        });
        ctl(&socket, &["status", "--watch"])
    });
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "refused: the array has been shut down\n"));
    assert!(ran.stdout.contains("since the start") && ran.stdout.contains("in between"));
    assert!(!ran.stdout.contains('\x1b'), "no terminal, no control characters");
    array.join().unwrap();
    operate.close();
}
