//! What monitors read: the text format of Prometheus, version 0.0.4.
//!
//! The format is that of the client library of Prometheus. Its counters and histograms are not
//! used: everything here has been counted by the array's thread already, and a collector hands the
//! numbers over at each scrape.

use crate::control::{DriveStatus, Latency, ScrubStatus, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabelSet, NoLabelSet,
    prometheus_text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// Bounds of the histograms are powers of two of nanoseconds, which are bounds of [`Latency`], too:
/// from 4 us to 17 s. Twenty-three series for a histogram are what a monitor is happy to keep.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 12..=34;

/// States of a drive, one series each.
const STATES: [&str; 4] = ["serving", "failed", "rebuilding", "incomplete"];

/// The labels of a sample without any.
const NO_LABELS: [(&str, &str); 0] = [];

/// Families of samples, each written with all its samples.
struct Exposition<'a>(DescriptorEncoder<'a>);

impl Exposition<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn gauges<L: EncodeLabelSet, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        samples
            .into_iter()
            .try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
    }

    /// A counter that is exported as `ioda_{name}_total`.
    fn counter(&mut self, name: &str, help: &str, value: impl EncodeCounterValue) -> fmt::Result {
        self.0
            .encode_descriptor(name, help, None, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        samples.into_iter().try_for_each(|(labels, value)| {
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&value, None)
        })
    }

    /// Histograms in seconds.
    fn histograms<'a, L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (L, &'a Latency)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        samples.into_iter().try_for_each(|(labels, latency)| {
            family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                seconds(latency.sum_nanoseconds),
                latency.at_most(u64::MAX),
                &buckets(latency),
                None,
            )
        })
    }
}

/// The buckets of a histogram: upper bound in seconds, and how many are in it and in none before.
fn buckets(latency: &Latency) -> Vec<(f64, u64)> {
    let mut before = 0;
    let bounds = BOUNDS_LOG2.map(|exponent| 1u64 << exponent).chain([u64::MAX]);
    bounds
        .map(|bound| {
            let within = latency.at_most(bound);
            let count = within - std::mem::replace(&mut before, within);
            (if bound == u64::MAX { f64::INFINITY } else { seconds(bound) }, count)
        })
        .collect()
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The status of an array, as the client library asks for it.
#[derive(Debug)]
struct Exposed(Status);

impl Collector for Exposed {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(status) = self;
        let mut out = Exposition(encoder);
        array(&mut out, status)?;
        requests(&mut out, status)?;
        policy(&mut out, status)?;
        drives(&mut out, &status.drives)
    }
}

/// The status as the text that Prometheus reads.
#[must_use]
pub fn exposition(status: &Status) -> String {
    let mut registry = Registry::with_prefix("ioda");
    registry.register_collector(Box::new(Exposed(status.clone())));
    let mut text = String::new();
    let encoded = prometheus_text::encode(&mut text, &registry);
    debug_assert!(encoded.is_ok(), "writing to a string cannot fail");
    text
}

