//! The requests of a run, one by one.

use crate::watch::Watch;
use array::{Ended, Layout, Outcome, Request, RequestKind};
use engine::{Drive, Event};
use nvme::{Blocked, Cause, Delays};
use std::collections::HashMap;
use std::marker::PhantomData;
use units::{DriveId, Duration, Instant, Observe};

/// Record of one request.
///
/// The time from `arrived` to `completed` is the sum of `delays` and `write`, to the nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestRecord {
    /// Number in the workload, from 1: the argument of `ioda explain --request`.
    pub number: u64,
    /// Host of the request, from 0.
    pub host: u8,
    /// Kind of the request.
    pub kind: RequestKind,
    /// True if the request failed: too many members of a stripe were missing.
    pub failed: bool,
    /// First byte in the array.
    pub offset_bytes: u64,
    /// Number of bytes, at least 1.
    pub size_bytes: u64,
    /// Time of its arrival.
    pub arrived: Instant,
    /// Time of its completion.
    pub completed: Instant,
    /// Causes of delay. For a read they sum to its latency. For a write, only [`Cause::HeldBack`],
    /// the time before anything was sent, is not zero.
    pub delays: Delays,
    /// Time of a write after it was begun; zero for a read. It covers turns at stripes, reads of
    /// old data and parity, and writes to members or the write cache, which the array does not
    /// separate.
    pub write: Duration,
    /// Number of its stripe operations that used reconstructed pages.
    pub reconstructions: u32,
    /// Effect of collections on a read, the worst of its parts; for a write, on its reads of old
    /// data and parity.
    pub blocked: Blocked,
    /// Drives that were busy at its arrival, as bits, drive 0 the lowest. A read of its rows would
    /// have waited there for a collection or for a flush of the write buffer. All members of its
    /// stripes are checked, including parity; other drives and failed drives are 0.
    pub busy_members: u64,
}

/// Records of many requests, column by column; all columns have the same length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestColumns {
    /// Numbers in the workload, from 1.
    pub number: Vec<u64>,
    /// Hosts, from 0.
    pub host: Vec<u8>,
    /// Kinds of the requests.
    pub kind: Vec<RequestKind>,
    /// True for requests that failed.
    pub failed: Vec<bool>,
    /// First bytes in the array.
    pub offset_bytes: Vec<u64>,
    /// Bytes, at least 1.
    pub size_bytes: Vec<u64>,
    /// Nanoseconds from the start of the run to the arrival.
    pub arrived_ns: Vec<u64>,
    /// Nanoseconds from the start of the run to the completion, in ascending order.
    pub completed_ns: Vec<u64>,
    /// Nanoseconds by cause, in the order of [`Cause::ALL`].
    pub delays_ns: [Vec<u64>; Cause::COUNT],
    /// Nanoseconds of writes after they were begun; 0 for reads.
    pub write_ns: Vec<u64>,
    /// Stripe operations that used reconstructed pages.
    pub reconstructions: Vec<u32>,
    /// Effect of collections on reads, and on the reads of old data and parity of writes.
    pub blocked: Vec<Blocked>,
    /// Busy drives as bits, drive 0 the lowest ([`RequestRecord::busy_members`]).
    pub busy_members: Vec<u64>,
}

impl RequestColumns {
    /// Creates empty columns with room for `rows`.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        let nanos = || Vec::with_capacity(rows);
        Self {
            number: Vec::with_capacity(rows),
            host: Vec::with_capacity(rows),
            kind: Vec::with_capacity(rows),
            failed: Vec::with_capacity(rows),
            offset_bytes: Vec::with_capacity(rows),
            size_bytes: Vec::with_capacity(rows),
            arrived_ns: nanos(),
            completed_ns: nanos(),
            delays_ns: std::array::from_fn(|_| nanos()),
            write_ns: nanos(),
            reconstructions: Vec::with_capacity(rows),
            blocked: Vec::with_capacity(rows),
            busy_members: Vec::with_capacity(rows),
        }
    }

    /// Number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.number.len()
    }

    /// Returns true if there are no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.number.is_empty()
    }

    /// Adds a request.
    pub fn push(&mut self, record: &RequestRecord) {
        self.number.push(record.number);
        self.host.push(record.host);
        self.kind.push(record.kind);
        self.failed.push(record.failed);
        self.offset_bytes.push(record.offset_bytes);
        self.size_bytes.push(record.size_bytes);
        self.arrived_ns.push(record.arrived.as_nanos());
        self.completed_ns.push(record.completed.as_nanos());
        for (column, part) in self.delays_ns.iter_mut().zip(record.delays.parts()) {
            column.push(part.as_nanos());
        }
        self.write_ns.push(record.write.as_nanos());
        self.reconstructions.push(record.reconstructions);
        self.blocked.push(record.blocked);
        self.busy_members.push(record.busy_members);
    }

    /// Moves all requests of `others` to the end.
    pub fn append(&mut self, others: &mut Self) {
        self.number.append(&mut others.number);
        self.host.append(&mut others.host);
        self.kind.append(&mut others.kind);
        self.failed.append(&mut others.failed);
        self.offset_bytes.append(&mut others.offset_bytes);
        self.size_bytes.append(&mut others.size_bytes);
        self.arrived_ns.append(&mut others.arrived_ns);
        self.completed_ns.append(&mut others.completed_ns);
        for (column, other) in self.delays_ns.iter_mut().zip(&mut others.delays_ns) {
            column.append(other);
        }
        self.write_ns.append(&mut others.write_ns);
        self.reconstructions.append(&mut others.reconstructions);
        self.blocked.append(&mut others.blocked);
        self.busy_members.append(&mut others.busy_members);
    }
}

