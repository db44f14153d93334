//! Changing load: a sequence of rates, each for a time.

use super::parse::parse_duration;
use crate::error::OptionError;
use std::str::FromStr;
use units::Duration;

/// A rate and its duration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// Requests per second, 0 to 10^9; a phase of rate 0 is a pause.
    pub rate_iops: f64,
    /// Duration of the phase, above 0.
    pub length: Duration,
}

impl Phase {
    /// Mean number of requests in the phase.
    pub(super) fn mean_requests(self) -> f64 {
        self.rate_iops * self.length.as_secs_f64()
    }
}

impl FromStr for Phase {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || OptionError::NotUnderstood {
            option: "phase",
            value: text.to_owned(),
            expected: "a number of requests per second and a length, such as 20000:60s",
        };
        let (rate, length) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self {
            rate_iops: rate.trim().parse().map_err(|_| wrong())?,
            length: parse_duration(length).map_err(|error| error.of_part(wrong))?,
        })
    }
}

/// Reads phases such as `20000:60s,80000:60s`.
pub(super) fn parse(text: &str) -> Result<Vec<Phase>, OptionError> {
    text.split(',').map(str::parse).collect()
}

/// The phases in the notation that [`parse`] reads.
pub(super) fn describe(phases: &[Phase]) -> String {
    let text = |phase: &Phase| format!("{}:{}s", phase.rate_iops, phase.length.as_secs_f64());
    let texts: Vec<String> = phases.iter().map(text).collect();
    texts.join(",")
}

/// Total duration of all phases.
pub(super) fn length(phases: &[Phase]) -> Duration {
    let nanos = phases.iter().map(|phase| phase.length.as_nanos());
    Duration::from_nanos(nanos.fold(0, u64::saturating_add))
}

/// Number of requests at equal intervals, the first at time zero; the mean number of random
/// arrivals.
pub(super) fn requests(phases: &[Phase]) -> u64 {
    phases.iter().map(|phase| phase.mean_requests()).sum::<f64>().ceil() as u64
}

/// Mean time in which `requests` requests come.
pub(super) fn length_of(phases: &[Phase], requests: u64) -> Duration {
    let mut left = requests as f64;
    let mut nanos = 0_u64;
    for phase in phases {
        let own = phase.mean_requests();
        if left < own {
            let part = left / phase.rate_iops * 1e9;
            return Duration::from_nanos(nanos.saturating_add(part as u64));
        }
        left -= own;
        nanos = nanos.saturating_add(phase.length.as_nanos());
    }
    Duration::from_nanos(nanos)
}

