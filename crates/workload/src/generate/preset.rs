//! Workloads by name. Nine follow Table 3 of "IODA: A Host/Device Co-Design for Strong
//! Predictability Contract on Modern Flash Storage" (ACM Transactions on Storage, 2023).
//!
//! **Measured fact**, from the table: the number of requests, the read share, the mean size of
//! reads and of writes, the largest size, the mean interval, and a total "Size". We take its KB
//! as KiB and its GB as GiB. The Size is not the address footprint: in all nine rows it equals
//! requests × write share × mean write size to within rounding, so it is the volume written.
//! The paper gives no footprint. The five SNIA traces (dtrs, exch, lmbe, msnfs, tpcc) were re-rated
//! 8 to 32 times by its authors, so their intervals are not those of the original servers.
//!
//! The authors of that paper also changed the sizes of three of these traces. Four further presets,
//! `-recorded`, have the recorded sizes. They use the mix, the mean sizes and the mean interval of
//! public pieces of the traces (dtrs 5 minutes, msnfs 143 s, tpcc 0.14 s). For lmbe they use the
//! table's row, with its writes divided by three, the factor in the paper's public scripts. The
//! number of requests is that of the busiest hour at this interval, for tpcc that of its six
//! minutes (TTFLASH §6). The scripts leave exch unchanged. `exch-recorded` is one hour of it, for
//! which their notes give the number of requests (179,856), the mix (19.6 % reads), the volume
//! written (3.83 GB) and the share of writes at random places (61 %); its mean read is the table's.
//! DAPPS, the sixth trace of TTFLASH, has no preset: neither paper gives its characteristics.
//!
//! Six more follow Table 3 of Sha et al., "Degraded mode-benefited I/O scheduling to ensure I/O
//! responsiveness in RAID-enabled SSDs" (TODAES 2022). The table gives the number of requests, the
//! write share, one mean size for both and the mean interval. It also gives the longest interval
//! (144, 224, 158, 164, 526 and 7822 ms), which is a result here and no parameter. The largest
//! request is [`DEGRADED_MAX_BYTES`], and the footprint is the volume written, as for the others.
//!
//! **Our choice**, because the traces themselves are not public:
//!
//! - Sizes: a truncated power law over powers of two from 4 KiB to the maximum, with the exponent
//!   that gives the mean of the table. Where mean and maximum nearly agree (msnfs writes 128 of
//!   128, lmbe 191 of 192) nearly all requests have the maximum.
//! - Arrivals: bursts, a geometric number of requests of mean [`MEAN_BURST`], with exponential
//!   gaps, inside a burst [`WITHIN_BURST_RATIO`] of the mean interval, between bursts as long as
//!   the mean interval of the table requires.
//! - Addresses: a footprint of the table's Size, or the array if that is smaller; extents of
//!   1 MiB, scattered over it, are chosen by Zipf's law with exponent [`PRESET_ZIPF_THETA`]; a
//!   place within an extent is uniform and on 4 KiB. Reads and writes have the same hot extents.
//! - Read or write, size, place and time are independent of each other.

use super::address::{Addresses, HotPlaces, bound};
use super::arrivals::{Arrival, Clock, Gaps};
use super::engine::{Draws, Generator};
use super::sizes::Sizes;
use crate::error::OptionError;
use units::{Bytes, Duration, GIB, KIB, Ratio, Rng};

/// The mean number of requests in a burst: our choice, of the order of a queue that a database
/// or file server flushes at once.
pub const MEAN_BURST: f64 = 16.0;

/// The mean gap inside a burst as a share of the mean interval: our choice; ten times the mean
/// intensity for the length of a burst.
pub const WITHIN_BURST_RATIO: f64 = 0.1;

/// The skew of addresses: our choice, a little below YCSB's usual 0.99, because block traces lie
/// behind a page cache. Over the extents of these footprints it puts about half of the requests on
/// 2 to 4 % of them.
pub const PRESET_ZIPF_THETA: f64 = 0.9;

/// The largest request of the six workloads of degraded-mode scheduling: our choice, as in three of
/// the nine others.
const DEGRADED_MAX_BYTES: u64 = 64 * KIB;

