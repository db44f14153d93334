//! Rates of PLM-light's workloads in `experiments/`.

use std::path::Path;
use toml::{Table, Value};

/// KB in a window of 1 ms, of workloads I to IV, mean of the three classes (PLM-light, Table I).
const TABLE_I: [f64; 4] = [424.2, 392.1, 1161.7, 1127.0];

/// Which workload of the paper has this mix and these sizes, and the mean size in KB.
fn workload(merged: &Table) -> Option<(usize, f64)> {
    let reads = merged.get("rwmixread")?.as_integer()?;
    let (first, mean_kb) = match (merged.get("bsrange"), merged.get("bs")) {
        (Some(range), _) => {
            assert_eq!(range.as_str(), Some("4k-128k"));
            (2, 66.0)
        }
        (None, Some(bs)) => {
            assert_eq!(bs.as_str(), Some("4k"));
            (0, 4.0)
        }
        (None, None) => return None,
    };
    match reads {
        30 => Some((first, mean_kb)),
        70 => Some((first + 1, mean_kb)),
        _ => None,
    }
}

/// "The variable request size of Workload IV ensures that the rate of requests is smaller as
/// compared to that for Workload I" (§IV-A): so do the rates that Table I gives.
#[test]
fn rates_are_those_of_table_i() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut met = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("plmlight-") {
            continue;
        }
        let file: Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        let list = |key| file.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let changes = list("variants").into_iter().map(|variant| variant.get("workload").cloned());
        for change in std::iter::once(None).chain(changes) {
            for base in list("workloads") {
                let mut merged = base.as_table().unwrap().clone();
                merged.extend(change.iter().flat_map(|change| change.as_table().unwrap().clone()));
                let rate = merged.get("rate_iops").and_then(Value::as_integer);
                let (Some((which, mean_kb)), Some(rate)) = (workload(&merged), rate) else {
                    continue;
                };
                let kb = rate as f64 / 1e3 * mean_kb;
                assert!((kb / TABLE_I[which] - 1.0).abs() < 0.01, "{name}: {kb} KB a window");
                met[which].push(rate);
            }
        }
    }
    assert!(met.iter().all(|rates| !rates.is_empty()), "each of the four is in a file: {met:?}");
    assert!(met[3].iter().max() < met[0].iter().min(), "IV has fewer requests than I: {met:?}");
}
