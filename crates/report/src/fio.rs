//! The document in the JSON layout of fio, one job per run, so that fio's parsers read it.

use serde_json::{Map, Value, json};

use crate::{Comparison, Latency, Run};

/// The document in fio's JSON layout.
///
/// Latency counts from the intended arrival, so `clat_ns` and `lat_ns` are the same and `slat_ns`
/// is zero. The standard deviation is taken from the recorded distribution function and is as
/// coarse as that is.
#[must_use]
pub fn to_string(comparison: &Comparison) -> String {
    let jobs: Vec<Value> = comparison.runs.iter().map(job).collect();
    let document = json!({
        "fio version": format!("ioda-{} (layout of fio)", comparison.manifest.ioda_version),
        "global options": {
            "description": comparison.title,
            "randseed": comparison.manifest.seed,
        },
        "jobs": jobs,
        "disk_util": [],
    });
    format!("{document:#}")
}

fn job(run: &Run) -> Value {
    let read = Direction {
        latency: &run.read,
        iops: run.iops_read,
        mib_per_second: run.mib_per_second_read,
    };
    let write = Direction {
        latency: &run.write,
        iops: run.iops_write,
        mib_per_second: run.mib_per_second_write,
    };
    let nothing = Latency::default();
    let trim = Direction { latency: &nothing, iops: 0.0, mib_per_second: 0.0 };
    let runtime_ms = (run.simulated_seconds * 1e3).round() as u64;
    json!({
        "jobname": run.name(),
        "groupid": 0,
        "error": 0,
        "job options": { "name": run.name() },
        "job_runtime": runtime_ms,
        "read": read.to_value(run.simulated_seconds),
        "write": write.to_value(run.simulated_seconds),
        "trim": trim.to_value(run.simulated_seconds),
    })
}

/// One direction of data: what fio keeps under `read`, `write` and `trim`.
struct Direction<'a> {
    latency: &'a Latency,
    iops: f64,
    mib_per_second: f64,
}

impl Direction<'_> {
    fn to_value(&self, simulated_seconds: f64) -> Value {
        let bytes_per_second = self.mib_per_second * 1_048_576.0;
        let bytes = (bytes_per_second * simulated_seconds).round() as u64;
        json!({
            "io_bytes": bytes,
            "io_kbytes": bytes / 1024,
            "bw_bytes": bytes_per_second.round() as u64,
            "bw": (bytes_per_second / 1024.0).round() as u64,
            "iops": self.iops,
            "iops_mean": self.iops,
            "runtime": (simulated_seconds * 1e3).round() as u64,
            "total_ios": self.latency.count,
            "short_ios": 0,
            "drop_ios": 0,
            "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
            "clat_ns": latency(self.latency),
            "lat_ns": latency(self.latency),
        })
    }
}

fn latency(latency: &Latency) -> Value {
    let percentiles: Map<String, Value> = latency
        .percentiles
        .iter()
        .map(|p| (format!("{:.6}", p.percentile), json!(nanoseconds(p.value_us))))
        .collect();
    json!({
        "min": nanoseconds(latency.min_us),
        "max": nanoseconds(latency.max_us),
        "mean": latency.mean_us * 1e3,
        "stddev": standard_deviation_us(latency) * 1e3,
        "N": latency.count,
        "percentile": percentiles,
    })
}

fn nanoseconds(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

/// The standard deviation of the distribution function, each step of which weighs the share of
/// requests that it covers.
fn standard_deviation_us(latency: &Latency) -> f64 {
    let mut below = 0.0;
    let mut variance = 0.0;
    for &(fraction, value_us) in &latency.cdf {
        variance += (fraction - below) * (value_us - latency.mean_us).powi(2);
        below = fraction;
    }
    variance.max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_fios() {
        let comparison = crate::sample::comparison();
        let value: Value = serde_json::from_str(&to_string(&comparison)).unwrap();
        let jobs = value["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), comparison.runs.len());
        let base = &jobs[0];
        assert_eq!(base["jobname"], "Base");
        let read = &base["read"];
        let run = &comparison.runs[0];
        assert_eq!(read["total_ios"], run.read.count);
        assert_eq!(
            read["clat_ns"]["percentile"]["99.000000"],
            nanoseconds(run.read.at(99.0).unwrap().value_us)
        );
        assert!(read["bw"].is_u64() && read["iops"].is_f64());
        assert!(base["write"]["clat_ns"]["stddev"].as_f64().unwrap() > 0.0);
    }
}