/// One row of Table 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// The name that is typed.
    pub name: &'static str,
    /// Number of requests in the trace.
    pub requests: u64,
    /// The share of reads.
    pub read_share: Ratio,
    /// The mean size of a read in bytes.
    pub mean_read_bytes: u64,
    /// The mean size of a write in bytes.
    pub mean_write_bytes: u64,
    /// The largest request in bytes.
    pub max_bytes: u64,
    /// The mean time from one request to the next.
    pub mean_interval: Duration,
    /// Share of the writes that begin where the write before ended, in addition to coincidences.
    pub sequential_writes: Ratio,
    /// The volume written in bytes, which the table calls Size; also our footprint.
    pub written_bytes: u64,
    /// Drive writes per 8-hour day that the paper measured at each drive in its run of the trace,
    /// with parity and re-rating (§6.3.6); given for tpcc only. The interval and the sizes of the
    /// table amount to far more (about 570 on the paper's drives), so the two do not describe the
    /// same run.
    pub drive_writes_per_day: Option<u32>,
    /// Mean interval of these requests in the paper's run, if it differs from the trace. For tpcc
    /// with its own sizes it is the 72 µs of Table 3, at which Base has the tail of the paper's
    /// artifact.
    pub ran_at_interval: Option<Duration>,
    /// Description of the workload.
    pub description: &'static str,
}

/// The numbers of a row in the order and the units of the table.
struct Row {
    thousands: u64,
    read_percent: u32,
    read_kib: u64,
    write_kib: u64,
    max_kib: u64,
    interval_us: u64,
    written_gib: u64,
}

const fn of(name: &'static str, description: &'static str, row: Row) -> Preset {
    Preset {
        name,
        requests: row.thousands * 1_000,
        read_share: Ratio::from_percent(row.read_percent),
        mean_read_bytes: row.read_kib * KIB,
        mean_write_bytes: row.write_kib * KIB,
        max_bytes: row.max_kib * KIB,
        mean_interval: Duration::from_micros(row.interval_us),
        sequential_writes: Ratio::ZERO,
        written_bytes: row.written_gib * GIB,
        drive_writes_per_day: None,
        ran_at_interval: None,
        description,
    }
}

/// A row of Table 3 of the paper on degraded-mode scheduling, in its units.
struct DegradedRow {
    requests: u64,
    write_permille: u32,
    tenths_of_kib: u64,
    interval_us: u64,
}

const fn of_degraded(name: &'static str, description: &'static str, row: DegradedRow) -> Preset {
    let mean_bytes = row.tenths_of_kib * KIB / 10;
    Preset {
        name,
        requests: row.requests,
        read_share: Ratio::from_parts_per_million((1_000 - row.write_permille) * 1_000),
        mean_read_bytes: mean_bytes,
        mean_write_bytes: mean_bytes,
        max_bytes: DEGRADED_MAX_BYTES,
        mean_interval: Duration::from_micros(row.interval_us),
        sequential_writes: Ratio::ZERO,
        written_bytes: row.requests * row.write_permille as u64 / 1_000 * mean_bytes,
        drive_writes_per_day: None,
        ran_at_interval: None,
        description,
    }
}

