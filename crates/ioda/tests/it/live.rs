//! The comparison of the simulator with the real clock, in short: that it is complete. Whether its
//! claims hold is for a quiet machine and a longer run.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::ioda;
use serde_json::Value;

#[test]
fn both_clocks_are_compared_completely() {
    let arguments = ["reproduce", "live", "--quick", "--requests", "300", "--quiet", "--json"];
    let ran = ioda(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    let workloads = document["workloads"].as_array().unwrap();
    let names: Vec<&str> = workloads.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tpcc", "azure", "mix-70-30"]);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {value:#}"));
    for workload in workloads {
        assert!(workload["requests_per_second"].as_f64().unwrap() > 0.0);
        assert!(number(&workload["cycle_nanoseconds"]) > 0);
        let runs = workload["runs"].as_array().unwrap();
        let policies: Vec<&str> = runs.iter().map(|run| run["policy"].as_str().unwrap()).collect();
        assert_eq!(policies, ["base", "ioda"]);
        for run in runs {
            let requests = number(&run["read"]["count"]) + number(&run["write"]["count"]);
            assert_eq!(requests, 300, "every request on both clocks");
            assert!(number(&run["began_nanoseconds"]) > 0);
            let lateness = &run["lateness"];
            assert!(number(&lateness["p50_nanoseconds"]) <= number(&lateness["p99_nanoseconds"]));
            assert!(number(&run["sent_late"]["p99_nanoseconds"]) > 0);
            for direction in ["read", "write"] {
                let percentiles = run[direction]["percentiles"].as_array().unwrap();
                let percents: Vec<f64> =
                    percentiles.iter().map(|one| one["percent"].as_f64().unwrap()).collect();
                assert_eq!(percents, [50.0, 95.0, 99.0, 99.9]);
                for one in percentiles {
                    let simulated = number(&one["simulated_nanoseconds"]) as f64;
                    let live = number(&one["live_nanoseconds"]) as f64;
                    let expected = number(&one["expected_nanoseconds"]) as f64;
                    // A page is read in 100 us and written in 220 us, on either clock.
                    assert!(simulated >= 90_000.0 && live >= 90_000.0, "{one:#}");
                    let share = |of: f64| (live - of) / simulated;
                    let near = |key: &str, exact: f64| {
                        let told = one[key].as_f64().unwrap();
                        assert!((told - exact).abs() < 1e-9, "{key} {exact} {one:#}");
                    };
                    near("difference", share(simulated));
                    near("unexplained", share(expected));
                }
            }
        }
    }
    let claims = document["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 3 * (2 * 2 + 1));
    assert!(claims.iter().all(|claim| claim["holds"].is_boolean() && claim["figure"] == "live"));
    assert!(document["notes"].as_array().unwrap().len() >= 3);
}

#[test]
fn what_it_cannot_do_is_refused() {
    for (arguments, sentence) in [
        (&["live", "5a"][..], "error: `live` needs a quiet machine"),
        (&["live", "--output", "x"], "error: --output is not for `live`"),
        (&["live", "--requests", "0"], "error: --requests is 0; it must be at least 1"),
        (&["5a", "--requests", "5"], "error: --requests is for `ioda reproduce live` only"),
    ] {
        let ran = ioda(&[&["reproduce"], arguments].concat());
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.starts_with(sentence), "{arguments:?}: {}", ran.stderr);
    }
    let listed = ioda(&["reproduce", "live", "--list"]);
    assert!(listed.stdout.starts_with("live: "), "{}", listed.stdout);
}
