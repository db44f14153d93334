//! An invented comparison for tests and for looking at the page.
//!
//! Nothing here was measured or simulated: the curves are drawn through made-up points and the
//! rest is arithmetic, so that every test sees the same plausible document.

mod lab;
mod story;
mod survey;
mod sweep;

use ioda_report::violation::{Cause, Violation};
use ioda_report::{
    AskedLoad, Band, BlockedReads, BufferCounters, CauseSplit, Claim, ClaimKind, Comparison,
    DriveSummary, Finding, Latency, Manifest, Percentile, ProgrammedWindow, Run, Timeline,
    TimelinePoint, Weight, WindowCurve, WindowReport,
};

pub(crate) use lab::lab;
pub(crate) use story::story;
pub(crate) use survey::survey;
pub(crate) use sweep::sweep;

/// Number of reads per policy.
const READS: u64 = 600_000;
/// Number of members of the invented array.
const DRIVES: u32 = 4;
/// What p1 to p99.999 are called in the document.
const PERCENTILES: [f64; 10] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999];
/// The causes in the words of the simulator.
const CAUSES: [&str; 10] = [
    "transfer",
    "NAND read",
    "behind host reads",
    "behind host writes",
    "behind collection (read)",
    "behind collection (program)",
    "behind collection (erase)",
    "fail-fast round trip",
    "rebuild",
    "stripe lock",
];

/// What is invented about one policy.
struct Invention {
    policy: &'static str,
    /// Read latency in microseconds at 0, 1, 2, 3, 4, 5 and 6 nines.
    curve_us: [f64; 7],
    /// Stripe reads per million with 1 to 4 busy members.
    busy_per_million: [u64; 4],
    /// Whether the policy keeps windows.
    windows: bool,
    /// Share of extra reads.
    extra: f64,
    /// Share of the latency that waits behind collection at 0 to 4 nines.
    collection_share: [f64; 5],
    write_amplification: f64,
    violations: u64,
}

const INVENTIONS: [Invention; 6] = [
    Invention {
        policy: "Base",
        curve_us: [62.0, 420.0, 21_500.0, 44_300.0, 66_000.0, 89_000.0, 91_000.0],
        busy_per_million: [71_200, 9_400, 830, 41],
        windows: false,
        extra: 0.0,
        collection_share: [0.02, 0.61, 0.94, 0.97, 0.98],
        write_amplification: 3.12,
        violations: 0,
    },
    Invention {
        policy: "IOD1",
        curve_us: [62.0, 172.0, 402.0, 14_100.0, 41_700.0, 60_000.0, 61_000.0],
        busy_per_million: [70_900, 9_350, 812, 39],
        windows: false,
        extra: 0.094,
        collection_share: [0.0, 0.03, 0.22, 0.93, 0.96],
        write_amplification: 3.13,
        violations: 0,
    },
    Invention {
        policy: "IOD2",
        curve_us: [62.0, 170.0, 391.0, 8_800.0, 30_200.0, 47_000.0, 48_000.0],
        busy_per_million: [71_000, 9_410, 806, 40],
        windows: false,
        extra: 0.095,
        collection_share: [0.0, 0.03, 0.2, 0.9, 0.95],
        write_amplification: 3.13,
        violations: 0,
    },
    Invention {
        policy: "IOD3",
        curve_us: [64.0, 236.0, 520.0, 1_540.0, 4_900.0, 7_900.0, 8_100.0],
        busy_per_million: [98_000, 0, 0, 0],
        windows: true,
        extra: 0.74,
        collection_share: [0.0, 0.0, 0.0, 0.0, 0.0],
        write_amplification: 3.24,
        violations: 0,
    },
    Invention {
        policy: "IODA",
        curve_us: [62.0, 158.0, 318.0, 561.0, 812.0, 1_130.0, 1_190.0],
        busy_per_million: [87_400, 0, 0, 0],
        windows: true,
        extra: 0.061,
        collection_share: [0.0, 0.0, 0.0, 0.01, 0.02],
        write_amplification: 3.24,
        violations: 2,
    },
    Invention {
        policy: "Ideal",
        curve_us: [62.0, 151.0, 305.0, 533.0, 745.0, 1_010.0, 1_060.0],
        busy_per_million: [0, 0, 0, 0],
        windows: false,
        extra: 0.0,
        collection_share: [0.0, 0.0, 0.0, 0.0, 0.0],
        write_amplification: 3.1,
        violations: 0,
    },
];

