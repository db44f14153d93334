//! Presets, benchmarks and experiments, in short.

use crate::common::ioda;

#[test]
fn presets_are_listed() {
    let ran = ioda(&["presets", "--drives", "4"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!("presets", ran.stdout);
    let document = ioda(&["presets", "--json"]).json();
    assert_eq!(document["drives"].as_array().unwrap().len(), ssd::presets::names().count());
    assert_eq!(document["workloads"].as_array().unwrap().len(), workload::presets().len());
    assert_eq!(
        document["policies"].as_array().unwrap().len(),
        array::policy::PolicyKind::ALL.len()
    );
    let only = ioda(&["presets", "policies", "--json"]).json();
    assert!(only["drives"].is_null());
}

#[test]
fn a_quick_benchmark_measures_every_policy() {
    let document = ioda(&["bench", "policies", "--quick", "--json", "--quiet"]).json();
    let policies = document["policies"].as_array().unwrap();
    let listed = ioda(&["presets", "policies", "--json"]).json();
    assert_eq!(policies.len(), listed["policies"].as_array().unwrap().len());
    assert_eq!(policies[0]["of_base"], 1.0);
    assert!(policies.iter().all(|policy| policy["nanos_per_io"].as_f64().unwrap() > 0.0));
}

#[test]
fn a_quick_benchmark_measures_something() {
    let document = ioda(&["bench", "--quick", "--json", "--quiet"]).json();
    let benchmarks = document["benchmarks"].as_array().unwrap();
    assert!(benchmarks.len() >= 4);
    let every = benchmarks
        .iter()
        .filter(|benchmark| benchmark["size"].as_str().unwrap().ends_with("every feature"));
    assert_eq!(every.count(), 1);
    for benchmark in benchmarks {
        assert!(benchmark["page_operations_per_second"].as_f64().unwrap() > 1e4);
    }
}

#[test]
fn experiments_are_listed_and_run_quickly() {
    let ran = ioda(&["reproduce", "--list"]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!("experiments", ran.stdout);
    let document = ioda(&["reproduce", "--quick", "--quiet", "--json"]).json();
    let workloads = document["workloads"].as_array().unwrap();
    // Nine workloads for Figures 5 to 8 together, and every variant of the others once.
    let mut titles: Vec<&str> = workloads.iter().map(|w| w["title"].as_str().unwrap()).collect();
    let count = titles.len();
    assert!(count > 9 + 9 * 8, "{count}");
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), count, "every run has a name of its own");
    let plans = document["plans"].as_array().unwrap();
    let of = |id: &str| plans.iter().filter(|plan| plan["experiment"] == id).count();
    let (drives, changed) = (6, 6);
    assert_eq!(of("table-2"), drives + changed, "six drives, and each with a value changed");
    assert_eq!(of("figure-4a"), 6 * drives + changed, "six drives in six widths, and as printed");
    assert_eq!(plans[0]["numbers"]["printed.tw_burst_ms"], 256.0);
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() >= 20);
    let holds = |id: &str| {
        let claim = claims.iter().find(|claim| claim["id"] == id).unwrap();
        assert_eq!(claim["holds"], true, "{claim:#}");
    };
    holds("11b-predictable-bound");
    holds("13-predictable");
    holds("table-2-tw-burst");
    // Two of the six windows are shorter than one collection, and the program says so.
    let bound = claims.iter().find(|claim| claim["id"] == "table-2-lower-bound").unwrap();
    assert_eq!(bound["holds"], false);
    assert!(bound["note"].as_str().unwrap().contains("in 2 of 6 cases: sim "), "{bound:#}");
}

