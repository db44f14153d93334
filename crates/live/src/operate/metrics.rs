//! What monitors read: the text format of Prometheus, version 0.0.4.
//!
//! Written here and not by a client library: those count themselves, whereas everything here has
//! been counted by the array's thread already.

use crate::control::{DriveStatus, Latency, ScrubStatus, Status};
use std::fmt::{Display, Write};

/// Bounds of the histograms are powers of two of nanoseconds, which are bounds of [`Latency`], too:
/// from 4 us to 17 s. Twenty-three series for a histogram are what a monitor is happy to keep.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 12..=34;

/// States of a drive, one series each.
const STATES: [&str; 4] = ["serving", "failed", "rebuilding", "incomplete"];

/// Labels of a sample: names, and values of any characters.
type Labels<'a> = [(&'a str, &'a str)];

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Default)]
struct Exposition {
    text: String,
}

impl Exposition {
    /// Opens a family of samples. All samples of a family come right after it.
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP ioda_{name} {help}\n# TYPE ioda_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) {
        let _ = write!(self.text, "ioda_{name}");
        for (index, (label, value)) in labels.iter().enumerate() {
            let open = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{open}{label}=\"{}\"", escaped(value));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    /// A family of one sample without labels.
    fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The samples of a histogram in seconds.
    fn histogram(&mut self, name: &str, labels: &Labels<'_>, latency: &Latency) {
        let bucket = format!("{name}_bucket");
        for bound in BOUNDS_LOG2.map(|exponent| 1u64 << exponent) {
            let bound_seconds = seconds(bound).to_string();
            let labels = [labels, &[("le", bound_seconds.as_str())]].concat();
            self.sample(&bucket, &labels, latency.at_most(bound));
        }
        let count = latency.at_most(u64::MAX);
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), count);
        self.sample(&format!("{name}_sum"), labels, seconds(latency.sum_nanoseconds));
        self.sample(&format!("{name}_count"), labels, count);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The status as the text that Prometheus reads.
#[must_use]
pub fn exposition(status: &Status) -> String {
    let mut out = Exposition::default();
    array(&mut out, status);
    requests(&mut out, status);
    policy(&mut out, status);
    drives(&mut out, &status.drives);
    out.text
}

fn array(out: &mut Exposition, status: &Status) {
    use Kind::{Counter, Gauge};
    out.family("build_info", Gauge, "Version of the program.");
    out.sample("build_info", &[("version", &status.identity.version)], 1);
    out.family("array_info", Gauge, "Name and level of the array.");
    out.sample(
        "array_info",
        &[("uuid", &status.identity.uuid), ("level", &status.identity.level)],
        1,
    );
    out.family("policy_info", Gauge, "Policy in force.");
    out.sample("policy_info", &[("policy", &status.policy)], 1);
    let uptime = seconds(status.uptime_nanoseconds);
    out.single("uptime_seconds", Gauge, "Time since the array was started.", uptime);
    let policy_since = seconds(status.policy_since_nanoseconds);
    out.single(
        "policy_since_uptime_seconds",
        Gauge,
        "Uptime at which the policy came into force.",
        policy_since,
    );
    out.single("capacity_bytes", Gauge, "Size that clients see.", status.identity.capacity_bytes);
    out.single(
        "degraded",
        Gauge,
        "Whether drives are missing or failed.",
        u8::from(status.degraded),
    );
    out.single(
        "failed",
        Gauge,
        "Whether stripes miss more members than they can, so that requests for them fail.",
        u8::from(status.failed),
    );
    out.single(
        "drives_to_spare",
        Gauge,
        "Drives that may fail in addition, whichever they are, before data are lost.",
        status.drives_to_spare,
    );
    let stopped = u8::from(status.stopped.is_some());
    out.single("stopped", Gauge, "Whether requests are no longer taken.", stopped);
    if let Some(window) = status.busy_window_nanoseconds {
        out.single("busy_window_seconds", Gauge, "Length of the busy windows.", seconds(window));
    }
    for (name, help, value) in [
        (
            "verified_blocks_total",
            "Blocks of 4096 bytes that were read and fitted their checksums.",
            status.integrity.verified_blocks,
        ),
        (
            "mismatched_blocks_total",
            "Blocks of 4096 bytes that were read and did not fit their checksums.",
            status.integrity.mismatched_blocks,
        ),
        (
            "repaired_pages_total",
            "Pages that a drive could not read and that were written again.",
            status.integrity.repaired_pages,
        ),
        (
            "lost_pages_total",
            "Pages that a drive could not read and that could not be reconstructed.",
            status.integrity.lost_pages,
        ),
    ] {
        out.single(name, Counter, help, value);
    }
    out.single(
        "processor_seconds_total",
        Counter,
        "Processor time of the thread that owns the array.",
        seconds(status.processor_nanoseconds),
    );
    if let Some(prefill) = &status.prefill {
        for (name, help, value) in [
            ("prefill_bytes", "Bytes of the drives in memory.", prefill.bytes),
            (
                "prefill_done_bytes",
                "Bytes of the drives in memory whose memory was taken in advance.",
                prefill.done_bytes,
            ),
        ] {
            out.single(name, Gauge, help, value);
        }
    }
    if let Some(restoring) = &status.restoring {
        let drive = restoring.drive.map(|drive| drive.to_string()).unwrap_or_default();
        let labels = [("what", restoring.what.as_str()), ("drive", drive.as_str())];
        for (name, help, value) in [
            (
                "restoring_stripes",
                "Stripes of the rebuild, resync or scrub under way.",
                restoring.stripes,
            ),
            ("restoring_stripes_done", "Stripes of it that are done.", restoring.stripes_done),
            (
                "restoring_stripes_mismatched",
                "Stripes of it whose parity was wrong.",
                restoring.mismatches,
            ),
        ] {
            out.family(name, Gauge, help);
            out.sample(name, &labels, value);
        }
    }
    status.last_scrub.iter().for_each(|scrub| last_scrub(out, scrub));
}

