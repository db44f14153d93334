//! The control plane of a running array: admin commands, their answers, and the channel to the
//! thread that owns the array.

mod latency;
mod schema;

pub use latency::{Latency, PERCENTILES, Recorder};
pub use schema::{ANSWER_SCHEMA, Marked, STATUS_SCHEMA};

use crate::durable::{Intent, Journal, OpenError, Superblock};
use crate::nbd::{Connection, StrangerCounts};
use crate::storage::{DriveLocation, PrefillProgress, PrefillState, StoredDrive};
use rustix::event::{EventfdFlags, eventfd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use thiserror::Error;
use units::DriveId;

/// An admin command for a running array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum AdminCommand {
    /// Report the status.
    Status,
    /// Treat a drive as failed.
    Fail {
        /// Its position.
        drive: u8,
        /// Even if stripes would then miss more members than they can.
        #[serde(default)]
        force: bool,
    },
    /// Put an empty drive in the place of a failed one and rebuild it.
    Replace {
        /// Its position.
        drive: u8,
        /// Where the new one keeps its bytes; where the old one did, if there is none.
        path: Option<PathBuf>,
    },
    /// Switch to another policy.
    Policy {
        /// Its name.
        name: String,
    },
    /// Change the length of the busy windows.
    Window {
        /// The length.
        nanoseconds: u64,
    },
    /// Make an emulated drive slower than it was made. It tells nobody, as a drive that is failing
    /// would not.
    Slow {
        /// Its position.
        drive: u8,
        /// How many times as long everything takes; 1 ends that.
        factor: u32,
    },
    /// Check every page and the parity of every stripe while serving. Pages that cannot be read are
    /// repaired.
    Scrub {
        /// Write parity again that does not fit its data.
        #[serde(default)]
        repair: bool,
    },
    /// Show the last events of the array and its drives.
    Trace {
        /// Only events of requests with this number.
        request: Option<u64>,
        /// Only events that name this drive.
        drive: Option<u8>,
        /// Number of events at most, the last ones.
        last: u32,
    },
    /// Shut down cleanly: end requests in flight, make the state durable, and end.
    Shutdown,
}

/// The answer to an admin command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// The status of the array.
    Status(Box<Status>),
    /// The last events.
    Trace(Trace),
    /// Done, and a sentence about it.
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

/// The last events of an array and its drives, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The events.
    pub events: Vec<TracedEvent>,
}

/// An event of an array or a drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedEvent {
    /// Time since the start of the array.
    pub nanoseconds: u64,
    /// What happened.
    pub text: String,
}

impl std::fmt::Display for TracedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, rest) = (self.nanoseconds / 1_000_000_000, self.nanoseconds % 1_000_000_000);
        write!(f, "{seconds:>5}.{rest:09} s  {}", self.text)
    }
}

/// The status of a running array: everything that people and monitors are shown. Counters only
/// grow; times are in nanoseconds. As JSON it is one flat object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Which array it is.
    #[serde(flatten)]
    pub identity: Identity,
    /// Policy in force.
    pub policy: String,
    /// Time since the start at which it came into force; zero if it was there from the start.
    pub policy_since_nanoseconds: u64,
    /// Since the start.
    pub uptime_nanoseconds: u64,
    /// Length of the busy windows, if the policy has any.
    pub busy_window_nanoseconds: Option<u64>,
    /// How many drives may be busy at once without a read having to wait for them, if drives take
    /// turns. Fewer while others have failed or are being rebuilt; 0 if a read may have to wait for
    /// a busy one.
    #[serde(default)]
    pub busy_drives: Option<u32>,
    /// Whether drives are missing or failed.
    pub degraded: bool,
    /// Whether stripes miss more members than they can: requests for them fail.
    pub failed: bool,
    /// How many more drives may fail, whichever they are, before data are lost.
    pub drives_to_spare: u64,
    /// Whether the array has stopped to take requests, and why.
    pub stopped: Option<String>,
    /// Of a rebuild, resync or scrub that is under way.
    pub restoring: Option<JobStatus>,
    /// Of taking the memory of drives in memory in advance, if there are any and it was asked for.
    pub prefill: Option<PrefillStatus>,
    /// The drives.
    pub drives: Vec<DriveStatus>,
    /// What clients do, and how long it takes.
    #[serde(flatten)]
    pub requests: RequestStatus,
    /// What the policy does.
    #[serde(flatten)]
    pub counters: PolicyCounters,
    /// Pages that were damaged.
    pub integrity: IntegrityStatus,
    /// The last scrub that has ended since the start; `None` if there was none.
    #[serde(default)]
    pub last_scrub: Option<ScrubStatus>,
    /// Processor time of the array's thread.
    pub processor_nanoseconds: u64,
}

