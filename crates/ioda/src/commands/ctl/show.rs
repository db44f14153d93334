//! The status of an array for people.

use live::control::{
    DamagedPage, DriveStatus, IntegrityStatus, JobStatus, Latency, MedianStatus, PrefillStatus,
    ScrubStatus, Status,
};
use study::table;
use units::{Bytes, Duration};

/// Stands for the uuid of an array in memory.
const IN_MEMORY: &str = "in memory";
/// Characters of the bar that shows how far a rebuild is.
const BAR: usize = 30;
/// Percentiles of the table, and their names.
const PERCENTILES: [(f64, &str); 4] =
    [(50.0, "p50"), (95.0, "p95"), (99.0, "p99"), (99.9, "p99.9")];

/// Some lines about the array, a table of latencies and one of drives. With the status `before`,
/// latencies are those of the time in between, and it is told when a rebuild will be over.
pub(super) fn status(status: &Status, before: Option<&Status>) -> String {
    // An array that was started anew in between has nothing to do with the one before.
    let before = before.filter(|before| before.uptime_nanoseconds < status.uptime_nanoseconds);
    let mut text = format!(
        "{} on {} of {} drives, {}, up {}, ioda {}{}\n",
        status.policy,
        status.identity.level,
        status.drives.len(),
        Bytes(status.identity.capacity_bytes),
        Duration::from_nanos(status.uptime_nanoseconds),
        status.identity.version,
        name(&status.identity.uuid),
    );
    let state = state(status);
    let window = match status.busy_window_nanoseconds {
        Some(nanoseconds) => {
            format!("{}{}", Duration::from_nanos(nanoseconds), turns(status))
        }
        None => "none".to_owned(),
    };
    text.push_str(&format!(
        "{state}; clients: {}, requests in flight: {}, busy windows: {window}\n",
        status.requests.connections, status.requests.requests_in_flight,
    ));
    if let Some(restoring) = &status.restoring {
        text.push_str(&restoring_line(restoring, status, before));
    }
    if let Some(prefill) = &status.prefill {
        text.push_str(&prefill_line(prefill));
    }
    text.push('\n');
    text.push_str(&latencies(status, before));
    text.push('\n');
    text.push_str(&drives(status));
    text.push_str(&format!(
        "\nfailed fast: {}, stripe reads rebuilt: {}, sent again to wait: {}, failed requests: {}\n",
        status.counters.fail_fasts, status.counters.rebuilds, status.counters.resubmitted, status.requests.failed_requests,
    ));
    text.push_str(&integrity(&status.integrity));
    text.extend(status.last_scrub.as_ref().map(|scrub| last_scrub(scrub, status)));
    text
}

/// When the last scrub ended, and what it found.
fn last_scrub(scrub: &ScrubStatus, status: &Status) -> String {
    let ScrubStatus { stripes, mismatches, repaired_pages, lost_pages, skipped_stripes, .. } =
        scrub;
    let again = if scrub.repair && *mismatches > 0 { ", written again" } else { "" };
    let skipped = match skipped_stripes {
        0 => String::new(),
        skipped => format!(", {skipped} stripes not compared"),
    };
    format!(
        "last scrub: ended {} ago, {stripes} stripes in {}: {mismatches} with wrong parity{again}, {repaired_pages} pages \
         repaired, {lost_pages} lost{skipped}\n",
        Duration::from_nanos(
            status.uptime_nanoseconds.saturating_sub(scrub.ended_uptime_nanoseconds)
        ),
        Duration::from_nanos(scrub.took_nanoseconds),
    )
}

/// The uuid of an array that outlives its process.
fn name(uuid: &str) -> String {
    match uuid {
        IN_MEMORY => String::new(),
        uuid => format!(", uuid {uuid}"),
    }
}

