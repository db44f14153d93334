//! The life of a request as it is told.

use array::policy::PolicyKind;
use array::{Ended, RequestKind};
use nvme::Delays;
use units::{DriveId, Instant};

/// What a stretch of time went to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// A die senses a page for the request, and moves it out.
    OwnRead,
    /// The same, of a page from which another is reconstructed.
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
    /// A die checks copied pages while nothing else is to do.
    Check,
    /// A program or an erase is being suspended.
    Suspension,
    /// A command is with its drive: on the link, in a buffer, or on its way through the drive.
    InDrive,
    /// A page waits for the channel of its die.
    Channel,
    /// A drive fails a read fast.
    FailFast,
    /// A page is computed from others of its stripe.
    Compute,
    /// A stripe operation waits for another on the same rows.
    LockWait,
    /// A drive has not answered for so long that the array asks others as well.
    LateAnswer,
    /// The policy holds the request back.
    HeldBack,
    /// A command waits at the host for its drive, which has enough to do.
    AtHost,
    /// The fast memory in front of the drives answers.
    WriteCache,
    /// A write waits for free space in its drive.
    Stalled,
    /// A busy window of a drive is open.
    Window,
    /// Anything else.
    Other,
}

/// Where something happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StoryPlace {
    /// In the host.
    Host,
    /// In a drive as a whole.
    Drive(DriveId),
    /// On a die of a drive.
    Die(DriveId, u32),
}

/// A stretch of time at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its start; may lie before the request arrived.
    pub from: Instant,
    /// Its end; what was not over when the request was done ends there.
    pub until: Instant,
    /// What it went to.
    pub activity: Activity,
    /// What it is, in words.
    pub label: String,
}

/// One row of the picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Where.
    pub place: StoryPlace,
    /// What happened there, in the order of the starts.
    pub spans: Vec<Span>,
}

/// Something worth telling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// When it happened.
    pub at: Instant,
    /// What happened.
    pub text: String,
}

/// The life of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Story {
    /// Its number in its run, from 1.
    pub number: u64,
    /// What it asks for.
    pub kind: RequestKind,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes.
    pub size_bytes: u64,
    /// The policy in force.
    pub policy: PolicyKind,
    /// When it came.
    pub arrived: Instant,
    /// When it was done.
    pub completed: Instant,
    /// Whether it got what it asked for.
    pub ended: Ended,
    /// Where its time went, as the run reports it; zero of everything but reads.
    pub delays: Delays,
    /// What it waited for, one after the other, from its arrival to its end: the longest chain.
    pub path: Vec<Segment>,
    /// Host, drives and dies.
    pub lanes: Vec<Lane>,
    /// Dies that it touched beyond those that have a lane.
    pub dies_left_out: usize,
    /// What happened, in order.
    pub sentences: Vec<Sentence>,
}

/// A stretch of the longest chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its start.
    pub from: Instant,
    /// Its end, which is the start of the next.
    pub until: Instant,
    /// What it went to.
    pub activity: Activity,
    /// The drive that it went to, if it did.
    pub drive: Option<DriveId>,
}