/// Pages that drives could not read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntegrityStatus {
    /// Whether data have checksums.
    pub checksums: bool,
    /// Blocks of 4096 bytes that were read and fitted their checksums.
    pub verified_blocks: u64,
    /// Those that did not.
    pub mismatched_blocks: u64,
    /// Those whose checksums were not known after a crash, and were taken from them.
    pub accepted_blocks: u64,
    /// Pages that were reconstructed and written again.
    pub repaired_pages: u64,
    /// Pages that could not be: too much else of their rows cannot be read either.
    pub lost_pages: u64,
    /// The last damaged pages, the oldest first.
    pub damaged_pages: Vec<DamagedPage>,
}

/// A page that a drive could not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedPage {
    /// The drive.
    pub drive: u8,
    /// Where the page is among the data of the drive.
    pub offset_bytes: u64,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// Which array a [`Status`] is of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Version of the program.
    pub version: String,
    /// The array's unique name.
    pub uuid: String,
    /// RAID level.
    pub level: String,
    /// Bytes that clients see.
    pub capacity_bytes: u64,
}

/// What clients do, and how long it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestStatus {
    /// Clients that are connected, over NBD or NVMe/TCP.
    pub connections: u64,
    /// Those of them over NVMe/TCP: each path of each host is one.
    #[serde(default)]
    pub paths: u64,
    /// Requests in flight.
    pub requests_in_flight: u64,
    /// Reads, from arrival to the answer.
    pub read: Latency,
    /// Writes, from arrival to the answer.
    pub write: Latency,
    /// By how much emulated drives answered after the moment that their model had computed.
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
    /// Connections over NBD that ended before they were of use.
    #[serde(default)]
    pub strangers: StrangerStatus,
    /// Connections over NVMe/TCP that ended before they were of use.
    #[serde(default)]
    pub path_strangers: StrangerStatus,
}

/// Connections that ended before they were of use. A few are usual; many are an attack, or places
/// that do not suffice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StrangerStatus {
    /// Ended for a newer one, because all places of their kind were taken.
    pub evicted: u64,
    /// Ended because their handshake took too long, or their host was silent in discovery.
    pub late: u64,
    /// Refused, because they may not connect or all places for clients or hosts were taken.
    pub refused: u64,
}

impl StrangerStatus {
    /// What was counted since an earlier status.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            evicted: self.evicted - earlier.evicted,
            late: self.late - earlier.late,
            refused: self.refused - earlier.refused,
        }
    }
}

/// What a policy has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCounters {
    /// Stripe reads by how many of their members met a collection.
    pub busy_sub_ios: Vec<u64>,
    /// Sub-I/Os that were failed fast.
    pub fail_fasts: u64,
    /// Stripe reads that were reconstructed.
    pub rebuilds: u64,
    /// Sub-I/Os that were sent again to wait, because too many failed.
    pub resubmitted: u64,
    /// Events that only this policy counts.
    pub tallies: Vec<TallyStatus>,
}

/// A rebuild, a resync or a scrub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobStatus {
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

