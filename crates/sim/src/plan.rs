//! What to run.

use crate::windows::{WindowError, WindowPlan};
use array::{
    Coordination, Layout, LayoutError, Level,
    policy::{PolicyKind, PolicySettings},
};
use nvme::ArrayDescription;
use ssd::Ssd;
use thiserror::Error;
use units::{Duration, Instant, Rng};

/// How drives are brought to the state in which they are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preparation {
    /// Filled in order and overwritten at random until write amplification is stable.
    Steady,
    /// Laid out directly in the state that [`Preparation::Steady`] leads to; fast for large drives.
    Aged,
    /// Nothing written.
    Fresh,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The drives; all alike.
    pub drive: ssd::Config,
    /// RAID level.
    pub level: Level,
    /// Number of drives.
    pub width: u32,
    /// Bytes in a chunk; a multiple of the drives' page.
    pub chunk_bytes: u64,
    /// The policy.
    pub policy: PolicyKind,
    /// What is set about policies.
    pub policy_settings: PolicySettings,
    /// When drives may collect, under policies with windows.
    pub windows: WindowPlan,
    /// Time to compute a rebuilt page.
    pub rebuild_compute: Duration,
    /// How drives are prepared.
    pub preparation: Preparation,
    /// Seed of everything that is drawn by chance.
    pub seed: u64,
    /// Carry a tag in every page and check every read.
    pub verify: bool,
    /// Record a slice of the run read by read.
    pub timeline: Option<crate::TimelineConfig>,
}

/// Why a plan cannot be run.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The drive is impossible.
    #[error("drive `{name}` cannot work: {error}")]
    Drive {
        /// The drive's name.
        name: String,
        /// Why.
        error: ssd::ConfigError,
    },
    /// The layout is impossible.
    #[error("{0}")]
    Layout(#[from] LayoutError),
    /// The chunk is not made of pages.
    #[error(
        "a chunk of {chunk_bytes} bytes is not a multiple of the drive's page of {page_bytes} bytes; choose such a multiple"
    )]
    Chunk {
        /// The chunk.
        chunk_bytes: u64,
        /// The page.
        page_bytes: u32,
    },
    /// The windows contradict themselves or the array.
    #[error("{0}")]
    Windows(#[from] WindowError),
    /// Policies that rebuild need parity.
    #[error(
        "policy {policy} rebuilds reads from parity, but {level} has none; choose raid4, raid5 or raid6, or the policies base and ideal"
    )]
    NoParity {
        /// The policy.
        policy: &'static str,
        /// The level.
        level: &'static str,
    },
}

impl Plan {
    /// The layout of the array.
    ///
    /// # Errors
    ///
    /// If the drive or the layout is impossible.
    pub fn layout(&self) -> Result<Layout, PlanError> {
        self.drive
            .validate()
            .map_err(|error| PlanError::Drive { name: self.drive.name.clone(), error })?;
        let page_bytes = self.drive.geometry.page_bytes;
        if self.chunk_bytes == 0 || !self.chunk_bytes.is_multiple_of(u64::from(page_bytes)) {
            return Err(PlanError::Chunk { chunk_bytes: self.chunk_bytes, page_bytes });
        }
        let chunk_pages = self.chunk_bytes / u64::from(page_bytes);
        let chunk_pages = u32::try_from(chunk_pages).unwrap_or(u32::MAX);
        let layout = Layout::new(self.level, self.width, chunk_pages, self.drive.logical_pages())?;
        if !self.policy.is_possible(layout.parities()) {
            let (policy, level) = (self.policy.name(), self.level.name());
            return Err(PlanError::NoParity { policy, level });
        }
        if self.policy.uses_windows() {
            self.windows.validate(&self.drive, &layout)?;
        }
        Ok(layout)
    }

    /// Bytes of the array that the host can use.
    ///
    /// # Errors
    ///
    /// If the drive or the layout is impossible.
    pub fn capacity_bytes(&self) -> Result<u64, PlanError> {
        let page_bytes = u64::from(self.drive.geometry.page_bytes);
        Ok(self.layout()?.capacity_pages() * page_bytes)
    }

