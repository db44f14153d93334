//! A drive is replaced while clients are served.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::served::{self, Served};
use crate::forgetful::Forgetful;
use live::control::{AdminCommand, Answer};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest that the test waits before it says that something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The new drive is on a file system that answers nothing: whoever touches it waits.
#[test]
fn clients_are_served_while_a_new_drive_does_not_answer() {
    let Some(files) = Forgetful::mount("a new drive that does not answer") else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--plain", "--drive-size", "16m", "--chunk", "16k", "--raid", "5"];
    let mut served = Served::start(folder.path(), &arguments.map(String::from));
    let mut client = served.connect();
    served.done(&AdminCommand::Fail { drive: 1, force: false });
    files.cut(1);
    let order = AdminCommand::Replace { drive: 1, path: Some(files.at("new")) };
    let (tell, told) = channel();
    let (served, files, client) = (&served, &files, &mut client);
    std::thread::scope(|scope| {
        let replacing = scope.spawn(move || served.ask(&order));
        let until = Instant::now() + PATIENCE;
        while files.counts().held == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let held = files.counts().held;
        scope.spawn(move || {
            served::write(client, 0, &[7; 65536]).unwrap();
            served::flush(client).unwrap();
            let read = served::read(client, 0, 65536).unwrap();
            let _ = tell.send(read == [7; 65536]);
        });
        let read = told.recv_timeout(PATIENCE);
        let replaced_before = replacing.is_finished();
        files.refuse();
        assert!(held > 0, "nobody has touched the new drive");
        assert_ne!(read, Err(RecvTimeoutError::Timeout), "clients waited for the new drive");
        assert!(read.unwrap() && !replaced_before);
        assert!(matches!(replacing.join().unwrap(), Answer::Refused { .. }));
    });
}