/// The invented comparison: six policies, with a timeline each, and two claims.
#[must_use]
pub(crate) fn comparison() -> Comparison {
    Comparison {
        title: "Invented numbers: tpcc on RAID-5 of four femu drives".to_owned(),
        manifest: manifest(),
        runs: INVENTIONS.iter().map(run).collect(),
        claims: claims(),
        ..Comparison::default()
    }
}

fn manifest() -> Manifest {
    Manifest {
        ioda_version: "0.1.0".to_owned(),
        command_line: "ioda compare --workload tpcc --seed 18446744073709551615".to_owned(),
        seed: u64::MAX.to_string(),
        workload: "tpcc preset: 64 % reads, 8 KiB mean, bursty arrivals, zipf 0.9".to_owned(),
        workload_hash: None,
        replayed: "937,500 of 937,500 requests replayed".to_owned(),
        drive: "femu: 16 GiB, 8 channels x 8 dies, 4 KiB pages, 25 % over-provisioning".to_owned(),
        array: "RAID-5, 4 drives, 4 KiB chunks".to_owned(),
        configuration_toml: "[array]\nlevel = \"raid5\"\ndrives = 4\nchunk = \"4KiB\"\n\n\
                             [drive]\npreset = \"femu\"\n\n[workload]\npreset = \"tpcc\"\n"
            .to_owned(),
        notes: vec!["These numbers are invented to show the layout of a report.".to_owned()],
    }
}

fn claims() -> Vec<Claim> {
    vec![
        Claim {
            id: "fig5a-order".to_owned(),
            kind: ClaimKind::Article,
            limit: "in this order (the article's: that order)".to_owned(),
            figure: "Figure 5a".to_owned(),
            statement: "At p99.9 the policies rank Base, IOD1, IOD2, IOD3, IODA, Ideal.".to_owned(),
            article: "that order".to_owned(),
            ours: "that order".to_owned(),
            holds: true,
            ..Claim::default()
        },
        Claim {
            id: "fig5a-gap".to_owned(),
            kind: ClaimKind::Article,
            limit: "at most 1.09 times (the article's: 1.09)".to_owned(),
            figure: "Figure 5a".to_owned(),
            statement: "At p99.99 IODA is at most 1.09 times as slow as Ideal.".to_owned(),
            article: "1.09".to_owned(),
            ours: "1.09".to_owned(),
            holds: false,
            note: "Just above the limit; an invented number.".to_owned(),
            ..Claim::default()
        },
    ]
}

