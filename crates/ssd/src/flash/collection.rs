//! A collection: which dies it holds, when it must be over, what it did.

use units::Instant;

/// Permission of a collection to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leave {
    /// The contract allows it.
    Granted,
    /// The contract forbids it, but free space is short. It gives way to the host as others do.
    Taken,
    /// The contract forbids it, but writes of the host have no room. It gives way to nothing.
    Forced,
}

/// A collection that runs or waits for its dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collection {
    /// First die that is kept from the host.
    pub(crate) first_die: u32,
    /// Number of dies that are kept from the host.
    pub(crate) dies: u32,
    /// Die whose block is collected; `None` if every die collects its block of the line.
    pub(crate) victim_die: Option<u32>,
    /// Block within the die, or line.
    pub(crate) block: u32,
    /// Dies whose queues have not reached its hold yet.
    pub(crate) holds_pending: u32,
    /// Dies that still work.
    pub(crate) jobs_active: u32,
    /// Time at which the collection must be over.
    pub(crate) until: Instant,
    /// Permission to run.
    pub(crate) leave: Leave,
    /// True if the collection moves cold data to a worn block, and gives no room back.
    pub(crate) levels: bool,
    /// Time at which it began to work.
    pub(crate) began: Instant,
}

/// A collection that is over, for timelines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectionSpan {
    /// First die that was kept from the host.
    pub first_die: u32,
    /// Number of dies.
    pub dies: u32,
    /// Time at which it began to work.
    pub began: Instant,
    /// Time at which it was over.
    pub ended: Instant,
    /// Whether it broke the window contract.
    pub violation: bool,
}
