//! Requests that precede a run of a workload: similar ones, without an end.

use crate::error::WorkloadError;
use crate::{Generator, Request, Source, TraceSource, Workload};

/// Endless requests like those of a workload. Their times have no meaning.
///
/// A generator draws other requests, over the same places and sizes. A trace starts again at its
/// end.
pub struct Before(Preparing);

enum Preparing {
    Generator(Box<Generator>),
    Trace(Box<Repeated>),
}

struct Repeated {
    source: TraceSource,
    capacity_bytes: u64,
    current: Option<Workload>,
}

impl Source {
    /// Requests that an array of `capacity_bytes` may have served before this workload. `seed` is
    /// the seed of their draws.
    ///
    /// # Errors
    ///
    /// As [`Source::open`].
    pub fn before(&self, seed: u64, capacity_bytes: u64) -> Result<Before, WorkloadError> {
        let generator = match self {
            Self::Trace(source) => {
                let current = Some(self.open(capacity_bytes)?);
                let source = source.as_ref().clone();
                let repeated = Repeated { source, capacity_bytes, current };
                return Ok(Before(Preparing::Trace(Box::new(repeated))));
            }
            Self::Synthetic(synthetic) => synthetic.generator(capacity_bytes)?,
            Self::Preset(source) => source.generator(capacity_bytes)?,
        };
        Ok(Before(Preparing::Generator(Box::new(generator.endless(seed)))))
    }
}

impl Repeated {
    /// The next request; `None` for a trace without requests.
    fn next(&mut self) -> Option<Result<Request, WorkloadError>> {
        if let Some(request) = self.current.as_mut()?.next() {
            return Some(request);
        }
        match Source::from(self.source.clone()).open(self.capacity_bytes) {
            Ok(workload) => self.current.insert(workload).next(),
            Err(error) => {
                self.current = None;
                Some(Err(error))
            }
        }
    }
}

impl Iterator for Before {
    type Item = Result<Request, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Preparing::Generator(generator) => generator.next().map(Ok),
            Preparing::Trace(repeated) => repeated.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, ReadOptions, Synthetic, Trace, preset};
    use std::collections::BTreeMap;

    const CAPACITY: u64 = 1 << 30;

    /// Hottest thousandth of the places by requests, and the share of requests there.
    fn hottest(requests: impl Iterator<Item = Request>) -> (Vec<u64>, f64) {
        let mut counts = BTreeMap::new();
        let mut all = 0_u64;
        for request in requests.filter(|request| request.op == Op::Write) {
            *counts.entry(request.offset_bytes >> 20).or_insert(0_u64) += 1;
            all += 1;
        }
        let mut counts: Vec<(u64, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|&(place, count)| (std::cmp::Reverse(count), place));
        counts.truncate(3);
        let sum: u64 = counts.iter().map(|&(_, count)| count).sum();
        (counts.into_iter().map(|(place, _)| place).collect(), sum as f64 / all as f64)
    }

    #[test]
    fn more_of_a_preset_has_its_hot_places_and_other_draws() {
        let source = Source::from(preset("azure").unwrap());
        let run: Vec<Request> =
            source.open(CAPACITY).unwrap().take(50_000).map(Result::unwrap).collect();
        let before: Vec<Request> =
            source.before(7, CAPACITY).unwrap().take(50_000).map(Result::unwrap).collect();
        assert_ne!(run[0].offset_bytes, before[0].offset_bytes);
        let ((run, share), (before, share_before)) =
            (hottest(run.into_iter()), hottest(before.into_iter()));
        assert_eq!(run[0], before[0], "the hottest place");
        assert!((share / share_before - 1.0).abs() < 0.1, "{share} and {share_before}");
    }

    #[test]
    fn it_goes_on_beyond_every_limit_of_a_synthetic_workload() {
        let short = Synthetic {
            rw: crate::Rw::RandWrite,
            rate_iops: Some(1_000.0),
            runtime: Some(units::Duration::from_millis(1)),
            number_ios: Some(3),
            size: 1 << 20,
            ..Synthetic::default()
        };
        let before = Source::from(short).before(1, CAPACITY).unwrap();
        assert_eq!(before.take(10_000).filter(Result::is_ok).count(), 10_000);
    }

    #[test]
    fn a_trace_begins_again() {
        let path = std::env::temp_dir().join(format!("ioda-before-{}.csv", std::process::id()));
        let lines = "time_us,op,offset_bytes,size_bytes\n0,W,0,4096\n10,W,8192,4096\n";
        std::fs::write(&path, lines).unwrap();
        let trace = Trace::open(&path, &ReadOptions::default()).unwrap();
        let before = Source::from(trace).before(1, CAPACITY).unwrap();
        let offsets: Vec<u64> =
            before.take(5).map(|request| request.unwrap().offset_bytes).collect();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(offsets, [0, 8192, 0, 8192, 0]);
    }
}