fn run(invention: &Invention) -> Run {
    let stripe_reads = READS;
    let mut busy: Vec<u64> =
        invention.busy_per_million.iter().map(|&n| n * stripe_reads / 1_000_000).collect();
    busy.insert(0, stripe_reads - busy.iter().sum::<u64>());
    let needed = 1_400_000;
    let extra_reads = (needed as f64 * invention.extra) as u64;
    let refused = invention.policy.starts_with("IOD") && invention.policy != "IOD3";
    let failed = if refused { busy.clone() } else { vec![stripe_reads, 0, 0, 0, 0] };
    let fail_fasts = failed.iter().enumerate().map(|(n, reads)| n as u64 * reads).sum();
    let write_curve = invention.curve_us.map(|us| 40.0 + us * 1.7);
    Run {
        policy: invention.policy.to_owned(),
        label: invention.policy.to_owned(),
        result_hash: format!("{:016x}", mix(stripe_reads + extra_reads)),
        layout: String::new(),
        capacity_bytes: 36 << 30,
        simulated_seconds: 60.0,
        wall_seconds: 7.5,
        page_operations: 14_000_000 + extra_reads,
        read: latency(READS, &invention.curve_us),
        write: latency(337_500, &write_curve),
        iops_read: 10_000.0,
        iops_write: 5_625.0,
        mib_per_second_read: 78.125,
        mib_per_second_write: 43.9,
        causes: [50.0, 99.0, 99.9, 99.99].map(|p| cause_split(invention, p)).to_vec(),
        collecting_sub_ios_per_stripe_read: busy.clone(),
        busy_sub_ios_per_stripe_read: busy,
        met_sub_ios_per_stripe_read: failed,
        blocked_reads: blocked_reads(invention),
        stripe_reads,
        extra_reads,
        device_reads: needed + extra_reads,
        device_writes: 1_350_000,
        suspensions: 0,
        scrubbed_pages: 0,
        slc_pages: 0,
        folded_pages: 0,
        rebuilds: extra_reads / 3,
        fail_fasts,
        resubmitted: if invention.windows { 0 } else { fail_fasts / 9 },
        hedges: None,
        tallies: Vec::new(),
        contract_violations: invention.violations,
        collections: 5_120,
        host_write_stalls: if invention.policy == "Base" { 3 } else { 0 },
        write_amplification_device: invention.write_amplification,
        write_amplification_array: invention.write_amplification * 2.0,
        erases: 5_120,
        host_programs_pages: 1_350_000,
        collection_programs_pages: 1_420_000,
        timeline: Some(timeline(invention)),
        drives: (0..DRIVES).map(|drive| drive_summary(invention, drive)).collect(),
        windows: programmed_windows(invention),
        p99_over_time: p99_over_time(invention),
        free_over_time: free_over_time(invention),
        permits: 0,
        degraded: None,
        buffer: Some(BufferCounters {
            buffered_writes_pages: 1_350_000,
            coalesced_writes_pages: 52_300,
            buffer_reads_pages: 31_000,
            forced_flushes_pages: if invention.windows { 12 } else { 0 },
            peak_bytes: 24 << 20,
            capacity_bytes: 64 << 20,
        }),
        ratios: Vec::new(),
        hosts: Vec::new(),
        held_back: 0,
        stage: None,
        rain: None,
    }
}

/// Fixed windows under IOD3; under IODA they grow by 10 ms and are halved when they are too long.
fn programmed_windows(invention: &Invention) -> Vec<ProgrammedWindow> {
    if !invention.windows {
        return Vec::new();
    }
    if invention.policy != "IODA" {
        return vec![ProgrammedWindow { at_s: 0.0, length_ms: 100.0 }];
    }
    let mut length_ms = 500.0;
    let mut step = |i: u32| {
        let window = ProgrammedWindow { at_s: 0.4 * f64::from(i), length_ms };
        let too_long = length_ms > 110.0 + 60.0 * random(i);
        length_ms = if too_long { length_ms / 2.0 } else { length_ms + 10.0 };
        window
    };
    (0..150).map(&mut step).collect()
}

/// Recorded where the window changed: the p99 follows it.
fn p99_over_time(invention: &Invention) -> Vec<(f64, f64)> {
    let windows = programmed_windows(invention);
    if windows.len() < 2 {
        return Vec::new();
    }
    let p99_us = |window: &ProgrammedWindow, i: u32| {
        let wobble = 0.9 + 0.2 * random(i + 7);
        invention.curve_us[2] * wobble * (window.length_ms / 100.0).max(1.0)
    };
    (0..).zip(&windows).map(|(i, window)| (window.at_s, p99_us(window, i))).collect()
}

/// As many as meet a busy member if nothing gets around it.
fn blocked_reads(invention: &Invention) -> BlockedReads {
    let share = invention.collection_share[2];
    let met: u64 = invention.busy_per_million.iter().map(|&n| n * READS / 1_000_000).sum();
    let by_collection = (met as f64 * share) as u64;
    BlockedReads { by_collection, by_queue: by_collection / 5 }
}