/// A scrub that has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubStatus {
    /// When it ended, in seconds since 1970.
    pub ended_unix_seconds: u64,
    /// Uptime of the array at which it ended.
    pub ended_uptime_nanoseconds: u64,
    /// How long it took.
    pub took_nanoseconds: u64,
    /// Whether it wrote parity again that did not fit.
    pub repair: bool,
    /// Stripes of the array.
    pub stripes: u64,
    /// Stripes that were not compared: pages of them were damaged, or drives are missing.
    pub skipped_stripes: u64,
    /// Parities that did not fit their data.
    pub mismatches: u64,
    /// Pages that were repaired meanwhile.
    pub repaired_pages: u64,
    /// Pages that were found damaged meanwhile and could not be repaired.
    pub lost_pages: u64,
}

/// How far the memory of drives in memory is taken in advance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrefillStatus {
    /// Bytes that are taken.
    pub done_bytes: u64,
    /// Bytes of all drives in memory.
    pub bytes: u64,
    /// `running`, `done`, `out-of-memory` or `unsupported`. After the last two, what is missing is
    /// taken when it is first written.
    pub state: String,
}

impl From<PrefillProgress> for PrefillStatus {
    fn from(progress: PrefillProgress) -> Self {
        let PrefillProgress { done_bytes, bytes, state } = progress;
        let state = match state {
            PrefillState::Running => "running",
            PrefillState::Done => "done",
            PrefillState::OutOfMemory => "out-of-memory",
            PrefillState::Unsupported => "unsupported",
        };
        Self { done_bytes, bytes, state: state.into() }
    }
}

/// A drive of a running array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveStatus {
    /// Its position.
    pub drive: u8,
    /// Where its bytes are: `memory`, or a path.
    pub place: String,
    /// `serving`, `failed`, `rebuilding` (also while the rebuild waits for its turn), or
    /// `incomplete`: some of its stripes could not be rebuilt.
    pub state: String,
    /// Stripes whose data it does not hold: of a drive that is rebuilt those that are left, of an
    /// incomplete one those that could not be rebuilt.
    pub missing_stripes: u64,
    /// Whether it is emulated.
    pub emulated: bool,
    /// Whether its busy window is open.
    pub in_window: bool,
    /// Its latest busy windows, at most [`RECENT_WINDOWS`] and the oldest first.
    pub recent_windows: Vec<BusyWindow>,
    /// Whether it collects.
    pub collecting: bool,
    /// Time for which the array has not read the drive, because it answers too late; none if the
    /// array reads it.
    #[serde(default)]
    pub distrusted_nanoseconds: Option<u64>,
    /// Stalls that the policy has learnt from its answers; none if it learns none.
    #[serde(default)]
    pub stalls: Option<StallStatus>,
    /// Whether it has room left for copies: share of free blocks.
    pub free_share: f64,
    /// Commands it has not answered.
    pub queued: u64,
    /// What the drive has done.
    #[serde(flatten)]
    pub flash: FlashCounters,
    /// Commands that the drive answered with an error.
    pub errors: u64,
    /// Bytes that went to and from the drive.
    #[serde(flatten)]
    pub traffic: DriveTraffic,
}

/// Stalls of a drive as the policy has learnt them: reads that took five times as long as usual, or
/// longer. Medians are of the latest 64; null if fewer than six are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallStatus {
    /// Stalls since the start.
    pub count: u64,
    /// Time that a stall lasts.
    pub length_nanoseconds: Option<MedianStatus>,
    /// Time from the beginning of one to that of the next.
    pub period_nanoseconds: Option<MedianStatus>,
    /// Bytes written to the drive meanwhile.
    pub written_bytes: Option<MedianStatus>,
    /// What they follow: `time`, `written`, or `unknown` if neither is regular.
    pub trigger: String,
}