fn array(out: &mut Exposition<'_>, status: &Status) -> fmt::Result {
    let identity = &status.identity;
    out.gauges("build_info", "Version of the program.", [([("version", &identity.version)], 1)])?;
    let labels = [("uuid", &identity.uuid), ("level", &identity.level)];
    out.gauges("array_info", "Name and level of the array.", [(labels, 1)])?;
    out.gauges("policy_info", "Policy in force.", [([("policy", &status.policy)], 1)])?;
    let uptime = seconds(status.uptime_nanoseconds);
    out.gauge("uptime_seconds", "Time since the array was started.", uptime)?;
    out.gauge(
        "policy_since_uptime_seconds",
        "Uptime at which the policy came into force.",
        seconds(status.policy_since_nanoseconds),
    )?;
    out.gauge("capacity_bytes", "Size that clients see.", identity.capacity_bytes)?;
    let help = "Whether drives are missing or failed.";
    out.gauge("degraded", help, u32::from(status.degraded))?;
    out.gauge(
        "failed",
        "Whether stripes miss more members than they can, so that requests for them fail.",
        u32::from(status.failed),
    )?;
    out.gauge(
        "drives_to_spare",
        "Drives that may fail in addition, whichever they are, before data are lost.",
        status.drives_to_spare,
    )?;
    let stopped = u32::from(status.stopped.is_some());
    out.gauge("stopped", "Whether requests are no longer taken.", stopped)?;
    if let Some(window) = status.busy_window_nanoseconds {
        out.gauge("busy_window_seconds", "Length of the busy windows.", seconds(window))?;
    }
    let integrity = &status.integrity;
    for (name, help, value) in [
        (
            "verified_blocks",
            "Blocks of 4096 bytes that were read and fitted their checksums.",
            integrity.verified_blocks,
        ),
        (
            "mismatched_blocks",
            "Blocks of 4096 bytes that were read and did not fit their checksums.",
            integrity.mismatched_blocks,
        ),
        (
            "repaired_pages",
            "Pages that a drive could not read and that were written again.",
            integrity.repaired_pages,
        ),
        (
            "lost_pages",
            "Pages that a drive could not read and that could not be reconstructed.",
            integrity.lost_pages,
        ),
    ] {
        out.counter(name, help, value)?;
    }
    out.counter(
        "processor_seconds",
        "Processor time of the thread that owns the array.",
        seconds(status.processor_nanoseconds),
    )?;
    if let Some(prefill) = &status.prefill {
        out.gauge("prefill_bytes", "Bytes of the drives in memory.", prefill.bytes)?;
        out.gauge(
            "prefill_done_bytes",
            "Bytes of the drives in memory whose memory was taken in advance.",
            prefill.done_bytes,
        )?;
    }
    if let Some(restoring) = &status.restoring {
        let drive = restoring.drive.map(|drive| drive.to_string()).unwrap_or_default();
        let labels = [("what", &restoring.what), ("drive", &drive)];
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
            out.gauges(name, help, [(labels, value)])?;
        }
    }
    status.last_scrub.iter().try_for_each(|scrub| last_scrub(out, scrub))
}

/// The last scrub; nothing before the first has ended.
fn last_scrub(out: &mut Exposition<'_>, scrub: &ScrubStatus) -> fmt::Result {
    let ScrubStatus { ended_unix_seconds, took_nanoseconds, repair, stripes, .. } = scrub;
    let help = "Whether the last scrub wrote parity again that did not fit.";
    let repair = if *repair { "yes" } else { "no" };
    out.gauges("last_scrub_info", help, [([("repair", repair)], 1)])?;
    let help = "When the last scrub ended, in seconds since 1970.";
    out.gauge("last_scrub_end_timestamp_seconds", help, *ended_unix_seconds)?;
    let took = seconds(*took_nanoseconds);
    out.gauge("last_scrub_duration_seconds", "How long the last scrub took.", took)?;
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
        out.gauge(name, help, value)?;
    }
    Ok(())
}

fn requests(out: &mut Exposition<'_>, status: &Status) -> fmt::Result {
    let requests = &status.requests;
    out.gauge("connections", "Clients that are connected.", requests.connections)?;
    let help = "Clients that are connected over NVMe/TCP: each path of each host is one.";
    out.gauge("paths", help, requests.paths)?;
    strangers(out, status)?;
    let help = "Requests that are not answered.";
    out.gauge("requests_in_flight", help, requests.requests_in_flight)?;
    out.histograms(
        "request_duration_seconds",
        "Time from the arrival of a request to its answer.",
        [([("operation", "read")], &requests.read), ([("operation", "write")], &requests.write)],
    )?;
    out.histograms(
        "read_cause_seconds",
        "Time that reads spent for one cause, of the reads that met it.",
        requests.causes.iter().map(|cause| ([("cause", &cause.cause)], &cause.latency)),
    )?;
    out.histograms(
        "lateness_seconds",
        "By how much emulated drives answered after the moment that their model had computed.",
        [(NO_LABELS, &requests.lateness)],
    )?;
    out.counter("read_bytes", "Bytes that clients read.", requests.read_bytes)?;
    out.counter("written_bytes", "Bytes that clients wrote.", requests.written_bytes)?;
    out.counter("flushes", "Flushes.", requests.flushes)?;
    let help = "Requests that were answered with an error.";
    out.counter("failed_requests", help, requests.failed_requests)
}

fn strangers(out: &mut Exposition<'_>, status: &Status) -> fmt::Result {
    let protocols =
        [("nbd", status.requests.strangers), ("nvme_tcp", status.requests.path_strangers)];
    let samples = protocols.iter().flat_map(|(protocol, strangers)| {
        let reasons = [
            ("evicted", strangers.evicted),
            ("late", strangers.late),
            ("refused", strangers.refused),
        ];
        reasons.map(|(reason, count)| ([("protocol", *protocol), ("reason", reason)], count))
    });
    let help = "Connections that ended before they were of use, by protocol and reason.";
    out.counters("strangers", help, samples)
}

