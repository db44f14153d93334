//! State of an array whose drives failed in a run: its weakest contract, and the speed of rebuilds.

use array::{Array, Contract, JobKind};
use std::cmp::Reverse;
use units::{DriveId, Duration, Instant, Observe};

/// A rebuild in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rebuild {
    /// The drive that was replaced.
    pub drive: DriveId,
    /// Start of the rebuild.
    pub began: Instant,
    /// Time at which the drive held all its data again; `None` if not within the run.
    pub ended: Option<Instant>,
    /// Stripes rebuilt by then, or by the end of the run.
    pub stripes_done: u64,
    /// Stripes to rebuild.
    pub stripes: u64,
    /// Bytes written to the drive by the rebuild.
    pub bytes: u64,
    /// Duration of the rebuild within the run.
    pub time: Duration,
}

impl Rebuild {
    /// Bytes per second that the rebuild wrote to the drive.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        let seconds = self.time.as_secs_f64();
        if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 }
    }

    /// Share of the stripes that were rebuilt.
    #[must_use]
    pub fn done_share(&self) -> f64 {
        self.stripes_done as f64 / self.stripes.max(1) as f64
    }
}

/// State of an array whose drives failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Degraded {
    /// The weakest contract at any time of the run.
    pub contract: Contract,
    /// Rebuilds, in the order of their starts.
    pub rebuilds: Vec<Rebuild>,
}

/// Recorder of [`Degraded`] during a run.
#[derive(Debug, Default)]
pub(crate) struct DegradedRecorder {
    contract: Option<Contract>,
    rebuilds: Vec<Rebuild>,
}

/// Strength of a contract: a smaller value is weaker.
fn strength(contract: Contract) -> (u8, Reverse<u32>) {
    match contract {
        Contract::Whole { busy_drives } => (0, Reverse(busy_drives)),
        Contract::Reduced { busy_drives } => (1, Reverse(busy_drives)),
        Contract::Suspended { busy_drives } => (2, Reverse(busy_drives)),
        Contract::None => (3, Reverse(0)),
    }
}

impl DegradedRecorder {
    /// Notes the contract after a fault or its repair.
    pub(crate) fn note<O: Observe>(&mut self, array: &Array<O>) {
        let now = array.contract();
        let weakest = self.contract.into_iter().chain([now]).max_by_key(|&it| strength(it));
        self.contract = weakest;
    }

    /// Notes the replacement of a drive.
    pub(crate) fn begin<O: Observe>(&mut self, now: Instant, drive: DriveId, array: &Array<O>) {
        let stripes = array.layout().stripes();
        self.rebuilds.push(Rebuild {
            drive,
            began: now,
            ended: None,
            stripes_done: 0,
            stripes,
            bytes: 0,
            time: Duration::ZERO,
        });
    }

    /// Notes the end of a job.
    pub(crate) fn end<O: Observe>(&mut self, now: Instant, job: JobKind, array: &Array<O>) {
        let JobKind::Rebuild(drive) = job else { return };
        if let Some(rebuild) = self.open(drive) {
            rebuild.ended = Some(now);
            let stripes = rebuild.stripes;
            rebuild.reach(now, stripes, array);
        }
    }

    fn open(&mut self, drive: DriveId) -> Option<&mut Rebuild> {
        let mut rebuilds = self.rebuilds.iter_mut().rev();
        rebuilds.find(|rebuild| rebuild.drive == drive && rebuild.ended.is_none())
    }

    /// Ends the recording; the last request was done at `last`.
    pub(crate) fn finish<O: Observe>(
        mut self,
        last: Instant,
        array: &Array<O>,
    ) -> Option<Degraded> {
        if let Some(job) = array.job()
            && let JobKind::Rebuild(drive) = job.what
            && let Some(rebuild) = self.open(drive)
        {
            rebuild.reach(last, job.done, array);
        }
        let rebuilds = self.rebuilds;
        self.contract.map(|contract| Degraded { contract, rebuilds })
    }
}

impl Rebuild {
    fn reach<O: Observe>(&mut self, now: Instant, stripes_done: u64, array: &Array<O>) {
        let layout = array.layout();
        self.stripes_done = stripes_done;
        self.time = Duration::from_nanos(now.as_nanos().saturating_sub(self.began.as_nanos()));
        let pages = stripes_done * u64::from(layout.chunk_pages());
        // Not every stripe has a member on the drive.
        let members = u64::from(layout.data_chunks() + layout.parities());
        let page_bytes = array.capacity_bytes() / layout.capacity_pages().max(1);
        self.bytes = pages * members / u64::from(layout.width()) * page_bytes;
    }
}