    /// The array as its drives know it: width, and how many of them may be busy at once.
    #[must_use]
    pub fn array_description(&self) -> ArrayDescription {
        let parities = self.windows.busy_drives.unwrap_or(self.level.parities());
        ArrayDescription { width: self.width, parities }
    }

    /// The busy time window that the drives advertise in this array.
    #[must_use]
    pub fn advertised_window(&self) -> Duration {
        self.windows.advertised(&self.drive, self.array_description())
    }

    /// The busy time window that is programmed into the drives at the start, if the policy uses
    /// windows.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        let uses_windows = self.policy.uses_windows();
        let windows = || self.windows.of(self.policy);
        uses_windows.then(|| windows().first_window(&self.drive, self.array_description()))?
    }

    /// Bytes per second that each drive can be written for ever without breaking the window
    /// contract; see [`ssd::Config::sustainable_bytes_per_second`]. Infinite if the policy has no
    /// windows.
    #[must_use]
    pub fn sustainable_bytes_per_second(&self) -> f64 {
        let Some(window) = self.window() else { return f64::INFINITY };
        let (array, guard) = (self.array_description(), self.windows.guard());
        self.drive.sustainable_bytes_per_second(array, window, guard)
    }

    /// Mean bytes per second that `requests` write to each drive, parity included; 0 if they take
    /// no time.
    ///
    /// # Errors
    ///
    /// If the drive or the layout is impossible.
    pub fn drive_load_bytes_per_second(
        &self,
        requests: impl Iterator<Item = workload::Request>,
    ) -> Result<f64, PlanError> {
        let layout = self.layout()?;
        let page_bytes = u64::from(self.drive.geometry.page_bytes);
        let mut pages_written = 0;
        let mut last = Instant::ZERO;
        for request in requests {
            last = request.at;
            if request.op == workload::Op::Read || request.size_bytes == 0 {
                continue;
            }
            let first = request.offset_bytes / page_bytes;
            let pages = request.end_bytes().div_ceil(page_bytes) - first;
            for segment in layout.segments(first, pages) {
                let members = u64::from(segment.chunks + layout.parities());
                pages_written += members * u64::from(segment.rows);
            }
        }
        let seconds = last.since(Instant::ZERO).as_secs_f64();
        let bytes = (pages_written * page_bytes) as f64 / f64::from(self.width);
        Ok(if seconds > 0.0 { bytes / seconds } else { 0.0 })
    }

    /// How the array coordinates its drives.
    pub(crate) fn coordination(&self) -> Coordination {
        match self.policy.uses_windows() {
            true => {
                self.windows.of(self.policy).coordination(&self.drive, self.array_description())
            }
            false => Coordination::Free,
        }
    }
}

/// Brings the drives of `plan` into the state in which they are measured. The result depends on the
/// drive, the width, the preparation and the seed, not on the policy, so runs can share it.
///
/// # Errors
///
/// If the drive is impossible.
pub fn prepare_drives(plan: &Plan) -> Result<Vec<Ssd>, PlanError> {
    let name = plan.drive.name.clone();
    let factory_new =
        Ssd::new(plan.drive.clone()).map_err(|error| PlanError::Drive { name, error })?;
    let prepare = |position: u32| {
        let mut drive = factory_new.clone();
        let seed = Rng::stream(plan.seed, &format!("drive {position}")).next_u64();
        match plan.preparation {
            Preparation::Steady => {
                drive.precondition(seed);
            }
            Preparation::Aged => drive.age(seed),
            Preparation::Fresh => {}
        }
        drive
    };
    // Two at a time: preparing is memory-bound, and more would need memory that runs need later.
    let positions: Vec<u32> = (0..plan.width).collect();
    let mut drives = Vec::with_capacity(positions.len());
    for pair in positions.chunks(2) {
        let prepare = &prepare;
        drives.extend(std::thread::scope(|scope| {
            let handles: Vec<_> =
                pair.iter().map(|&position| scope.spawn(move || prepare(position))).collect();
            handles
                .into_iter()
                .map(|handle| {
                    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect::<Vec<_>>()
        }));
    }
    Ok(drives)
}