/// Recorded where the window changed, too: up and down between the watermarks.
fn free_over_time(invention: &Invention) -> Vec<(f64, Vec<f64>)> {
    let windows = programmed_windows(invention);
    if windows.len() < 2 {
        return Vec::new();
    }
    let share = |i: u32, drive: u32| 0.06 + 0.04 * random(i * DRIVES + drive);
    let shares = |i: u32| (0..DRIVES).map(|drive| share(i, drive)).collect();
    (0..).zip(&windows).map(|(i, window)| (window.at_s, shares(i))).collect()
}

fn drive_summary(invention: &Invention, drive: u32) -> DriveSummary {
    DriveSummary {
        drive,
        write_amplification: invention.write_amplification + 0.01 * f64::from(drive),
        erases: 1_280,
        collections: 1_280,
        contract_violations: if drive == 2 { invention.violations } else { 0 },
        first_violation: (drive == 2 && invention.violations > 0).then_some(Violation {
            seconds: 12.5,
            cause: Cause::NoRoom,
            free_share: 0.055,
        }),
        free_share: 0.06 + 0.001 * f64::from(drive),
        stalls: None,
    }
}

fn latency(count: u64, curve_us: &[f64; 7]) -> Latency {
    let last = (count as f64).log10();
    let steps = 200;
    let cdf: Vec<(f64, f64)> = (0..=steps)
        .map(|i| f64::from(i) / f64::from(steps) * last)
        .map(|nines| (1.0 - 10f64.powf(-nines), curve(curve_us, nines)))
        .collect();
    let percentiles = PERCENTILES
        .map(|percentile| Percentile {
            percentile,
            value_us: curve(curve_us, nines(percentile)),
            samples_beyond: (count as f64 * (1.0 - percentile / 100.0)).round() as u64,
            interval_us: None,
        })
        .to_vec();
    Latency {
        count,
        mean_us: curve(curve_us, 0.35),
        min_us: curve_us[0],
        max_us: curve(curve_us, last),
        percentiles,
        slowest: None,
        cdf,
    }
}

/// The invented latency at a number of nines: a straight line in the logarithm between points.
fn curve(curve_us: &[f64; 7], nines: f64) -> f64 {
    let place = nines.clamp(0.0, 5.999);
    let i = place as usize;
    let between = place - i as f64;
    curve_us[i] * (curve_us[i + 1] / curve_us[i]).powf(between)
}

fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

fn cause_split(invention: &Invention, percentile: f64) -> CauseSplit {
    let latency_us = curve(&invention.curve_us, nines(percentile));
    let place = nines(percentile);
    let i = (place as usize).min(3);
    let shares = &invention.collection_share;
    let collection = shares[i] + (shares[i + 1] - shares[i]) * (place - i as f64);
    let rebuild = if invention.extra > 0.0 { (0.05 + 0.1 * place).min(0.4) } else { 0.0 };
    let rest = 1.0 - collection;
    let weights = [
        rest * 0.12,
        rest * 0.3,
        rest * 0.28 * (1.0 - rebuild),
        rest * 0.25 * (1.0 - rebuild),
        collection * 0.12,
        collection * 0.8,
        collection * 0.08,
        if rebuild > 0.0 { rest * 0.01 } else { 0.0 },
        rest * 0.53 * rebuild,
        rest * 0.04,
    ];
    let sum: f64 = weights.iter().sum();
    let parts_us = CAUSES
        .iter()
        .zip(weights)
        .map(|(cause, weight)| ((*cause).to_owned(), latency_us * weight / sum))
        .collect();
    CauseSplit { percentile, latency_us, parts_us }
}

