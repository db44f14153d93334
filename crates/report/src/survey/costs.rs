//! What each policy of a survey costs, in one table for terminals, JSON and the page.

use super::Survey;
use crate::document::Run;
use crate::format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the policy whose device reads and processor time are the unit.
const BASE: &str = "base";

/// What one policy costs. Totals are over all workloads and seeds that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCosts {
    /// Name of the policy.
    pub policy: String,
    /// Reads sent to drives as a multiple of those of Base under the same workloads and seeds; none
    /// without Base.
    pub device_reads_of_base: Option<f64>,
    /// Pages computed from other members, per read of the host.
    pub rebuilds_per_host_read: Option<f64>,
    /// Most memory of the host that held data for the policy at once, in bytes, in any run.
    pub host_buffer_peak_bytes: u64,
    /// Write amplification of the drives: pages of flash that they programmed, parity within them
    /// and what collections moved included, per page programmed for a write of the array.
    pub write_amplification_device: Option<f64>,
    /// Requests per simulated second at saturation, as (reads in per cent, requests per second).
    pub saturation_iops: Vec<(u32, f64)>,
    /// Processor time of array and policy per request of the host in nanoseconds, measured on the
    /// machine of the survey.
    pub processor_nanos_per_io: Option<f64>,
    /// The same as a multiple of Base.
    pub processor_of_base: Option<f64>,
    /// Share of the flash that the host cannot use for its data, from 0 to 1: over-provisioning,
    /// parity, mirrors and reserves.
    pub capacity_lost: Option<f64>,
    /// What the policy needs of the drives beyond what any drive can do; empty if nothing.
    pub drive_changes: String,
}

/// The costs of every policy of `survey`, in its order.
#[must_use]
pub fn costs(survey: &Survey) -> Vec<PolicyCosts> {
    survey
        .policies
        .iter()
        .map(|policy| {
            let runs: Vec<&Run> = runs_of(survey, &policy.name).map(|(_, run)| run).collect();
            let sum = |number: fn(&Run) -> u64| runs.iter().map(|run| number(run)).sum::<u64>();
            let host_reads = sum(|run| run.read.count);
            let written = sum(|run| run.host_programs_pages);
            let programmed: f64 = runs
                .iter()
                .map(|run| run.write_amplification_device * run.host_programs_pages as f64)
                .sum();
            let processor = survey.processor.iter().find(|time| time.policy == policy.name);
            let known = policy.flash_bytes > 0;
            PolicyCosts {
                policy: policy.name.clone(),
                device_reads_of_base: device_reads_of_base(survey, &policy.name),
                rebuilds_per_host_read: ratio(sum(|run| run.rebuilds) as f64, host_reads as f64),
                host_buffer_peak_bytes: host_buffer_peak_bytes(&runs),
                write_amplification_device: ratio(programmed, written as f64),
                saturation_iops: saturation_iops(survey, &policy.name),
                processor_nanos_per_io: processor.map(|time| time.nanos_per_io),
                processor_of_base: processor.and_then(|time| time.of_base),
                capacity_lost: known
                    .then(|| 1.0 - policy.capacity_bytes as f64 / policy.flash_bytes as f64),
                drive_changes: policy.drive_changes.clone(),
            }
        })
        .collect()
}

