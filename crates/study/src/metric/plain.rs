//! Metrics that are one word: each is a row of one table.

use super::{Unit, commands, mean, percent, queued, spread, tally, write_cache};
use array::WriteCacheCounters;
use sim::{BlockedReads, RunResult};
use std::fmt;
use units::{Duration, GIB, MIB};

/// What a number rests on, where chance decides how far it can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Basis {
    /// Nothing is drawn by chance, or it does not matter.
    Whole,
    /// The latencies of all requests.
    Latencies,
    /// Collections.
    Collections,
}

/// A row of the table.
pub(super) struct Row {
    /// The word, on command lines, in experiments and in documents.
    word: &'static str,
    unit: Unit,
    /// Whether the sum over several workloads is the number of all of them together.
    adds_up: bool,
    basis: Basis,
    of: fn(&RunResult) -> f64,
    /// What the number is, in a few words.
    is: &'static str,
}

/// A metric that is one word. A new one is a row of the table and nothing else.
#[derive(Clone, Copy)]
pub struct Plain(&'static Row);

impl Plain {
    /// All of them, in the order in which they are kept.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(Self)
    }

    /// The metric with this word.
    pub(super) fn find(word: &str) -> Option<Self> {
        Self::all().find(|metric| metric.word() == word)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        self.0.word
    }

    /// What it is, in a few words.
    pub fn is(self) -> &'static str {
        self.0.is
    }

    /// How it is written.
    pub fn unit(self) -> Unit {
        self.0.unit
    }

    /// What it rests on.
    pub(super) fn basis(self) -> Basis {
        self.0.basis
    }

    /// Whether its sum over several workloads is the number of all of them together.
    pub fn adds_up(self) -> bool {
        self.0.adds_up
    }

    /// The number for one run.
    pub(super) fn of(self, result: &RunResult) -> f64 {
        (self.0.of)(result)
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word()
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

type Of = fn(&RunResult) -> f64;

/// Counted things: several workloads have the sum of theirs.
const fn count(word: &'static str, is: &'static str, of: Of) -> Row {
    Row { word, unit: Unit::Number, adds_up: true, basis: Basis::Whole, of, is }
}

/// A number that does not add up.
const fn number(word: &'static str, is: &'static str, of: Of) -> Row {
    Row { word, unit: Unit::Number, adds_up: false, basis: Basis::Whole, of, is }
}

/// A share in per cent.
const fn share(word: &'static str, is: &'static str, of: Of) -> Row {
    Row { word, unit: Unit::Percent, adds_up: false, basis: Basis::Whole, of, is }
}

/// A time in nanoseconds.
const fn time(word: &'static str, is: &'static str, of: Of) -> Row {
    Row { word, unit: Unit::Time, adds_up: false, basis: Basis::Whole, of, is }
}

static ROWS: [Row; 56] = [
    count("violations", "collections in predictable windows", |result| {
        result.drive_totals().contract_violations as f64
    }),
    number("waf", "pages programmed per page that the array wrote to its drives", |result| {
        result.drive_totals().write_amplification()
    }),
    count("collections", "collections of a block or a line, on all drives", |result| {
        result.drive_totals().collections as f64
    }),
    number("capacity_gib", "capacity for the host, in GiB", |result| {
        result.capacity_bytes as f64 / GIB as f64
    }),
    share("blocked", "reads that waited because of collections", |result| {
        let BlockedReads { by_collection, by_queue } = result.blocked_reads;
        percent(by_collection + by_queue, result.read.count())
    }),
    share("collection_blocked", "reads that waited for a collection itself", |result| {
        percent(result.blocked_reads.by_collection, result.read.count())
    }),
    share(
        "queue_blocked",
        "other reads that waited for I/O which a collection had held up",
        |result| percent(result.blocked_reads.by_queue, result.read.count()),
    ),
    count("erases", "blocks erased, on all drives", |result| result.drive_totals().erases as f64),
    count("leveled_blocks", "blocks or lines whose cold data moved to level wear", |result| {
        result.drive_totals().leveled_blocks as f64
    }),
    count("read_retries", "times that a page was sensed again for the host", |result| {
        result.drive_totals().read_retries as f64
    }),
    count("suspensions", "programs and erases that were interrupted for reads", |result| {
        result.drive_totals().suspensions as f64
    }),
    count("host_programs", "pages programmed on flash for the host", |result| {
        result.drive_totals().host_programs_pages as f64
    }),
    count("parity_programs", "parity pages programmed within the drives", |result| {
        result.drive_totals().parity_programs_pages as f64
    }),
    count("collection_programs", "pages that collections programmed", |result| {
        result.drive_totals().collection_programs_pages as f64
    }),
    count(
        "rebuilt_pages",
        "pages of the host that drives computed from the rest of their stripe",
        |result| result.drive_totals().rebuilt_pages as f64,
    ),
    count(
        "rebuild_reads",
        "pages that drives read to compute others, beyond what the host asked for",
        |result| result.drive_totals().rebuild_reads_pages as f64,
    ),
    count(
        "rotation_breaches",
        "collections that began although another die of their plane group collected",
        |result| result.drive_totals().rotation_breaches as f64,
    ),
    count("moved_stripes", "stripes that were moved to even out wear", |result| {
        result.drive_totals().moved_stripes as f64
    }),
    count(
        "scrubbed_pages",
        "copies past error correction that drives checked in idle time",
        |result| result.drive_totals().scrubbed_pages as f64,
    ),
    count(
        "slc_pages",
        "pages of the host that drives programmed into a cache of SLC blocks",
        |result| result.drive_totals().slc_programs_pages as f64,
    ),
    count("folded_pages", "pages that drives moved out of their cache of SLC blocks", |result| {
        result.drive_totals().folded_pages as f64
    }),
    share("free_blocks", "free blocks at the end, on the drive that has fewest", |result| {
        100.0 * result.free_share()
    }),
    share("least_free_blocks", "the fewest free blocks that any drive had at any time", |result| {
        100.0 * result.least_free_share()
    }),
    count("stalled", "pages of host writes that had to wait for space on their drive", |result| {
        result.drive_totals().stalled_writes_pages as f64
    }),
    count("rebuilds", "stripe operations that used reconstructed pages", |result| {
        result.array.reconstructions as f64
    }),
    share(
        "extra_reads",
        "reads for reconstruction, as a share of the reads that were needed anyway",
        |result| {
            let needed =
                result.array.drive_read_pages.saturating_sub(result.array.reconstruct_read_pages);
            percent(result.array.reconstruct_read_pages, needed)
        },
    ),
    share(
        "fail_fasts",
        "reads that drives failed fast, as a share of all reads sent to drives",
        |result| percent(result.array.fail_fasts, result.array.drive_read_pages),
    ),
    count(
        "forced_flushes",
        "pages that coordinated flushes programmed outside of busy windows",
        |result| result.drive_totals().forced_flushes_pages as f64,
    ),
    time("window", "the busy window at the end; 0 without one", |result| {
        result.window().map_or(0.0, |window| window.as_nanos() as f64)
    }),
    count("window_changes", "changes of the busy window", |result| {
        result.windows.len().saturating_sub(1) as f64
    }),
    count("permits", "leases granted, extended or taken back", |result| result.permits as f64),
    count("device_reads", "pages read from drives", |result| result.array.drive_read_pages as f64),
    count("hedges", "late reads that were reconstructed as well", |result| {
        result.array.hedges as f64
    }),
    Row {
        adds_up: true,
        basis: Basis::Latencies,
        ..time("total_latency", "latencies of all reads and writes, added up", |result| {
            result.total_latency().as_nanos() as f64
        })
    },
    Row {
        basis: Basis::Collections,
        ..time("collection_time", "mean time of a collection", |result| {
            result.mean_collection().as_nanos() as f64
        })
    },
    time(
        "expected_collection",
        "time of a collection as the policy expected it; 0 if it expected none",
        |result| result.expected_collection.map_or(0.0, |time| time.as_nanos() as f64),
    ),
    share(
        "collection_estimate",
        "the expected time of a collection, as a share of the mean time",
        |result| {
            let expected = result.expected_collection.map_or(0, Duration::as_nanos);
            percent(expected, result.mean_collection().as_nanos())
        },
    ),
    number(
        "collections_cv",
        "coefficient of variation of the collections over the drives",
        |result| spread(result.drives.iter().map(|drive| drive.counters.collections as f64)),
    ),
    number("drive_commands", "commands sent to a drive, on average", |result| {
        mean(commands(result))
    }),
    number(
        "drive_commands_cv",
        "coefficient of variation of the commands over the drives",
        |result| spread(commands(result)),
    ),
    number(
        "queued_blocks",
        "blocks queued at a drive when it was sent a command, on average",
        |result| mean(queued(result)),
    ),
    number(
        "queued_blocks_cv",
        "coefficient of variation of the queued blocks over the drives",
        |result| spread(queued(result)),
    ),
    count("degraded_reads", "sub-I/Os that were reconstructed without being sent", |result| {
        result.array.avoided as f64
    }),
    count("degraded_updates", "pages that writes took to another drive", |result| {
        result.array.relocated_chunks as f64
    }),
    number("map_bytes", "bytes of the map to moved pages, when it was largest", |result| {
        result.map_bytes as f64
    }),
    count("model_evaluations", "evaluations of the policy's model", |result| {
        tally(result, "evaluations of the model")
    }),
    Row {
        adds_up: true,
        ..time("computing_time", "time that the policy's controller computed", |result| {
            tally(result, "nanoseconds of computing")
        })
    },
    share(
        "computing_share",
        "time that the policy's controller computed, as a share of `total_latency`",
        |result| {
            let computed = tally(result, "nanoseconds of computing") as u64;
            percent(computed, result.total_latency().as_nanos())
        },
    ),
    count("overloads", "stripes that showed more busy members than they have parities", |result| {
        result.array.resubmitted as f64
    }),
    number("host_buffer_peak_mib", "most that the write cache held, in MiB", |result| {
        write_cache(result).peak_bytes as f64 / MIB as f64
    }),
    count("held_back", "requests that the policy held back", |result| {
        result.array.held_back as f64
    }),
    number(
        "drive_buffer_peak_mib",
        "most that the write buffer of a drive held or kept waiting, in MiB",
        |result| result.buffer_peak_bytes() as f64 / MIB as f64,
    ),
    count("stage_waits", "writes that waited for room in the write cache", |result| {
        write_cache(result).waits as f64
    }),
    count("stage_reads", "pages of reads that the write cache answered", |result| {
        write_cache(result).read_pages as f64
    }),
    count("drained_pages", "pages drained from the write cache to drives", |result| {
        write_cache(result).drained_pages as f64
    }),
    share(
        "staged",
        "pages of writes that went to the write cache instead of straight to their drive",
        |result| {
            let WriteCacheCounters { cached_pages, bypassed_pages, .. } = write_cache(result);
            percent(cached_pages, cached_pages + bypassed_pages)
        },
    ),
];
