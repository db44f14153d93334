//! The plan of a run.

use crate::windows::{WindowError, WindowPlan};
use array::{
    Coordination, Layout, LayoutError, Level,
    policy::{DriveProfile, Needs, PolicyKind, PolicySettings, PolicySetup, WindowUse},
};
use nvme::ArrayDescription;
use ssd::CollectionUnit;
use std::ops::Range;
use thiserror::Error;
use units::{DriveId, Duration, Instant, Ratio};
use workload::{Source, WorkloadError};

/// Method of bringing drives to the state in which they are measured.
#[derive(Clone, PartialEq, Debug)]
pub enum Preparation {
    /// Filled in order and overwritten at random until write amplification is stable.
    Steady,
    /// Laid out directly in the state that [`Preparation::Steady`] leads to; fast for large drives.
    Aged,
    /// Aged, and then overwritten by this load until write amplification and free space are stable:
    /// the workload-dependent preconditioning of SNIA's Performance Test Specification.
    Load(Box<Source>),
    /// Without any data.
    Fresh,
}

/// Measurements that are made only on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// Keep latencies by blocks of time, from which intervals are computed.
    pub intervals: bool,
    /// Follow the reads of every drive: the lateness of the last read of each stripe, and the
    /// differences between drives. Such a run takes more time.
    pub sub_reads: bool,
    /// Keep only latencies of requests that arrive at or after this time; `None` for no limit.
    pub from: Option<Instant>,
    /// Keep only latencies of requests that arrive before this time; `None` for no limit.
    pub until: Option<Instant>,
}

impl Measured {
    /// Returns true if the latency of a request that arrives at `arrived` is kept.
    pub(crate) fn covers(&self, arrived: Instant) -> bool {
        self.from.is_none_or(|from| from <= arrived)
            && self.until.is_none_or(|until| arrived < until)
    }
}

/// Plan of one run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Model of the drives, except those in `other_drives`.
    pub drive: ssd::Config,
    /// Drives of other models, by their place: not smaller than the others, with pages of the same
    /// size.
    pub other_drives: Vec<(DriveId, ssd::Config)>,
    /// RAID level.
    pub level: Level,
    /// Number of drives.
    pub width: u32,
    /// Members of a stripe; `None` for the default of the level.
    pub stripe_width: Option<u32>,
    /// Bytes in a chunk; a multiple of the drives' page.
    pub chunk_bytes: u64,
    /// Share of every drive that the layout leaves free for relocated chunks.
    pub spare: Ratio,
    /// The policy.
    pub policy: PolicyKind,
    /// Settings of the policies.
    pub policy_settings: PolicySettings,
    /// Windows in which drives may collect, under policies with windows.
    pub windows: WindowPlan,
    /// Time to compute a reconstructed page.
    pub reconstruct_compute: Duration,
    /// Preparation of the drives.
    pub preparation: Preparation,
    /// Number of different ages of drives, 1 or more; `None` for one per drive. Drives of one age
    /// collect in step at first.
    pub ages: Option<u32>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Carry a tag in every page and check every read.
    pub verify: bool,
    /// Slice of the run to record read by read.
    pub timeline: Option<crate::TimelineConfig>,
    /// Measurements on demand.
    pub measured: Measured,
}

/// Reason for which a plan cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The drive is impossible.
    #[error("drive `{name}` cannot work: {error}")]
    Drive {
        /// The drive's name.
        name: String,
        /// The error.
        error: ssd::ConfigError,
    },
    /// A drive of another model does not fit the array.
    #[error("drive {} cannot be `{name}` in this array: {why}", .place.0)]
    OtherDrive {
        /// Its place.
        place: DriveId,
        /// Its name.
        name: String,
        /// Reason.
        why: OtherDriveError,
    },
    /// The layout is impossible.
    #[error("{0}")]
    Layout(#[from] LayoutError),
    /// The chunk is not a multiple of a page.
    #[error(
        "a chunk of {chunk_bytes} bytes is not a multiple of the drive's page of {page_bytes} bytes; choose such a multiple"
    )]
    Chunk {
        /// Bytes of the chunk.
        chunk_bytes: u64,
        /// Bytes of a page.
        page_bytes: u32,
    },
    /// Relocation needs chunks of one page.
    #[error(
        "{share} of every drive is left for pages that are moved, but a chunk has {pages} pages; only chunks of one page of {page_bytes} bytes are moved: choose that chunk, or nothing to spare"
    )]
    SpareChunk {
        /// Share of every drive that is spare.
        share: Ratio,
        /// Pages in a chunk.
        pages: u32,
        /// Bytes of a page.
        page_bytes: u32,
    },
    /// The load that prepares the drives cannot be generated.
    #[error("{0}")]
    Load(Box<WorkloadError>),
    /// The windows contradict themselves or the array.
    #[error("{0}")]
    Windows(#[from] WindowError),
    /// The policy reconstructs from parity, and the level has none.
    #[error(
        "policy {policy} rebuilds reads from parity, but {level} has none; choose raid4, raid5, raid6 or a mirror (raid1, raid10), or the policies base and ideal"
    )]
    NoParity {
        /// The policy.
        policy: &'static str,
        /// The level.
        level: &'static str,
    },
    /// The policy chooses among copies, and the level has none.
    #[error(
        "policy {policy} chooses among the copies of a mirror, but {level} has none; choose raid1 or raid10"
    )]
    NoMirrors {
        /// The policy.
        policy: &'static str,
        /// The level.
        level: &'static str,
    },
}

