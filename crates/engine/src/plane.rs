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

/// What an engine asks of its data plane.
pub trait DataPlane {
    /// Whether the array is to say what to do with the data
    /// ([`array::Config::data_actions`]).
    const CARRIES_DATA: bool;

    /// A command goes to a drive. Without a target it writes what the write cache holds of its
    /// pages. `model_answers`: a drive model, or a remote drive, will answer it as well.
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

    /// Whether `target` is `Σ terms`; the answer to [`array::Action::Check`].
    fn check(&mut self, _op: OpId, _target: Slot, _terms: &[Term]) -> bool {
        true
    }

    /// Whether two copies are equal, as they were read; the answer to [`array::Action::Compare`].
    fn compare(&mut self, _op: OpId, _member: u8, _with: u8) -> bool {
        true
    }

    /// An emulated drive may have moved data within itself.
    fn follow<O: Observe>(&mut self, drive: DriveId, ssd: &mut Ssd<O>);

    /// A drive model has answered. Makes its completion that for the array, unless the data is not
    /// there yet; returns whether it is.
    fn join(&mut self, now: Instant, completion: &mut Completion) -> bool;

    /// Whether the records wait until all that was released is written: the array is not to let
    /// any of it wait at the host.
    #[inline]
    fn wants_all_writes(&self) -> bool {
        false
    }

    /// Has the records go on as far as they may. The polls give out what came of it.
    #[inline]
    fn advance(&mut self) {}

    /// A completion of which the data was the last part. Those of [`DataPlane::join`] do not come
    /// again.
    fn poll_completion(&mut self) -> Option<Completion>;

    /// A drive whose storage failed a write or a sync: the array must treat it as failed.
    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)>;

    /// This completion goes to the array next. The data that the command has read is kept until the
    /// next call, for a [`DataAction::Keep`].
    fn deliver(&mut self, completion: &Completion);

    /// The array has given up a drive. Returns whether the plane answers the commands that are out
    /// to it: its drive model is not asked any more then.
    fn drive_failed(&mut self, now: Instant, drive: DriveId) -> bool;

    /// All stripes of a drive that was replaced are rebuilt.
    fn drive_rebuilt(&mut self, _now: Instant, _drive: DriveId) {}

    /// All stripes before this one hold their data on a drive that is being rebuilt.
    fn rebuilt_before(&mut self, _now: Instant, _drive: DriveId, _stripe: u64) {}

    /// A resync has ended.
    fn parity_resynced(&mut self, _now: Instant) {}

    /// An empty drive is in the place of one that failed.
    fn drive_replaced(&mut self, drive: DriveId);

    /// A drive that failed is back with what it held.
    fn drive_returned(&mut self, _drive: DriveId) {}
}

/// No data at all: the array says nothing about it.
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