/// The runs of `policy` that ended, each with its workload and seed.
fn runs_of<'a>(
    survey: &'a Survey,
    policy: &str,
) -> impl Iterator<Item = ((&'a str, &'a str), &'a Run)> {
    survey.runs.iter().filter(move |run| run.policy == policy).filter_map(|run| {
        let key = (run.workload.as_str(), run.seed.as_str());
        run.outcome.measured().map(|measured| (key, measured))
    })
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Over the workloads and seeds that ended under both.
fn device_reads_of_base(survey: &Survey, policy: &str) -> Option<f64> {
    let (mut own, mut base) = (0, 0);
    for (key, run) in runs_of(survey, policy) {
        if let Some((_, of_base)) = runs_of(survey, BASE).find(|(other, _)| *other == key) {
            own += run.device_reads;
            base += of_base.device_reads;
        }
    }
    ratio(own as f64, base as f64)
}

/// Runs that held nothing back in fast memory say nothing about it.
fn host_buffer_peak_bytes(runs: &[&Run]) -> u64 {
    let stages = runs.iter().filter_map(|run| run.stage.as_ref());
    stages.map(|stage| stage.host_buffer_peak_bytes).max().unwrap_or(0)
}

fn saturation_iops(survey: &Survey, policy: &str) -> Vec<(u32, f64)> {
    let own = survey.saturation.iter().filter(|run| run.policy == policy);
    own.filter_map(|run| Some((run.read_percent, run.iops?))).collect()
}

/// A column of the table: what it is called, and what it says of a policy.
pub(crate) struct Column {
    /// Its header.
    pub(crate) name: String,
    /// What is measured, in a sentence.
    pub(crate) meaning: &'static str,
    cell: Box<dyn Fn(&PolicyCosts) -> String>,
}

impl Column {
    fn new(
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl Fn(&PolicyCosts) -> String + 'static,
    ) -> Self {
        Self { name: name.into(), meaning, cell: Box::new(cell) }
    }

    /// What the column says of a policy.
    pub(crate) fn cell(&self, costs: &PolicyCosts) -> String {
        (self.cell)(costs)
    }
}

/// The columns of numbers, in order; the changes of drives are words and come after them.
pub(crate) fn columns(all: &[PolicyCosts]) -> Vec<Column> {
    let mut mixes: Vec<u32> = all
        .iter()
        .flat_map(|costs| costs.saturation_iops.iter().map(|&(read_percent, _)| read_percent))
        .collect();
    mixes.sort_unstable_by(|a, b| b.cmp(a));
    mixes.dedup();
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let mut columns = vec![
        Column::new("device reads", "Reads sent to drives, × those of Base.", move |costs| {
            or_none(costs.device_reads_of_base.map(format::ratio))
        }),
        Column::new(
            "rebuilds / read",
            "Parts of stripes computed from other members, per read of the host.",
            move |costs| or_none(costs.rebuilds_per_host_read.map(small)),
        ),
        Column::new(
            "host buffer",
            "Most memory of the host that held data for the policy at once.",
            |costs| match costs.host_buffer_peak_bytes {
                0 => "0".to_owned(),
                bytes => format::bytes(bytes),
            },
        ),
        Column::new(
            "WAF",
            "Write amplification of the drives: pages of flash programmed per page that the array wrote to them.",
            move |costs| or_none(costs.write_amplification_device.map(format::three_digits)),
        ),
    ];
    for read_percent in mixes {
        columns.push(Column::new(
            format!("kIOPS {read_percent}/{}", 100 - read_percent),
            "Thousand requests of one page per second at saturation, reads/writes in per cent.",
            move |costs| {
                let of_mix = costs.saturation_iops.iter().find(|mix| mix.0 == read_percent);
                or_none(of_mix.map(|&(_, iops)| format::three_digits(iops / 1e3)))
            },
        ));
    }
    columns.extend([
        Column::new(
            "CPU ns / IO",
            "Processor time of array and policy per request, without any drive model.",
            move |costs| or_none(costs.processor_nanos_per_io.map(|ns| format!("{ns:.0}"))),
        ),
        Column::new("CPU", "The same, × that of Base in the same measurement.", move |costs| {
            or_none(costs.processor_of_base.map(format::ratio))
        }),
        Column::new(
            "capacity lost",
            "Share of the flash that cannot hold data of the host: over-provisioning, parity, \
             mirrors and reserves.",
            move |costs| or_none(costs.capacity_lost.map(|share| format::percent(100.0 * share))),
        ),
    ]);
    columns
}

/// The changes of drives in words.
pub(crate) fn drive_changes(costs: &PolicyCosts) -> &str {
    if costs.drive_changes.is_empty() { "nothing" } else { &costs.drive_changes }
}

/// A number that may be far below 1; nothing is `0`.
fn small(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value < 0.001 {
        format!("{value:.0e}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::Outcome;

    #[test]
    fn costs_are_totals_over_workloads_and_seeds() {
        let mut survey = crate::sample::survey();
        let costs = costs(&survey);
        let of = |name: &str| costs.iter().find(|costs| costs.policy == name).unwrap();
        assert_eq!(of("base").device_reads_of_base, Some(1.0));
        assert!(of("ioda").device_reads_of_base.unwrap() > 1.0);
        assert_eq!(of("base").saturation_iops.len(), 3);
        assert_eq!(of("ioda").capacity_lost, Some(0.4));
        assert_eq!((of("mirror").capacity_lost, of("mirror").processor_of_base), (None, None));
        // The seed that failed under IOD1 is left out on both sides.
        let sum = |policy: &str, keep: fn((&str, &str)) -> bool| -> u64 {
            let kept = runs_of(&survey, policy).filter(|(key, _)| keep(*key));
            kept.map(|(_, run)| run.device_reads).sum()
        };
        let ended = |key: (&str, &str)| key != ("azure", "2");
        let expected = sum("iod1", |_| true) as f64 / sum("base", ended) as f64;
        assert_eq!(of("iod1").device_reads_of_base, Some(expected));
        survey.runs.iter_mut().for_each(|run| run.outcome = Outcome::Failed(String::new()));
        assert_eq!(super::costs(&survey)[0].write_amplification_device, None);
    }

    #[test]
    fn every_mix_has_a_column() {
        let costs = costs(&crate::sample::survey());
        let names: Vec<String> = columns(&costs).into_iter().map(|column| column.name).collect();
        let mixes: Vec<&str> =
            names.iter().filter_map(|name| name.strip_prefix("kIOPS ")).collect();
        assert_eq!(mixes, ["100/0", "80/20", "0/100"]);
    }
}
