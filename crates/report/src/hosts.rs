//! Latency host by host, for terminal and page alike.

use crate::document::{Latency, Run};
use crate::format;

/// What is shown of each host: reads, and writes where it has any.
const READ_PERCENTILES: [f64; 4] = [90.0, 95.0, 99.0, 99.9];
const WRITE_PERCENTILES: [f64; 2] = [99.0, 99.9];

/// A row for each host and percentile, with a cell for each run; none if there was one host only.
pub(crate) fn rows(runs: &[Run]) -> Vec<(String, Vec<String>)> {
    let most = runs.iter().map(|run| run.hosts.len()).max().unwrap_or(0);
    let mut rows = Vec::new();
    for host in 0..most {
        let name = runs.iter().find_map(|run| run.hosts.get(host)).map_or("", |host| &host.host);
        let mut add = |what: &str, percentile: f64, of: fn(&Run, usize) -> Option<&Latency>| {
            let cell = |run: &Run| {
                let entry = of(run, host).and_then(|latency| latency.at(percentile));
                entry.map_or_else(
                    || "-".to_owned(),
                    |entry| {
                        let mark = if entry.has_few_samples() { "~" } else { "" };
                        format::latency(entry.value_us) + mark
                    },
                )
            };
            let name = format!("{name}, {what} {}", format::percentile(percentile));
            rows.push((name, runs.iter().map(cell).collect()));
        };
        for percentile in READ_PERCENTILES {
            add("read", percentile, |run, host| run.hosts.get(host).map(|host| &host.read));
        }
        for percentile in WRITE_PERCENTILES {
            add("write", percentile, |run, host| run.hosts.get(host).map(|host| &host.write));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostLatency, Percentile};

    #[test]
    fn every_host_has_its_rows() {
        let at = |value_us| Latency {
            percentiles: vec![Percentile {
                percentile: 99.0,
                value_us,
                samples_beyond: 7,
                interval_us: None,
            }],
            ..Latency::default()
        };
        let host = |name: &str, us| HostLatency {
            host: name.to_owned(),
            read: at(us),
            write: Latency::default(),
        };
        let run = Run { hosts: vec![host("high", 88.0), host("low", 99.0)], ..Run::default() };
        assert!(rows(&[Run::default()]).is_empty());
        let rows = rows(&[Run::default(), run]);
        assert_eq!(rows.len(), 12);
        assert_eq!(rows[2], ("high, read p99".into(), vec!["-".into(), "88.0 µs~".into()]));
        assert_eq!(rows[8].0, "low, read p99");
    }
}
