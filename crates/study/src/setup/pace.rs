//! From loads on each drive to the rates of a synthetic workload.

use crate::failure::Failure;
use crate::settings::WorkloadSettings;
use crate::setup::load::{bytes_per_request, six_digits};
use crate::values::rate::{DriveLoad, RequestRate, bandwidth};
use sim::Plan;
use workload::{Phase, Synthetic};

/// Gives `synthetic` the rates that `words` ask for on the array of `plan`; notes say which
/// number of requests a load on each drive comes to.
pub(super) fn set_rates(
    synthetic: &mut Synthetic,
    words: &WorkloadSettings,
    plan: &Plan,
    capacity: u64,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let loads: Vec<DriveLoad> = words
        .rate_iops
        .iter()
        .map(|text| text.value)
        .chain(words.phases.iter().map(|text| text.value.rate))
        .filter_map(|rate| match rate {
            RequestRate::To(load) => Some(load),
            RequestRate::PerSecond(_) => None,
        })
        .collect();
    let bytes_each = match loads.first() {
        None => 0.0,
        Some(first) => {
            let bytes = bytes_per_request(plan, synthetic, capacity)?;
            if bytes <= 0.0 {
                return Err(Failure::usage(format!(
                    "a rate of {first} is about writes, but this workload only reads; give a \
                     number of requests per second instead, or another --rw"
                )));
            }
            bytes
        }
    };
    let mut known: Vec<DriveLoad> = Vec::new();
    let mut resolve = |rate: RequestRate| match rate {
        RequestRate::PerSecond(requests) => requests,
        RequestRate::To(load) => {
            let bytes_per_second = load.bytes_per_second(&plan.drive);
            let hosts = f64::from(synthetic.numjobs);
            let requests = six_digits(bytes_per_second / bytes_each / hosts);
            if !known.contains(&load) {
                known.push(load);
                notes.push(format!(
                    "{requests} requests per second write {} to each drive: {load}",
                    bandwidth(bytes_per_second)
                ));
            }
            requests
        }
    };
    synthetic.rate_iops = words.rate_iops.as_ref().map(|text| resolve(text.value));
    let phase = |rate_iops, length| Phase { rate_iops, length };
    synthetic.phases = words
        .phases
        .iter()
        .map(|text| phase(resolve(text.value.rate), text.value.length))
        .collect();
    Ok(())
}
