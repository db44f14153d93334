//! What the array's thread counts about requests and causes.

use crate::control::{CauseStatus, Recorder};
use array::Outcome;
use nvme::Cause;

/// Everything that is counted per request.
#[derive(Debug)]
pub(crate) struct Measures {
    pub(crate) read: Recorder,
    pub(crate) write: Recorder,
    causes: Vec<Recorder>,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) flushes: u64,
    pub(crate) failed_requests: u64,
}

impl Measures {
    pub(crate) fn new() -> Self {
        Self {
            read: Recorder::default(),
            write: Recorder::default(),
            causes: Cause::ALL.iter().map(|_| Recorder::default()).collect(),
            read_bytes: 0,
            written_bytes: 0,
            flushes: 0,
            failed_requests: 0,
        }
    }

    /// Notes where the time of a read went.
    pub(crate) fn record_causes(&mut self, outcome: &Outcome) {
        for (part, recorder) in outcome.delays.parts().iter().zip(&mut self.causes) {
            if !part.is_zero() {
                recorder.record(part.as_nanos());
            }
        }
    }

    pub(crate) fn causes(&self) -> Vec<CauseStatus> {
        let status = |(cause, recorder): (&Cause, &Recorder)| CauseStatus {
            cause: cause.label().to_owned(),
            latency: recorder.latency(),
        };
        Cause::ALL.iter().zip(&self.causes).map(status).collect()
    }
}