#[rustfmt::skip]
static PRESETS: [Preset; 20] = [
    of("azure", "Microsoft Azure cloud storage",
       Row { thousands: 320, read_percent: 18, read_kib: 24, write_kib: 20, max_kib: 64, interval_us: 142, written_gib: 5 }),
    of("bingidx", "Microsoft Bing, search engine",
       Row { thousands: 169, read_percent: 36, read_kib: 60, write_kib: 104, max_kib: 288, interval_us: 697, written_gib: 11 }),
    of("bingsel", "Microsoft Bing, database",
       Row { thousands: 322, read_percent: 4, read_kib: 260, write_kib: 78, max_kib: 11_264, interval_us: 2_195, written_gib: 24 }),
    of("cosmos", "Microsoft Cosmos cloud storage",
       Row { thousands: 792, read_percent: 8, read_kib: 214, write_kib: 91, max_kib: 16_384, interval_us: 894, written_gib: 63 }),
    of("dtrs", "Microsoft developer tools release server (SNIA)",
       Row { thousands: 147, read_percent: 72, read_kib: 42, write_kib: 53, max_kib: 64, interval_us: 203, written_gib: 2 }),
    of("exch", "Microsoft Exchange mail server (SNIA)",
       Row { thousands: 269, read_percent: 24, read_kib: 15, write_kib: 43, max_kib: 1_024, interval_us: 845, written_gib: 9 }),
    of("lmbe", "Microsoft Live Maps back end (SNIA)",
       Row { thousands: 3_585, read_percent: 89, read_kib: 12, write_kib: 191, max_kib: 192, interval_us: 539, written_gib: 74 }),
    of("msnfs", "Microsoft MSN file server (SNIA)",
       Row { thousands: 487, read_percent: 74, read_kib: 8, write_kib: 128, max_kib: 128, interval_us: 370, written_gib: 16 }),
    Preset { drive_writes_per_day: Some(13), ..of("tpcc", "TPC-C database benchmark (SNIA)",
       Row { thousands: 513, read_percent: 64, read_kib: 8, write_kib: 137, max_kib: 4_096, interval_us: 72, written_gib: 25 }) },
    of("dtrs-recorded", "dtrs with its own sizes and speed",
       Row { thousands: 1_525, read_percent: 89, read_kib: 56, write_kib: 53, max_kib: 64, interval_us: 2_360, written_gib: 8 }),
    Preset { sequential_writes: Ratio::from_percent(39), ..of("exch-recorded", "exch with the sizes, the speed and the sequential writes of one hour",
       Row { thousands: 180, read_percent: 20, read_kib: 15, write_kib: 26, max_kib: 1_024, interval_us: 20_000, written_gib: 4 }) },
    of("lmbe-recorded", "lmbe with its own sizes",
       Row { thousands: 3_585, read_percent: 89, read_kib: 12, write_kib: 64, max_kib: 64, interval_us: 539, written_gib: 24 }),
    of("msnfs-recorded", "msnfs with its own sizes and speed",
       Row { thousands: 3_774, read_percent: 87, read_kib: 18, write_kib: 9, max_kib: 1_024, interval_us: 954, written_gib: 4 }),
    Preset { ran_at_interval: Some(Duration::from_micros(72)), ..of("tpcc-recorded", "tpcc with its own sizes and speed",
       Row { thousands: 18_462, read_percent: 63, read_kib: 8, write_kib: 9, max_kib: 64, interval_us: 20, written_gib: 58 }) },
    of_degraded("hm_1", "hardware monitor, Microsoft Research Cambridge",
       DegradedRow { requests: 609_311, write_permille: 46, tenths_of_kib: 151, interval_us: 9_800 }),
    of_degraded("ads_0", "advertisement server, Microsoft production",
       DegradedRow { requests: 1_532_120, write_permille: 95, tenths_of_kib: 291, interval_us: 5_600 }),
    of_degraded("lun0", "virtual desktops (SYSTOR 2017), four traces from 16 February 2016, 16 h on",
       DegradedRow { requests: 3_316_282, write_permille: 476, tenths_of_kib: 165, interval_us: 1_100 }),
    of_degraded("lun1", "virtual desktops (SYSTOR 2017), four traces from 16 February 2016, 17 h on",
       DegradedRow { requests: 2_667_824, write_permille: 521, tenths_of_kib: 165, interval_us: 1_300 }),
    of_degraded("wdev_0", "test web server, Microsoft Research Cambridge",
       DegradedRow { requests: 1_143_261, write_permille: 799, tenths_of_kib: 66, interval_us: 5_300 }),
    of_degraded("src2_0", "source control, Microsoft Research Cambridge",
       DegradedRow { requests: 1_557_814, write_permille: 887, tenths_of_kib: 63, interval_us: 4_500 }),
];

/// All presets: IODA's table in its order, the recorded ones, and degraded-mode scheduling.
#[must_use]
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The preset of this name.
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// A generator of this workload for an array of `capacity_bytes`, which must hold the largest
    /// request and the alignment of 4 KiB. `requests` defaults to the number in the table. Requests
    /// come `rate` times faster, above 0 and at most a million.
    pub fn generator(
        &'static self,
        seed: u64,
        capacity_bytes: u64,
        requests: Option<u64>,
        rate: f64,
    ) -> Result<Generator, OptionError> {
        PresetSource { requests, rate, ..PresetSource::new(self, seed) }.generator(capacity_bytes)
    }

    /// The footprint on an array of `capacity_bytes`, in whole 4 KiB.
    #[must_use]
    pub fn footprint_bytes(&self, capacity_bytes: u64) -> u64 {
        let footprint = self.written_bytes.min(capacity_bytes);
        footprint - footprint % (4 * KIB)
    }
}

/// Bursts of requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// Mean number of requests of a burst, 1 to 1000000.
    pub mean: f64,
    /// Mean gap inside a burst as a share of the mean interval, 0 to 1.
    pub inside_ratio: f64,
}

impl Default for Bursts {
    fn default() -> Self {
        Self { mean: MEAN_BURST, inside_ratio: WITHIN_BURST_RATIO }
    }
}

