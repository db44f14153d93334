//! Sources of the requests of a run.

use crate::error::{OptionError, TraceError, WorkloadError};
use crate::{
    Arrival, Counts, Detected, FileIdentity, Generator, Preset, PresetSource, Replayed, Request,
    Statistics, Synthetic, Trace, TraceRequests, Transform, Transformed,
};

/// Source of the requests of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// A trace.
    Trace(Box<TraceSource>),
    /// A workload in fio's vocabulary.
    Synthetic(Synthetic),
    /// A workload after a table of a paper.
    Preset(PresetSource),
}

/// A trace and its transform.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSource {
    /// The trace, which all copies share.
    pub trace: Trace,
    /// Transform of its requests.
    pub transform: Transform,
}

impl Source {
    /// Opens the workload for an array of `capacity_bytes`. A trace has been read completely
    /// before, so its errors and the number of its requests are known before a run begins.
    pub fn open(&self, capacity_bytes: u64) -> Result<Workload, WorkloadError> {
        match self {
            Self::Trace(source) => open_trace(source, capacity_bytes),
            Self::Synthetic(synthetic) => {
                let generator = synthetic.generator(capacity_bytes)?;
                Ok(Workload::generated(generator, synthetic.description()))
            }
            Self::Preset(source) => {
                let generator = source.generator(capacity_bytes)?;
                let description = source.description(capacity_bytes);
                Ok(Workload::generated(generator, description))
            }
        }
    }
}

fn open_trace(source: &TraceSource, capacity_bytes: u64) -> Result<Workload, WorkloadError> {
    let TraceSource { trace, transform } = source;
    let statistics = trace.statistics();
    let again = trace.clone();
    let open: Reopen = Box::new(move || again.requests());
    let transformed = Transformed::new(
        open,
        statistics.requests,
        &statistics.devices,
        transform,
        capacity_bytes,
    )?;
    let format = trace.detected().format;
    let description =
        format!("trace {} ({format}), {}", trace.path().display(), transform.description());
    Ok(Workload {
        description,
        trace: Some(trace.clone()),
        requests: Requests::Trace(Box::new(transformed)),
    })
}

type Reopen = Box<dyn FnMut() -> Result<TraceRequests, TraceError> + Send>;

enum Requests {
    Trace(Box<Transformed<Reopen, TraceRequests>>),
    Generated(Box<Generator>, Replayed),
}

/// An open workload: an iterator of requests in order of time, all on device 0 and within the
/// capacity. Nothing follows the first error.
pub struct Workload {
    description: String,
    trace: Option<Trace>,
    requests: Requests,
}

impl Workload {
    fn generated(generator: Generator, description: String) -> Self {
        let replayed = Replayed { of: generator.requests(), ..Replayed::default() };
        Self {
            description,
            trace: None,
            requests: Requests::Generated(Box::new(generator), replayed),
        }
    }

    /// Rule for the time of the next request.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        match &self.requests {
            Requests::Trace(_) => Arrival::Open,
            Requests::Generated(generator, _) => generator.arrival(),
        }
    }

    /// The workload in one line, the same for equal workloads.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Requests delivered so far, and their total.
    #[must_use]
    pub fn replayed(&self) -> &Replayed {
        match &self.requests {
            Requests::Trace(transformed) => transformed.replayed(),
            Requests::Generated(_, replayed) => replayed,
        }
    }

    /// The trace that is replayed; `None` for a generator.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Identity of a trace's file; `None` for a generator.
    #[must_use]
    pub fn identity(&self) -> Option<&FileIdentity> {
        self.trace().map(Trace::identity)
    }

    /// Format and units of a trace, with the evidence; `None` for a generator.
    #[must_use]
    pub fn detected(&self) -> Option<&Detected> {
        self.trace().map(Trace::detected)
    }

    /// Counts of a trace's lines; `None` for a generator.
    #[must_use]
    pub fn counts(&self) -> Option<&Counts> {
        self.trace().map(Trace::counts)
    }

    /// Statistics of the whole trace before its transform; `None` for a generator.
    #[must_use]
    pub fn statistics(&self) -> Option<&Statistics> {
        self.trace().map(Trace::statistics)
    }
}

impl Iterator for Workload {
    type Item = Result<Request, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.requests {
            Requests::Trace(transformed) => transformed.next(),
            Requests::Generated(generator, replayed) => {
                let request = generator.next()?;
                replayed.taken += 1;
                replayed.pieces += 1;
                Some(Ok(request))
            }
        }
    }
}

impl From<&'static Preset> for Source {
    /// The whole preset at its own speed, with seed 1.
    fn from(preset: &'static Preset) -> Self {
        Self::Preset(PresetSource::new(preset, 1))
    }
}

impl From<Synthetic> for Source {
    fn from(synthetic: Synthetic) -> Self {
        Self::Synthetic(synthetic)
    }
}

impl From<Trace> for Source {
    /// The whole trace at its own speed.
    fn from(trace: Trace) -> Self {
        Self::from(TraceSource { trace, transform: Transform::default() })
    }
}

impl From<TraceSource> for Source {
    fn from(source: TraceSource) -> Self {
        Self::Trace(Box::new(source))
    }
}

/// The name of a preset as a source, or a sentence that lists them all.
impl std::str::FromStr for Source {
    type Err = OptionError;

    fn from_str(name: &str) -> Result<Self, OptionError> {
        crate::preset(name).map(Self::from).ok_or_else(|| OptionError::NotUnderstood {
            option: "preset",
            value: name.to_owned(),
            expected: "one of azure, bingidx, bingsel, cosmos, dtrs, exch, lmbe, msnfs, tpcc",
        })
    }
}
