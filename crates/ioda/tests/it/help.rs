//! The help of every command, word for word.

use crate::common;
#[test]
fn every_command_explains_itself() {
    for command in [
        "",
        "compare",
        "run",
        "trace",
        "trace inspect",
        "trace convert",
        "trace merge",
        "plan",
        "explain",
        "presets",
        "bench",
        "reproduce",
        "survey",
        "survey merge",
        "sweep",
        "sweep merge",
        "torture",
        "serve",
        "drive",
        "load",
        "ctl",
        "ctl status",
        "ctl fail",
        "ctl replace",
        "ctl policy",
        "ctl window",
        "ctl slow",
        "ctl scrub",
        "ctl shutdown",
        "schema",
        "man",
        "completions",
    ] {
        let mut arguments: Vec<&str> = command.split_whitespace().collect();
        arguments.push("--help");
        let ran = common::ioda(&arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
        insta::assert_snapshot!(format!("help {command}").trim().replace(' ', "-"), ran.stdout);
    }
}

#[test]
fn the_version_and_completions_are_printed() {
    let ran = common::ioda(&["--version"]);
    assert_eq!(ran.stdout, format!("ioda {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        let ran = common::ioda(&["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("ioda"), "{shell}");
    }
}