/// The last scrub; nothing before the first has ended.
fn last_scrub(out: &mut Exposition, scrub: &ScrubStatus) {
    let ScrubStatus { ended_unix_seconds, took_nanoseconds, repair, stripes, .. } = scrub;
    out.family(
        "last_scrub_info",
        Kind::Gauge,
        "Whether the last scrub wrote parity again that did not fit.",
    );
    out.sample("last_scrub_info", &[("repair", if *repair { "yes" } else { "no" })], 1);
    let help = "When the last scrub ended, in seconds since 1970.";
    out.single("last_scrub_end_timestamp_seconds", Kind::Gauge, help, ended_unix_seconds);
    let took = seconds(*took_nanoseconds);
    out.single("last_scrub_duration_seconds", Kind::Gauge, "How long the last scrub took.", took);
    for (name, help, value) in [
        ("last_scrub_stripes", "Stripes of the last scrub.", *stripes),
        (
            "last_scrub_skipped_stripes",
            "Stripes that the last scrub did not compare: pages of them were damaged, or drives are missing.",
            scrub.skipped_stripes,
        ),
        (
            "last_scrub_mismatches",
            "Parities that did not fit their data in the last scrub.",
            scrub.mismatches,
        ),
        (
            "last_scrub_repaired_pages",
            "Pages repaired during the last scrub.",
            scrub.repaired_pages,
        ),
        (
            "last_scrub_lost_pages",
            "Damaged pages met during the last scrub that could not be repaired.",
            scrub.lost_pages,
        ),
    ] {
        out.single(name, Kind::Gauge, help, value);
    }
}

fn requests(out: &mut Exposition, status: &Status) {
    use Kind::{Counter, Gauge, Histogram};
    out.single("connections", Gauge, "Clients that are connected.", status.requests.connections);
    let help = "Clients that are connected over NVMe/TCP: each path of each host is one.";
    out.single("paths", Gauge, help, status.requests.paths);
    strangers(out, status);
    out.single(
        "requests_in_flight",
        Gauge,
        "Requests that are not answered.",
        status.requests.requests_in_flight,
    );
    out.family(
        "request_duration_seconds",
        Histogram,
        "Time from the arrival of a request to its answer.",
    );
    out.histogram("request_duration_seconds", &[("operation", "read")], &status.requests.read);
    out.histogram("request_duration_seconds", &[("operation", "write")], &status.requests.write);
    out.family(
        "read_cause_seconds",
        Histogram,
        "Time that reads spent for one cause, of the reads that met it.",
    );
    for cause in &status.requests.causes {
        out.histogram("read_cause_seconds", &[("cause", &cause.cause)], &cause.latency);
    }
    out.family(
        "lateness_seconds",
        Histogram,
        "By how much emulated drives answered after the moment that their model had computed.",
    );
    out.histogram("lateness_seconds", &[], &status.requests.lateness);
    out.single("read_bytes_total", Counter, "Bytes that clients read.", status.requests.read_bytes);
    out.single(
        "written_bytes_total",
        Counter,
        "Bytes that clients wrote.",
        status.requests.written_bytes,
    );
    out.single("flushes_total", Counter, "Flushes.", status.requests.flushes);
    out.single(
        "failed_requests_total",
        Counter,
        "Requests that were answered with an error.",
        status.requests.failed_requests,
    );
}