/// Reason for which a drive of another model does not fit an array.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum OtherDriveError {
    /// The place does not exist.
    #[error("the drives of the array are 0 to {last}")]
    NoPlace {
        /// Number of the last place.
        last: u32,
    },
    /// The place has two drives.
    #[error("another drive has that place")]
    Taken,
    /// The pages differ in size.
    #[error("its pages have {own} bytes, those of the others {others}")]
    Page {
        /// Bytes of its pages.
        own: u32,
        /// Bytes of the pages of the others.
        others: u32,
    },
    /// The drive is too small.
    #[error("it exposes {own} pages, fewer than the {others} of the others")]
    Small {
        /// Pages of the drive.
        own: u64,
        /// Pages of the other drives.
        others: u64,
    },
    /// The policy plans windows, which needs identical drives.
    #[error("policy {policy} has windows, which are planned for drives of one model")]
    Windows {
        /// The policy.
        policy: &'static str,
    },
    /// The drive is impossible.
    #[error("{0}")]
    Drive(ssd::ConfigError),
}

impl From<WorkloadError> for PlanError {
    fn from(error: WorkloadError) -> Self {
        Self::Load(Box::new(error))
    }
}

impl Plan {
    /// Plan of a run of `width` drives under `policy` with default values. Chunks have 4 KiB, and
    /// no page is spare. Windows are planned for the drive. A reconstruction takes 3 µs. Drives are
    /// aged, and the seed is 1.
    #[must_use]
    pub fn new(drive: ssd::Config, level: Level, width: u32, policy: PolicyKind) -> Self {
        Self {
            drive,
            other_drives: Vec::new(),
            level,
            width,
            stripe_width: None,
            chunk_bytes: 4096,
            spare: Ratio::ZERO,
            policy,
            policy_settings: PolicySettings::default(),
            windows: WindowPlan::default(),
            reconstruct_compute: Duration::from_micros(3),
            preparation: Preparation::Aged,
            ages: None,
            seed: 1,
            verify: false,
            timeline: None,
            measured: Measured::default(),
        }
    }

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
        let stripe_width = self.stripe_width();
        let drive_pages = self.first_spare_page();
        let layout =
            Layout::striped(self.level, self.width, stripe_width, chunk_pages, drive_pages)?;
        if self.spare > Ratio::ZERO && chunk_pages != 1 {
            let (share, pages) = (self.spare, chunk_pages);
            return Err(PlanError::SpareChunk { share, pages, page_bytes });
        }
        if !self.policy.is_possible(self.level) {
            let (policy, level) = (self.policy.name(), self.level.name());
            return Err(match self.policy.about().needs {
                Needs::Mirrors => PlanError::NoMirrors { policy, level },
                Needs::Redundancy | Needs::Nothing => PlanError::NoParity { policy, level },
            });
        }
        self.check_other_drives()?;
        if self.policy.uses_windows() {
            self.windows.validate(&self.drive, &layout)?;
        }
        Ok(layout)
    }

    /// The drive at a place of the array.
    #[must_use]
    pub fn drive_at(&self, place: DriveId) -> &ssd::Config {
        let other = self.other_drives.iter().find(|(at, _)| *at == place);
        other.map_or(&self.drive, |(_, drive)| drive)
    }

    fn check_other_drives(&self) -> Result<(), PlanError> {
        for (index, (place, drive)) in self.other_drives.iter().enumerate() {
            let (own, others) = (drive.geometry.page_bytes, self.drive.geometry.page_bytes);
            let (pages, least) = (drive.logical_pages(), self.drive.logical_pages());
            let why = if u32::from(place.0) >= self.width {
                OtherDriveError::NoPlace { last: self.width - 1 }
            } else if self.other_drives[..index].iter().any(|(at, _)| at == place) {
                OtherDriveError::Taken
            } else if let Err(error) = drive.validate() {
                OtherDriveError::Drive(error)
            } else if own != others {
                OtherDriveError::Page { own, others }
            } else if pages < least {
                OtherDriveError::Small { own: pages, others: least }
            } else if self.policy.uses_windows() {
                OtherDriveError::Windows { policy: self.policy.name() }
            } else {
                continue;
            };
            return Err(PlanError::OtherDrive { place: *place, name: drive.name.clone(), why });
        }
        Ok(())
    }

    /// First page of every drive that the layout leaves free.
    pub(crate) fn first_spare_page(&self) -> u64 {
        self.drive.logical_pages() - self.spare.of(self.drive.logical_pages())
    }

    /// Pages of every drive that the layout leaves free.
    pub(crate) fn spare_pages(&self) -> Range<u64> {
        self.first_spare_page()..self.drive.logical_pages()
    }

    /// Returns true if the policy relocates chunks to other drives, where settings allow it.
    #[must_use]
    pub fn relocates_chunks(&self) -> bool {
        let settings = self.policy_settings();
        let setup = PolicySetup {
            drives: self.width,
            parities: self.parities(),
            reconstruct_compute: self.reconstruct_compute,
            settings: &settings,
        };
        (self.policy.about().build)(&setup).relocates_chunks()
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

    /// Members of a stripe.
    #[must_use]
    pub fn stripe_width(&self) -> u32 {
        self.stripe_width.unwrap_or(self.level.usual_stripe_width(self.width))
    }

    /// Number of members that a stripe can miss, `k`.
    #[must_use]
    pub fn parities(&self) -> u32 {
        self.level.parities(self.stripe_width())
    }

    /// Description of the array for its drives: its width, and the number of drives that may be
    /// busy at once.
    #[must_use]
    pub fn array_description(&self) -> ArrayDescription {
        let parities = self.windows.busy_drives.unwrap_or(self.parities());
        ArrayDescription { width: self.width, parities }
    }

    /// The busy time window that the drives advertise in this array.
    #[must_use]
    pub fn advertised_window(&self) -> Duration {
        self.advertised_at(self.array_description().width)
    }

    /// Window that drives advertise if the host tells them this array width (IODA §4.4).
    #[must_use]
    pub fn advertised_at(&self, width: u32) -> Duration {
        let array = ArrayDescription { width, ..self.array_description() };
        self.windows.advertised(&self.drive, array)
    }

    /// Busy time window that is programmed into the drives at the start; `None` if the policy has
    /// no windows.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        let uses_windows = self.policy.uses_windows();
        let first = || self.windows_of_policy().first_window(&self.drive, self.array_description());
        uses_windows.then(first)?
    }

    /// Bytes per second that each drive can be written forever without breaking the window
    /// contract; see [`ssd::Config::sustainable_bytes_per_second`]. Infinite if the policy has no
    /// windows.
    #[must_use]
    pub fn sustainable_bytes_per_second(&self) -> f64 {
        let Some(window) = self.window() else { return f64::INFINITY };
        let (array, guard) = (self.array_description(), self.windows.guard());
        self.drive.sustainable_bytes_per_second(array, window, guard)
    }

    /// Bytes per second that each drive can be written while its windows restore free space; see
    /// [`ssd::Config::restored_bytes_per_second`]. Infinite if the policy has no windows.
    #[must_use]
    pub fn restored_bytes_per_second(&self) -> f64 {
        let Some(window) = self.window() else { return f64::INFINITY };
        let (array, guard) = (self.array_description(), self.windows.guard());
        self.drive.restored_bytes_per_second(array, window, guard)
    }

    /// Bytes that `requests` write to each drive on average, parity included.
    ///
    /// # Errors
    ///
    /// If the drive or the layout is impossible.
    pub fn drive_bytes(
        &self,
        requests: impl Iterator<Item = workload::Request>,
    ) -> Result<f64, PlanError> {
        let layout = self.layout()?;
        let page_bytes = u64::from(self.drive.geometry.page_bytes);
        let mut pages_written = 0;
        for request in requests {
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
        Ok((pages_written * page_bytes) as f64 / f64::from(self.width))
    }

    /// Returns the plan under `policy`. A policy that chooses among copies gets the same drives as
    /// pairs of mirrors, unless they already are mirrors.
    #[must_use]
    pub fn under(&self, policy: PolicyKind) -> Self {
        let plan = Self { policy, ..self.clone() };
        match policy.about().needs {
            Needs::Mirrors if !plan.level.is_mirrored() => {
                Self { level: Level::Raid10, stripe_width: None, ..plan }
            }
            Needs::Nothing | Needs::Redundancy | Needs::Mirrors => plan,
        }
    }

    /// Windows under the policy. A drive whose buffer cannot hold the writes of a cycle is written
    /// in its windows only. Its free space then bounds no window.
    fn windows_of_policy(&self) -> WindowPlan {
        let windows = self.windows.of(self.policy);
        let is_held_by_host = self.policy.about().windows == WindowUse::Quiet
            && self.drive.write_buffer.is_some()
            && !self.buffers_a_cycle();
        if is_held_by_host { windows.without_bound(&self.drive) } else { windows }
    }

    /// Returns true if the write buffer of a drive holds the rated writes between two of its
    /// windows. Without windows any buffer does.
    fn buffers_a_cycle(&self) -> bool {
        let (drive, array) = (&self.drive, self.array_description());
        let Some(buffer) = drive.write_buffer else { return false };
        if !self.policy.uses_windows() {
            return true;
        }
        let window = self.windows.of(self.policy).first_window(drive, array);
        let Some(window) = window else { return true };
        let rated = drive.whole().normal_bytes_per_second();
        let needed = drive.quiet_buffer_bytes(array, rated, self.windows.guard(), window);
        let page_bytes = f64::from(drive.geometry.page_bytes);
        f64::from(buffer.pages) * page_bytes >= needed
    }

    /// Settings of the policy, with the host's knowledge of these drives.
    fn policy_settings(&self) -> PolicySettings {
        let drive = &self.drive;
        let geometry = &drive.geometry;
        let valid = drive.steady_valid_ratio();
        let blocks_at_once = match drive.collection.unit {
            CollectionUnit::Line => geometry.dies(),
            CollectionUnit::Block => 1,
        };
        let dies_held = match drive.collection.unit {
            CollectionUnit::Line => geometry.dies(),
            CollectionUnit::Block => drive.collection.blocking.held_dies(geometry),
        };
        let block_pages = f64::from(geometry.pages_per_block * blocks_at_once);
        let profile = DriveProfile {
            read: drive.read_service(),
            longest_read: drive.longest_read(),
            write: drive.program_service(),
            erase: drive.timing.erase,
            block_pages: u64::from(geometry.pages_per_block),
            dies: geometry.dies(),
            buffers_a_cycle: self.buffers_a_cycle(),
            collection: drive.unit_time(valid),
            pages_between_collections: ((1.0 - valid) * block_pages) as u64,
            collections_to_hold_it: geometry.dies() / dies_held,
        };
        PolicySettings { profile, ..self.policy_settings }
    }

    /// Configuration of the array. The engine's data plane decides if it emits data actions.
    ///
    /// # Errors
    ///
    /// If the drive or the layout is impossible, or the policy does not suit them.
    pub fn array_config(&self) -> Result<array::Config, PlanError> {
        let layout = self.layout()?;
        Ok(array::Config {
            page_bytes: self.drive.geometry.page_bytes,
            policy: self.policy,
            policy_settings: self.policy_settings(),
            coordination: self.coordination(),
            reconstruct_compute: self.reconstruct_compute,
            data_actions: false,
            spare: self.spare_pages(),
            absent: 0,
            job_depth: array::job_depth(layout.chunk_pages()),
            read_repair: false,
            layout,
        })
    }

    /// Policy, its settings for these drives, and their coordination: all that a running array
    /// needs to change to the policy of this plan.
    #[must_use]
    pub fn policy_parts(&self) -> (PolicyKind, PolicySettings, Coordination) {
        (self.policy, self.policy_settings(), self.coordination())
    }

    /// Returns true if drives have collected the writes of their preparing load in windows, which
    /// keeps more space free.
    pub(crate) fn has_served_in_windows(&self) -> bool {
        let are_told = self.policy.about().windows != WindowUse::Imagined;
        self.policy.uses_windows() && are_told && matches!(self.preparation, Preparation::Load(_))
    }

    /// Coordination of the drives by the array.
    fn coordination(&self) -> Coordination {
        match self.policy.about().windows {
            WindowUse::None => Coordination::Free,
            WindowUse::Synchronized => self.windows.synchronized(&self.drive),
            WindowUse::Blind
            | WindowUse::Seen
            | WindowUse::Quiet
            | WindowUse::Imagined
            | WindowUse::Roles { .. } => {
                self.windows_of_policy().coordination(&self.drive, self.array_description())
            }
        }
    }
}

/// An array of four small drives in RAID-5, for tests.
#[cfg(test)]
pub(crate) fn small(policy: PolicyKind, preparation: Preparation) -> Plan {
    let mut drive = ssd::presets::preset("femu-artifact").unwrap();
    drive.geometry.blocks_per_plane = 64;
    Plan {
        reconstruct_compute: Duration::ZERO,
        preparation,
        ..Plan::new(drive, Level::Raid5, 4, policy)
    }
}