fn timeline(invention: &Invention) -> Timeline {
    let (start_ms, end_ms) = (10_000.0, 12_000.0);
    let window_ms = 100.0;
    let mut windows = Vec::new();
    let mut collections = Vec::new();
    for drive in 0..DRIVES {
        for cycle in 0..5u32 {
            let window = start_ms + window_ms * f64::from(cycle * DRIVES + drive);
            let shift = if invention.windows { 0.0 } else { random(drive * 31 + cycle) * 300.0 };
            if invention.windows {
                windows.push(Band { drive, start_ms: window, end_ms: window + window_ms });
            }
            for i in 0..2 {
                let begin = (window + shift + 46.0 * f64::from(i)) % end_ms;
                let begin = if begin < start_ms { begin + start_ms } else { begin };
                let end = (begin + 44.0).min(end_ms);
                collections.push(Band { drive, start_ms: begin, end_ms: end });
            }
        }
    }
    if invention.policy == "Ideal" {
        collections.clear();
    }
    let points = (0..2_000u32).map(|i| point(invention, start_ms + f64::from(i), i)).collect();
    let p99_per_bin = (0..40u32)
        .map(|bin| {
            let wobble = 0.8 + 0.4 * random(bin + 7);
            (start_ms + 50.0 * f64::from(bin), invention.curve_us[2] * wobble)
        })
        .collect();
    Timeline { start_ms, end_ms, points, windows, collections, p99_per_bin }
}

fn point(invention: &Invention, t_ms: f64, i: u32) -> TimelinePoint {
    let nines = -(1.0 - random(i)).log10();
    let latency_us = curve(&invention.curve_us, nines);
    let cause = match (nines * 10.0) as u32 {
        0..=3 => CAUSES[1],
        4..=6 => CAUSES[2],
        7..=9 => CAUSES[3],
        _ if invention.collection_share[2] > 0.5 => CAUSES[5],
        _ if i.is_multiple_of(2) && invention.extra > 0.0 => CAUSES[8],
        _ => CAUSES[3],
    };
    TimelinePoint { t_ms, latency_us, dominant_cause: cause.to_owned() }
}

/// A number from 0 up to 1 that looks random and depends only on `i`.
fn random(i: u32) -> f64 {
    (mix(u64::from(i)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Scatters the bits of a number by multiplying with odd constants and folding.
fn mix(value: u64) -> u64 {
    let mut bits = value.wrapping_add(1).wrapping_mul(0xd134_2543_de82_ef95);
    for _ in 0..3 {
        bits ^= bits >> 31;
        bits = bits.wrapping_mul(0xa24b_aed4_963e_e407);
    }
    bits ^ (bits >> 29)
}
/// Windows of two drives, of which one cannot promise anything in wide arrays.
#[must_use]
pub(crate) fn windows() -> WindowReport {
    let curve = |name: &str, bytes: f64, shortest_ms: f64| WindowCurve {
        name: name.to_owned(),
        points: (4..=24).map(|n| (f64::from(n), bytes / f64::from(n))).collect(),
        shortest_ms,
        own: 8.0,
        asked: Vec::new(),
    };
    let curves = vec![curve("sim", 8_000.0, 658.0), curve("femu", 400.0, 10.0)];
    let text = |line: &str| line.to_owned();
    WindowReport {
        title: text("Busy windows of sim, femu"),
        ioda_version: text("0.0.0"),
        command_line: text("ioda plan"),
        findings: vec![
            Finding { weight: Weight::Warning, text: text("sim, burst: fails") },
            Finding { weight: Weight::Result, text: text("femu, burst: holds for ever") },
        ],
        by_width: curves.clone(),
        by_load: curves
            .into_iter()
            .map(|curve| WindowCurve {
                asked: vec![AskedLoad { name: text("20dwpd"), at: 20.0 }],
                ..curve
            })
            .collect(),
        header: ["per drive", "sim", "femu"].map(text).to_vec(),
        rows: vec![["T_gc ms", "658", "56.8"].map(text).to_vec()],
        notes: vec![text("Invented.")],
    }
}
