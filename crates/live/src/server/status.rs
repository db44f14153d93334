//! The status of a running array, for `ioda ctl`, the page and the metrics.

use super::Server;
use crate::clock::processor_time;
use crate::control::{
    BusyWindow, DriveStatus, FlashCounters, Identity, JobStatus, MedianStatus, PolicyCounters,
    RECENT_WINDOWS, RequestStatus, StallStatus, Status, TallyStatus,
};
use crate::durable::MemberState;
use array::{Contract, DriveState, JobKind};
use units::{DriveId, Instant};

/// The whole status.
pub(super) fn status(server: &Server, now: Instant) -> Status {
    let Server { io, admin, measures, clients, hosts, .. } = server;
    let paths = hosts.as_ref().map_or(0, |hosts| hosts.paths());
    let array = io.engine().array();
    let counters = array.counters();
    let window = array.coordinator().busy_time_window();
    let missing = missing(server);
    let spare = array.layout().drives_to_spare(missing);
    let tally =
        |tally: array::policy::Tally| TallyStatus { name: tally.name.into(), count: tally.count };
    let stalls = array.stalls();
    let drives = io.drives().map(|drive| DriveStatus {
        stalls: stalls.get(drive.index()).map(|stalls| stall_status(stalls, io.page_bytes())),
        ..drive_status(server, now, drive)
    });
    Status {
        identity: Identity {
            version: env!("CARGO_PKG_VERSION").into(),
            uuid: uuid(server),
            level: array.layout().level().name().into(),
            capacity_bytes: array.capacity_bytes(),
        },
        policy: io.engine().policy().name().into(),
        policy_since_nanoseconds: admin.policy_since().as_nanos(),
        uptime_nanoseconds: now.as_nanos(),
        busy_window_nanoseconds: window.map(units::Duration::as_nanos),
        busy_drives: match array.contract() {
            Contract::None => None,
            Contract::Whole { busy_drives } | Contract::Reduced { busy_drives } => {
                Some(busy_drives)
            }
            Contract::Suspended { .. } => Some(0),
        },
        degraded: missing != 0,
        failed: spare.is_none(),
        drives_to_spare: u64::from(spare.unwrap_or(0)),
        stopped: io.volume.stopped().map(|reason| reason.to_string()),
        restoring: restoring(server),
        prefill: io.storage.prefill().map(Into::into),
        drives: drives.collect(),
        requests: RequestStatus {
            connections: clients.count() + paths,
            paths,
            requests_in_flight: io.volume.requests_in_flight(),
            read: measures.read.latency(),
            write: measures.write.latency(),
            lateness: io.lateness.latency(),
            read_bytes: measures.read_bytes,
            written_bytes: measures.written_bytes,
            flushes: measures.flushes,
            failed_requests: measures.failed_requests,
            causes: measures.causes(),
            strangers: clients.strangers.status(),
            path_strangers: hosts.as_ref().map(|hosts| hosts.strangers()).unwrap_or_default(),
        },
        counters: PolicyCounters {
            busy_sub_ios: counters.busy_sub_ios.clone(),
            fail_fasts: counters.fail_fasts,
            rebuilds: counters.reconstructions,
            resubmitted: counters.resubmitted,
            tallies: array.tallies().into_iter().map(tally).collect(),
        },
        integrity: server.integrity.status(array.read_repairs(), io.engine().plane().checksums()),
        last_scrub: server.jobs.last_scrub().cloned(),
        processor_nanoseconds: processor_time().as_nanos(),
    }
}

/// The name of the array.
fn uuid(server: &Server) -> String {
    let records = server.io.engine().plane().records();
    records.map_or(String::from("in memory"), |(superblock, ..)| superblock.uuid.to_string())
}

fn restoring(server: &Server) -> Option<JobStatus> {
    let restoring = server.io.engine().array().job()?;
    let (what, drive) = match restoring.what {
        JobKind::Rebuild(drive) => ("rebuild", Some(drive.0)),
        JobKind::Resync => ("resync", None),
        JobKind::Scrub | JobKind::ScrubRepair => ("scrub", None),
    };
    Some(JobStatus {
        what: what.into(),
        drive,
        stripes_done: restoring.done,
        stripes: restoring.total,
        mismatches: server.io.engine().plane().mismatches(),
    })
}

