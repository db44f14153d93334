//! What can be asked of a running array, and told to it, from outside its thread.

mod latency;

pub use latency::{Latency, PERCENTILES, Recorder};

use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use thiserror::Error;

/// An order to a running array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum Order {
    /// Say how it is.
    Status,
    /// Take a drive for failed.
    Fail {
        /// Its position.
        drive: u8,
    },
    /// Put an empty drive in the place of a failed one and rebuild it.
    Replace {
        /// Its position.
        drive: u8,
        /// Where the new one keeps its bytes; where the old one did, if nothing is said.
        path: Option<PathBuf>,
    },
    /// Go on under another policy.
    Policy {
        /// Its name.
        name: String,
    },
    /// Give the busy windows another length.
    Window {
        /// The length.
        nanoseconds: u64,
    },
    /// Check the parity of every stripe while serving.
    Scrub,
    /// Finish what was begun, write everything down, and end.
    Shutdown,
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// How the array is.
    Status(Box<Status>),
    /// Done, and what there is to say about it.
    Done {
        /// One sentence.
        text: String,
    },
    /// Not done, and why.
    Refused {
        /// One sentence.
        reason: String,
    },
}

/// How a running array is: everything that people and monitors are shown. Counters only grow;
/// times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// The array's name for itself.
    pub uuid: String,
    /// RAID level.
    pub level: String,
    /// Policy in force.
    pub policy: String,
    /// Time since the start at which it came into force; zero if it was there from the start.
    pub policy_since_nanoseconds: u64,
    /// Bytes that clients see.
    pub capacity_bytes: u64,
    /// Since the start.
    pub uptime_nanoseconds: u64,
    /// Length of the busy windows, if the policy has any.
    pub busy_window_nanoseconds: Option<u64>,
    /// Whether drives are missing or failed.
    pub degraded: bool,
    /// Whether the array has stopped to take requests, and why.
    pub stopped: Option<String>,
    /// Of a rebuild, resync or scrub that is under way.
    pub restoring: Option<Restoring>,
    /// The drives.
    pub drives: Vec<DriveStatus>,
    /// Clients that are connected.
    pub connections: u64,
    /// Requests in flight.
    pub requests_in_flight: u64,
    /// Reads, from arrival to the answer.
    pub read: Latency,
    /// Writes, from arrival to the answer.
    pub write: Latency,
    /// How much later than due emulated drives answered.
    pub lateness: Latency,
    /// Bytes that clients have read.
    pub read_bytes: u64,
    /// Bytes that clients have written.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Requests that were answered with an error.
    pub failed_requests: u64,
    /// Where reads spent their time: latency by cause.
    pub causes: Vec<CauseStatus>,
    /// Stripe reads by how many of their members met a collection.
    pub busy_sub_ios: Vec<u64>,
    /// Sub-I/Os that were failed fast.
    pub fail_fasts: u64,
    /// Stripe reads that were rebuilt.
    pub rebuilds: u64,
    /// Sub-I/Os that were sent again to wait, because too many failed.
    pub resubmitted: u64,
    /// Processor time of the array's thread.
    pub processor_nanoseconds: u64,
    /// What the policy has counted.
    pub tallies: Vec<TallyStatus>,
}

/// A rebuild, a resync or a scrub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Restoring {
    /// `rebuild`, `resync` or `scrub`.
    pub what: String,
    /// The drive, of a rebuild.
    pub drive: Option<u8>,
    /// Stripes that are done.
    pub stripes_done: u64,
    /// All stripes that are to be done.
    pub stripes: u64,
    /// Stripes whose parity was found wrong, of a scrub.
    pub mismatches: u64,
}

/// A drive of a running array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveStatus {
    /// Its position.
    pub drive: u8,
    /// Where its bytes are: `memory`, or a path.
    pub place: String,
    /// `serving`, `failed` or `rebuilding`.
    pub state: String,
    /// Whether it is emulated.
    pub emulated: bool,
    /// Whether its busy window is open.
    pub in_window: bool,
    /// Its latest busy windows, at most [`RECENT_WINDOWS`] and the oldest first.
    pub recent_windows: Vec<BusyWindow>,
    /// Whether it collects.
    pub collecting: bool,
    /// Whether it has room left for copies: share of free blocks.
    pub free_share: f64,
    /// Commands it has not answered.
    pub queued: u64,
    /// Pages that the array read.
    pub read_pages: u64,
    /// Pages that the array wrote.
    pub written_pages: u64,
    /// Pages that collections copied.
    pub copied_pages: u64,
    /// Blocks that were erased.
    pub erased_blocks: u64,
    /// Pages programmed per page that the array wrote.
    pub write_amplification: f64,
    /// Commands that the drive answered with an error.
    pub errors: u64,
}

