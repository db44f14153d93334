//! The document in the layout that fio calls json+, one job per run, for fio's own tools and for
//! parsers of it.
//!
//! Keys stand in the order of fio 3.33. Figures of fio's own machine, such as processor time, are
//! 0, as in fio where they are unknown. Queue depths by level are left out.

mod bins;
mod date;

pub use bins::Steps;

use crate::{Comparison, Latency, Run};
use serde::{Serialize, Serializer};
use std::time::SystemTime;

/// Percentiles that fio reports unless it is told others.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// Bounds that fio sorts latencies by, in each of its units.
const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// The last bound in ms.
const LAST_BOUND_MS: u64 = 2000;

/// A run as fio's job, beside what [`Run`] has.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Options that describe the workload in fio's words.
    pub options: Vec<(&'static str, String)>,
    /// Latencies of reads.
    pub read: Steps,
    /// Latencies of writes.
    pub write: Steps,
}

/// The document of `comparison`, whose runs are `jobs`, written at `written_at`.
///
/// Latency counts from the intended arrival, so `clat_ns` and `lat_ns` are the same and `slat_ns`
/// is zero.
#[must_use]
pub fn to_string(comparison: &Comparison, jobs: &[Job], written_at: SystemTime) -> String {
    let manifest = &comparison.manifest;
    let since_1970 = date::since_1970(written_at);
    let jobs = comparison.runs.iter().zip(jobs).map(|(run, job)| JobEntry::of(run, job));
    let document = Document {
        fio_version: format!("ioda-{} (layout of fio 3.33)", manifest.ioda_version),
        timestamp: since_1970.as_secs(),
        timestamp_ms: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
        time: date::text(since_1970),
        global_options: Pairs(vec![
            ("description".to_owned(), comparison.title.clone()),
            ("randseed".to_owned(), manifest.seed.clone()),
        ]),
        jobs: jobs.collect(),
        disk_util: [],
    };
    serde_json::to_string_pretty(&document)
        .unwrap_or_else(|error| unreachable!("all keys are strings: {error}"))
}

#[derive(Serialize)]
struct Document {
    #[serde(rename = "fio version")]
    fio_version: String,
    timestamp: u64,
    timestamp_ms: u64,
    time: String,
    #[serde(rename = "global options")]
    global_options: Pairs<String>,
    jobs: Vec<JobEntry>,
    disk_util: [(); 0],
}

/// An object whose keys keep their order.
#[derive(Clone)]
struct Pairs<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize)]
struct JobEntry {
    jobname: String,
    groupid: u32,
    error: u32,
    eta: u64,
    elapsed: u64,
    #[serde(rename = "job options")]
    job_options: Pairs<String>,
    read: Direction,
    write: Direction,
    trim: Direction,
    sync: Flushes,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    latency_ns: Pairs<f64>,
    latency_us: Pairs<f64>,
    latency_ms: Pairs<f64>,
}

impl JobEntry {
    fn of(run: &Run, job: &Job) -> Self {
        let seconds = run.simulated_seconds;
        let jobname = run.name().trim_end_matches(crate::FIRMWARE_MARK).to_owned();
        let name = ("name".to_owned(), jobname.clone());
        let options = job.options.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        let [latency_ns, latency_us, latency_ms] = shares([&job.read, &job.write]);
        Self {
            jobname,
            groupid: 0,
            error: 0,
            eta: 0,
            elapsed: seconds.ceil() as u64,
            job_options: Pairs(std::iter::once(name).chain(options).collect()),
            read: Direction::of(
                &Way {
                    latency: &run.read,
                    steps: &job.read,
                    iops: run.iops_read,
                    mib_per_second: run.mib_per_second_read,
                },
                seconds,
            ),
            write: Direction::of(
                &Way {
                    latency: &run.write,
                    steps: &job.write,
                    iops: run.iops_write,
                    mib_per_second: run.mib_per_second_write,
                },
                seconds,
            ),
            trim: Direction::default(),
            sync: Flushes::default(),
            job_runtime: milliseconds(seconds),
            usr_cpu: 0.0,
            sys_cpu: 0.0,
            ctx: 0,
            majf: 0,
            minf: 0,
            latency_ns,
            latency_us,
            latency_ms,
        }
    }
}

