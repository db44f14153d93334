//! How a running array is, for people and their monitors.

use super::Engine;
use super::model::Model;
use crate::clock::processor_time;
use crate::control::{BusyWindow, DriveStatus, RECENT_WINDOWS, Restoring, Status, TallyStatus};
use array::Work as Restoration;
use units::{DriveId, Instant};

impl Engine {
    pub(super) fn status(&self, now: Instant) -> Status {
        let counters = self.array.counters();
        let window = self.array.coordinator().busy_time_window();
        let tally = |tally: array::policy::Tally| TallyStatus {
            name: tally.name.into(),
            count: tally.count,
        };
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            uuid: self.uuid.clone(),
            level: self.array.layout().level().name().into(),
            policy: self.policy.name().into(),
            policy_since_nanoseconds: self.policy_since.as_nanos(),
            capacity_bytes: self.array.capacity_bytes(),
            uptime_nanoseconds: now.as_nanos(),
            busy_window_nanoseconds: window.map(units::Duration::as_nanos),
            degraded: self.array.absent() != 0,
            stopped: self.stopped.clone(),
            restoring: self.restoring(),
            drives: self.drives().map(|drive| self.drive_status(now, drive)).collect(),
            connections: self.clients.count(),
            requests_in_flight: self.requests.len() as u64,
            read: self.measures.read.latency(),
            write: self.measures.write.latency(),
            lateness: self.measures.lateness.latency(),
            read_bytes: self.measures.read_bytes,
            written_bytes: self.measures.written_bytes,
            flushes: self.measures.flushes,
            failed_requests: self.measures.failed_requests,
            causes: self.measures.causes(),
            busy_sub_ios: counters.busy_sub_ios.clone(),
            fail_fasts: counters.fail_fasts,
            rebuilds: counters.rebuilds,
            resubmitted: counters.resubmitted,
            processor_nanoseconds: processor_time().as_nanos(),
            tallies: self.array.tallies().into_iter().map(tally).collect(),
        }
    }

    fn restoring(&self) -> Option<Restoring> {
        let restoring = self.array.restoring()?;
        let (what, drive) = match restoring.what {
            Restoration::Rebuild(drive) => ("rebuild", Some(drive.0)),
            Restoration::Resync => ("resync", None),
            Restoration::Scrub => ("scrub", None),
        };
        Some(Restoring {
            what: what.into(),
            drive,
            stripes_done: restoring.done,
            stripes: restoring.total,
            mismatches: self.scrub_mismatches,
        })
    }

    fn drive_status(&self, now: Instant, drive: DriveId) -> DriveStatus {
        let position = drive.index();
        let absent = self.array.absent() >> drive.0 & 1 == 1;
        let rebuilding = self
            .array
            .restoring()
            .is_some_and(|restoring| restoring.what == Restoration::Rebuild(drive));
        let window = self.array.coordinator().window(drive, now);
        let queue = self.array.queues().of(drive);
        let mut status = DriveStatus {
            drive: drive.0,
            place: self.place_of(drive),
            state: match (rebuilding, absent) {
                (true, _) => "rebuilding",
                (false, true) => "failed",
                (false, false) => "serving",
            }
            .into(),
            recent_windows: self.recent_windows(now, drive),
            in_window: window.is_some_and(|(start, end)| start <= now && now < end),
            queued: u64::from(queue.read_blocks + queue.write_blocks),
            free_share: 1.0,
            write_amplification: 1.0,
            errors: self.errors[position],
            ..DriveStatus::default()
        };
        if let Model::Emulated(ssd) = &self.models[position] {
            let counters = ssd.counters();
            status.emulated = true;
            status.collecting = ssd.status().collecting;
            status.free_share = ssd.free_share();
            status.read_pages = counters.host_reads_pages;
            status.written_pages = counters.host_programs_pages;
            status.copied_pages = counters.collection_programs_pages;
            status.erased_blocks = counters.erases;
            status.write_amplification = counters.write_amplification();
        }
        status
    }

    fn place_of(&self, drive: DriveId) -> String {
        match &self.keeping.durable {
            Some(durable) => durable.places[drive.index()].to_string(),
            None => String::from("memory"),
        }
    }

    /// The busy windows of the last moments.
    fn recent_windows(&self, now: Instant, drive: DriveId) -> Vec<BusyWindow> {
        let back = now.as_nanos().saturating_sub(RECENT.as_nanos());
        let mut at = Instant::from_nanos(back).max(self.policy_since);
        let mut windows = Vec::new();
        while let Some((start, end)) = self.array.coordinator().window(drive, at)
            && start <= now
            && end > at
        {
            windows.push(BusyWindow {
                opened_nanoseconds: start.as_nanos(),
                closed_nanoseconds: (end <= now).then_some(end.as_nanos()),
            });
            at = end;
        }
        let first = windows.len().saturating_sub(RECENT_WINDOWS);
        windows.split_off(first)
    }
}

/// How far back busy windows are told: a little more than the time between two questions.
const RECENT: units::Duration = units::Duration::from_millis(1_500);
