//! An invented survey, from the runs of the invented comparison.

use super::{INVENTIONS, comparison};
use ioda_report::survey::{
    Outcome, ProcessorTime, SaturationRun, Survey, SurveyPolicy, SurveyRun, SurveyWorkload, costs,
};
use ioda_report::{Latency, Percentile, Run, WriteCacheCounters};

/// Two workloads, two seeds, six policies of which one failed once, and one that could not be run.
#[must_use]
pub(crate) fn survey() -> Survey {
    let text = |text: &str| text.to_owned();
    let mut survey = Survey {
        title: text("Invented numbers: 7 policies under 2 workloads, 2 seeds"),
        ioda_version: text("0.1.0"),
        command_line: text("ioda survey"),
        drive: text("femu: 16 GiB, pages of 4 KiB"),
        array: text("raid5 of 4 drives, chunk 4 KiB"),
        configuration_toml: text("[array]\ndrives = 4\n"),
        seeds: vec![text("1"), text("2")],
        notes: vec![text("These numbers are invented to show the layout.")],
        policies: policies(),
        workloads: ["tpcc", "azure"].map(workload).to_vec(),
        runs: runs(),
        saturation: saturation(),
        processor: processor(),
        costs: Vec::new(),
    };
    survey.costs = costs(&survey);
    survey
}

fn policies() -> Vec<SurveyPolicy> {
    let text = |text: &str| text.to_owned();
    let mut policies: Vec<SurveyPolicy> = INVENTIONS
        .iter()
        .map(|invention| SurveyPolicy {
            name: invention.policy.to_lowercase(),
            label: text(invention.policy),
            summary: text("an invented policy"),
            source: text("nowhere"),
            drive_changes: text(if invention.windows {
                "the PL flag and busy windows"
            } else {
                ""
            }),
            level: text("raid5"),
            capacity_bytes: 36 << 30,
            flash_bytes: 60 << 30,
            refused: String::new(),
        })
        .collect();
    policies.push(SurveyPolicy {
        name: text("mirror"),
        label: text("Mirror"),
        refused: text("it needs mirrors"),
        ..SurveyPolicy::default()
    });
    policies
}

fn workload(name: &str) -> SurveyWorkload {
    SurveyWorkload {
        name: name.to_owned(),
        description: "an invented workload".to_owned(),
        requests: 937_500,
        rate: 0.5,
        notes: vec!["re-rated to 0.5 × the intensity of its table".to_owned()],
    }
}

fn runs() -> Vec<SurveyRun> {
    let mut runs = Vec::new();
    for (seed, of_seed) in [("1", 1.0), ("2", 1.1)] {
        for (workload, of_workload) in [("tpcc", 1.0), ("azure", 0.6)] {
            for run in comparison().runs {
                let policy = run.policy.to_lowercase();
                let failed = (seed, workload, policy.as_str()) == ("2", "azure", "iod1");
                let outcome = match failed {
                    true => Outcome::Failed("nothing moved".to_owned()),
                    false => Outcome::Measured(Box::new(scaled(run, of_seed * of_workload))),
                };
                let (workload, seed) = (workload.to_owned(), seed.to_owned());
                runs.push(SurveyRun { policy, workload, seed, outcome });
            }
        }
    }
    runs
}

/// `run`, so many times as slow, without what surveys do not record.
fn scaled(run: Run, factor: f64) -> Run {
    let latency = |latency: Latency| Latency {
        mean_us: latency.mean_us * factor,
        min_us: latency.min_us * factor,
        max_us: latency.max_us * factor,
        percentiles: latency
            .percentiles
            .into_iter()
            .map(|entry| Percentile { value_us: entry.value_us * factor, ..entry })
            .collect(),
        cdf: latency.cdf.into_iter().map(|(share, us)| (share, us * factor)).collect(),
        ..latency
    };
    Run {
        read: latency(run.read),
        write: latency(run.write),
        device_reads: (run.device_reads as f64 * factor) as u64,
        timeline: None,
        windows: Vec::new(),
        p99_over_time: Vec::new(),
        free_over_time: Vec::new(),
        stage: (run.policy == "IOD3").then(|| WriteCacheCounters {
            host_buffer_peak_bytes: 3 << 20,
            ..WriteCacheCounters::default()
        }),
        ..run
    }
}

fn saturation() -> Vec<SaturationRun> {
    let mut all = Vec::new();
    for run in comparison().runs {
        for read_percent in [100, 80, 0] {
            let policy = run.policy.to_lowercase();
            let share = f64::from(read_percent) / 100.0;
            let iops = 20_000.0 + 400_000.0 * share;
            let (iops_read, iops_write) = (iops * share, iops * (1.0 - share));
            let measured = Run { iops_read, iops_write, ..scaled(run.clone(), 1.0) };
            let (iops, outcome) = (Some(iops), Outcome::Measured(Box::new(measured)));
            all.push(SaturationRun { policy, read_percent, clients: 256, iops, outcome });
        }
    }
    all
}

fn processor() -> Vec<ProcessorTime> {
    let time = |(index, policy): (u32, String)| {
        let of_base = 1.0 + 0.1 * f64::from(index);
        ProcessorTime { policy, nanos_per_io: 250.0 * of_base, of_base: Some(of_base) }
    };
    (0..).zip(INVENTIONS.iter().map(|one| one.policy.to_lowercase())).map(time).collect()
}
