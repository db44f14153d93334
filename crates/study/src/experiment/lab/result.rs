//! Results of runs, as scripts of the laboratory write them, and what comes of them.

use super::job::{LabJob, Made};
use super::{Experiment, System};
use crate::experiment::claim::Expectation;
use crate::experiment::judge::judge;
use crate::experiment::number::Number;
use crate::experiment::runs::Results;
use crate::experiment::series::Subject;
use crate::values::quantity::Text;
use report::lab::{LabApplication, LabExperiment, LabMeasured, LabRun, PERCENTILES, Unjudged};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the result of `job`.
///
/// # Errors
///
/// If it is not one, in a sentence that names the file.
pub(super) fn read(path: &Path, job: &LabJob) -> Result<(LabMeasured, Value), String> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let refused = |why: String| format!("{shown} is no result of the laboratory: {why}");
    let value: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    let names = [
        ("application", job.application.as_str()),
        ("file_system", job.file_system.name()),
        ("system", &job.system.to_string()),
    ];
    for (field, wanted) in names {
        let found = value.get(field).unwrap_or(&Value::Null);
        if found.as_str() != Some(wanted) {
            return Err(refused(format!("its {field} is {found}, but {wanted} was run")));
        }
    }
    let measured = LabMeasured::deserialize(&value).map_err(|error| refused(error.to_string()))?;
    check(&measured).map_err(refused)?;
    Ok((measured, value))
}

/// Refuses numbers that cannot be.
fn check(measured: &LabMeasured) -> Result<(), String> {
    if measured.seconds <= 0.0 {
        return Err(format!("seconds is {}; it must be above 0", measured.seconds));
    }
    let latencies = [
        ("percentiles_us", &measured.percentiles_us),
        ("array.percentiles_us", &measured.array.percentiles_us),
    ];
    for (field, percentiles) in latencies {
        for (name, &us) in percentiles.iter().flatten() {
            if !PERCENTILES.contains(&name.as_str()) {
                let known = PERCENTILES.join(", ");
                return Err(format!("{field} has {name:?}; it may have {known}"));
            }
            if us < 0.0 {
                return Err(format!("{field} has {us} at {name}; it must be 0 or more"));
            }
        }
    }
    Ok(())
}