/// Most requests that are delivered at a time: twelve megabytes.
pub const REQUESTS_AT_ONCE: usize = 1 << 16;

/// Values that the arrival of a request has and its outcome lacks.
#[derive(Clone, Copy, Debug)]
struct Asked {
    offset_bytes: u64,
    size_bytes: u64,
    busy_members: u64,
}

/// Collector of a run's requests, which delivers them when there are [`REQUESTS_AT_ONCE`].
pub(crate) struct RequestWatch<F, O> {
    page_bytes: u64,
    /// Requests under way, by number.
    asked: HashMap<u64, Asked>,
    columns: RequestColumns,
    sink: F,
    observe: PhantomData<O>,
}

impl<F: FnMut(RequestColumns), O: Observe> RequestWatch<F, O> {
    pub(crate) fn new(page_bytes: u64, sink: F) -> Self {
        let columns = RequestColumns::with_capacity(REQUESTS_AT_ONCE);
        Self { page_bytes, asked: HashMap::new(), columns, sink, observe: PhantomData }
    }

    /// Delivers the remaining requests.
    pub(crate) fn finish(mut self) {
        if !self.columns.is_empty() {
            (self.sink)(self.columns);
        }
    }

    /// Returns the busy members of the stripes of `request`.
    fn busy_members(
        &self,
        now: Instant,
        layout: &Layout,
        drives: &[Drive<O>],
        request: &Request,
    ) -> u64 {
        let telling = |drive: &Drive<O>| drive.ssd().is_some_and(|ssd| !ssd.has_nothing_to_tell());
        let mut candidates = 0;
        for (position, drive) in drives.iter().enumerate() {
            candidates |= u64::from(telling(drive)) << position;
        }
        let first = request.offset_bytes / self.page_bytes;
        let end = (request.offset_bytes + request.size_bytes).div_ceil(self.page_bytes);
        let mut busy = 0;
        if candidates == 0 {
            return busy;
        }
        for segment in layout.segments(first, end - first) {
            let mut members = layout.members(segment.stripe) & candidates & !busy;
            while members != 0 {
                let drive = DriveId(members.trailing_zeros() as u8);
                members &= members - 1;
                let Some(ssd) = drives[drive.index()].ssd() else { continue };
                let mut rows = segment.first_row..segment.first_row + segment.rows;
                let meets = rows.any(|row| {
                    ssd.busy_with(now, layout.lba(segment.stripe, row, drive)).is_some()
                });
                busy |= u64::from(meets) << drive.index();
            }
        }
        busy
    }
}

impl<F: FnMut(RequestColumns), O: Observe> Watch for RequestWatch<F, O> {
    type Observe = O;

    fn arrived(&mut self, now: Instant, layout: &Layout, drives: &[Drive<O>], request: &Request) {
        let busy_members = self.busy_members(now, layout, drives, request);
        let Request { id, offset_bytes, size_bytes, .. } = *request;
        self.asked.insert(id.0, Asked { offset_bytes, size_bytes, busy_members });
    }

    fn event(&mut self, _: Instant, _: Event) {}

    fn completed(&mut self, outcome: &Outcome) {
        let number = outcome.request.0;
        let Some(asked) = self.asked.remove(&number) else {
            unreachable!("request {number} has come")
        };
        let mut delays = outcome.delays;
        let mut write = Duration::ZERO;
        if outcome.kind != RequestKind::Read {
            delays.add(Cause::HeldBack, outcome.admitted.since(outcome.arrived));
            write = outcome.completed.since(outcome.admitted);
        }
        self.columns.push(&RequestRecord {
            number,
            host: outcome.host,
            kind: outcome.kind,
            failed: outcome.ended == Ended::Failed,
            offset_bytes: asked.offset_bytes,
            size_bytes: asked.size_bytes,
            arrived: outcome.arrived,
            completed: outcome.completed,
            delays,
            write,
            reconstructions: outcome.reconstructions,
            blocked: outcome.blocked,
            busy_members: asked.busy_members,
        });
        if self.columns.len() == REQUESTS_AT_ONCE {
            let next = RequestColumns::with_capacity(REQUESTS_AT_ONCE);
            (self.sink)(std::mem::replace(&mut self.columns, next));
        }
    }
}
