//! A drive is replaced while clients are served.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::served::{Served, flush, read, write};
use crate::forgetful::Forgetful;
use live::control::{AdminCommand, Answer};
use live::nbd::client::Client;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Longest that the test waits before it says that something hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: u8 = 20;
const BLOCK_BYTES: usize = 64 << 10;

fn offset_bytes(round: u8) -> u64 {
    u64::from(round) * BLOCK_BYTES as u64
}

/// Writes, flushes and reads, again and again. Returns whether all that was read was right.
fn use_array(client: &mut Client) -> bool {
    (0..ROUNDS).all(|round| {
        let data = vec![round + 1; BLOCK_BYTES];
        write(client, offset_bytes(round), &data).unwrap();
        flush(client).unwrap();
        read(client, offset_bytes(round), BLOCK_BYTES as u32).unwrap() == data
    })
}

/// The new drive does not answer the syncs of its format before clients have been answered.
#[test]
fn no_client_waits_for_the_format_of_a_new_drive() {
    let Some(files) = Forgetful::mount("the format of a slow drive") else { return };
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("array").display().to_string();
    let arguments = ["--plain", "--drive-size", "16m", "--chunk", "16k", "--storage", &storage];
    let mut served = Served::start(folder.path(), &arguments.map(String::from));
    let mut client = served.connect();
    served.done(&AdminCommand::Fail { drive: 1, force: false });
    files.hold_syncs(true);
    let order = AdminCommand::Replace { drive: 1, path: Some(files.at("new")) };
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let replacing = scope.spawn(|| served.ask(&order));
        let until = Instant::now() + PATIENCE;
        while files.counts().syncs == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let is_formatting = files.counts().syncs > 0;
        scope.spawn(|| {
            let _ = tell.send(use_array(&mut client));
        });
        let was_right = told.recv_timeout(PATIENCE);
        let was_replaced = replacing.is_finished();
        files.hold_syncs(false);
        assert!(is_formatting, "the new drive was not touched");
        assert_eq!(was_right, Ok(true), "clients waited for the new drive, or read wrong data");
        assert!(!was_replaced, "it was replaced before it was formatted");
        let answer = replacing.join().unwrap();
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    });
    served.wait_for_restoring();
    assert_eq!(served.scrub(), 0);
    // What was written meanwhile is on the new drive: it is there when another is not.
    served.done(&AdminCommand::Fail { drive: 2, force: false });
    for round in 0..ROUNDS {
        let data = read(&mut client, offset_bytes(round), BLOCK_BYTES as u32).unwrap();
        assert!(data.iter().all(|&byte| byte == round + 1), "{round}");
    }
}
