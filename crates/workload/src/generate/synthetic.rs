//! A workload in fio's vocabulary.

use super::address::Addresses;
use super::address::bound;
use super::arrivals::{Arrival, Clock, Gaps};
use super::engine::{Draws, Generator};
use super::parse::{parse_runtime, parse_size};
use super::phases::{self, Phase};
use super::scatter::Scatter;
use super::sizes::Sizes;
use super::words::{BlockSizes, IoDepth, RandomDistribution, RateProcess, Rw, SizeRange};
use super::zipf::Zipf;
use crate::error::OptionError;
use units::{Bytes, Duration, GIB, Instant, KIB, Rng};

/// Most hosts of one workload.
const MOST_HOSTS: u32 = 256;

/// A workload in fio's vocabulary. Fields have the names and meanings of fio's options; each field
/// says where it differs.
#[derive(Clone, PartialEq, Debug)]
pub struct Synthetic {
    /// Direction and order.
    pub rw: Rw,
    /// The percentage of reads in `rw` and `randrw`, 0 to 100.
    pub rwmixread: u32,
    /// Block sizes in bytes, multiples of 512 up to 1 GiB.
    pub bs: BlockSizes,
    /// One range of sizes for reads and writes, instead of `bs`.
    pub bsrange: Option<SizeRange>,
    /// Number of hosts, 1 to 256, each sending at `rate_iops` and independently. More than one host
    /// needs an open loop: in a closed loop the driver would have to keep them apart.
    pub numjobs: u32,
    /// Requests under way at once, 1 to 65,536; no effect with `rate_iops`. Separate depths for a
    /// reading and a writing host need `rw` or `randrw` and one size of requests.
    pub iodepth: IoDepth,
    /// Requests per second, above 0 and at most 10^9, for an open loop: requests come at their
    /// time, whether or not the array keeps up. `None` for a closed loop.
    pub rate_iops: Option<f64>,
    /// Phases of an open loop with a changing rate: each phase follows the one before, addresses
    /// continue over all of them, and the workload ends after the last. Empty for a constant rate.
    /// Not an option of fio; excludes `rate_iops`, `iodepth` and `runtime`.
    pub phases: Vec<Phase>,
    /// Distribution of the arrivals of `rate_iops` and `phases`. Poisson by default, unlike fio.
    pub rate_process: RateProcess,
    /// The footprint in bytes: addresses stay below `offset + size`.
    pub size: u64,
    /// The first address in bytes, a multiple of 512.
    pub offset: u64,
    /// Distribution of random requests over blocks. Blocks are drawn independently, as with fio's
    /// `norandommap`, and hot blocks of zipf and pareto are scattered over the footprint. Their
    /// grain is the larger of the block sizes, so that reads and writes have the same hot places.
    pub random_distribution: RandomDistribution,
    /// Number of requests after which the workload ends.
    pub number_ios: Option<u64>,
    /// Time after which the workload ends. In a closed loop the driver has to measure it. Without
    /// this, `number_ios` and `phases`, the workload ends after `size` bytes, as in fio.
    pub runtime: Option<Duration>,
    /// The seed of all draws.
    pub randseed: u64,
}

impl Default for Synthetic {
    /// Random reads of 4 KiB over 1 GiB, one at a time.
    fn default() -> Self {
        Self {
            rw: Rw::RandRead,
            rwmixread: 50,
            bs: BlockSizes { read: 4 * KIB, write: 4 * KIB },
            bsrange: None,
            numjobs: 1,
            iodepth: IoDepth::Shared(1),
            rate_iops: None,
            phases: Vec::new(),
            rate_process: RateProcess::Poisson,
            size: GIB,
            offset: 0,
            random_distribution: RandomDistribution::Random,
            number_ios: None,
            runtime: None,
            randseed: 1,
        }
    }
}

