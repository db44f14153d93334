//! The steps in order, on a trace that can be opened again for each repetition.

use super::cut::Verdict;
use super::fit::Fitter;
use super::fold::Bases;
use super::{Replayed, Transform, rate};
use crate::error::WorkloadError;
use crate::statistics::DeviceExtent;
use crate::{Request, TraceError};
use std::collections::VecDeque;
use units::{Duration, Instant};

/// The requests of a trace after its [`Transform`], in order of time, on device 0.
///
/// `open` opens the trace, once for each repetition. Nothing follows the first error.
pub struct Transformed<O, I> {
    open: O,
    pass: Option<I>,
    transform: Transform,
    bases: Bases,
    fitter: Fitter,
    /// Number of requests in one pass.
    per_pass: u64,
    passes_begun: u64,
    seen_in_pass: u64,
    in_range: u64,
    kept_in_pass: u64,
    /// Time in the trace at which the kept part begins.
    cut_origin: Instant,
    /// Start of this pass, before the speed is applied.
    pass_start: Instant,
    /// Time of the last kept request, before the speed is applied.
    last: Instant,
    number: u64,
    /// Whether a flush has come since the last kept request.
    flush_is_due: bool,
    pieces: VecDeque<Request>,
    replayed: Replayed,
    ended: bool,
}

impl<O, I> Transformed<O, I>
where
    O: FnMut() -> Result<I, TraceError>,
    I: Iterator<Item = Result<Request, TraceError>>,
{
    /// Opens the pipeline. `requests` and `extents` are those of the whole trace, from a pass over
    /// it with [`crate::Statistics`].
    pub fn new(
        open: O,
        requests: u64,
        extents: &[DeviceExtent],
        transform: &Transform,
        capacity_bytes: u64,
    ) -> Result<Self, WorkloadError> {
        transform.check(capacity_bytes)?;
        let bases = Bases::new(transform.fold, extents, capacity_bytes)?;
        let fitter = Fitter::new(transform.fit, capacity_bytes, bases.end());
        let of = requests.saturating_mul(transform.repeat);
        Ok(Self {
            open,
            pass: None,
            transform: transform.clone(),
            bases,
            fitter,
            per_pass: requests,
            passes_begun: 0,
            seen_in_pass: 0,
            in_range: 0,
            kept_in_pass: 0,
            cut_origin: Instant::ZERO,
            pass_start: Instant::ZERO,
            last: Instant::ZERO,
            number: 0,
            flush_is_due: false,
            pieces: VecDeque::new(),
            replayed: Replayed { of: Some(of), ..Replayed::default() },
            ended: false,
        })
    }

    /// Requests delivered so far, and those dropped.
    #[must_use]
    pub fn replayed(&self) -> &Replayed {
        &self.replayed
    }

    /// Prepares the pieces of the next request. Returns false at the end.
    fn advance(&mut self) -> Result<bool, WorkloadError> {
        loop {
            let Some(pass) = &mut self.pass else {
                if self.passes_begun == self.transform.repeat {
                    return Ok(false);
                }
                self.begin_pass()?;
                continue;
            };
            let Some(item) = pass.next() else {
                self.pass = None;
                continue;
            };
            let request = item?;
            self.seen_in_pass += 1;
            self.flush_is_due |= request.after_flush;
            match self.transform.cut.judge(&request, self.in_range) {
                Verdict::Keep => {
                    self.in_range += 1;
                    self.emit(&request)?;
                    return Ok(true);
                }
                Verdict::Drop(reason) => {
                    // Only requests in the range of time count towards the number to skip.
                    self.in_range += u64::from(reason == super::DropReason::SkippedByCount);
                    self.replayed.drop_requests(reason, 1);
                }
                Verdict::End(reason) => {
                    let rest = (self.per_pass + 1).saturating_sub(self.seen_in_pass);
                    self.replayed.drop_requests(reason, rest);
                    self.pass = None;
                }
            }
        }
    }

    fn begin_pass(&mut self) -> Result<(), WorkloadError> {
        if self.passes_begun > 0 && self.kept_in_pass > 0 {
            let span = self.last.since(self.pass_start);
            let pause = match self.kept_in_pass {
                1 => Duration::ZERO,
                kept => span / (kept - 1),
            };
            self.pass_start = self.last + pause;
        }
        self.pass = Some((self.open)()?);
        self.passes_begun += 1;
        self.seen_in_pass = 0;
        self.in_range = 0;
        self.kept_in_pass = 0;
        Ok(())
    }

    fn emit(&mut self, request: &Request) -> Result<(), WorkloadError> {
        if self.kept_in_pass == 0 {
            self.cut_origin = request.at;
        }
        self.kept_in_pass += 1;
        self.number += 1;
        let at = self.pass_start + request.at.since(self.cut_origin);
        self.last = at;
        let base = self.bases.base(request.device);
        let folded = Request {
            at: rate::speed_up(at, self.transform.speed),
            op: request.op,
            offset_bytes: base.saturating_add(request.offset_bytes),
            size_bytes: self.transform.resize.apply(request),
            device: 0,
            durable: request.durable,
            after_flush: std::mem::take(&mut self.flush_is_due),
        };
        let moved = self.fitter.fit(&folded, self.number, &mut self.pieces)?;
        for later in self.pieces.iter_mut().skip(1) {
            later.after_flush = false;
        }
        self.replayed.taken += 1;
        self.replayed.split += u64::from(self.pieces.len() > 1);
        self.replayed.wrapped += u64::from(moved.wrapped);
        self.replayed.shifted += u64::from(moved.shifted);
        Ok(())
    }
}