/// Refuses rates and lengths out of range. At least one phase must have requests.
pub(super) fn check(phases: &[Phase]) -> Result<(), OptionError> {
    let refuse = |option, value: String, limit: &str| {
        Err(OptionError::OutOfRange { option, value, limit: limit.to_owned() })
    };
    for phase in phases {
        if !(0.0..=1e9).contains(&phase.rate_iops) {
            let rate = phase.rate_iops.to_string();
            return refuse("the rate of a phase", rate, "0 to 1000000000 requests per second");
        }
        if phase.length.is_zero() {
            return refuse("the length of a phase", "0".to_owned(), "above 0");
        }
    }
    if phases.iter().all(|phase| phase.rate_iops == 0.0) {
        return refuse("the rate of every phase", "0".to_owned(), "above 0 in one of them");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Synthetic;
    use super::*;
    use crate::{Op, Request};
    use units::{GIB, Instant};

    fn spec(options: &[(&str, &str)]) -> Synthetic {
        let mut synthetic = Synthetic::default();
        for (option, value) in options {
            synthetic.set(option, value).unwrap();
        }
        synthetic
    }

    fn drawn(options: &[(&str, &str)]) -> Vec<Request> {
        spec(options).generator(GIB).unwrap().collect()
    }

    fn seconds(request: &Request) -> f64 {
        request.at.since(Instant::ZERO).as_secs_f64()
    }

    #[test]
    fn each_phase_has_its_rate_and_its_time() {
        for (process, slack) in [("linear", 0), ("poisson", 700)] {
            let requests = drawn(&[
                ("phases", "10000:2s,40000:3s,0:1s,5000:4s"),
                ("rate_process", process),
                ("size", "1m"),
            ]);
            assert!(requests.is_sorted_by_key(|request| request.at));
            let between = |from: f64, to: f64| {
                requests.iter().map(seconds).filter(|at| (from..to).contains(at)).count()
            };
            let counts =
                [(0.0, 2.0, 20_000), (2.0, 5.0, 120_000), (5.0, 6.0, 0), (6.0, 10.0, 20_000)];
            for (from, to, count) in counts {
                let found = between(from, to);
                assert!(found.abs_diff(count) <= slack, "{process} {from} to {to} s: {found}");
            }
            assert_eq!(between(0.0, 10.0), requests.len(), "{process}: nothing after the end");
        }
    }

    #[test]
    fn the_number_and_length_are_known_ahead() {
        let linear = spec(&[("phases", "1000.5:1s,300:2s"), ("rate_process", "linear")]);
        assert_eq!(linear.expected_requests(), Some(1601));
        assert_eq!(linear.generator(GIB).unwrap().count(), 1601);
        assert_eq!(linear.expected_length(), Some(Duration::from_secs(3)));
        let poisson = spec(&[("phases", "50000:1s,1000:10s")]);
        let (expected, drawn) =
            (poisson.expected_requests(), poisson.generator(GIB).unwrap().count());
        assert_eq!(expected, Some(60_000));
        assert!(drawn.abs_diff(60_000) < 1_000, "{drawn}");
        let limited = spec(&[("phases", "1000:1s,500:2s"), ("number_ios", "1250")]);
        assert_eq!(limited.expected_requests(), Some(1250));
        assert_eq!(limited.expected_length(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn a_gap_that_ends_in_the_next_phase_obeys_both_rates() {
        let requests = drawn(&[("phases", "1:1500ms,2:2s"), ("rate_process", "linear")]);
        let times: Vec<f64> = requests.iter().map(seconds).collect();
        // From 1.0 s on: half a gap at 1 per second, half a gap at 2 per second.
        assert_eq!(times, [0.0, 1.0, 1.75, 2.25, 2.75, 3.25]);
    }

    #[test]
    fn addresses_go_on_over_phases() {
        let operations = |phases: &str| -> Vec<(Op, u64)> {
            drawn(&[("rw", "randrw"), ("phases", phases), ("rate_process", "linear")])
                .iter()
                .map(|request| (request.op, request.offset_bytes))
                .collect()
        };
        assert_eq!(operations("1000:1s,4000:1s"), operations("5000:1s"));
        let mut sequential =
            drawn(&[("rw", "write"), ("phases", "10:1s,20:1s"), ("rate_process", "linear")])
                .into_iter();
        assert!((0..30).all(|n| sequential.next().is_some_and(|r| r.offset_bytes == n * 4096)));
        assert_eq!(sequential.next(), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_requests() {
        let of_seed = |seed| drawn(&[("phases", "9000:1s,100:1s,9000:1s"), ("randseed", seed)]);
        assert_eq!(of_seed("3"), of_seed("3"));
        assert_ne!(of_seed("3"), of_seed("4"));
    }

    #[test]
    fn contradictions_are_refused_with_a_sentence() {
        let cases = [
            (("rate_iops", "5"), "each phase has a rate of its own; leave rate_iops out"),
            (("runtime", "5s"), "the workload ends after the last phase; leave runtime out"),
            (("iodepth", "5"), "phases are an open loop without iodepth; leave iodepth out"),
        ];
        for (option, reason) in cases {
            let error = spec(&[("phases", "10:1s"), option]).check(GIB).unwrap_err();
            assert_eq!(error.to_string(), format!("phases cannot be used here: {reason}"));
        }
        let refused =
            |phases: &str| spec(&[("phases", phases)]).check(GIB).unwrap_err().to_string();
        assert_eq!(
            refused("-1:1s"),
            "the rate of a phase is -1, but must be 0 to 1000000000 requests per second"
        );
        assert_eq!(refused("10:0s"), "the length of a phase is 0, but must be above 0");
        assert_eq!(
            refused("0:1s,0:2s"),
            "the rate of every phase is 0, but must be above 0 in one of them"
        );
        for text in ["10", "10:1s,", "fast:1s", "10:soon"] {
            let error = Synthetic::default().set("phases", text).unwrap_err().to_string();
            assert!(error.starts_with("phase \""), "{error}");
        }
    }

    #[test]
    fn descriptions_name_the_phases() {
        let description = spec(&[("phases", "10:1s,20.5:500ms")]).description();
        assert!(description.contains("phases=10:1s,20.5:0.5s, rate_process=poisson (open loop)"));
    }
}
