//! Ctrl-C, `kill` and the end of a terminal: the first one asks what is served to shut down
//! cleanly, a second Ctrl-C or `kill` ends the process at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::thread::JoinHandle;

/// The thread that waits for signals. When it is dropped, signals are no longer reported; they do
/// not get back their default action.
#[derive(Debug)]
pub struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Calls `shut_down` at the first SIGINT, SIGTERM or SIGHUP, in a thread of its own. After any
/// second one the process ends with the exit code that shells give it, 128 and the number of the
/// signal: what was answered is as safe as after a crash.
///
/// A second SIGHUP does nothing: when a terminal is closed, the system and the shell each send one.
/// A process that was started to ignore them (`nohup`) still does.
///
/// # Errors
///
/// If the system refuses a thread or a descriptor.
pub fn watch(shut_down: impl Fn() + Send + 'static) -> std::io::Result<Watch> {
    let hang_up = (!ignores_hang_ups()).then_some(SIGHUP);
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hang_up))?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            if asked && signal == SIGHUP {
                continue;
            }
            if asked {
                std::process::exit(128 + signal);
            }
            asked = true;
            tracing::info!(signal, "shutting down; once more to end at once");
            shut_down();
        }
    })?;
    Ok(Watch { handle, thread: Some(thread) })
}

/// Whether the process was started to ignore SIGHUP.
fn ignores_hang_ups() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|text| ignores(&text, SIGHUP))
}

/// Whether a signal is ignored, from the text of `/proc/self/status`.
fn ignores(text: &str, signal: i32) -> bool {
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_in_the_status() {
        let text =
            "Name:\tioda\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert!(ignores(text, SIGHUP) && !ignores(text, SIGINT) && !ignores(text, SIGTERM));
        assert!(!ignores("", SIGHUP) && !ignores("SigIgn:\tx\n", SIGHUP));
    }
}
