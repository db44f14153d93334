//! A load in the form of the simulator's results.

use super::Loaded;
use report::Run;
use study::describe::convert;
use units::MIB;

/// The run of a report: what a client can know. Everything else about it is empty.
pub(crate) fn run_of(loaded: &Loaded, policy: &str, label: &str, capacity_bytes: u64) -> Run {
    let seconds = loaded.length.as_secs_f64();
    let per_second = |value: f64| if seconds > 0.0 { value / seconds } else { 0.0 };
    Run {
        policy: policy.to_owned(),
        label: label.to_owned(),
        capacity_bytes,
        simulated_seconds: seconds,
        wall_seconds: seconds,
        read: convert::latency(&loaded.read),
        write: convert::latency(&loaded.write),
        iops_read: per_second(loaded.read.count() as f64),
        iops_write: per_second(loaded.write.count() as f64),
        mib_per_second_read: per_second(loaded.read_bytes as f64 / MIB as f64),
        mib_per_second_write: per_second(loaded.written_bytes as f64 / MIB as f64),
        write_amplification_device: 1.0,
        write_amplification_array: 1.0,
        ..Run::default()
    }
}