/// A median with the bounds of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MedianStatus {
    /// Lower bound.
    pub low: u64,
    /// Median.
    pub median: u64,
    /// Upper bound.
    pub high: u64,
}

/// Bytes that the array has moved where a drive has its bytes, emulated or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriveTraffic {
    /// Bytes that the array has read where the drive has its bytes, emulated or not.
    pub read_bytes: u64,
    /// Bytes of data and checksums that the array has written there.
    pub written_bytes: u64,
    /// Bytes of superblocks, of the write-intent record and of the journal that the array has
    /// written there.
    pub record_bytes: u64,
}

/// Pages and blocks of a drive. Copies and erasures of real drives are unknown: they are 0, and the
/// amplification is 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlashCounters {
    /// Pages that the array read.
    pub read_pages: u64,
    /// Pages that the array wrote.
    pub written_pages: u64,
    /// Pages that collections copied.
    pub copied_pages: u64,
    /// Blocks that were erased.
    pub erased_blocks: u64,
    /// Write amplification of the drive: pages of flash that it programmed per page that the array
    /// wrote to it.
    pub write_amplification: f64,
}

impl Default for FlashCounters {
    fn default() -> Self {
        let (read_pages, written_pages, copied_pages, erased_blocks) = (0, 0, 0, 0);
        Self { read_pages, written_pages, copied_pages, erased_blocks, write_amplification: 1.0 }
    }
}

/// Most busy windows in the status of a drive: enough for a second, which is how often they
/// are asked for, down to windows of some tens of milliseconds.
pub const RECENT_WINDOWS: usize = 16;

/// A busy window, by the time since the start of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyWindow {
    /// When it opened.
    pub opened_nanoseconds: u64,
    /// When it closed, if it has.
    pub closed_nanoseconds: Option<u64>,
}

/// Time that reads spent for one cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseStatus {
    /// The cause in words.
    pub cause: String,
    /// Time of reads that met it, as a histogram of the part due to it.
    pub latency: Latency,
}

/// Something that the policy has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TallyStatus {
    /// What.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// Something for the array's thread.
#[derive(Debug)]
pub enum Message {
    /// An admin command, and where the answer goes.
    Admin(AdminCommand, Sender<Answer>),
    /// A connection whose client has chosen an export.
    Client(Box<Connection>),
    /// Who counts NBD clients that never came so far, for the status.
    Strangers(StrangerCounts),
    /// An empty drive is ready to take its place, or could not be made.
    Joined(Box<Joined>),
    /// A drive that has failed can be connected again. Its head is to be formatted by these
    /// records, which come if it is still waited for.
    Back {
        /// The drive.
        drive: DriveId,
        /// The number of the wait.
        wait: u64,
        /// Where the records go.
        records: Sender<Records>,
    },
    /// A drive that has failed is ready to take its place again, or is not.
    Returned(Box<Returned>),
}

/// What the head of a drive is formatted by.
pub type Records = (Superblock, Intent, Journal);

/// What came of waiting for a drive that has failed, in a thread of its own.
#[derive(Debug)]
pub struct Returned {
    /// The drive.
    pub drive: DriveId,
    /// The number of the wait.
    pub wait: u64,
    /// The drive, or why it is not taken back.
    pub disk: Result<StoredDrive, String>,
}

/// What came of formatting an empty drive, which is done in a thread of its own.
#[derive(Debug)]
pub struct Joined {
    /// Whose place it takes.
    pub drive: DriveId,
    /// Where it is.
    pub place: DriveLocation,
    /// The drive, or why there is none.
    pub disk: Result<StoredDrive, OpenError>,
}

/// A handle to the array's thread; there can be any number of them.
#[derive(Clone, Debug)]
pub struct ArrayHandle {
    messages: Sender<Message>,
    /// An eventfd that wakes the thread.
    wake: Arc<OwnedFd>,
}

