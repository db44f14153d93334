//! The life of a request, as it is presented.

use array::policy::PolicyKind;
use array::{Ended, RequestKind};
use nvme::Delays;
use units::{DriveId, Instant};

/// Use of a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// A die senses a page for the request, and moves it out.
    OwnRead,
    /// A die senses a page for a reconstruction, and moves it out.
    OwnReconstructRead,
    /// A die programs a page for the request.
    OwnProgram,
    /// A die reads for another request.
    OtherRead,
    /// A die programs for another request.
    OtherProgram,
    /// A die works for a rebuild, a resync or a scrub of the array.
    Job,
    /// A die flushes the write buffer of its drive, or writes parity within it.
    Flush,
    /// A collection copies pages, or keeps a die from the host for another die.
    CollectionCopy,
    /// A collection erases a block.
    CollectionErase,
    /// A die checks copied pages while it is otherwise idle.
    Check,
    /// A program or an erase is being suspended.
    Suspension,
    /// A command is at its drive: on the link, in a buffer, or between.
    InDrive,
    /// A page waits for the channel of its die.
    Channel,
    /// A drive fails a read fast.
    FailFast,
    /// A page is computed from others of its stripe.
    Compute,
    /// A stripe operation waits for another on the same rows.
    LockWait,
    /// The array waits for a late drive, until it reads other members too.
    LateAnswer,
    /// The policy holds the request back.
    HeldBack,
    /// A command waits at the host for its drive, which has enough work.
    AtHost,
    /// The write cache in front of the drives answers.
    WriteCache,
    /// A write waits for free space in its drive.
    Stalled,
    /// A busy window of a drive is open.
    Window,
    /// Anything else.
    Other,
}

/// Place of an activity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StoryPlace {
    /// The host.
    Host,
    /// A drive as a whole.
    Drive(DriveId),
    /// A die of a drive.
    Die(DriveId, u32),
}

/// A stretch of time at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its start; may lie before the request arrived.
    pub from: Instant,
    /// Its end; a span that is open when the request is done ends there.
    pub until: Instant,
    /// Its activity.
    pub activity: Activity,
    /// Its description.
    pub label: String,
}

/// One row of the timeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Place of the lane.
    pub place: StoryPlace,
    /// Spans, in the order of their starts.
    pub spans: Vec<Span>,
}

/// A notable event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// Time of the event.
    pub at: Instant,
    /// Description.
    pub text: String,
}

/// The life of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Story {
    /// Number in its run, from 1.
    pub number: u64,
    /// Kind of the request.
    pub kind: RequestKind,
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub size_bytes: u64,
    /// The policy in force.
    pub policy: PolicyKind,
    /// Time of its arrival.
    pub arrived: Instant,
    /// Time of its completion.
    pub completed: Instant,
    /// Its end: success or failure.
    pub ended: Ended,
    /// Causes of its delay as the run reports them; zero unless it is a read.
    pub delays: Delays,
    /// Critical path: its waits one after the other, from its arrival to its end.
    pub path: Vec<Segment>,
    /// Lanes of host, drives and dies.
    pub lanes: Vec<Lane>,
    /// Number of its dies without a lane.
    pub dies_left_out: usize,
    /// Its events, in order.
    pub sentences: Vec<Sentence>,
}

/// A stretch of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its start.
    pub from: Instant,
    /// Its end, which is the start of the next.
    pub until: Instant,
    /// Its activity.
    pub activity: Activity,
    /// Drive of the activity; `None` for activities of the host.
    pub drive: Option<DriveId>,
}