/// What the array can still promise.
fn state(status: &Status) -> String {
    if let Some(reason) = &status.stopped {
        return format!("STOPPED: {reason}");
    }
    let missing = status.drives.iter().filter(|drive| drive.state != "serving");
    let missing: Vec<String> =
        missing.map(|drive| format!("drive {} {}", drive.drive, drive_state(drive))).collect();
    match (status.failed, status.degraded, status.drives_to_spare) {
        (true, ..) => format!(
            "FAILED: {}; too many are missing, and requests for what cannot be read are answered with errors",
            missing.join(", ")
        ),
        (_, true, 0) => format!("DEGRADED: {}; no other drive may fail", missing.join(", ")),
        (_, true, 1) => format!("DEGRADED: {}; one more drive may fail", missing.join(", ")),
        (_, true, spare) => {
            format!("DEGRADED: {}; {spare} more drives may fail", missing.join(", "))
        }
        (_, false, _) => "all drives serve".to_owned(),
    }
}

/// What is left of the contract of the busy windows while drives are missing.
fn turns(status: &Status) -> String {
    match (status.degraded, status.busy_drives) {
        (false, _) | (_, None) => String::new(),
        (_, Some(0)) => ", and a read may have to wait for a busy drive".to_owned(),
        (_, Some(1)) => ", one drive at a time, and no read waits for it".to_owned(),
        (_, Some(drives)) => format!(", {drives} drives at a time, and no read waits for them"),
    }
}

/// The state of a drive, and how much it lacks.
fn drive_state(drive: &DriveStatus) -> String {
    match drive.state.as_str() {
        "incomplete" => format!("incomplete: {} stripes lost", drive.missing_stripes),
        state => state.to_owned(),
    }
}

/// What was damaged, if anything was.
fn integrity(integrity: &IntegrityStatus) -> String {
    let IntegrityStatus { repaired_pages, lost_pages, damaged_pages, .. } = integrity;
    let mut text = String::new();
    if integrity.checksums {
        text.push_str(&format!(
            "checksums: {} blocks right, {} wrong, {} not known after a crash\n",
            integrity.verified_blocks, integrity.mismatched_blocks, integrity.accepted_blocks
        ));
    }
    if *repaired_pages + *lost_pages > 0 {
        text.push_str(&format!("damaged pages: {repaired_pages} repaired, {lost_pages} lost\n"));
    }
    for DamagedPage { drive, offset_bytes, repaired } in damaged_pages {
        let end = if *repaired { "repaired" } else { "lost" };
        text.push_str(&format!("  drive {drive}, byte {offset_bytes}: {end}\n"));
    }
    text
}

fn prefill_line(prefill: &PrefillStatus) -> String {
    let PrefillStatus { done_bytes, bytes, state } = prefill;
    let share = *done_bytes as f64 / (*bytes).max(1) as f64 * 100.0;
    let rest = match state.as_str() {
        "running" => ", going on",
        "done" => "",
        "unsupported" => "; the kernel cannot do it, so memory is taken when it is written",
        _ => "; little memory is left, so the rest is taken when it is written",
    };
    format!("prefill: {share:.1} % of {} of memory{rest}\n", Bytes(*bytes))
}

fn restoring_line(restoring: &JobStatus, status: &Status, before: Option<&Status>) -> String {
    let JobStatus { what, drive, stripes_done, stripes, mismatches } = restoring;
    let share = (*stripes_done as f64 / (*stripes).max(1) as f64).min(1.0);
    let full = (share * BAR as f64) as usize;
    let drive = drive.map(|drive| format!(" of drive {drive}")).unwrap_or_default();
    let mut line = format!(
        "{what}{drive} [{}{}] {:.1} %, {stripes_done} of {stripes} stripes",
        "#".repeat(full),
        "-".repeat(BAR - full),
        share * 100.0,
    );
    if *mismatches > 0 {
        line.push_str(&format!(", {mismatches} with wrong parity"));
    }
    let earlier = before.and_then(|before| Some((before, before.restoring.as_ref()?)));
    if let Some((before, then)) = earlier.filter(|(_, then)| then.what == *what) {
        let done = stripes_done.saturating_sub(then.stripes_done);
        let took = status.uptime_nanoseconds - before.uptime_nanoseconds;
        if done > 0 {
            let left = stripes.saturating_sub(*stripes_done) as f64 / done as f64 * took as f64;
            line.push_str(&format!(", about {} left", Duration::from_nanos(left as u64)));
        }
    }
    line.push('\n');
    line
}