fn strangers(out: &mut Exposition, status: &Status) {
    let help = "Connections that ended before they were of use, by protocol and reason.";
    out.family("strangers_total", Kind::Counter, help);
    for (protocol, strangers) in
        [("nbd", status.requests.strangers), ("nvme_tcp", status.requests.path_strangers)]
    {
        for (reason, count) in [
            ("evicted", strangers.evicted),
            ("late", strangers.late),
            ("refused", strangers.refused),
        ] {
            out.sample("strangers_total", &[("protocol", protocol), ("reason", reason)], count);
        }
    }
}

fn policy(out: &mut Exposition, status: &Status) {
    use Kind::Counter;
    out.family(
        "stripe_reads_total",
        Counter,
        "Stripe reads by how many of their members met a collection.",
    );
    for (busy, count) in status.counters.busy_sub_ios.iter().enumerate() {
        out.sample("stripe_reads_total", &[("busy_members", &busy.to_string())], count);
    }
    out.single(
        "fail_fasts_total",
        Counter,
        "Sub-I/Os that were failed fast.",
        status.counters.fail_fasts,
    );
    out.single(
        "rebuilds_total",
        Counter,
        "Stripe reads that were rebuilt.",
        status.counters.rebuilds,
    );
    out.single(
        "resubmitted_total",
        Counter,
        "Sub-I/Os that were sent again to wait.",
        status.counters.resubmitted,
    );
    out.family("policy_events_total", Counter, "What the policy has counted.");
    for tally in &status.counters.tallies {
        out.sample("policy_events_total", &[("event", &tally.name)], tally.count);
    }
}

/// A family with one sample for each drive: name, kind, help, value.
type OfDrive = (&'static str, Kind, &'static str, fn(&DriveStatus) -> f64);

fn drives(out: &mut Exposition, drives: &[DriveStatus]) {
    use Kind::{Counter, Gauge};
    let families: [OfDrive; 15] = [
        ("drive_in_window", Gauge, "Whether the busy window of the drive is open.", |drive| {
            f64::from(u8::from(drive.in_window))
        }),
        (
            "drive_distrusted",
            Gauge,
            "Whether the array does not read the drive because it answers later than it says.",
            |drive| f64::from(u8::from(drive.distrusted_nanoseconds.is_some())),
        ),
        ("drive_collecting", Gauge, "Whether the drive collects garbage.", |drive| {
            f64::from(u8::from(drive.collecting))
        }),
        ("drive_emulated", Gauge, "Whether the drive is emulated.", |drive| {
            f64::from(u8::from(drive.emulated))
        }),
        ("drive_free_blocks_ratio", Gauge, "Share of the drive's blocks that are free.", |drive| {
            drive.free_share
        }),
        (
            "drive_write_amplification_ratio",
            Gauge,
            "Pages of flash programmed per page that the array wrote to the drive.",
            |drive| drive.flash.write_amplification,
        ),
        ("drive_queued_commands", Gauge, "Commands that the drive has not answered.", |drive| {
            drive.queued as f64
        }),
        ("drive_read_pages_total", Counter, "Pages that the array read.", |drive| {
            drive.flash.read_pages as f64
        }),
        ("drive_written_pages_total", Counter, "Pages that the array wrote.", |drive| {
            drive.flash.written_pages as f64
        }),
        ("drive_copied_pages_total", Counter, "Pages that collections copied.", |drive| {
            drive.flash.copied_pages as f64
        }),
        ("drive_erased_blocks_total", Counter, "Blocks that were erased.", |drive| {
            drive.flash.erased_blocks as f64
        }),
        (
            "drive_read_bytes_total",
            Counter,
            "Bytes that the array read where the drive has its bytes.",
            |drive| drive.traffic.read_bytes as f64,
        ),
        (
            "drive_written_bytes_total",
            Counter,
            "Bytes of data and checksums that the array wrote where the drive has its bytes.",
            |drive| drive.traffic.written_bytes as f64,
        ),
        (
            "drive_record_bytes_total",
            Counter,
            "Bytes of superblocks, write-intent record and journal that the array wrote there.",
            |drive| drive.traffic.record_bytes as f64,
        ),
        ("drive_errors_total", Counter, "Commands answered with an error.", |drive| {
            drive.errors as f64
        }),
    ];
    out.family("drive_info", Kind::Gauge, "Where the bytes of the drive are.");
    for drive in drives {
        let number = drive.drive.to_string();
        out.sample("drive_info", &[("drive", &number), ("place", &drive.place)], 1);
    }
    out.family("drive_state", Kind::Gauge, "1 for the state that the drive is in.");
    for drive in drives {
        let number = drive.drive.to_string();
        for state in STATES {
            let is = u8::from(drive.state == state);
            out.sample("drive_state", &[("drive", &number), ("state", state)], is);
        }
    }
    for (name, kind, help, value) in families {
        out.family(name, kind, help);
        for drive in drives {
            out.sample(name, &[("drive", &drive.drive.to_string())], value(drive));
        }
    }
}