fn stall_status(stalls: &array::Stalls, page_bytes: u64) -> StallStatus {
    let median = |estimate: Option<array::Estimate>, unit: u64| {
        estimate.map(|array::Estimate { low, median, high }| MedianStatus {
            low: low * unit,
            median: median * unit,
            high: high * unit,
        })
    };
    StallStatus {
        count: stalls.count,
        length_nanoseconds: median(stalls.length_nanos, 1),
        period_nanoseconds: median(stalls.period_nanos, 1),
        written_bytes: median(stalls.written_blocks, page_bytes),
        trigger: stalls.trigger.name().to_owned(),
    }
}

fn drive_status(server: &Server, now: Instant, drive: DriveId) -> DriveStatus {
    let io = &server.io;
    let array = io.engine().array();
    let position = drive.index();
    let window = array.coordinator().window(drive, now);
    let queue = array.queues().of(drive);
    let traffic = io.traffic[position];
    let mut status = DriveStatus {
        drive: drive.0,
        place: server.members.place_of(drive),
        state: state(server, drive).into(),
        missing_stripes: match array.drive_state(drive) {
            DriveState::Rebuilding { stripes } | DriveState::Incomplete { stripes } => stripes,
            DriveState::Failed => array.layout().stripes(),
            DriveState::Serving => 0,
        },
        recent_windows: recent_windows(server, now, drive),
        in_window: window.is_some_and(|(start, end)| start <= now && now < end),
        distrusted_nanoseconds: array
            .distrusted_since(drive)
            .map(|since| now.since(since).as_nanos()),
        queued: u64::from(queue.read_blocks + queue.write_blocks),
        free_share: 1.0,
        errors: io.errors[position],
        traffic,
        flash: FlashCounters {
            read_pages: traffic.read_bytes / io.page_bytes(),
            written_pages: traffic.written_bytes / io.page_bytes(),
            ..FlashCounters::default()
        },
        ..DriveStatus::default()
    };
    if let Some(ssd) = io.engine().drives()[position].ssd() {
        let counters = ssd.counters();
        status.emulated = true;
        status.collecting = ssd.status().collecting;
        status.free_share = ssd.free_share();
        status.flash = FlashCounters {
            read_pages: counters.host_reads_pages,
            written_pages: counters.host_programs_pages,
            copied_pages: counters.collection_programs_pages,
            erased_blocks: counters.erases,
            write_amplification: counters.write_amplification(),
        };
    }
    status
}

/// Drives that do not hold all their data, as bits.
pub(super) fn missing(server: &Server) -> u64 {
    let lack = server.io.drives().filter(|drive| !serves(server, *drive));
    lack.fold(0, |bits, drive| bits | 1 << drive.0)
}

/// Whether a drive holds all its data. One that was rebuilt serves when the superblocks say so:
/// before that a start without the drives that it was rebuilt from would not take it.
fn serves(server: &Server, drive: DriveId) -> bool {
    let engine = server.io.engine();
    let is_recorded = engine.plane().records().is_none_or(|(superblock, ..)| {
        superblock.states.get(drive.index()) == Some(&MemberState::Serving)
    });
    is_recorded && engine.array().drive_state(drive) == DriveState::Serving
}

/// How a drive takes part.
fn state(server: &Server, drive: DriveId) -> &'static str {
    match server.io.engine().array().drive_state(drive) {
        DriveState::Serving if !serves(server, drive) => "rebuilding",
        DriveState::Serving => "serving",
        DriveState::Rebuilding { .. } => "rebuilding",
        DriveState::Incomplete { .. } => "incomplete",
        DriveState::Failed => "failed",
    }
}

/// The busy windows of the last moments.
fn recent_windows(server: &Server, now: Instant, drive: DriveId) -> Vec<BusyWindow> {
    let back = now.as_nanos().saturating_sub(RECENT.as_nanos());
    let mut at = Instant::from_nanos(back).max(server.admin.policy_since());
    let array = server.io.engine().array();
    let mut windows = Vec::new();
    while let Some((start, end)) = array.coordinator().window(drive, at)
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

/// How far back busy windows are listed: a little more than the time between two queries.
const RECENT: units::Duration = units::Duration::from_millis(1_500);