/// What a run has of its reads or writes.
struct Way<'a> {
    latency: &'a Latency,
    steps: &'a [(u64, u64)],
    iops: f64,
    mib_per_second: f64,
}

/// One direction of data: what fio keeps under `read`, `write` and `trim`.
#[derive(Default, Serialize)]
struct Direction {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Distribution,
    clat_ns: Distribution,
    lat_ns: Distribution,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

impl Direction {
    fn of(way: &Way<'_>, seconds: f64) -> Self {
        let Way { latency, steps, iops, mib_per_second } = *way;
        if latency.count == 0 {
            return Self::default();
        }
        let bytes_per_second = mib_per_second * 1_048_576.0;
        let bytes = (bytes_per_second * seconds).round() as u64;
        let distribution = Distribution::of(latency, steps);
        Self {
            io_bytes: bytes,
            io_kbytes: bytes / 1024,
            bw_bytes: bytes_per_second.round() as u64,
            bw: (bytes_per_second / 1024.0).round() as u64,
            iops,
            runtime: milliseconds(seconds),
            total_ios: latency.count,
            clat_ns: distribution.clone(),
            lat_ns: distribution,
            bw_agg: 100.0,
            bw_mean: bytes_per_second / 1024.0,
            iops_mean: iops,
            ..Self::default()
        }
    }
}

/// Flushes, of which runs have none.
#[derive(Default, Serialize)]
struct Flushes {
    total_ios: u64,
    lat_ns: Distribution,
}

/// A distribution of latencies. As in fio, one without requests has no percentiles and no bins.
#[derive(Clone, Default, Serialize)]
struct Distribution {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Pairs<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Pairs<u64>>,
}

impl Distribution {
    fn of(latency: &Latency, steps: &[(u64, u64)]) -> Self {
        let mean = latency.mean_us * 1e3;
        let bins = bins::of(steps).into_iter().map(|(nanos, count)| (nanos.to_string(), count));
        Self {
            min: nanoseconds(latency.min_us),
            max: nanoseconds(latency.max_us),
            mean,
            stddev: bins::deviation_ns(steps, mean),
            count: latency.count,
            percentile: Some(percentiles(latency, steps)),
            bins: Some(Pairs(bins.collect())),
        }
    }
}

/// The percentiles of the document and those that fio has beside them, ascending.
fn percentiles(latency: &Latency, steps: &[(u64, u64)]) -> Pairs<u64> {
    let ours = latency.percentiles.iter().map(|p| (p.percentile, nanoseconds(p.value_us)));
    let more = PERCENTILES.into_iter().filter(|&percentile| latency.at(percentile).is_none());
    let more = more.map(|percentile| (percentile, bins::percentile_ns(steps, percentile)));
    let mut all: Vec<(f64, u64)> = ours.chain(more).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    Pairs(all.into_iter().map(|(percentile, nanos)| (format!("{percentile:.6}"), nanos)).collect())
}

/// The shares of requests, in per cent, below fio's bounds in ns, us and ms. Each request counts at
/// one bound.
fn shares(ways: [&Steps; 2]) -> [Pairs<f64>; 3] {
    let mut counts = [[0_u64; BOUNDS.len() + 2]; 3];
    for &(nanos, count) in ways.into_iter().flatten() {
        let (unit, value) = match nanos {
            0..1_000 => (0, nanos),
            1_000..1_000_000 => (1, nanos / 1_000),
            _ => (2, nanos / 1_000_000),
        };
        let bounds = BOUNDS.into_iter().chain([LAST_BOUND_MS]);
        counts[unit][bounds.filter(|&bound| bound <= value).count()] += count;
    }
    let all: u64 = counts.iter().flatten().sum();
    let percent = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
    let names = BOUNDS.map(|bound| bound.to_string()).into_iter();
    let last = [LAST_BOUND_MS.to_string(), format!(">={LAST_BOUND_MS}")];
    let names: Vec<String> = names.chain(last).collect();
    let pairs = |unit: usize, bounds: usize| {
        let shares = names.iter().cloned().zip(counts[unit].map(percent));
        Pairs(shares.take(bounds).collect())
    };
    [pairs(0, BOUNDS.len()), pairs(1, BOUNDS.len()), pairs(2, BOUNDS.len() + 2)]
}

fn nanoseconds(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1e3).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::time::Duration;