fn policy(out: &mut Exposition<'_>, status: &Status) -> fmt::Result {
    let counters = &status.counters;
    out.counters(
        "stripe_reads",
        "Stripe reads by how many of their members met a collection.",
        (0u64..)
            .zip(&counters.busy_sub_ios)
            .map(|(busy, &count)| ([("busy_members", busy)], count)),
    )?;
    out.counter("fail_fasts", "Sub-I/Os that were failed fast.", counters.fail_fasts)?;
    out.counter("rebuilds", "Stripe reads that were rebuilt.", counters.rebuilds)?;
    out.counter("resubmitted", "Sub-I/Os that were sent again to wait.", counters.resubmitted)?;
    out.counters(
        "policy_events",
        "What the policy has counted.",
        counters.tallies.iter().map(|tally| ([("event", &tally.name)], tally.count)),
    )
}

/// A family with one sample for each drive: name, help, value.
type OfDrive<T> = (&'static str, &'static str, fn(&DriveStatus) -> T);

const DRIVE_GAUGES: [OfDrive<f64>; 7] = [
    ("drive_in_window", "Whether the busy window of the drive is open.", |drive| {
        f64::from(drive.in_window)
    }),
    (
        "drive_distrusted",
        "Whether the array does not read the drive because it answers too late.",
        |drive| f64::from(drive.distrusted_nanoseconds.is_some()),
    ),
    ("drive_collecting", "Whether the drive collects garbage.", |drive| {
        f64::from(drive.collecting)
    }),
    ("drive_emulated", "Whether the drive is emulated.", |drive| f64::from(drive.emulated)),
    ("drive_free_blocks_ratio", "Share of the drive's blocks that are free.", |drive| {
        drive.free_share
    }),
    (
        "drive_write_amplification_ratio",
        "Pages of flash programmed per page that the array wrote to the drive.",
        |drive| drive.flash.write_amplification,
    ),
    ("drive_queued_commands", "Commands that the drive has not answered.", |drive| {
        drive.queued as f64
    }),
];

const DRIVE_COUNTERS: [OfDrive<u64>; 8] = [
    ("drive_read_pages", "Pages that the array read.", |drive| drive.flash.read_pages),
    ("drive_written_pages", "Pages that the array wrote.", |drive| drive.flash.written_pages),
    ("drive_copied_pages", "Pages that collections copied.", |drive| drive.flash.copied_pages),
    ("drive_erased_blocks", "Blocks that were erased.", |drive| drive.flash.erased_blocks),
    ("drive_read_bytes", "Bytes that the array read where the drive has its bytes.", |drive| {
        drive.traffic.read_bytes
    }),
    (
        "drive_written_bytes",
        "Bytes of data and checksums that the array wrote where the drive has its bytes.",
        |drive| drive.traffic.written_bytes,
    ),
    (
        "drive_record_bytes",
        "Bytes of superblocks, write-intent record and journal that the array wrote there.",
        |drive| drive.traffic.record_bytes,
    ),
    ("drive_errors", "Commands answered with an error.", |drive| drive.errors),
];

fn drives(out: &mut Exposition<'_>, drives: &[DriveStatus]) -> fmt::Result {
    let infos = drives.iter().map(|drive| {
        let number = drive.drive.to_string();
        ([("drive", number), ("place", drive.place.clone())], 1)
    });
    out.gauges("drive_info", "Where the bytes of the drive are.", infos)?;
    let states = drives.iter().flat_map(|drive| {
        STATES.map(|state| {
            let labels = [("drive", drive.drive.to_string()), ("state", state.to_owned())];
            (labels, u32::from(drive.state == state))
        })
    });
    out.gauges("drive_state", "1 for the state that the drive is in.", states)?;
    let of = |drive: &DriveStatus| [("drive", drive.drive)];
    for (name, help, value) in DRIVE_GAUGES {
        out.gauges(name, help, drives.iter().map(|drive| (of(drive), value(drive))))?;
    }
    for (name, help, value) in DRIVE_COUNTERS {
        out.counters(name, help, drives.iter().map(|drive| (of(drive), value(drive))))?;
    }
    Ok(())
}
