//! Results of fio as a curve: the JSON files that the script of `ioda fit --script` leaves.

use crate::failure::Failure;
use crate::fit::curve::{MeasuredLoad, PERCENTILES, Quantiles};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Fewest samples above a percentile that is used.
const FEWEST_ABOVE: f64 = 10.0;
/// Standard deviation of the rate of writers, as a share of their mean, from which the drive or the
/// host was disturbed.
const DISTURBED: f64 = 0.5;

/// Beginning of the name of the writers' job; their rate follows.
const WRITERS: &str = "writers-";
/// Name of the probe's job.
const PROBE: &str = "probe";

/// One output of `fio --output-format=json`; keys that a curve does not need are passed over.
#[derive(Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    error: i64,
    read: Direction,
    write: Direction,
}

#[derive(Deserialize)]
struct Direction {
    #[serde(default)]
    iops: f64,
    #[serde(default)]
    iops_stddev: f64,
    #[serde(default)]
    total_ios: u64,
    #[serde(default)]
    lat_ns: Latency,
    #[serde(default)]
    clat_ns: Latency,
}

#[derive(Deserialize, Default)]
struct Latency {
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl Direction {
    fn quantiles(&self) -> Quantiles {
        // Latency from submission to completion where fio was told to keep it.
        let kept = [&self.lat_ns, &self.clat_ns];
        let percentiles = kept.into_iter().find(|latency| !latency.percentile.is_empty());
        let mut quantiles = Quantiles::default();
        for (wanted, quantile) in PERCENTILES.iter().zip(&mut quantiles.0) {
            let enough = self.total_ios as f64 * (1.0 - wanted / 100.0) >= FEWEST_ABOVE;
            let found = percentiles.and_then(|latency| {
                let is_wanted = |name: &str| {
                    name.parse::<f64>().is_ok_and(|percentile| (percentile - wanted).abs() < 1e-6)
                };
                latency.percentile.iter().find(|(name, _)| is_wanted(name))
            });
            *quantile = found.filter(|_| enough).map(|(_, nanos)| nanos / 1e3);
        }
        quantiles
    }
}

/// The load of one output of fio, whose jobs are called `writers-RATE` and `probe`.
///
/// # Errors
///
/// One sentence if `text` is not an output of fio, or lacks a job, or a job failed, or the drive
/// slowed down during the measurement. `name` is the file.
pub fn load_of_fio(name: &str, text: &str) -> Result<MeasuredLoad, Failure> {
    let output: Output = serde_json::from_str(text).map_err(|error| {
        Failure::data(format!("{name} is not an output of `fio --output-format=json`: {error}"))
    })?;
    if let Some(job) = output.jobs.iter().find(|job| job.error != 0) {
        return Err(Failure::data(format!(
            "the job {} in {name} ended with error {}; measure this load again",
            job.jobname, job.error
        )));
    }
    let jobs = &output.jobs;
    let writers: Vec<&Job> = jobs.iter().filter(|job| job.jobname.starts_with(WRITERS)).collect();
    let rate = writers.iter().find_map(|job| {
        let rate = job.jobname.strip_prefix(WRITERS)?.parse::<f64>().ok()?;
        (rate > 0.0 && rate.is_finite()).then_some(rate)
    });
    let probe = jobs.iter().find(|job| job.jobname == PROBE);
    let (Some(writes_per_second), Some(probe)) = (rate, probe) else {
        return Err(Failure::data(format!(
            "{name} lacks the jobs writers-RATE and probe, by which loads are known; measure with \
             the script of `ioda fit --script`"
        )));
    };
    let is_disturbed = |job: &&Job| job.write.iops_stddev > job.write.iops * DISTURBED;
    if writers.iter().any(is_disturbed) {
        return Err(Failure::data(format!(
            "the rate of the writers in {name} varies by more than half: the drive throttled or the \
             host was busy; cool the drive and measure this load again"
        )));
    }
    let (reads, writes) = (probe.read.quantiles(), probe.write.quantiles());
    let latencies = reads.0.iter().chain(&writes.0).flatten();
    if let Some(micros) = latencies.copied().find(|micros| *micros <= 0.0 || !micros.is_finite()) {
        return Err(Failure::data(format!(
            "the probe in {name} has a percentile of {micros} us; a latency is above 0, so measure \
             this load again"
        )));
    }
    let written: f64 = writers.iter().map(|job| job.write.iops).sum();
    Ok(MeasuredLoad {
        writes_per_second,
        achieved_per_second: Some(written + probe.write.iops),
        reads,
        writes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(writers: &str, error: i64, deviation: f64) -> String {
        format!(
            r#"{{"fio version": "fio-3.33", "jobs": [
              {{"jobname": "{writers}", "error": {error},
                "read": {{}}, "write": {{"iops": 9990.0, "iops_stddev": {deviation}, "total_ios": 1300000}}}},
              {{"jobname": "probe", "error": 0,
                "read": {{"iops": 5000.0, "total_ios": 650000,
                  "lat_ns": {{"percentile": {{"50.000000": 64000, "99.900000": 393000, "99.999000": 905000}}}}}},
                "write": {{"iops": 5000.0, "total_ios": 9000,
                  "clat_ns": {{"percentile": {{"50.000000": 11000, "99.900000": 17000}}}}}}}}]}}"#
        )
    }

    #[test]
    fn percentiles_with_enough_samples_are_read() {
        let load = load_of_fio("load.json", &output("writers-10000", 0, 100.0)).unwrap();
        assert_eq!((load.writes_per_second, load.achieved_per_second), (10_000.0, Some(14_990.0)));
        assert_eq!((load.reads.0[0], load.reads.0[3]), (Some(64.0), Some(393.0)));
        assert_eq!(load.reads.0[5], None, "6.5 samples above");
        assert_eq!((load.writes.0[0], load.writes.0[3]), (Some(11.0), None), "9 samples above");
    }

    #[test]
    fn outputs_that_cannot_be_used_are_refused() {
        let refused = |text: &str| load_of_fio("x.json", text).unwrap_err().to_string();
        assert!(refused("{}").contains("x.json is not an output of"));
        assert!(refused(&output("job", 0, 100.0)).contains("lacks the jobs"));
        assert!(refused(&output("writers-nan", 0, 100.0)).contains("lacks the jobs"));
        assert!(refused(&output("writers-10000", 5, 100.0)).contains("error 5"));
        let zero = output("writers-10000", 0, 100.0).replace("64000", "0");
        assert!(refused(&zero).contains("a percentile of 0 us"));
        assert!(refused(&output("writers-10000", 0, 9_000.0)).contains("throttled"));
    }
}