    /// The sample, whose reads took `steps`.
    fn written(steps: &Steps) -> Value {
        let mut comparison = crate::sample::comparison();
        let read = &mut comparison.runs[0].read;
        read.count = steps.iter().map(|step| step.1).sum();
        comparison.runs[0].write = Latency::default();
        let jobs: Vec<Job> = comparison
            .runs
            .iter()
            .map(|_| Job {
                options: vec![("rw", "randread".to_owned())],
                read: steps.clone(),
                write: Vec::new(),
            })
            .collect();
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_690_731_066);
        serde_json::from_str(&to_string(&comparison, &jobs, at)).unwrap()
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn the_layout_is_fios() {
        let comparison = crate::sample::comparison();
        let value = written(&vec![(80_000, 3), (90_000, 1)]);
        assert_eq!(value["timestamp_ms"], 1_795_690_731_066_u64);
        assert_eq!(value["time"], "Thu Nov 26 10:58:51 2026");
        let jobs = value["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), comparison.runs.len());
        let base = &jobs[0];
        assert_eq!(base["jobname"], "Base");
        assert_eq!(base["job options"], serde_json::json!({ "name": "Base", "rw": "randread" }));
        let read = &base["read"];
        assert_eq!(read["total_ios"], 4);
        assert!(read["bw"].is_u64() && read["iops"].is_f64());
        assert_eq!(read["clat_ns"], read["lat_ns"]);
        assert_eq!(
            read["clat_ns"]["percentile"]["99.000000"],
            nanoseconds(comparison.runs[0].read.at(99.0).unwrap().value_us)
        );
    }

    #[test]
    fn percentiles_of_fio_stand_beside_ours() {
        let percentile = &written(&vec![(80_000, 3), (90_000, 1)])["jobs"][0]["read"]["clat_ns"];
        let percentile = &percentile["percentile"];
        for wanted in PERCENTILES.into_iter().chain([75.0, 99.999]) {
            assert!(percentile[format!("{wanted:.6}")].is_u64(), "{wanted}");
        }
        assert_eq!([&percentile["1.000000"], &percentile["70.000000"]], [80_000, 80_000]);
        assert_eq!(percentile["80.000000"], 90_000);
    }

    #[test]
    fn bins_hold_every_request_and_a_direction_without_requests_has_none() {
        let job = &written(&vec![(80_000, 3), (80_010, 2), (90_000, 1)])["jobs"][0];
        let bins = serde_json::json!({ "80384": 5, "89600": 1 });
        assert_eq!(job["read"]["clat_ns"]["bins"], bins);
        let none = ["min", "max", "mean", "stddev", "N"];
        for (direction, latency) in
            [("write", "clat_ns"), ("trim", "clat_ns"), ("read", "slat_ns"), ("sync", "lat_ns")]
        {
            let mut found = keys(&job[direction][latency]);
            found.sort_by_key(|key| none.iter().position(|name| name == key));
            assert_eq!(found, none, "{direction}");
        }
    }

    #[test]
    fn every_request_counts_at_one_bound() {
        let steps =
            vec![(1, 1), (999, 1), (1_000, 1), (750_000, 1), (2_000_000, 2), (3_000_000_000, 4)];
        let job = &written(&steps)["jobs"][0];
        for (unit, bound, share) in [
            ("latency_ns", "2", 10.0),
            ("latency_ns", "1000", 10.0),
            ("latency_us", "2", 10.0),
            ("latency_us", "1000", 10.0),
            ("latency_ms", "4", 20.0),
            ("latency_ms", ">=2000", 40.0),
        ] {
            assert_eq!(job[unit][bound], share, "{unit} {bound}");
        }
        assert_eq!(
            [10, 10, 12],
            ["ns", "us", "ms"].map(|unit| keys(&job[format!("latency_{unit}")]).len())
        );
    }
}
