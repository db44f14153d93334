//! What a policy costs, in the order in which tables and pages show it.

use crate::document::Run;
use crate::format;

/// Writes one number of a run.
pub(crate) type Cell = fn(&Run) -> String;

/// Throughput and extra work: what it is called, and its number.
pub(crate) const COSTS: [(&str, Cell); 11] = [
    ("reads/s", |run| format::count(run.iops_read.round() as u64)),
    ("writes/s", |run| format::count(run.iops_write.round() as u64)),
    ("MiB/s read", |run| format::three_digits(run.mib_per_second_read)),
    ("MiB/s written", |run| format::three_digits(run.mib_per_second_write)),
    ("extra reads", |run| format::percent(run.extra_reads_percent())),
    ("rebuilds", |run| format::count(run.rebuilds)),
    ("fail-fasts", |run| format::count(run.fail_fasts)),
    ("sent again to wait", |run| format::count(run.resubmitted)),
    ("WAF, drives", |run| format::three_digits(run.write_amplification_device)),
    ("WAF, array", |run| format::three_digits(run.write_amplification_array)),
    ("write stalls", |run| format::count(run.host_write_stalls)),
];
