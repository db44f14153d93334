//! An invented experiment of the laboratory.

use ioda_report::lab::{
    ArrayMeasured, LabApplication, LabExperiment, LabMeasured, LabRun, LabSystem, PERCENTILES,
    Second, Unjudged,
};
use std::collections::BTreeMap;

/// Six applications on five systems. One run failed, one application was not timed, and the last
/// was followed second by second while a drive failed.
#[must_use]
pub(crate) fn lab() -> LabExperiment {
    let text = |text: &str| text.to_owned();
    let systems =
        [("md", "md"), ("base", "Base"), ("ioda", "IODA"), ("ideal", "Ideal"), ("quiet", "Quiet")];
    let factors = [2.0, 1.8, 1.05, 1.0, 0.95];
    let names = ["fileserver", "webserver", "webproxy", "varmail", "videoserver", "oltp"];
    let application = |(index, name): (usize, &str)| {
        let run = |((system, _), factor): (&(&str, &str), f64)| {
            let is_lost = (name, *system) == ("videoserver", "base");
            let mut measured = measured(factor, 10.0 * (1.0 + index as f64));
            if name == "webproxy" {
                (measured.mean_us, measured.percentiles_us) = (None, None);
            }
            if name == "oltp" {
                measured.timeline = Some(timeline(factor));
            }
            LabRun { system: text(system), measured: (!is_lost).then_some(measured) }
        };
        LabApplication {
            name: text(name),
            application: text(name),
            file_system: text("ext4"),
            runs: systems.iter().zip(factors).map(run).collect(),
        }
    };
    LabExperiment {
        id: text("figure-9a"),
        figure: text("Figure 9a"),
        title: text("Invented numbers: six personalities"),
        facts: vec![(text("memory"), text("4G")), (text("kernel"), text("linux-0123456789abcdef"))],
        systems: systems
            .iter()
            .map(|(name, label)| LabSystem { name: text(name), label: text(label) })
            .collect(),
        applications: names.into_iter().enumerate().map(application).collect(),
        claims: super::comparison().claims,
        unjudged: vec![Unjudged {
            id: text("9a-later"),
            why: text("no run of videoserver under Base"),
        }],
    }
}

fn percentiles(factor: f64, first: f64) -> Option<BTreeMap<String, f64>> {
    let of = |(index, name): (usize, &&str)| {
        let tail = 4f64.powi(i32::try_from(index).unwrap_or(0));
        ((*name).to_owned(), first * tail * factor.powi(2))
    };
    Some(PERCENTILES.iter().enumerate().map(of).collect())
}

fn measured(factor: f64, seconds: f64) -> LabMeasured {
    LabMeasured {
        kind: Some("filebench".to_owned()),
        seconds: seconds * factor,
        operations: 12_345,
        operations_per_second: Some(12_345.0 / seconds / factor),
        operation: Some("read".to_owned()),
        mean_us: Some(150.0 * factor),
        percentiles_us: percentiles(factor, 90.0),
        array: ArrayMeasured {
            reads: 34_567,
            writes: 8_901,
            stripe_reads: 40_000,
            met: 1_234,
            mean_us: Some(80.0 * factor),
            percentiles_us: percentiles(factor, 60.0),
        },
        processor: None,
        timeline: None,
    }
}

/// Half a minute in which a drive fails in the tenth second, and nothing is answered in the
/// eleventh.
fn timeline(factor: f64) -> Vec<Second> {
    let second = |second: u64| {
        let is_silent = second == 11;
        let slow = if second == 10 { 20.0 } else { 1.0 };
        let of = |us: f64| (!is_silent).then_some(us * factor * slow);
        let event = match second {
            10 => Some("drive 2 fails".to_owned()),
            20 => Some("drive 2 is replaced".to_owned()),
            _ => None,
        };
        Second {
            second,
            operations: if is_silent { 0 } else { (900.0 / factor) as u64 },
            p50_us: of(100.0),
            p99_us: of(900.0),
            max_us: of(5_000.0),
            event,
        }
    };
    (0..30).map(second).collect()
}