/// A preset and its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct PresetSource {
    /// The row of the table.
    pub preset: &'static Preset,
    /// The seed of all draws.
    pub seed: u64,
    /// Number of requests; `None` for the number in the table.
    pub requests: Option<u64>,
    /// The factor by which requests come faster, above 0 and at most a million.
    pub rate: f64,
    /// Bursts of the requests.
    pub bursts: Bursts,
    /// Places with a fixed share of the requests; `None` for none.
    pub hot: Option<HotPlaces>,
}

impl PresetSource {
    /// The preset with the values of its table.
    #[must_use]
    pub fn new(preset: &'static Preset, seed: u64) -> Self {
        Self { preset, seed, requests: None, rate: 1.0, bursts: Bursts::default(), hot: None }
    }

    /// The preset and its differences from the table, in one line.
    #[must_use]
    pub fn description(&self, capacity_bytes: u64) -> String {
        let Self { preset, seed, requests, rate, bursts, hot } = self;
        let mut text = format!(
            "preset {} ({}), {} requests, {rate} times as fast, footprint {}, seed {seed}",
            preset.name,
            preset.description,
            requests.unwrap_or(preset.requests),
            Bytes(preset.footprint_bytes(capacity_bytes)),
        );
        if *bursts != Bursts::default() {
            let gap = 100.0 * bursts.inside_ratio;
            text += &format!(", bursts of {} with {gap} % of the gaps", bursts.mean);
        }
        if let Some(hot) = hot {
            text += &format!(", {} % at hot places", 100.0 * hot.share);
        }
        text
    }

