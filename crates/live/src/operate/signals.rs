//! Ctrl-C and `kill`: the first one asks the array to shut down cleanly, the second one ends the process
//! at once.

use crate::control::{AdminCommand, ArrayHandle, Message};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// The thread that waits for signals. When it is dropped, signals are no longer reported; they do not
/// get back their default action.
#[derive(Debug)]
pub struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Turns the first SIGINT or SIGTERM into [`AdminCommand::Shutdown`]. After any second one the process
/// ends with the exit code that shells give it, 128 and the number of the signal: what was answered
/// is as safe as after a crash.
///
/// # Errors
///
/// If the system refuses a thread or a descriptor.
pub fn watch(array: ArrayHandle) -> std::io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            if asked {
                std::process::exit(128 + signal);
            }
            asked = true;
            tracing::info!(signal, "shutting down; once more to end at once");
            // Nobody waits for the answer: the end of the process is one.
            let (answers, _) = channel();
            if array.send(Message::Admin(AdminCommand::Shutdown, answers)).is_err() {
                tracing::debug!("the array has ended already");
            }
        }
    })?;
    Ok(Watch { handle, thread: Some(thread) })
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
