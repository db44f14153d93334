//! Runs as jobs of fio, for `--fio-json`.

use report::fio::{Job, Steps};
use sim::LatencySummary;
use units::{Duration, GIB, KIB, MIB};
use workload::{Arrival, PresetSource, Rw, Source, Synthetic};

/// A job whose requests come from `source`.
pub fn job(source: &Source, read: &LatencySummary, write: &LatencySummary) -> Job {
    Job { options: options(source), read: steps(read), write: steps(write) }
}

fn steps(latency: &LatencySummary) -> Steps {
    latency.recorded().map(|(latency, count)| (latency.as_nanos(), count)).collect()
}

/// A workload in fio's words, as far as fio has words for it.
fn options(source: &Source) -> Vec<(&'static str, String)> {
    match source {
        Source::Synthetic(synthetic) => of_synthetic(synthetic),
        Source::Preset(source) => of_preset(source),
        Source::Trace(source) => {
            vec![("read_iolog", source.trace.path().display().to_string())]
        }
    }
}

fn of_synthetic(synthetic: &Synthetic) -> Vec<(&'static str, String)> {
    let mut options = vec![("rw", synthetic.rw.to_string())];
    if matches!(synthetic.rw, Rw::ReadWrite | Rw::RandRw) {
        options.push(("rwmixread", synthetic.rwmixread.to_string()));
    }
    let bs = synthetic.bs;
    options.push(match synthetic.bsrange {
        Some(range) => ("bsrange", format!("{}-{}", size(range.smallest), size(range.largest))),
        None if bs.read == bs.write => ("bs", size(bs.read)),
        None => ("bs", format!("{},{}", size(bs.read), size(bs.write))),
    });
    options.push(("numjobs", synthetic.numjobs.to_string()));
    if let Arrival::Closed { iodepth, .. } = synthetic.arrival() {
        options.push(("iodepth", iodepth.total().to_string()));
    }
    if let Some(rate) = synthetic.rate_iops {
        options.push(("rate_iops", rate.to_string()));
        options.push(("rate_process", synthetic.rate_process.to_string()));
    }
    options.push(("size", size(synthetic.size)));
    if synthetic.offset > 0 {
        options.push(("offset", size(synthetic.offset)));
    }
    if synthetic.rw.is_random() {
        options.push(("random_distribution", synthetic.random_distribution.to_string()));
    }
    if let Some(requests) = synthetic.number_ios {
        options.push(("number_ios", requests.to_string()));
    }
    if let Some(runtime) = synthetic.runtime {
        options.push(("runtime", time(runtime)));
    }
    options
}

/// What fio's words say of a preset: its sizes and arrivals have distributions of their own.
fn of_preset(source: &PresetSource) -> Vec<(&'static str, String)> {
    let PresetSource { preset, requests, rate, .. } = source;
    let rate_iops = rate / preset.mean_interval.as_secs_f64();
    vec![
        ("rw", Rw::RandRw.to_string()),
        ("rwmixread", format!("{:.0}", 100.0 * preset.read_share.as_f64())),
        ("bsrange", format!("{}-{}", size(4 * KIB), size(preset.max_bytes))),
        ("rate_iops", format!("{rate_iops:.0}")),
        ("number_ios", requests.unwrap_or(preset.requests).to_string()),
    ]
}

/// A size as it is typed for fio.
fn size(bytes: u64) -> String {
    for (unit, letter) in [(GIB, "g"), (MIB, "m"), (KIB, "k")] {
        if bytes > 0 && bytes.is_multiple_of(unit) {
            return format!("{}{letter}", bytes / unit);
        }
    }
    bytes.to_string()
}

/// A time as it is typed for fio: seconds without a unit.
fn time(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    match nanos.is_multiple_of(1_000_000_000) {
        true => (nanos / 1_000_000_000).to_string(),
        false => format!("{}us", nanos / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::BlockSizes;

    fn text(source: &Source) -> String {
        let options = options(source).into_iter().map(|(key, value)| format!("{key}={value}"));
        options.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_synthetic_workload_has_the_options_that_describe_it() {
        let closed = Synthetic {
            rw: Rw::RandRw,
            rwmixread: 70,
            bs: BlockSizes { read: 4_096, write: 131_072 },
            iodepth: 32.into(),
            size: 1 << 30,
            number_ios: Some(500),
            runtime: Some(Duration::from_secs(30)),
            ..Synthetic::default()
        };
        assert_eq!(
            text(&Source::from(closed.clone())),
            "rw=randrw rwmixread=70 bs=4k,128k numjobs=1 iodepth=32 size=1g random_distribution=random \
             number_ios=500 runtime=30"
        );
        let two = Synthetic {
            iodepth: workload::IoDepth::Apart { reads: 64, writes: 32 },
            ..closed.clone()
        };
        assert!(text(&Source::from(two)).contains(" iodepth=96 "));
        let open = Synthetic {
            rw: Rw::Write,
            bs: BlockSizes { read: 512, write: 512 },
            rate_iops: Some(2_000.0),
            number_ios: None,
            runtime: Some(Duration::from_micros(1_500)),
            offset: 3 << 20,
            ..closed
        };
        assert_eq!(
            text(&Source::from(open)),
            "rw=write bs=512 numjobs=1 rate_iops=2000 rate_process=poisson size=1g offset=3m runtime=1500us"
        );
    }

    #[test]
    fn a_preset_has_its_mix_its_sizes_and_its_rate() {
        let preset = workload::preset("tpcc").unwrap();
        let source = Source::Preset(PresetSource {
            requests: Some(10),
            rate: 0.5,
            ..PresetSource::new(preset, 1)
        });
        let text = text(&source);
        assert!(text.starts_with("rw=randrw rwmixread="), "{text}");
        let rate = 0.5 / preset.mean_interval.as_secs_f64();
        assert!(text.ends_with(&format!("rate_iops={rate:.0} number_ios=10")), "{text}");
    }
}