    /// A generator of the preset for an array of `capacity_bytes`, which must hold the largest
    /// request.
    ///
    /// # Errors
    ///
    /// If a number is out of its range.
    pub fn generator(&self, capacity_bytes: u64) -> Result<Generator, OptionError> {
        let Self { preset, seed, requests, rate, bursts, hot } = self;
        let refuse = |option, value: String, limit: String| {
            Err(OptionError::OutOfRange { option, value, limit })
        };
        if !(*rate > 0.0 && *rate <= 1e6) {
            let limit = "above 0 and at most 1000000".to_owned();
            return refuse("rate", rate.to_string(), limit);
        }
        if *requests == Some(0) {
            return refuse("requests", "0".to_owned(), "at least 1".to_owned());
        }
        if !(1.0..=1e6).contains(&bursts.mean) {
            return refuse("burst", bursts.mean.to_string(), "1 to 1000000".to_owned());
        }
        if !(0.0..=1.0).contains(&bursts.inside_ratio) {
            return refuse("burst gap", bursts.inside_ratio.to_string(), "0 to 1".to_owned());
        }
        if capacity_bytes < preset.max_bytes {
            let (name, largest) = (preset.name, Bytes(preset.max_bytes));
            let limit = format!("at least the largest request of {name}, {largest}");
            return refuse("capacity", Bytes(capacity_bytes).to_string(), limit);
        }
        let stream = |name| Rng::stream(*seed, name);
        let mean = preset.mean_interval.as_nanos() as f64 / rate;
        let gaps = Gaps::bursts(mean, bursts.mean, bursts.inside_ratio);
        let footprint = preset.footprint_bytes(capacity_bytes);
        let extents = Addresses::hot_extents(footprint, PRESET_ZIPF_THETA, &mut stream("places"));
        Ok(Generator {
            arrival: Arrival::Open,
            hosts: 1,
            clock: Clock::new(gaps, stream("arrivals")),
            read_bound: bound(preset.read_share.as_f64()),
            read_sizes: Sizes::power_law(preset.mean_read_bytes, preset.max_bytes),
            write_sizes: Sizes::power_law(preset.mean_write_bytes, preset.max_bytes),
            addresses: extents
                .with_hot_places(hot.as_ref())
                .with_runs(preset.sequential_writes.as_f64(), footprint),
            offset: 0,
            requests: Some(requests.unwrap_or(preset.requests)),
            bytes: None,
            until: None,
            drawn: 0,
            drawn_bytes: 0,
            draws: Draws::new(*seed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;

    #[test]
    fn the_size_of_the_table_is_the_volume_written() {
        for preset in presets() {
            let writes = preset.requests as f64 * (1.0 - preset.read_share.as_f64());
            let volume = writes * preset.mean_write_bytes as f64;
            let ratio = volume / preset.written_bytes as f64;
            assert!((0.85..1.15).contains(&ratio), "{}: {ratio}", preset.name);
        }
    }

    #[test]
    fn generated_requests_have_the_mix_sizes_interval_and_footprint_of_the_table() {
        for preset in presets() {
            let capacity = 1 << 40;
            let generator = preset.generator(3, capacity, Some(200_000), 1.0).unwrap();
            let mut statistics = Statistics::new();
            for request in generator {
                assert!(request.end_bytes() <= preset.written_bytes);
                assert_eq!(request.offset_bytes % 4_096, 0);
                statistics.add(&request);
            }
            let close = |what: &str, found: f64, wanted: f64, tolerance: f64| {
                let off = (found / wanted - 1.0).abs();
                assert!(off < tolerance, "{} {what}: {found} for {wanted}", preset.name);
            };
            let kib = |bytes: u64| bytes as f64 / KIB as f64;
            close("read share", statistics.read_share(), preset.read_share.as_f64(), 0.03);
            let interval = statistics.mean_interval().as_nanos() as f64;
            close("interval", interval, preset.mean_interval.as_nanos() as f64, 0.04);
            assert!(statistics.longest_bytes <= preset.max_bytes);
            // The variance of a heavy tail needs more draws than this preset has reads here, so the
            // means are checked on draws of the sizes alone.
            for (what, mean) in
                [("read", preset.mean_read_bytes), ("write", preset.mean_write_bytes)]
            {
                let sizes = Sizes::power_law(mean, preset.max_bytes);
                let mut rng = Rng::new(6);
                let total: u64 = (0..200_000).map(|_| sizes.draw(&mut rng)).sum();
                close(what, kib(total) / 200_000.0, kib(mean), 0.02);
            }
        }
    }

    #[test]
    fn a_small_array_gets_a_small_footprint() {
        let tpcc = preset("tpcc").unwrap();
        let capacity = 100 << 20;
        let mut generator = tpcc.generator(1, capacity, Some(50_000), 8.0).unwrap();
        assert!(generator.by_ref().all(|request| request.end_bytes() <= capacity));
        let error = tpcc.generator(1, 1 << 20, None, 1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "capacity is 1 MiB, but must be at least the largest request of tpcc, 4 MiB"
        );
        let error = tpcc.generator(1, capacity, None, f64::NAN).unwrap_err();
        assert_eq!(error.to_string(), "rate is NaN, but must be above 0 and at most 1000000");
    }

    #[test]
    fn writes_go_on_where_the_one_before_ended_as_often_as_they_should() {
        for preset in presets() {
            let generator = preset.generator(3, 1 << 40, Some(50_000), 1.0).unwrap();
            let writes: Vec<_> =
                generator.filter(|request| request.op == crate::Op::Write).collect();
            let goes_on = |pair: &&[crate::Request]| pair[0].end_bytes() == pair[1].offset_bytes;
            let runs = writes.windows(2).filter(goes_on).count() as f64 / writes.len() as f64;
            let wanted = preset.sequential_writes.as_f64();
            assert!((runs - wanted).abs() < 0.01, "{}: {runs} for {wanted}", preset.name);
        }
    }

    #[test]
    fn a_share_of_the_requests_begins_at_hot_places() {
        let preset = preset("lun0").unwrap();
        let is_hot: std::sync::Arc<[bool]> = (0..8).map(|chunk| chunk == 2).collect();
        let (grain_bytes, share) = (8 * KIB, 0.7);
        let hot = Some(HotPlaces { share, grain_bytes, is_hot: is_hot.clone() });
        let source = PresetSource {
            requests: Some(50_000),
            bursts: Bursts { mean: 128.0, inside_ratio: 0.03 },
            hot,
            ..PresetSource::new(preset, 5)
        };
        let mut statistics = Statistics::new();
        let mut at_hot = 0;
        for request in source.generator(1 << 40).unwrap() {
            statistics.add(&request);
            at_hot += u64::from(is_hot[(request.offset_bytes / grain_bytes % 8) as usize]);
        }
        let found = at_hot as f64 / 50_000.0;
        assert!((found - share).abs() < 0.01, "{found}");
        let interval = statistics.mean_interval().as_nanos() as f64;
        let wanted = preset.mean_interval.as_nanos() as f64;
        assert!((interval / wanted - 1.0).abs() < 0.2, "{interval} for {wanted}");
        let wrong = PresetSource { bursts: Bursts { mean: 0.5, ..source.bursts }, ..source };
        let error = wrong.generator(1 << 40).unwrap_err().to_string();
        assert_eq!(error, "burst is 0.5, but must be 1 to 1000000");
    }

    #[test]
    fn names_are_found() {
        assert_eq!(presets().len(), 20);
        assert!(presets().iter().all(|row| preset(row.name) == Some(row)));
        assert_eq!(preset("tpc"), None);
    }
}