fn latencies(status: &Status, before: Option<&Status>) -> String {
    let since = if before.is_some() { "in between" } else { "since the start" };
    let mut header = vec![since.to_owned(), "count".to_owned()];
    header.extend(PERCENTILES.map(|(_, name)| name.to_owned()));
    header.push("max".to_owned());
    let row = |name: &str, get: fn(&Status) -> &Latency| {
        let latency = match before {
            Some(before) => get(status).since(get(before)),
            None => get(status).clone(),
        };
        let time = |nanoseconds: Option<u64>| match nanoseconds {
            Some(nanoseconds) => Duration::from_nanos(nanoseconds).to_string(),
            None => "-".to_owned(),
        };
        let mut row = vec![name.to_owned(), latency.count.to_string()];
        row.extend(PERCENTILES.map(|(percent, _)| time(latency.percentile(percent))));
        row.push(time(Some(latency.max_nanoseconds).filter(|_| latency.count > 0)));
        row
    };
    let rows = [
        row("read", |status| &status.requests.read),
        row("write", |status| &status.requests.write),
        row("answered late by", |status| &status.requests.lateness),
    ];
    table::numbers(&header, &rows)
}

fn drives(status: &Status) -> String {
    let header = table::header(&[
        "drive",
        "state",
        "now",
        "free blocks",
        "queue",
        "WAF",
        "pages read",
        "written",
        "copied",
        "errors",
        "bytes are in",
    ]);
    let rows: Vec<Vec<String>> =
        status
            .drives
            .iter()
            .map(|drive| {
                let mut now = Vec::new();
                now.extend(drive.in_window.then(|| "window".to_owned()));
                now.extend(drive.collecting.then(|| "collecting".to_owned()));
                now.extend(drive.distrusted_nanoseconds.map(|nanos| {
                    format!("not read for {:.1} s: answers late", nanos as f64 / 1e9)
                }));
                let now = if now.is_empty() { "-".to_owned() } else { now.join(", ") };
                // A real drive does not tell.
                let emulated = |text: String| if drive.emulated { text } else { "-".to_owned() };
                vec![
                    drive.drive.to_string(),
                    drive_state(drive),
                    now,
                    emulated(format!("{:.1} %", drive.free_share * 100.0)),
                    drive.queued.to_string(),
                    emulated(format!("{:.2}", drive.flash.write_amplification)),
                    drive.flash.read_pages.to_string(),
                    drive.flash.written_pages.to_string(),
                    drive.flash.copied_pages.to_string(),
                    drive.errors.to_string(),
                    drive.place.clone(),
                ]
            })
            .collect();
    let mut text = table::numbers_between(&header, &rows, 3, 1);
    if status.drives.iter().any(|drive| drive.emulated) {
        text +=
            "  WAF: write amplification, pages of flash programmed per page that the array wrote\n";
    }
    text + &stalls(status)
}

/// What the policy has learnt of stalls: a line for each drive of which something is known.
fn stalls(status: &Status) -> String {
    let of_drive = |drive: &DriveStatus| {
        let stalls = drive.stalls.as_ref()?;
        let (length, period) = (stalls.length_nanoseconds?, stalls.period_nanoseconds?);
        let time = |median: MedianStatus| {
            let millis = |nanos: u64| format!("{:.2}", nanos as f64 / 1e6);
            let MedianStatus { low, median, high } = median;
            format!("{} ms ({} to {})", millis(median), millis(low), millis(high))
        };
        let trigger = match stalls.trigger.as_str() {
            "time" => ", by time",
            "written" => ", by what was written",
            _ => "",
        };
        let (drive, count) = (drive.drive, stalls.count);
        let (length, period) = (time(length), time(period));
        Some(format!("  drive {drive}: {count} stalls, of {length}, every {period}{trigger}\n"))
    };
    let lines: String = status.drives.iter().filter_map(of_drive).collect();
    match lines.is_empty() {
        true => lines,
        false => {
            format!(
                "  reads at five times the usual latency (median of the latest, and its 95 % interval):\n{lines}"
            )
        }
    }
}
