//! Rebuilds, resyncs and scrubs: a line of the log for the begin and one for the end of each, and
//! what the last scrub has found.

use super::array_io::ArrayIo;
use crate::control::ScrubStatus;
use array::JobKind;
use std::time::{SystemTime, UNIX_EPOCH};
use units::Instant;

/// A job that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    job: JobKind,
    at: Instant,
    stripes: u64,
    repaired_pages: u64,
    lost_pages: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    begun: Option<Begun>,
    last_scrub: Option<ScrubStatus>,
}

impl Jobs {
    /// The last scrub that has ended since the start.
    pub(super) fn last_scrub(&self) -> Option<&ScrubStatus> {
        self.last_scrub.as_ref()
    }

    /// Looks which job is under way.
    pub(super) fn observe(&mut self, io: &ArrayIo) {
        let Some(job) = io.engine().array().job() else { return };
        if self.begun.is_none_or(|begun| begun.job != job.what) {
            self.begin(io, job.what, job.total);
        }
    }

    fn begin(&mut self, io: &ArrayIo, job: JobKind, stripes: u64) -> Begun {
        match job {
            JobKind::Rebuild(drive) => {
                tracing::info!(drive = drive.0, stripes, "the rebuild of drive {} begins", drive.0);
            }
            JobKind::Resync => tracing::info!(stripes, "the resync of parity begins"),
            JobKind::Scrub => tracing::info!(stripes, "a scrub begins"),
            JobKind::ScrubRepair => tracing::info!(stripes, "a scrub that repairs parity begins"),
        }
        let counters = *io.engine().array().read_repairs();
        let begun = Begun {
            job,
            at: io.present(),
            stripes,
            repaired_pages: counters.rewritten,
            lost_pages: counters.lost,
        };
        self.begun = Some(begun);
        begun
    }

    /// A job has ended, but for `skipped` stripes.
    pub(super) fn end(&mut self, io: &ArrayIo, job: JobKind, skipped: u64) {
        let begun = self.begun.filter(|begun| begun.job == job);
        // A short one may have ended before it was looked at.
        let stripes = io.engine().array().layout().stripes();
        let begun = begun.unwrap_or_else(|| self.begin(io, job, stripes));
        self.begun = None;
        let (took, stripes) = (io.present().since(begun.at), begun.stripes);
        match (job, skipped) {
            (JobKind::Rebuild(drive), 0) => {
                tracing::info!(drive = drive.0, stripes, %took, "drive {} is rebuilt", drive.0);
            }
            (JobKind::Rebuild(drive), _) => {
                tracing::error!(
                    drive = drive.0,
                    stripes,
                    skipped,
                    %took,
                    "drive {} is not rebuilt everywhere: {skipped} stripes could not be reconstructed",
                    drive.0
                );
            }
            (JobKind::Resync, 0) => {
                tracing::info!(stripes, %took, "the resync has ended: the parity of all stripes is right");
            }
            (JobKind::Resync, _) => {
                tracing::warn!(
                    stripes,
                    skipped,
                    %took,
                    "the resync has ended: the parity of {skipped} stripes was left as it is"
                );
            }
            (JobKind::Scrub | JobKind::ScrubRepair, _) => self.end_scrub(io, begun, skipped),
        }
    }

    fn end_scrub(&mut self, io: &ArrayIo, begun: Begun, skipped: u64) {
        let counters = io.engine().array().read_repairs();
        let ended = SystemTime::now().duration_since(UNIX_EPOCH);
        let took = io.present().since(begun.at);
        let scrub = ScrubStatus {
            ended_unix_seconds: ended.map_or(0, |since| since.as_secs()),
            ended_uptime_nanoseconds: io.present().as_nanos(),
            took_nanoseconds: took.as_nanos(),
            repair: begun.job == JobKind::ScrubRepair,
            stripes: begun.stripes,
            skipped_stripes: skipped,
            mismatches: io.engine().plane().mismatches(),
            repaired_pages: counters.rewritten - begun.repaired_pages,
            lost_pages: counters.lost - begun.lost_pages,
        };
        let ScrubStatus { stripes, mismatches, repaired_pages, lost_pages, .. } = scrub;
        let sentence = "the scrub has ended: every stripe was read and compared";
        // A stripe with a damaged page is repaired instead of compared.
        match mismatches + lost_pages {
            0 => {
                tracing::info!(mismatches, repaired_pages, lost_pages, skipped, stripes, %took, "{sentence}");
            }
            _ => {
                tracing::warn!(mismatches, repaired_pages, lost_pages, skipped, stripes, %took, "{sentence}");
            }
        }
        self.last_scrub = Some(scrub);
    }
}
