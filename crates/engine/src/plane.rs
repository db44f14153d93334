//! The data plane: what becomes of the data while commands go to drives and come back.
//!
//! The array decides what to combine and copy; a data plane does it. There are three: [`NoData`]
//! for fast runs, [`Tags`](crate::Tags) for runs that check every page, and [`Bytes`](crate::Bytes)
//! for arrays that serve. The engine is compiled once for each, so that a plane pays for nothing
//! that another needs.

use crate::model::Ssd;
use array::{DataAction, FailReason, OpId, Slot, Term};
use nvme::{Command, Completion};
use units::{DriveId, Instant, Observe};

/// The memory that a command reads into or writes from: a member of a stripe operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The stripe operation.
    pub op: OpId,
    /// The member of its stripe.
    pub member: u8,
}

/// Operations of a data plane that the engine calls.
pub trait DataPlane {
    /// True if the array is to emit data actions ([`array::Config::data_actions`]).
    const CARRIES_DATA: bool;

    /// Takes a command that goes to a drive. Without a target it drains its pages from the write
    /// cache. `model_answers` is true if a drive model or a remote drive answers it too.
    fn submit(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        target: Option<Target>,
        model_answers: bool,
    );

    /// Moves or combines data.
    fn data(&mut self, action: DataAction);

    /// Returns true if `target` is `Σ terms`; the answer to [`array::Action::Check`].
    fn check(&mut self, _op: OpId, _target: Slot, _terms: &[Term]) -> bool {
        true
    }

    /// Returns true if two copies are equal, as they were read; the answer to
    /// [`array::Action::Compare`].
    fn compare(&mut self, _op: OpId, _member: u8, _with: u8) -> bool {
        true
    }

    /// Follows data that an emulated drive may have moved within itself.
    fn follow<O: Observe>(&mut self, drive: DriveId, ssd: &mut Ssd<O>);

    /// Joins the completion of a drive model or a remote drive with its data. Returns true if the
    /// data is there: `completion` is then the one for the array. Otherwise
    /// [`DataPlane::poll_completion`] returns it later.
    fn join(&mut self, now: Instant, completion: &mut Completion) -> bool;

    /// Returns true if the records wait until all released changes are written. The array must not
    /// let writes wait at the host then.
    #[inline]
    fn wants_all_writes(&self) -> bool {
        false
    }

    /// Advances the records as far as possible. The polls return the results.
    #[inline]
    fn advance(&mut self) {}

    /// Returns a completion whose data arrived last. Completions that [`DataPlane::join`] passed do
    /// not come again.
    fn poll_completion(&mut self) -> Option<Completion>;

    /// Returns a drive whose storage failed a write or a sync: the array must treat it as failed.
    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)>;

    /// Announces the completion that goes to the array next. Data that its command read is kept
    /// until the next call, for a [`DataAction::Keep`].
    fn deliver(&mut self, completion: &Completion);

    /// Handles the failure of a drive. Returns true if the plane answers the commands in flight to
    /// it: its drive model is not polled any more then.
    fn drive_failed(&mut self, now: Instant, drive: DriveId) -> bool;

    /// Handles the end of a rebuild: all stripes of the replaced drive are rebuilt.
    fn drive_rebuilt(&mut self, _now: Instant, _drive: DriveId) {}

    /// Handles progress of a rebuild: all stripes before `stripe` hold their data on the drive.
    fn rebuilt_before(&mut self, _now: Instant, _drive: DriveId, _stripe: u64) {}

    /// Handles the end of a resync.
    fn parity_resynced(&mut self, _now: Instant) {}

    /// Handles the replacement of a failed drive by an empty one.
    fn drive_replaced(&mut self, drive: DriveId);

    /// Handles the return of a failed drive with its old data.
    fn drive_returned(&mut self, _drive: DriveId) {}
}

/// A data plane without data: the array emits no data actions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoData;

impl DataPlane for NoData {
    const CARRIES_DATA: bool = false;

    #[inline]
    fn submit(&mut self, _: Instant, _: DriveId, _: &Command, _: Option<Target>, _: bool) {}

    fn data(&mut self, _: DataAction) {}

    #[inline]
    fn follow<O: Observe>(&mut self, _: DriveId, _: &mut Ssd<O>) {}

    #[inline]
    fn join(&mut self, _: Instant, _: &mut Completion) -> bool {
        true
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        None
    }

    #[inline]
    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        None
    }

    #[inline]
    fn deliver(&mut self, _: &Completion) {}

    fn drive_failed(&mut self, _: Instant, _: DriveId) -> bool {
        false
    }

    fn drive_replaced(&mut self, _: DriveId) {}
}