/// `experiment` with what was `made`, and its claims judged.
pub fn judged(experiment: &Experiment, made: &Made) -> LabExperiment {
    let applications: Vec<LabApplication> = experiment
        .tables()
        .into_iter()
        .map(|(name, application, file_system)| {
            let run = |system: &Text<System>| {
                let over = system.value.over(&experiment.drive);
                LabRun {
                    system: system.value.to_string(),
                    measured: made.measured(application, file_system, &over).cloned(),
                }
            };
            LabApplication {
                name,
                application: application.to_owned(),
                file_system: file_system.name().to_owned(),
                runs: experiment.systems.iter().map(run).collect(),
            }
        })
        .collect();
    let grid = applications
        .iter()
        .map(|one| one.runs.iter().map(|run| run.measured.as_ref()).collect())
        .collect();
    let results = Results::of_laboratory(grid);
    let subject = Subject {
        figure: &experiment.figure,
        tables: applications.iter().map(|one| one.name.as_str()).collect(),
        series: experiment.series(),
    };
    let (mut claims, mut unjudged) = (Vec::new(), Vec::new());
    for claim in &experiment.claims {
        match missing(claim, &subject, &results) {
            None => claims.extend(judge(&subject, std::slice::from_ref(claim), &results)),
            Some(why) => unjudged.push(Unjudged { id: claim.id.clone(), why }),
        }
    }
    let words = |all: Vec<&str>| all.join(", ");
    let facts = [
        ("applications", words(experiment.applications.iter().map(String::as_str).collect())),
        ("file systems", words(experiment.file_systems.iter().map(|one| one.name()).collect())),
        ("drive", experiment.drive.clone()),
        ("processors", if experiment.processors { "take time" } else { "take no time" }.to_owned()),
        ("memory", experiment.memory.clone()),
        ("kernel", made.kernel.clone()),
        ("ioda", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    LabExperiment {
        id: experiment.id.clone(),
        figure: experiment.figure.clone(),
        title: experiment.title.clone(),
        facts: facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        systems: experiment.documented_systems(),
        applications,
        claims,
        unjudged,
    }
}

/// What a claim needs and `results` have not, in words; none if it can be judged.
fn missing(claim: &Expectation, subject: &Subject<'_>, results: &Results<'_>) -> Option<String> {
    let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (index, table) in subject.tables.iter().enumerate() {
        if !claim.workloads.is_empty() && !claim.workloads.iter().any(|name| name == table) {
            continue;
        }
        for name in claim.check.series() {
            let Some(series) = subject.series.iter().find(|one| one.is_called(name)) else {
                continue;
            };
            let lacks = |number: &Number| results.value(index, series, *number).is_none();
            let numbers: Vec<String> =
                claim.check.numbers().filter(lacks).map(|number| number.to_string()).collect();
            let label = &series.label;
            let what = match (results.has_run(index, series), numbers.as_slice()) {
                (_, []) => continue,
                (false, _) => "run".to_owned(),
                (true, numbers) => numbers.join(", "),
            };
            let places = lacking.entry(what).or_default();
            let place = format!("{table} under {label}");
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let words =
        lacking.into_iter().map(|(what, places)| format!("no {what} of {}", places.join(", ")));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::lab::FileSystem;

    fn job() -> LabJob {
        LabJob {
            application: "sort".to_owned(),
            file_system: FileSystem::Ext4,
            system: "md@plain".parse().unwrap(),
            processors: false,
            memory: "1G".to_owned(),
            key: "0123456789abcdef".to_owned(),
            again: false,
        }
    }

    fn read_text(text: &str) -> Result<LabMeasured, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sort-ext4-md.json");
        std::fs::write(&path, text).unwrap();
        let result = read(&path, &job()).map(|(measured, _)| measured);
        result.map_err(|error| error.replace(&path.display().to_string(), "FILE"))
    }

    const GOOD: &str = r#"{"application": "sort", "kind": "program", "file_system": "ext4", "system": "md@plain",
        "seconds": 3.5, "operations": 1, "operations_per_second": 0.28, "operation": null, "mean_us": null,
        "percentiles_us": null, "array": {"reads": 7, "writes": 9, "stripe_reads": 8, "met": 2, "mean_us": 88.5, "percentiles_us": {"50": 80, "99.99": 90.5}}}"#;

    #[test]
    fn a_result_is_read_as_it_is_written() {
        let measured = read_text(GOOD).unwrap();
        assert_eq!((measured.seconds, measured.array.reads, measured.array.writes), (3.5, 7, 9));
        let percentiles = measured.array.percentiles_us.unwrap();
        assert_eq!(percentiles.get("99.99"), Some(&90.5));
        assert_eq!(measured.kind.as_deref(), Some("program"));
    }

    #[test]
    fn what_is_no_result_is_refused_with_the_name_of_the_file() {
        let with = |from: &str, to: &str| read_text(&GOOD.replace(from, to)).unwrap_err();
        let error = with("\"seconds\": 3.5,", "");
        assert_eq!(error, "FILE is no result of the laboratory: missing field `seconds`");
        assert!(with("3.5", "0").contains("seconds is 0; it must be above 0"));
        let other = with("\"md@plain\"", "\"base\"");
        assert!(other.contains("its system is \"base\", but md@plain was run"));
        assert!(with("\"50\"", "\"fifty\"").contains("array.percentiles_us has \"fifty\""));
        assert!(with(": 80", ": -80").contains("-80 at 50; it must be 0 or more"));
        assert!(with("}}", "").starts_with("FILE is no result of the laboratory: EOF while"));
        assert!(with("3.5", "null").contains("invalid type: null"));
    }
}