impl<O, I> Iterator for Transformed<O, I>
where
    O: FnMut() -> Result<I, TraceError>,
    I: Iterator<Item = Result<Request, TraceError>>,
{
    type Item = Result<Request, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pieces.is_empty() {
            if self.ended {
                return None;
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    return None;
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        let piece = self.pieces.pop_front()?;
        self.replayed.pieces += 1;
        Some(Ok(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cut, Fit, Fold, Op, Resize};

    /// Ten requests; the second and the seventh follow a flush.
    fn trace() -> Vec<Request> {
        (0..10)
            .map(|index| Request {
                at: Instant::ZERO + Duration::from_micros(10 * index),
                op: if index % 2 == 0 { Op::Read } else { Op::Write },
                offset_bytes: 4_096 * index,
                size_bytes: 4_096,
                device: (index % 2) as u32,
                durable: false,
                after_flush: index == 1 || index == 6,
            })
            .collect()
    }

    type Opened = std::vec::IntoIter<Result<Request, TraceError>>;

    fn run(transform: &Transform, capacity: u64) -> (Vec<Request>, Replayed) {
        let open = || -> Result<Opened, TraceError> {
            Ok(trace().into_iter().map(Ok).collect::<Vec<_>>().into_iter())
        };
        let extents = [
            DeviceExtent { requests: 5, end_bytes: 9 * 4_096 },
            DeviceExtent { requests: 5, end_bytes: 10 * 4_096 },
        ];
        let mut transformed = Transformed::new(open, 10, &extents, transform, capacity).unwrap();
        let requests: Vec<Request> = transformed.by_ref().map(Result::unwrap).collect();
        (requests, transformed.replayed().clone())
    }

    fn micros(requests: &[Request]) -> Vec<u64> {
        requests.iter().map(|request| request.at.as_nanos() / 1_000).collect()
    }

    #[test]
    fn devices_are_laid_end_to_end() {
        let (requests, replayed) = run(&Transform::default(), 1 << 30);
        assert_eq!(requests[0].offset_bytes, 0);
        assert_eq!(requests[1].offset_bytes, (1 << 20) + 4_096);
        assert!(requests.iter().all(|request| request.device == 0));
        assert_eq!(replayed.to_string(), "10 of 10 requests replayed");
        let overlay = Transform { fold: Fold::Overlay, ..Transform::default() };
        assert_eq!(run(&overlay, 1 << 30).0[1].offset_bytes, 4_096);
        let hash = Transform { fold: Fold::Hash, ..Transform::default() };
        assert_eq!(run(&hash, 1 << 30), run(&hash, 1 << 30));
    }

    #[test]
    fn repetitions_continue_in_time_and_speed_divides_it() {
        let transform = Transform { repeat: 2, speed: 2.0, ..Transform::default() };
        let (requests, replayed) = run(&transform, 1 << 30);
        assert_eq!(micros(&requests), (0..20).map(|index| index * 5).collect::<Vec<_>>());
        assert_eq!((replayed.taken, replayed.of), (20, Some(20)));
    }

    #[test]
    fn cuts_count_what_they_drop() {
        let cut = Cut {
            from: Duration::from_micros(20),
            to: Some(Duration::from_micros(80)),
            skip: 1,
            take: Some(3),
        };
        let transform = Transform { cut, repeat: 2, ..Transform::default() };
        let (requests, replayed) = run(&transform, 1 << 30);
        assert_eq!(micros(&requests), [0, 10, 20, 30, 40, 50]);
        assert_eq!(
            replayed.to_string(),
            "6 of 20 requests replayed; dropped: before the cut 4, skipped by count 2, beyond the \
             count 8"
        );
        assert_eq!(replayed.left(), Some(0));
    }

    #[test]
    fn a_flush_stays_ahead_of_what_is_kept_and_of_its_first_piece() {
        let cut = Cut { skip: 3, ..Cut::default() };
        let transform = Transform { cut, fit: Fit::Wrap, ..Transform::default() };
        let flushes = |requests: &[Request]| -> Vec<usize> {
            let numbered = requests.iter().enumerate();
            numbered.filter(|(_, request)| request.after_flush).map(|(number, _)| number).collect()
        };
        assert_eq!(flushes(&run(&transform, 1 << 30).0), [0, 3]);
        let whole = Transform {
            resize: Resize { read: 1.0, write: 256.0 },
            fit: Fit::Wrap,
            ..Transform::default()
        };
        let (pieces, replayed) = run(&whole, 1 << 20);
        assert!(replayed.split > 0, "{replayed}");
        assert_eq!(flushes(&pieces).len(), 2, "{pieces:?}");
    }

    #[test]
    fn sizes_change_and_stay_in_grain() {
        let transform = Transform {
            resize: Resize { read: 0.01, write: 2.0 },
            fit: Fit::Wrap,
            ..Transform::default()
        };
        let (requests, _) = run(&transform, 1 << 30);
        assert_eq!((requests[0].size_bytes, requests[1].size_bytes), (512, 8_192));
    }

    #[test]
    fn impossible_options_are_refused_with_a_sentence() {
        let message = |transform: Transform| transform.check(1 << 30).unwrap_err().to_string();
        assert_eq!(
            message(Transform { speed: 0.0, ..Transform::default() }),
            "speed is 0, but must be above 0 and at most 1000000"
        );
        assert_eq!(
            message(Transform { repeat: 0, ..Transform::default() }),
            "repeat is 0, but must be between 1 and 1000000"
        );
        let cut = Cut {
            from: Duration::from_secs(2),
            to: Some(Duration::from_secs(1)),
            ..Cut::default()
        };
        assert_eq!(
            message(Transform { cut, ..Transform::default() }),
            "the end of the cut is 1.00s, but must be later than its start at 2.00s"
        );
        assert!(Transform::default().check(100).is_err());
    }
}
