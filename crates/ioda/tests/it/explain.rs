//! The lives of requests. The scenarios of docs/explain.md are typed with all documents, in
//! `documents`.

use crate::common;

#[test]
fn a_life_is_a_page_and_a_document_too() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("life.html");
    let page = page.to_str().unwrap();
    let life = ["synthetic", "--rw", "randrw", "--number_ios", "300", "--request", "123"];
    let mut arguments = vec!["explain", "--config", "tiny.toml", "--quiet", "--json"];
    arguments.extend(life);
    let html = format!("--html={page}");
    arguments.push(&html);
    let ran = common::ioda(&arguments);
    let document = ran.json();
    let chain = document["chain"].as_array().unwrap();
    let sum: f64 = chain.iter().map(|part| part["us"].as_f64().unwrap()).sum();
    assert!((sum - document["latency_us"].as_f64().unwrap()).abs() < 1e-3, "{document:#}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("request 123 under IODA") && page.contains("<svg id=\"story\""));
}

#[test]
fn slow_requests_are_listed_and_runs_repeat() {
    let run = ["synthetic", "--rw", "randrw", "--number_ios", "300", "--config", "tiny.toml"];
    let explain = |more: &[&str]| {
        let mut arguments = vec!["explain", "--quiet"];
        arguments.extend(run);
        arguments.extend(more);
        common::ioda(&arguments)
    };
    let listed = explain(&["--worst", "3", "--json"]).json();
    let requests = listed["requests"].as_array().unwrap();
    assert_eq!(
        (requests.len(), &listed["policy"], &listed["label"]),
        (3, &"ioda".into(), &"IODA".into())
    );
    let number = requests[0]["request"].to_string();
    let life = explain(&["--request", &number, "--json"]).json();
    assert_eq!(life["latency_us"], requests[0]["latency_us"]);
    let repeated = explain(&["--check-repeat"]);
    assert!(repeated.code == 0 && repeated.stdout.starts_with("no event differs"));
    let absent = explain(&["--request", "301"]);
    assert_eq!(
        (absent.code, absent.stderr.as_str()),
        (2, "error: there is no request 301: the run has 300 requests\n")
    );
    assert_eq!(explain(&[]).code, 2);
    assert_eq!(explain(&["--worst", "1", "--fail", "9@1ms"]).code, 2);
}
