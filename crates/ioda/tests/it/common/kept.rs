//! Commands that keep their runs one by one in `runs.jsonl`.

use super::data;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Kills the command when it has kept two lines in `folder`, or more, and tears another, as if the
/// power had failed in the middle of it. Returns how many lines are kept.
pub(crate) fn killed(arguments: &[&str], folder: &Path) -> usize {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ioda"))
        .args(arguments)
        .current_dir(data())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = folder.join("runs.jsonl");
    let lines = || {
        let text = std::fs::read(&journal).unwrap_or_default();
        text.iter().filter(|&&byte| byte == b'\n').count()
    };
    while lines() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines();
    assert!(kept >= 2);
    let text = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, [&text[..], &text[..100]].concat()).unwrap();
    kept
}

/// What is kept in `folder`, byte for byte.
pub(crate) fn bytes(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("runs.jsonl")).unwrap()
}
