//! Numbers that experiments show and check: metrics of runs, and those of plans and of the
//! laboratory.

use super::lab::LabNumber;
use super::plan::Planned;
use crate::metric::{Metric, OfDrives, UnknownMetric, three_digits};
use crate::values::typed::Spelled;
use ssd::{Printed, Promise};
use std::fmt;
use std::str::FromStr;
use units::{Duration, GIB, MIB};

/// A number about a run, a plan or a run of the laboratory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Of a run.
    Run(Metric),
    /// Of a plan.
    Plan(PlanNumber),
    /// Of a run of the laboratory.
    Laboratory(LabNumber),
}

/// A number about a plan: which one of `NUMBERS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanNumber(usize);

/// The window that the article's formula gives; infinite where it sets no bound.
fn article(plan: &Planned, load: f64) -> f64 {
    let window = plan.config.window_parameters().longest_window(plan.array, load);
    window.map_or(f64::INFINITY, Duration::as_millis_f64)
}

fn tw_norm(plan: &Planned) -> f64 {
    article(plan, plan.config.normal_bytes_per_second())
}

fn tw_burst(plan: &Planned) -> f64 {
    article(plan, plan.config.contract.burst_bytes_per_second)
}

/// The bound that always holds, without guards.
fn safe(plan: &Planned, load: f64) -> f64 {
    let terms = plan.config.likely_parameters();
    terms.safe_window(plan.array, load, Duration::ZERO).as_millis_f64()
}

fn t_gc(plan: &Planned) -> f64 {
    plan.config.unit_time(plan.config.contract.valid_ratio).as_millis_f64()
}

/// What can be written for ever in the best window for the rated load, in drive writes per day.
fn sustained_dwpd(plan: &Planned) -> f64 {
    let promise = Promise {
        array: plan.array,
        guard: Duration::ZERO,
        load_bytes_per_second: plan.config.normal_bytes_per_second(),
        window: None,
    };
    let outlook = plan.config.outlook(promise);
    outlook.sustainable_bytes_per_second / plan.config.bytes_per_second(1.0)
}

fn printed(plan: &Planned) -> Printed {
    plan.config.printed_table(plan.array)
}

fn any(window: Option<f64>) -> f64 {
    window.unwrap_or(f64::INFINITY)
}

/// A name, and how the number is computed.
type Row = (&'static str, fn(&Planned) -> f64);

/// Their names, and how they are computed: Table 2 without rounding and what it lacks, then with
/// the rounding of the article. MB and GB of the article are MiB and GiB.
const NUMBERS: [Row; 34] = [
    ("s_blk_mib", |p| p.config.block_bytes() as f64 / MIB as f64),
    ("s_t_gib", |p| p.config.geometry.raw_bytes() as f64 / GIB as f64),
    ("s_p_gib", |p| p.config.over_provisioned_bytes() / GIB as f64),
    ("usable_share", |p| p.config.contract.usable_share),
    ("t_gc_ms", t_gc),
    ("s_r_mib", |p| p.config.reclaimed_bytes() / MIB as f64),
    ("b_gc", |p| p.config.collection_bytes_per_second() / MIB as f64),
    ("b_norm", |p| p.config.normal_bytes_per_second() / MIB as f64),
    ("b_burst", |p| p.config.contract.burst_bytes_per_second / MIB as f64),
    ("b_flash", |p| p.config.program_bytes_per_second() / MIB as f64),
    ("n_ssd", |p| f64::from(p.array.width)),
    ("busy_drives", |p| f64::from(p.array.busy_drives())),
    ("tw_norm_ms", tw_norm),
    ("tw_burst_ms", tw_burst),
    ("tw_norm_per_tw_burst", |p| tw_norm(p) / tw_burst(p)),
    ("tw_norm_per_t_gc", |p| tw_norm(p) / t_gc(p)),
    ("tw_burst_per_t_gc", |p| tw_burst(p) / t_gc(p)),
    ("shortest_ms", |p| p.config.shortest_window(Duration::ZERO).as_millis_f64()),
    ("safe.tw_norm_ms", |p| safe(p, p.config.normal_bytes_per_second())),
    ("safe.tw_burst_ms", |p| safe(p, p.config.contract.burst_bytes_per_second)),
    ("safe.tw_flash_ms", |p| safe(p, p.config.program_bytes_per_second())),
    ("sustained_dwpd", sustained_dwpd),
    ("steady_waf", |p| p.config.steady_write_amplification()),
    ("printed.s_blk_mib", |p| printed(p).block_mib),
    ("printed.s_t_gib", |p| printed(p).flash_gib),
    ("printed.s_p_gib", |p| printed(p).over_provisioned_gib),
    ("printed.t_gc_ms", |p| printed(p).unit_time_ms),
    ("printed.s_r_mib", |p| printed(p).reclaimed_mib),
    ("printed.b_gc", |p| printed(p).collection_mib_per_second),
    ("printed.b_norm", |p| printed(p).normal_mib_per_second),
    ("printed.b_burst", |p| printed(p).burst_mib_per_second),
    ("printed.tw_norm_ms", |p| any(printed(p).normal_window_ms)),
    ("printed.tw_burst_ms", |p| any(printed(p).burst_window_ms)),
    ("printed.tw_norm_per_tw_burst", |p| {
        any(printed(p).normal_window_ms) / any(printed(p).burst_window_ms)
    }),
];

impl PlanNumber {
    /// The number for one plan; infinite for a window without bound.
    pub fn of(self, plan: &Planned) -> f64 {
        NUMBERS[self.0].1(plan)
    }
}

impl Number {
    /// Whether it is about plans.
    pub fn is_of_plans(self) -> bool {
        matches!(self, Self::Plan(_))
    }

    /// Whether it is about runs of the laboratory.
    pub fn is_of_laboratory(self) -> bool {
        matches!(self, Self::Laboratory(_))
    }

    /// Whether the reads of single drives must be followed for it.
    pub fn needs_sub_reads(self) -> bool {
        matches!(self, Self::Run(metric) if metric.needs_sub_reads())
    }

    /// Whether it is a latency, in nanoseconds.
    pub fn is_latency(self) -> bool {
        match self {
            Self::Run(metric) => matches!(
                metric,
                Metric::Latency(..)
                    | Metric::OfClass(..)
                    | Metric::OfDrives(OfDrives::Worst | OfDrives::Others, _)
            ),
            Self::Plan(_) => false,
            Self::Laboratory(number) => number.is_latency(),
        }
    }

    /// Whether its sum over several workloads is the number of all of them together.
    pub fn adds_up(self) -> bool {
        match self {
            Self::Run(metric) => metric.adds_up(),
            Self::Plan(_) => false,
            Self::Laboratory(number) => number.adds_up(),
        }
    }

    /// `value` for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Run(metric) => metric.unit().show(value),
            Self::Laboratory(number) => number.show(value),
            Self::Plan(_) if value == f64::INFINITY => "any".to_owned(),
            Self::Plan(_) if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Plan(_) => three_digits(value),
        }
    }
}

