//! The first signal asks for an orderly end, the second one ends the process.
#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use crate::own_process;
use live::control::{AdminCommand, Inbox, Message, channel};
use live::operate::signals::watch;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::raise;
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(60);

fn orders(inbox: &Inbox) -> Vec<AdminCommand> {
    std::iter::from_fn(|| inbox.take())
        .map(|message| match message {
            Message::Admin(order, _) => order,
            _ => panic!("no order"),
        })
        .collect()
}

fn wait_for_shutdown(inbox: &Inbox) {
    let begin = Instant::now();
    let mut given = Vec::new();
    while given.is_empty() {
        assert!(begin.elapsed() < LONGEST, "the first signal was not heard");
        std::thread::sleep(Duration::from_millis(5));
        given = orders(inbox);
    }
    assert_eq!(given, [AdminCommand::Shutdown]);
}

#[test]
fn the_second_signal_ends_the_process() {
    let Some(child) = own_process::run("operate_signals::the_second_signal_ends_the_process")
    else {
        let (handle, inbox) = channel().unwrap();
        let _watch = watch(move || handle.shut_down()).unwrap();
        raise(SIGTERM).unwrap();
        wait_for_shutdown(&inbox);
        // Nothing more is ordered: this must not come back.
        raise(SIGINT).unwrap();
        std::thread::sleep(LONGEST);
        panic!("still alive: {:?}", orders(&inbox));
    };
    let said = String::from_utf8_lossy(&child.stdout);
    assert_eq!(child.status.code(), Some(128 + SIGINT), "{said}");
}

#[test]
fn a_closed_terminal_asks_once_and_ends_nothing_at_once() {
    let test = "operate_signals::a_closed_terminal_asks_once_and_ends_nothing_at_once";
    let Some(child) = own_process::run(test) else {
        let (handle, inbox) = channel().unwrap();
        let _watch = watch(move || handle.shut_down()).unwrap();
        raise(SIGHUP).unwrap();
        wait_for_shutdown(&inbox);
        // The shell sends one more.
        raise(SIGHUP).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(orders(&inbox), []);
        raise(SIGTERM).unwrap();
        std::thread::sleep(LONGEST);
        panic!("still alive: {:?}", orders(&inbox));
    };
    let said = String::from_utf8_lossy(&child.stdout);
    assert_eq!(child.status.code(), Some(128 + SIGTERM), "{said}");
}