/// Busy windows that a drive's status tells at most: enough for a second, which is how often they
/// are asked for, down to windows of some tens of milliseconds.
pub const RECENT_WINDOWS: usize = 16;

/// A busy window, by the time since the start of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyWindow {
    /// When it opened.
    pub opened_nanoseconds: u64,
    /// When it closed, if it has.
    pub closed_nanoseconds: Option<u64>,
}

/// Time that reads spent for one cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CauseStatus {
    /// The cause in words.
    pub cause: String,
    /// Time of reads that met it, as a histogram of the part due to it.
    pub latency: Latency,
}

/// Something that the policy has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TallyStatus {
    /// What.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// Something for the array's thread.
#[derive(Debug)]
pub enum Message {
    /// An order, and where the answer goes.
    Order(Order, Sender<Answer>),
    /// A client that has chosen an export.
    Client(Box<crate::nbd::Connection>),
}

/// The way to the array's thread; as many as are needed.
#[derive(Clone, Debug)]
pub struct Line {
    messages: Sender<Message>,
    bell: Arc<OwnedFd>,
}

/// The end of the line at the array's thread.
#[derive(Debug)]
pub struct Inbox {
    messages: Receiver<Message>,
    bell: Arc<OwnedFd>,
}

/// The array's thread has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the array has been shut down")]
pub struct Gone;

/// Longest time that an order is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A line to a thread that will own an array.
///
/// # Errors
///
/// If the system has no file descriptor left.
pub fn line() -> std::io::Result<(Line, Inbox)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = channel();
    Ok((Line { messages: sender, bell: Arc::clone(&bell) }, Inbox { messages: receiver, bell }))
}

impl Line {
    /// Sends something without waiting for what becomes of it.
    ///
    /// # Errors
    ///
    /// If the thread has ended.
    pub fn send(&self, message: Message) -> Result<(), Gone> {
        self.messages.send(message).map_err(|_| Gone)?;
        // A full counter means that the bell is ringing already.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        Ok(())
    }

    /// Gives an order and waits for the answer.
    ///
    /// # Errors
    ///
    /// If the thread has ended, or does not answer for a minute.
    pub fn order(&self, order: Order) -> Result<Answer, Gone> {
        self.order_within(order, PATIENCE)
    }

    /// The same, waiting for at most `patience`.
    ///
    /// # Errors
    ///
    /// If the thread has ended, or does not answer in time; the order may still be carried out.
    pub fn order_within(&self, order: Order, patience: Duration) -> Result<Answer, Gone> {
        let (sender, receiver) = channel();
        self.send(Message::Order(order, sender))?;
        receiver.recv_timeout(patience).map_err(|_| Gone)
    }
}

impl Inbox {
    /// Readable while something may be in the box.
    #[must_use]
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// The next message.
    pub fn take(&self) -> Option<Message> {
        self.messages.try_recv().ok()
    }

    /// Stops the bell; what was sent before is in the box.
    pub fn hush(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.bell, &mut count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_answered_and_a_dead_line_says_so() {
        let (line, inbox) = line().unwrap();
        let other = line.clone();
        let thread = std::thread::spawn(move || other.order(Order::Status));
        let message = loop {
            if let Some(message) = inbox.take() {
                break message;
            }
            std::thread::yield_now();
        };
        inbox.hush();
        let Message::Order(Order::Status, answer) = message else { panic!("{message:?}") };
        answer.send(Answer::Done { text: "well".into() }).unwrap();
        assert_eq!(thread.join().unwrap(), Ok(Answer::Done { text: "well".into() }));
        drop(inbox);
        assert_eq!(line.order(Order::Shutdown), Err(Gone));
    }
}