/// A number of none of them.
#[derive(Debug)]
pub struct UnknownNumber(UnknownMetric);

impl fmt::Display for UnknownNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
        let of_laboratory: Vec<String> = LabNumber::all().iter().map(ToString::to_string).collect();
        let (plans, laboratory) = (names.join(", "), of_laboratory.join(", "));
        write!(f, "{}; of plans {plans}; of the laboratory {laboratory}", self.0)
    }
}

impl std::error::Error for UnknownNumber {}

impl Spelled for Number {
    const TYPE: &str = "metric, such as `read.p99`, `waf` or `busy2plus`; of plans such as `tw_burst_ms`; of the laboratory such as \
         `own.p99`";
}

impl FromStr for Number {
    type Err = UnknownNumber;

    fn from_str(text: &str) -> Result<Self, UnknownNumber> {
        match NUMBERS.iter().position(|(name, _)| *name == text) {
            Some(index) => Ok(Self::Plan(PlanNumber(index))),
            None => match text.parse() {
                Ok(number) => Ok(Self::Laboratory(number)),
                Err(()) => text.parse().map(Self::Run).map_err(UnknownNumber),
            },
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(metric) => metric.fmt(f),
            Self::Plan(PlanNumber(index)) => f.write_str(NUMBERS[*index].0),
            Self::Laboratory(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_number() {
        for (index, (name, _)) in NUMBERS.iter().enumerate() {
            assert_eq!(name.parse::<Number>().unwrap(), Number::Plan(PlanNumber(index)), "{name}");
            assert!(name.parse::<Metric>().is_err(), "{name} is a metric of runs, too");
        }
        for number in LabNumber::all() {
            let name = number.to_string();
            assert_eq!(name.parse::<Number>().unwrap(), Number::Laboratory(number), "{name}");
            assert!(name.parse::<Metric>().is_err(), "{name} is a metric of runs, too");
        }
        assert_eq!("read.p99".parse::<Number>().unwrap().to_string(), "read.p99");
        let error = "tw".parse::<Number>().unwrap_err().to_string();
        assert!(error.contains("busy2plus") && error.contains("of plans s_blk_mib"), "{error}");
    }

    #[test]
    fn windows_without_bound_are_any() {
        let number: Number = "tw_norm_ms".parse().unwrap();
        assert_eq!(number.show(f64::INFINITY), "any");
        assert_eq!((number.show(256.0), number.show(7.88)), ("256".to_owned(), "7.88".to_owned()));
    }
}