#[test]
fn experiments_about_plans_need_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = "id = 'mine'\nfigure = 'mine'\ntitle = 'a test'\nshows = ['tw_burst_ms']\n\
        plans = [{ name = 'four', drive = 'sim', drives = 4 }, \
        { name = 'bare', drive = { base = 'sim', usable_share = '100%' }, drives = 8 }, \
        { name = 'two', drive = 'sim', drives = 8, raid = 6 }]\n\
        [[claims]]\nid = 'order'\nstatement = ''\nkind = 'ours'\nlimit = { from = 'ours', because = 'none' }\ncheck.order.metrics = ['tw_burst_ms']\n\
        check.order.series = [['bare', 'four'], ['bare', 'two']]\n\
        [[claims]]\nid = 'equals'\nstatement = ''\nkind = 'ours'\nlimit = { from = 'ours', because = 'none' }\n\
        check.equals = { metric = 'printed.tw_burst_ms', of = { bare = 5130, two = 516 } }\n";
    std::fs::write(folder.path().join("mine.toml"), experiment).unwrap();
    let path = folder.path().to_str().unwrap();
    let pages = folder.path().join("pages");
    let arguments = ["reproduce", "--experiments", path, "--strict", "--output"];
    let ran = ioda(&[&arguments[..], &[pages.to_str().unwrap()]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert_eq!(std::fs::read_dir(pages).unwrap().count(), 0, "arithmetic has no pages");
    insta::assert_snapshot!("plans", ran.stdout);

    // Words choose claims, and a build server is told of each.
    let junit = ioda(&["reproduce", "--experiments", path, "--filter", "EQUALS", "--junit", "-"]);
    assert_eq!((junit.code, junit.stderr.as_str()), (0, ""));
    assert!(junit.stdout.starts_with("<?xml "), "{}", junit.stdout);
    assert_eq!(junit.stdout.matches("<testcase ").count(), 1, "{}", junit.stdout);
    assert!(junit.stdout.contains("<testsuite name=\"mine\" tests=\"1\""), "{}", junit.stdout);
    assert!(junit.stdout.contains("instead of"), "the figures: {}", junit.stdout);
    let nothing = ioda(&["reproduce", "--experiments", path, "--filter", "nothing at all"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (2, ""));
    let both = ioda(&["reproduce", "--experiments", path, "--json", "--junit", "-"]);
    assert_eq!((both.code, both.stdout.as_str()), (2, ""));
}

#[test]
fn published_numbers_stand_beside_ours() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = |numbers: &str| {
        let text = format!(
            "id = 'mine'\nfigure = 'Mine'\ntitle = 'a test'\npolicies = ['base', 'ioda']\n\
             shows = ['read.p50']\nclaims = []\n[[workloads]]\nname = 'exch'\n\
             [[published]]\nsource = 'another paper'\nmetrics = ['read.p50', 'read.p99']\n\
             [published.numbers.exch]\n{numbers}\n"
        );
        std::fs::write(folder.path().join("mine.toml"), text).unwrap();
        let path = folder.path().to_str().unwrap().to_owned();
        move |more: &[&str]| {
            ioda(&[&["reproduce", "--experiments", &path, "--quick", "-q"], more].concat())
        }
    };
    let page = experiment("ioda = [81, 5000.5]")(&["--published", "-"]);
    assert_eq!((page.code, page.stderr.as_str()), (0, ""));
    let start = "# Published numbers beside ours\n\n## Mine: a test\n\nOurs / another paper.\n\n\
        | workload | metric | IODA |\n|---|---|---|\n| exch | read.p50 | ";
    assert!(page.stdout.starts_with(start), "{}", page.stdout);
    assert!(page.stdout.contains(" / 81.0us |\n"), "{}", page.stdout);
    assert!(page.stdout.contains(" / 5.00ms |\n"), "{}", page.stdout);
    let json = experiment("ioda = [81, 5000.5]")(&["--json"]).json();
    assert_eq!(json["published"][0]["rows"][1]["cells"][0]["published"], 5000.5);
    for (numbers, why) in [
        ("ideal = [1, 2]", "published numbers: there is no series \"ideal\""),
        ("base = [1]", "published numbers: exch under base has 1, but there are 2 metrics"),
    ] {
        let refused = experiment(numbers)(&[]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn experiments_of_ones_own_can_fail_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = "id = 'mine'\nfigure = 'mine'\ntitle = 'a test'\npolicies = ['base']\n\
        shows = ['read.p99']\n[[workloads]]\nname = 'exch'\n[[claims]]\nid = 'no'\n\
        statement = 'Base is fast.'\nkind = 'ours'\n\
        limit = { from = 'ours', because = 'none' }\n\
        check.within = { metrics = ['read.p99'], of = 'base', high = 0.001 }\n";
    std::fs::write(folder.path().join("mine.toml"), experiment).unwrap();
    let path = folder.path().to_str().unwrap();
    let ran = ioda(&["reproduce", "--experiments", path, "--quick", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("no: DOES NOT HOLD"), "{}", ran.stdout);
    let smoke = "smoke run (--quick): few requests on small drives";
    assert_eq!(ran.stdout.matches(smoke).count(), 2, "at the table and at the end: {}", ran.stdout);
    let pages = folder.path().join("pages");
    let told = ioda(&[
        "reproduce",
        "--experiments",
        path,
        "--quick",
        "-q",
        "--json",
        "--output",
        pages.to_str().unwrap(),
    ])
    .json();
    for notes in [&told["notes"], &told["workloads"][0]["manifest"]["notes"]] {
        assert!(notes[0].as_str().unwrap().starts_with(smoke), "{notes}");
    }
    let page = std::fs::read_dir(&pages).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(page).unwrap().contains(smoke));
    let strict = ioda(&["reproduce", "mine", "--experiments", path, "--quick", "--strict", "-q"]);
    assert_eq!(strict.code, 1, "{}", strict.stderr);
    // The seed is 1 unless one is given, and each of several is judged.
    let hashes = |extra: &[&str]| -> Vec<(String, String)> {
        let arguments = ["reproduce", "--experiments", path, "--quick", "--quiet", "--json"];
        let document = ioda(&[&arguments[..], extra].concat()).json();
        let workloads = document["workloads"].as_array().unwrap();
        let runs = workloads.iter().map(|workload| &workload["runs"][0]["result_hash"]);
        let claims = document["claims"].as_array().unwrap().iter().map(|claim| &claim["id"]);
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        claims.map(text).zip(runs.map(text)).collect()
    };
    let usual = hashes(&[]);
    assert_eq!(hashes(&["--seed", "1"]), usual);
    let two = hashes(&["--seed", "1", "--seeds", "2"]);
    let names: Vec<&str> = two.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, &two[0].1), (vec!["no, seed 1", "no, seed 2"], &usual[0].1));
    assert_ne!(two[1].1, usual[0].1);
    assert_eq!(hashes(&["--seed", "2"])[0].1, two[1].1);
    let none = ioda(&["reproduce", "--experiments", path, "--seeds", "0"]);
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (2, "error: --seeds is 0; it must be 1 to 100\n")
    );
}
