//! Statistics of a stream of requests, in one pass.

mod page_set;

use crate::{Op, Request};
use page_set::PageSet;
use std::fmt;
use units::{Bytes, Duration, GIB, Instant, KIB};

/// The unit of the footprint and of alignment: the page that most flash and file systems use.
pub const PAGE_BYTES: u64 = 4 * KIB;

/// Use of one device of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceExtent {
    /// Number of its requests.
    pub requests: u64,
    /// The first byte after the furthest request.
    pub end_bytes: u64,
}

/// Statistics of a stream of requests. Collected with [`Statistics::add`].
///
/// Memory grows with the footprint: 128 bytes and a hash entry for each 2 MiB touched.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of requests.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read, counted as often as they are read.
    pub read_bytes: u64,
    /// Bytes written, counted as often as they are written.
    pub written_bytes: u64,
    /// The longest request in bytes.
    pub longest_bytes: u64,
    /// Requests whose first or last byte is not on a 4 KiB boundary.
    pub unaligned: u64,
    /// Distinct 4 KiB pages touched, per device, in bytes. A page counts as a whole even if only a
    /// sector of it is touched.
    pub footprint_bytes: u64,
    /// Distinct 4 KiB pages written, per device, in bytes.
    pub written_footprint_bytes: u64,
    /// The devices; the index is [`Request::device`].
    pub devices: Vec<DeviceExtent>,
    /// Time of the first request; `None` without requests.
    pub first_at: Option<Instant>,
    /// Time of the last request.
    pub last_at: Instant,
    pages: PageSet,
}

impl Statistics {
    /// Statistics of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one request.
    pub fn add(&mut self, request: &Request) {
        let size = request.size_bytes;
        self.requests += 1;
        match request.op {
            Op::Read => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.saturating_add(size);
            }
            Op::Write => {
                self.writes += 1;
                self.written_bytes = self.written_bytes.saturating_add(size);
            }
        }
        self.longest_bytes = self.longest_bytes.max(size);
        let end = request.end_bytes();
        if !request.offset_bytes.is_multiple_of(PAGE_BYTES) || !end.is_multiple_of(PAGE_BYTES) {
            self.unaligned += 1;
        }
        self.first_at.get_or_insert(request.at);
        self.last_at = self.last_at.max(request.at);
        let device = request.device as usize;
        if self.devices.len() <= device {
            self.devices.resize(device + 1, DeviceExtent::default());
        }
        let extent = &mut self.devices[device];
        extent.requests += 1;
        extent.end_bytes = extent.end_bytes.max(end);
        if size > 0 {
            let pages = request.offset_bytes / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
            let (touched, written) =
                self.pages.insert(request.device, pages, request.op == Op::Write);
            self.footprint_bytes += touched * PAGE_BYTES;
            self.written_footprint_bytes += written * PAGE_BYTES;
        }
    }

    /// Time from the first request to the last.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.first_at.map_or(Duration::ZERO, |first| self.last_at.since(first))
    }

    /// Mean time from one request to the next; zero with fewer than two requests.
    #[must_use]
    pub fn mean_interval(&self) -> Duration {
        match self.requests {
            0 | 1 => Duration::ZERO,
            requests => self.span() / (requests - 1),
        }
    }

    /// Share of reads, 0 to 1.
    #[must_use]
    pub fn read_share(&self) -> f64 {
        ratio(self.reads, self.requests)
    }

    /// Share of requests that are not aligned to 4 KiB, 0 to 1.
    #[must_use]
    pub fn unaligned_share(&self) -> f64 {
        ratio(self.unaligned, self.requests)
    }

    /// Mean size of a read in KiB; 0 without reads.
    #[must_use]
    pub fn mean_read_kib(&self) -> f64 {
        ratio(self.read_bytes, self.reads) / KIB as f64
    }

    /// Mean size of a write in KiB; 0 without writes.
    #[must_use]
    pub fn mean_write_kib(&self) -> f64 {
        ratio(self.written_bytes, self.writes) / KIB as f64
    }

    /// The first byte after the furthest request of any device.
    #[must_use]
    pub fn end_bytes(&self) -> u64 {
        self.devices.iter().map(|device| device.end_bytes).max().unwrap_or(0)
    }
}

impl<'a> Extend<&'a Request> for Statistics {
    fn extend<I: IntoIterator<Item = &'a Request>>(&mut self, requests: I) {
        requests.into_iter().for_each(|request| self.add(request));
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.read_share();
        let writes_percent = if self.requests == 0 { 0.0 } else { 100.0 - percent };
        writeln!(
            f,
            "requests        {} ({} reads, {} writes; {percent:.0}/{writes_percent:.0} %)",
            self.requests, self.reads, self.writes
        )?;
        writeln!(
            f,
            "mean size       {:.1} KiB read, {:.1} KiB written, {} at most",
            self.mean_read_kib(),
            self.mean_write_kib(),
            Bytes(self.longest_bytes)
        )?;
        writeln!(
            f,
            "volume          {} read, {} written",
            Bytes(self.read_bytes),
            Bytes(self.written_bytes)
        )?;
        writeln!(f, "span            {}, mean interval {}", self.span(), self.mean_interval())?;
        writeln!(
            f,
            "footprint       {:.2} GiB ({:.2} GiB written), in pages of 4 KiB",
            self.footprint_bytes as f64 / GIB as f64,
            self.written_footprint_bytes as f64 / GIB as f64
        )?;
        writeln!(
            f,
            "unaligned       {:.1} % of requests to 4 KiB",
            100.0 * self.unaligned_share()
        )?;
        write!(
            f,
            "devices         {}, addresses up to {}",
            self.devices.len(),
            Bytes(self.end_bytes())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at_us: u64, op: Op, offset_bytes: u64, size_bytes: u64, device: u32) -> Request {
        let at = Instant::ZERO + Duration::from_micros(at_us);
        Request { at, op, offset_bytes, size_bytes, device, durable: false, after_flush: false }
    }

    #[test]
    fn a_handful_of_requests_prints_as_expected() {
        let mut statistics = Statistics::new();
        statistics.extend(&[
            request(0, Op::Read, 0, 8_192, 0),
            request(1_000, Op::Write, 4_096, 4_096, 0),
            request(2_000, Op::Read, 512, 1_024, 1),
            request(4_000, Op::Write, 4_095, 2, 1),
        ]);
        assert_eq!(statistics.footprint_bytes, 4 * PAGE_BYTES);
        assert_eq!(statistics.written_footprint_bytes, 3 * PAGE_BYTES);
        assert_eq!(
            statistics.devices,
            [
                DeviceExtent { requests: 2, end_bytes: 8_192 },
                DeviceExtent { requests: 2, end_bytes: 4_097 }
            ]
        );
        assert_eq!(
            statistics.to_string(),
            "requests        4 (2 reads, 2 writes; 50/50 %)\n\
             mean size       4.5 KiB read, 2.0 KiB written, 8 KiB at most\n\
             volume          9 KiB read, 4.00 KiB written\n\
             span            4.00ms, mean interval 1.33ms\n\
             footprint       0.00 GiB (0.00 GiB written), in pages of 4 KiB\n\
             unaligned       50.0 % of requests to 4 KiB\n\
             devices         2, addresses up to 8 KiB"
        );
    }

    #[test]
    fn nothing_is_described_without_nonsense() {
        let text = Statistics::new().to_string();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