impl Synthetic {
    /// Sets one option by its name in fio.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        let number = |option: &'static str| {
            value.parse::<u64>().map_err(|_| OptionError::NotUnderstood {
                option,
                value: value.to_owned(),
                expected: "a whole number",
            })
        };
        let small = |option: &'static str| {
            number(option).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        match option {
            "rw" | "readwrite" => self.rw = value.parse()?,
            "rwmixread" => self.rwmixread = small("rwmixread")?,
            "rwmixwrite" => self.rwmixread = 100_u32.saturating_sub(small("rwmixwrite")?),
            "bs" | "blocksize" => self.bs = value.parse()?,
            "bsrange" => self.bsrange = Some(value.parse()?),
            "numjobs" => self.numjobs = small("numjobs")?,
            "iodepth" => self.iodepth = value.parse()?,
            "rate_iops" => {
                let rate = value.parse().map_err(|_| OptionError::NotUnderstood {
                    option: "rate_iops",
                    value: value.to_owned(),
                    expected: "a number of requests per second",
                })?;
                self.rate_iops = Some(rate);
            }
            "phases" => self.phases = phases::parse(value)?,
            "rate_process" => self.rate_process = value.parse()?,
            "size" => self.size = parse_size(value)?,
            "offset" => self.offset = parse_size(value)?,
            "random_distribution" => self.random_distribution = value.parse()?,
            "number_ios" => self.number_ios = Some(number("number_ios")?),
            "runtime" => self.runtime = Some(parse_runtime(value)?),
            "randseed" => self.randseed = number("randseed")?,
            _ => {
                return Err(OptionError::NotUnderstood {
                    option: "option",
                    value: option.to_owned(),
                    expected: "one of rw, rwmixread, rwmixwrite, bs, bsrange, numjobs, iodepth, \
                               rate_iops, phases, rate_process, size, offset, random_distribution, number_ios, \
                               runtime, randseed",
                });
            }
        }
        Ok(())
    }

    /// Refuses options that contradict phases.
    fn check_beside_phases(&self) -> Result<(), OptionError> {
        let contradicts = [
            (self.rate_iops.is_some(), "each phase has a rate of its own; leave rate_iops out"),
            (self.runtime.is_some(), "the workload ends after the last phase; leave runtime out"),
            (
                self.iodepth != IoDepth::Shared(1),
                "phases are an open loop without iodepth; leave iodepth out",
            ),
        ];
        match contradicts.into_iter().find(|(contradicts, _)| *contradicts) {
            Some((_, reason)) => {
                Err(OptionError::Conflict { option: "phases", reason: reason.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Refuses depths that are out of range. Refuses separate depths of two hosts in an open loop,
    /// with a fixed direction, or with two block sizes.
    fn check_depth(&self) -> Result<(), OptionError> {
        if let Some(depth) =
            self.iodepth.extremes().into_iter().find(|depth| !(1..=65_536).contains(depth))
        {
            return Err(OptionError::OutOfRange {
                option: "iodepth",
                value: depth.to_string(),
                limit: "1 to 65536".to_owned(),
            });
        }
        let IoDepth::Apart { .. } = self.iodepth else { return Ok(()) };
        let conflicts = [
            (
                !matches!(self.rw, Rw::ReadWrite | Rw::RandRw),
                "a depth of reads and one of writes need rw=rw or rw=randrw",
            ),
            (
                self.rate_iops.is_some(),
                "a depth of reads and one of writes are a closed loop; leave rate_iops out",
            ),
            (
                self.bsrange.is_none() && self.bs.read != self.bs.write,
                "a depth of reads and one of writes need one size of both; give bs one size",
            ),
        ];
        match conflicts.into_iter().find(|(conflicts, _)| *conflicts) {
            Some((_, reason)) => {
                Err(OptionError::Conflict { option: "iodepth", reason: reason.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Checks every option against its limits; `capacity_bytes` is the capacity of the array.
    pub fn check(&self, capacity_bytes: u64) -> Result<(), OptionError> {
        let refuse = |option, value: String, limit: String| {
            Err(OptionError::OutOfRange { option, value, limit })
        };
        let [first, second] = match self.bsrange {
            None => [("bs of reads", self.bs.read), ("bs of writes", self.bs.write)],
            Some(range) => {
                [("smallest bsrange", range.smallest), ("largest bsrange", range.largest)]
            }
        };
        for (option, bytes) in [first, second] {
            if bytes == 0 || bytes % 512 != 0 || bytes > GIB {
                let limit = "a multiple of 512 bytes, at most 1 GiB".to_owned();
                return refuse(option, format!("{bytes} bytes"), limit);
            }
            if bytes > self.size {
                let limit = format!("at most size, which is {}", Bytes(self.size));
                return refuse(option, Bytes(bytes).to_string(), limit);
            }
        }
        if let Some(SizeRange { smallest, largest }) = self.bsrange
            && (largest < smallest || !largest.is_multiple_of(smallest))
        {
            let limit = format!("a multiple of its smallest, {}", Bytes(smallest));
            return refuse("largest bsrange", Bytes(largest).to_string(), limit);
        }
        if self.rwmixread > 100 {
            return refuse("rwmixread", self.rwmixread.to_string(), "0 to 100".to_owned());
        }
        if self.numjobs == 0 || self.numjobs > MOST_HOSTS {
            return refuse("numjobs", self.numjobs.to_string(), format!("1 to {MOST_HOSTS}"));
        }
        if self.numjobs > 1 && self.rate_iops.is_none() {
            let limit = "1 without rate_iops: several hosts need a rate each".to_owned();
            return refuse("numjobs", self.numjobs.to_string(), limit);
        }
        self.check_depth()?;
        if let Some(rate) = self.rate_iops
            && !(rate > 0.0 && rate <= 1e9)
        {
            let limit = "above 0 and at most 1000000000".to_owned();
            return refuse("rate_iops", rate.to_string(), limit);
        }
        if !self.phases.is_empty() {
            self.check_beside_phases()?;
            phases::check(&self.phases)?;
        }
        if !self.offset.is_multiple_of(512) {
            let limit = "a multiple of 512 bytes".to_owned();
            return refuse("offset", format!("{} bytes", self.offset), limit);
        }
        match self.offset.checked_add(self.size) {
            Some(end) if end <= capacity_bytes => {}
            _ => {
                let value = format!("{} beyond offset {}", Bytes(self.size), Bytes(self.offset));
                let limit = format!("within the {} of the array", Bytes(capacity_bytes));
                return refuse("size", value, limit);
            }
        }
        match self.random_distribution {
            RandomDistribution::Zipf { theta } if !(theta > 0.0 && theta <= 10.0) => {
                refuse("zipf theta", theta.to_string(), "above 0 and at most 10".to_owned())
            }
            RandomDistribution::Pareto { h } if !(h > 0.0 && h < 1.0) => {
                refuse("pareto h", h.to_string(), "above 0 and below 1".to_owned())
            }
            _ if self.number_ios == Some(0) => {
                refuse("number_ios", "0".to_owned(), "at least 1".to_owned())
            }
            _ if self.runtime == Some(Duration::ZERO) => {
                refuse("runtime", "0".to_owned(), "above 0".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Rule for the time of the next request.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        match self.rate_iops {
            Some(_) => Arrival::Open,
            None if !self.phases.is_empty() => Arrival::Open,
            None => Arrival::Closed { iodepth: self.iodepth, runtime: self.runtime },
        }
    }

    /// The workload in one stable line for reports.
    #[must_use]
    pub fn description(&self) -> String {
        let mut text = format!("rw={}", self.rw);
        let is_drawn = matches!(self.iodepth, IoDepth::Shared(_));
        if is_drawn && matches!(self.rw, Rw::ReadWrite | Rw::RandRw) {
            text.push_str(&format!(", rwmixread={}", self.rwmixread));
        }
        match self.bsrange {
            None => text.push_str(&format!(", bs={}", self.bs)),
            Some(range) => text.push_str(&format!(", bsrange={range}")),
        }
        if self.numjobs > 1 {
            text.push_str(&format!(", numjobs={}", self.numjobs));
        }
        match self.rate_iops {
            Some(rate) => text.push_str(&format!(
                ", rate_iops={rate}, rate_process={} (open loop)",
                self.rate_process
            )),
            None if !self.phases.is_empty() => text.push_str(&format!(
                ", phases={}, rate_process={} (open loop)",
                phases::describe(&self.phases),
                self.rate_process
            )),
            None => text.push_str(&format!(", iodepth={} (closed loop)", self.iodepth)),
        }
        text.push_str(&format!(", size={}", Bytes(self.size)));
        if self.offset > 0 {
            text.push_str(&format!(", offset={}", Bytes(self.offset)));
        }
        if self.rw.is_random() {
            text.push_str(&format!(", random_distribution={}", self.random_distribution));
        }
        if let Some(requests) = self.number_ios {
            text.push_str(&format!(", number_ios={requests}"));
        }
        if let Some(runtime) = self.runtime {
            text.push_str(&format!(", runtime={runtime}"));
        }
        text.push_str(&format!(", randseed={}", self.randseed));
        text
    }

    /// The generator of this workload for an array of `capacity_bytes`.
    pub fn generator(&self, capacity_bytes: u64) -> Result<Generator, OptionError> {
        self.check(capacity_bytes)?;
        let stream = |name| Rng::stream(self.randseed, name);
        let gaps = match (self.rate_iops, self.rate_process) {
            (None, process) if !self.phases.is_empty() => {
                Gaps::phases(self.phases.clone(), process)
            }
            (None, _) => Gaps::None,
            (Some(_), RateProcess::Linear) => Gaps::Fixed { mean: 1e9 / self.total_rate() },
            (Some(_), RateProcess::Poisson) => Gaps::Poisson { mean: 1e9 / self.total_rate() },
        };
        let read_share = match self.rw {
            Rw::Read | Rw::RandRead => 1.0,
            Rw::Write | Rw::RandWrite => 0.0,
            Rw::ReadWrite | Rw::RandRw => f64::from(self.rwmixread) / 100.0,
        };
        let length = self.open_length();
        let has_other_limit =
            self.number_ios.is_some() || self.runtime.is_some() || length.is_some();
        Ok(Generator {
            arrival: self.arrival(),
            hosts: self.numjobs,
            clock: Clock::new(gaps, stream("arrivals")),
            read_bound: bound(read_share),
            read_sizes: self.sizes(self.bs.read),
            write_sizes: self.sizes(self.bs.write),
            addresses: self.addresses(),
            offset: self.offset,
            requests: self.number_ios,
            bytes: (!has_other_limit).then_some(self.size),
            until: length.map(|length| Instant::ZERO + length),
            drawn: 0,
            drawn_bytes: 0,
            draws: Draws::new(self.randseed),
        })
    }

    /// Requests per second of all hosts; 0 without a rate.
    fn total_rate(&self) -> f64 {
        self.rate_iops.unwrap_or(0.0) * f64::from(self.numjobs)
    }

    /// Time for which requests come in an open loop, unless their number or size ends it.
    fn open_length(&self) -> Option<Duration> {
        match self.arrival() {
            Arrival::Closed { .. } => None,
            Arrival::Open if self.phases.is_empty() => self.runtime,
            Arrival::Open => Some(phases::length(&self.phases)),
        }
    }

    /// Expected number of requests; `None` if unknown. Exact if their number or size is the limit,
    /// or if they come at equal intervals; otherwise the mean.
    #[must_use]
    pub fn expected_requests(&self) -> Option<u64> {
        let in_time = match (self.rate_iops, self.runtime) {
            _ if !self.phases.is_empty() => Some(phases::requests(&self.phases)),
            (Some(_), Some(runtime)) => Some((runtime.as_secs_f64() * self.total_rate()) as u64),
            _ => None,
        };
        match (self.number_ios, in_time) {
            (Some(count), Some(in_time)) => Some(count.min(in_time)),
            (None, None) if self.runtime.is_none() => {
                Some(self.size / self.smallest_bytes().max(1))
            }
            (count, in_time) => count.or(in_time),
        }
    }

    /// Expected time for which requests come; `None` if unknown.
    #[must_use]
    pub fn expected_length(&self) -> Option<Duration> {
        let requests = self.expected_requests()?;
        if self.rate_iops.is_some() {
            let seconds = requests as f64 / self.total_rate();
            return Some(Duration::from_nanos((seconds * 1e9) as u64));
        }
        (!self.phases.is_empty()).then(|| phases::length_of(&self.phases, requests))
    }

    fn sizes(&self, fixed: u64) -> Sizes {
        match self.bsrange {
            None => Sizes::Fixed(fixed),
            Some(range) => Sizes::Multiples(range.smallest, range.largest / range.smallest),
        }
    }

    fn smallest_bytes(&self) -> u64 {
        self.bsrange.map_or(self.bs.read.min(self.bs.write), |range| range.smallest)
    }

    fn addresses(&self) -> Addresses {
        let size = self.size;
        if !self.rw.is_random() {
            return Addresses::Sequential { size, next_read: 0, next_write: 0 };
        }
        let block = match self.rw {
            _ if self.bsrange.is_some() => self.smallest_bytes(),
            Rw::RandRead => self.bs.read,
            Rw::RandWrite => self.bs.write,
            _ => self.bs.read.max(self.bs.write),
        };
        let blocks = size / block;
        let scatter = || Scatter::new(blocks, &mut Rng::stream(self.randseed, "places"));
        match self.random_distribution {
            RandomDistribution::Random if self.bsrange.is_some() => {
                Addresses::UniformOn { size, grain: block }
            }
            RandomDistribution::Random => Addresses::Uniform { size },
            RandomDistribution::Zipf { theta } => {
                Addresses::Zipf { zipf: Zipf::new(blocks, theta), scatter: scatter(), block, size }
            }
            RandomDistribution::Pareto { h } => Addresses::Pareto {
                blocks,
                // A draw below 1 - h is then mapped below a share h of the blocks.
                power: libm::log(h) / libm::log(1.0 - h),
                scatter: scatter(),
                block,
                size,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Request};
    use std::collections::HashMap;
    use units::MIB;

    fn spec(options: &[(&str, &str)]) -> Synthetic {
        let mut synthetic = Synthetic::default();
        for (option, value) in options {
            synthetic.set(option, value).unwrap();
        }
        synthetic
    }

    fn drawn(options: &[(&str, &str)]) -> Vec<Request> {
        spec(options).generator(1 << 40).unwrap().collect()
    }

    #[test]
    fn hosts_ask_as_often_as_each_other_and_each_at_its_rate() {
        let options =
            [("rw", "randrw"), ("numjobs", "3"), ("rate_iops", "1000"), ("number_ios", "30000")];
        let requests = drawn(&options);
        for host in 0..3 {
            let count = requests.iter().filter(|request| request.device == host).count();
            assert!((9_700..10_300).contains(&count), "host {host}: {count}");
        }
        let seconds = requests.last().unwrap().at.since(Instant::ZERO).as_secs_f64();
        assert!((9.8..10.2).contains(&seconds), "{seconds} s");
        // With one host nothing is drawn for hosts, so the other draws are unchanged.
        let alone = drawn(&[("rw", "randrw"), ("rate_iops", "3000"), ("number_ios", "30000")]);
        let without = |request: &Request| Request { device: 0, ..*request };
        assert!(requests.iter().map(without).eq(alone));
        let refused = |options: &[(&str, &str)]| {
            spec(options).generator(1 << 40).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&[("numjobs", "2")]),
            "numjobs is 2, but must be 1 without rate_iops: several hosts need a rate each"
        );
        assert_eq!(refused(&[("numjobs", "0")]), "numjobs is 0, but must be 1 to 256");
    }

    #[test]
    fn a_range_of_sizes_has_all_of_them_where_they_fit() {
        let options = [("bsrange", "4k-128k"), ("size", "1m"), ("number_ios", "32000")];
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for request in drawn(&options) {
            assert_eq!(request.size_bytes % 4_096 + request.offset_bytes % 4_096, 0);
            assert!(request.end_bytes() <= MIB);
            *counts.entry(request.size_bytes).or_default() += 1;
        }
        assert_eq!((counts.len(), counts.contains_key(&(128 * KIB))), (32, true));
        assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
        for (range, error) in [
            (
                "128k-4k",
                "largest bsrange is 4 KiB, but must be a multiple of its smallest, 128 KiB",
            ),
            ("4k", "bsrange \"4k\" is not two sizes such as 4k-128k"),
            ("0-4k", "smallest bsrange is 0 bytes, but must be a multiple of 512 bytes"),
        ] {
            let mut synthetic = Synthetic::default();
            let set = synthetic.set("bsrange", range);
            let found = set.err().or_else(|| synthetic.generator(1 << 40).err()).unwrap();
            assert!(found.to_string().contains(error), "{found}");
        }
    }

    #[test]
    fn sequential_requests_follow_each_other_and_wrap() {
        let requests =
            drawn(&[("rw", "write"), ("bs", "64k"), ("size", "200k"), ("number_ios", "4")]);
        let offsets: Vec<u64> = requests.iter().map(|request| request.offset_bytes / KIB).collect();
        assert_eq!(offsets, [0, 64, 128, 0]);
        assert!(requests.iter().all(|request| request.op == Op::Write));
    }

    #[test]
    fn without_a_limit_the_size_is_the_limit() {
        assert_eq!(drawn(&[("rw", "randread"), ("bs", "4k"), ("size", "1m")]).len(), 256);
    }

    #[test]
    fn mixes_sizes_and_offsets_are_kept() {
        let requests = drawn(&[
            ("rw", "randrw"),
            ("rwmixread", "70"),
            ("bs", "8k,128k"),
            ("size", "1g"),
            ("offset", "1g"),
            ("number_ios", "100000"),
        ]);
        let reads = requests.iter().filter(|request| request.op == Op::Read).count();
        assert!((69_000..71_000).contains(&reads), "{reads}");
        for request in &requests {
            let size = if request.op == Op::Read { 8 * KIB } else { 128 * KIB };
            assert_eq!((request.size_bytes, request.offset_bytes % size), (size, 0));
            assert!(request.offset_bytes >= GIB && request.end_bytes() <= 2 * GIB);
        }
    }

    #[test]
    fn open_loops_have_a_rate_and_end_with_the_runtime() {
        for process in ["linear", "poisson"] {
            let requests =
                drawn(&[("rate_iops", "10000"), ("rate_process", process), ("runtime", "10s")]);
            assert!(requests.len().abs_diff(100_000) < 1_500, "{process}: {}", requests.len());
            assert!(requests.is_sorted_by_key(|request| request.at));
        }
        let closed = spec(&[("iodepth", "32")]).generator(GIB).unwrap();
        assert_eq!(closed.arrival(), Arrival::Closed { iodepth: 32.into(), runtime: None });
    }

    #[test]
    fn skewed_addresses_prefer_few_blocks() {
        let share_of_top = |distribution: &str, top: usize| {
            let requests = drawn(&[
                ("random_distribution", distribution),
                ("size", "4m"),
                ("number_ios", "100000"),
            ]);
            let mut counts: HashMap<u64, u32> = HashMap::new();
            for request in &requests {
                *counts.entry(request.offset_bytes).or_default() += 1;
            }
            let mut counts: Vec<u32> = counts.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            f64::from(counts.iter().take(top).sum::<u32>()) / requests.len() as f64
        };
        // 1,024 blocks, 20 % of which are 205.
        let pareto = share_of_top("pareto:0.2", 205);
        assert!((0.78..0.83).contains(&pareto), "{pareto}");
        let zipf = share_of_top("zipf:1.2", 1);
        assert!((0.2..0.3).contains(&zipf), "{zipf}");
        let uniform = share_of_top("random", 205);
        assert!((0.2..0.25).contains(&uniform), "{uniform}");
    }

    #[test]
    fn the_same_seed_gives_the_same_requests() {
        let of_seed = |seed| drawn(&[("rw", "randrw"), ("randseed", seed), ("size", "1m")]);
        assert_eq!(of_seed("7"), of_seed("7"));
        assert_ne!(of_seed("7"), of_seed("8"));
    }

    #[test]
    fn impossible_options_are_refused_with_a_sentence() {
        let cases = [
            (
                "bs",
                "1000",
                "bs of reads is 1000 bytes, but must be a multiple of 512 bytes, at most 1 GiB",
            ),
            (
                "bs",
                "2g",
                "bs of reads is 2147483648 bytes, but must be a multiple of 512 bytes, at most 1 GiB",
            ),
            ("size", "2k", "bs of reads is 4 KiB, but must be at most size, which is 2 KiB"),
            ("rwmixread", "101", "rwmixread is 101, but must be 0 to 100"),
            ("iodepth", "0", "iodepth is 0, but must be 1 to 65536"),
            ("rate_iops", "0", "rate_iops is 0, but must be above 0 and at most 1000000000"),
            ("rate_iops", "nan", "rate_iops is NaN, but must be above 0 and at most 1000000000"),
            ("offset", "100", "offset is 100 bytes, but must be a multiple of 512 bytes"),
            (
                "size",
                "2t",
                "size is 2048 GiB beyond offset 0 B, but must be within the 1 GiB of the array",
            ),
            (
                "random_distribution",
                "zipf:-1",
                "zipf theta is -1, but must be above 0 and at most 10",
            ),
            ("random_distribution", "pareto:1", "pareto h is 1, but must be above 0 and below 1"),
            ("number_ios", "0", "number_ios is 0, but must be at least 1"),
            ("runtime", "0s", "runtime is 0, but must be above 0"),
        ];
        for (option, value, sentence) in cases {
            let error = spec(&[(option, value)]).check(GIB).unwrap_err();
            assert_eq!(error.to_string(), sentence);
        }
        let refused =
            |option, value| Synthetic::default().set(option, value).unwrap_err().to_string();
        assert_eq!(
            refused("iodepth", "many"),
            "iodepth \"many\" is not a whole number, or one for reads and one for writes such as 64,32"
        );
        assert_eq!(
            refused("rw", "trim"),
            "rw \"trim\" is not one of read, write, randread, randwrite, rw (also readwrite), randrw"
        );
        assert!(refused("iodept", "1").starts_with("option \"iodept\" is not one of rw, "));
    }

    #[test]
    fn two_hosts_need_directions_and_one_size() {
        let two = [("iodepth", "64,32"), ("rw", "randrw")];
        assert!(spec(&two).description().contains("rw=randrw, bs=4 KiB, iodepth=64,32 (closed"));
        for (more, sentence) in [
            (("rw", "randread"), "a depth of reads and one of writes need rw=rw or rw=randrw"),
            (
                ("rate_iops", "5"),
                "a depth of reads and one of writes are a closed loop; leave rate_iops out",
            ),
            (
                ("bs", "4k,8k"),
                "a depth of reads and one of writes need one size of both; give bs one size",
            ),
        ] {
            let error = spec(&[two[0], two[1], more]).check(GIB).unwrap_err();
            assert_eq!(error.to_string(), format!("iodepth cannot be used here: {sentence}"));
        }
        let none = spec(&[("iodepth", "64,0"), two[1]]).check(GIB).unwrap_err();
        assert_eq!(none.to_string(), "iodepth is 0, but must be 1 to 65536");
    }

    #[test]
    fn descriptions_are_stable() {
        let synthetic = spec(&[("rw", "randrw"), ("size", "10m"), ("iodepth", "8")]);
        assert_eq!(
            synthetic.description(),
            "rw=randrw, rwmixread=50, bs=4 KiB, iodepth=8 (closed loop), size=10 MiB, \
             random_distribution=random, randseed=1"
        );
        assert_eq!(MIB * 10, synthetic.size);
    }
}
