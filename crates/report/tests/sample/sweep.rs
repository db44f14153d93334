//! An invented sweep.

use ioda_report::sweep::{
    Measured, Outcome, Parameter, Scale, Sweep, SweepMetric, SweepPoint, SweepPolicy, SweepRun,
    Unit, Value,
};

/// Two policies and two seeds over three widths and, if `parameters` is 2, five loads. Arrays of
/// eight drives cannot be built, and one run failed.
#[must_use]
pub(crate) fn sweep(parameters: usize) -> Sweep {
    let text = |text: &str| text.to_owned();
    let width = parameter("width", "array.drives", &["4", "8", "16"], Scale::Linear);
    let loads = ["0.01", "0.02", "0.04", "0.06", "0.08"];
    let load = parameter("load", "workload.rerate", &loads, Scale::Logarithmic);
    let all: Vec<Parameter> = [width, load].into_iter().take(parameters).collect();
    let loads: &[&str] = if parameters == 2 { &loads } else { &["0.04"] };
    let mut points = Vec::new();
    for width in ["4", "8", "16"] {
        points.extend(loads.iter().map(|load| SweepPoint {
            values: [text(width), text(load)][..parameters].to_vec(),
            notes: vec![format!("invented load {load}")],
        }));
    }
    let metric = |name, unit| SweepMetric { name: text(name), unit };
    Sweep {
        title: text("Invented numbers: a sweep"),
        ioda_version: text("0.1.0"),
        command_line: text("ioda sweep --vary width=4,8,16"),
        facts: vec![(text("workload"), text("tpcc")), (text("drive"), text("femu: 16 GiB"))],
        configuration_toml: text("[array]\ndrives = 4\n"),
        seeds: vec![text("1"), text("2")],
        policies: [("base", "Base"), ("ioda", "IODA")]
            .map(|(name, label)| SweepPolicy { name: text(name), label: text(label) })
            .to_vec(),
        metrics: vec![metric("read.p99.9", Unit::Microseconds), metric("waf", Unit::Number)],
        runs: runs(&points),
        parameters: all,
        points,
        notes: Vec::new(),
    }
}

fn parameter(name: &str, key: &str, values: &[&str], scale: Scale) -> Parameter {
    let value = |text: &&str| Value {
        text: (*text).to_owned(),
        position: text.parse().unwrap_or_default(),
    };
    let values = values.iter().map(value).collect();
    Parameter { name: name.to_owned(), key: key.to_owned(), values, scale }
}

fn runs(points: &[SweepPoint]) -> Vec<SweepRun> {
    let mut runs = Vec::new();
    for (seed, of_seed) in [("1", 1.0), ("2", 1.1)] {
        for (point, SweepPoint { values, .. }) in points.iter().enumerate() {
            for (policy, of_policy) in [("base", 40.0), ("ioda", 1.0)] {
                let factor = of_seed * of_policy * (1.0 + point as f64);
                let outcome = match (seed, values[0].as_str(), policy) {
                    (_, "8", _) => Outcome::Refused("no such width".to_owned()),
                    ("2", "16", "base") => Outcome::Failed("nothing moved".to_owned()),
                    _ => Outcome::Measured(measured(factor)),
                };
                let (policy, seed) = (policy.to_owned(), seed.to_owned());
                runs.push(SweepRun { point, policy, seed, outcome });
            }
        }
    }
    runs
}

fn measured(factor: f64) -> Measured {
    let metrics = [
        ("read.p99.9", 900.0 * factor),
        ("read.p99", 450.0 * factor),
        ("waf", 1.0 + factor / 100.0),
    ];
    Measured {
        result_hash: "0123456789abcdef".to_owned(),
        metrics: metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        few_samples: std::iter::once("read.p99.9".to_owned()).collect(),
        ..Measured::default()
    }
}