/// The receiving end of the channel, in the array's thread.
#[derive(Debug)]
pub struct Inbox {
    messages: Receiver<Message>,
    /// For threads that the array's thread starts.
    sender: Sender<Message>,
    wake: Arc<OwnedFd>,
}

/// The array's thread has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the array has been shut down")]
pub struct Disconnected;

/// How long the answer to an admin command is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A channel to a thread that will own an array.
///
/// # Errors
///
/// If the system has no file descriptor left.
pub fn channel() -> std::io::Result<(ArrayHandle, Inbox)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = mpsc::channel();
    let handle = ArrayHandle { messages: sender.clone(), wake: Arc::clone(&wake) };
    Ok((handle, Inbox { messages: receiver, sender, wake }))
}

impl ArrayHandle {
    /// Sends a message without waiting for its effect.
    ///
    /// # Errors
    ///
    /// If the thread has ended.
    pub fn send(&self, message: Message) -> Result<(), Disconnected> {
        self.messages.send(message).map_err(|_| Disconnected)?;
        // A full counter means that the thread has been woken already.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        Ok(())
    }

    /// Asks for [`AdminCommand::Shutdown`]. Nobody waits for the answer: the end of the thread is
    /// one.
    pub fn shut_down(&self) {
        let (answers, _) = mpsc::channel();
        if self.send(Message::Admin(AdminCommand::Shutdown, answers)).is_err() {
            tracing::debug!("the array has ended already");
        }
    }

    /// What takes connections whose clients have chosen an export, for
    /// [`Acceptor::open`](crate::nbd::Acceptor::open). When the array's thread has ended, they are
    /// closed.
    pub fn connection_sink(&self) -> impl Fn(Connection) + Send + use<> {
        let handle = self.clone();
        move |connection| {
            let _ = handle.send(Message::Client(Box::new(connection)));
        }
    }

    /// Gives an admin command and waits for the answer.
    ///
    /// # Errors
    ///
    /// If the thread has ended, or does not answer for a minute.
    pub fn execute(&self, command: AdminCommand) -> Result<Answer, Disconnected> {
        self.execute_within(command, ANSWER_TIMEOUT)
    }

    /// The same, waiting for at most `timeout`.
    ///
    /// # Errors
    ///
    /// If the thread has ended, or does not answer in time; the command may still be executed.
    pub fn execute_within(
        &self,
        command: AdminCommand,
        timeout: Duration,
    ) -> Result<Answer, Disconnected> {
        let (sender, receiver) = mpsc::channel();
        self.send(Message::Admin(command, sender))?;
        receiver.recv_timeout(timeout).map_err(|_| Disconnected)
    }
}

impl Inbox {
    /// Readable while messages may be waiting.
    #[must_use]
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// A handle for a thread that the array's thread starts.
    #[must_use]
    pub fn handle(&self) -> ArrayHandle {
        ArrayHandle { messages: self.sender.clone(), wake: Arc::clone(&self.wake) }
    }

    /// The next message.
    pub fn take(&self) -> Option<Message> {
        self.messages.try_recv().ok()
    }

    /// Acknowledges the wake-up: what was sent before it can be taken now, and what is sent later
    /// wakes the thread again.
    pub fn acknowledge(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_answered_and_a_thread_that_has_ended_is_told_of() {
        let (handle, inbox) = channel().unwrap();
        let other = handle.clone();
        let thread = std::thread::spawn(move || other.execute(AdminCommand::Status));
        let message = loop {
            if let Some(message) = inbox.take() {
                break message;
            }
            std::thread::yield_now();
        };
        inbox.acknowledge();
        let Message::Admin(AdminCommand::Status, answer) = message else { panic!("{message:?}") };
        answer.send(Answer::Done { text: "well".into() }).unwrap();
        assert_eq!(thread.join().unwrap(), Ok(Answer::Done { text: "well".into() }));
        drop(inbox);
        assert_eq!(handle.execute(AdminCommand::Shutdown), Err(Disconnected));
    }
}
