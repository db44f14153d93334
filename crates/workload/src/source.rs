//! Where the requests of a run come from.

use crate::error::{OptionError, TraceError, WorkloadError};
use crate::{
    Arrival, Counts, Detected, FileIdentity, Generator, Preset, PresetSource, Replayed, Request,
    Statistics, Synthetic, Trace, TraceRequests, Transform, Transformed,
};

/// Where the requests of a run come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// A trace.
    Trace(Box<TraceSource>),
    /// A workload in fio's words.
    Synthetic(Synthetic),
    /// A workload after Table 3 of the IODA paper.
    Preset(PresetSource),
}

/// A trace and what is done to it.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSource {
    /// The trace, which all copies of this share.
    pub trace: Trace,
    /// What is done to its requests.
    pub transform: Transform,
}

impl Source {
    /// Opens the workload for an array of `capacity_bytes`. A trace has been read from end to end
    /// before, so everything wrong with it is known before a run begins, and so is the number of
    /// its requests.
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
/// capacity. After the first error there is nothing more.
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

    /// Who decides when the next request comes.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        match &self.requests {
            Requests::Trace(_) => Arrival::Open,
            Requests::Generated(generator, _) => generator.arrival(),
        }
    }

    /// What this is, in one line that is the same whenever the workload is.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// How much has been handed out so far, of how much.
    #[must_use]
    pub fn replayed(&self) -> &Replayed {
        match &self.requests {
            Requests::Trace(transformed) => transformed.replayed(),
            Requests::Generated(_, replayed) => replayed,
        }
    }

    /// The trace that is replayed; none for a generator.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Which file a trace is; none for a generator, as with the three below.
    #[must_use]
    pub fn identity(&self) -> Option<&FileIdentity> {
        self.trace().map(Trace::identity)
    }

    /// What a trace was found to be.
    #[must_use]
    pub fn detected(&self) -> Option<&Detected> {
        self.trace().map(Trace::detected)
    }

    /// What became of the lines of a trace.
    #[must_use]
    pub fn counts(&self) -> Option<&Counts> {
        self.trace().map(Trace::counts)
    }

    /// What a whole trace is like, before it is transformed.
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
