//! Opens the live page in a headless Chromium while an array changes its policy, and asks what it
//! shows.
#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use crate::fake_array::{self, CHANGE, get};
use live::control::AdminCommand;
use live::operate::{Operate, Settings};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testing::tools;

/// A browser that hangs must not hang the tests.
const LONGEST: Duration = Duration::from_secs(90);

#[test]
fn a_change_of_policy_is_seen_in_one_graph() {
    let Some(browser) = tools::chromium() else { return };
    let (handle, array) = fake_array::start();
    let settings =
        Settings { http: Some(SocketAddr::from(([127, 0, 0, 1], 0))), ..Settings::default() };
    let operate = Operate::start(&settings, &handle).unwrap();
    let address = operate.http_address().unwrap();
    // Two samples of the second policy: the page is opened afterwards and yet shows the first.
    let begin = Instant::now();
    loop {
        let (_, history) = get(address, "/history.json");
        let history: serde_json::Value = serde_json::from_str(&history).unwrap();
        let seen = |policy| {
            let samples = history.as_array().unwrap().iter();
            samples.filter(|sample| sample["policy"] == policy).count()
        };
        if seen("Base") >= 1 && seen("IODA") >= 2 {
            break;
        }
        assert!(begin.elapsed() < CHANGE + LONGEST, "no history: {history}");
        std::thread::sleep(Duration::from_millis(200));
    }
    let page = opened(&browser, &format!("http://{address}/"));
    let root = &page[..page.find("<head>").unwrap()];
    assert!(root.contains("data-ready=\"true\"") && !root.contains("data-trouble"), "{root}");
    // The policy, and the moment at which it changed, in all three plots.
    assert!(page.contains("Policy <span id=\"policy\">IODA</span>"));
    assert_eq!(noted(root, "markers"), "1");
    assert_eq!(page.matches("class=\"mark\"").count(), 3);
    assert_eq!(page.matches("→ IODA</text>").count(), 2, "named in both latency plots");
    // Four lines for reads and four for writes; under Base the p99 was up by two decades.
    let lines: Vec<Vec<f64>> =
        page.split("<path class=\"line\" d=\"").skip(1).map(heights).collect();
    assert_eq!(lines.len(), 8);
    assert!(lines.iter().all(|line| line.len() >= 3), "{lines:?}");
    // Smaller heights are higher up on the page.
    let fall = |line: &[f64]| line[line.len() - 1] - line[0];
    assert!(fall(&lines[2]) > 40.0 && fall(&lines[3]) > 40.0, "p99 and p99.9 of reads fell");
    assert!(fall(&lines[0]).abs() < 10.0, "their median did not: {:?}", lines[0]);
    // A band for every drive, and what is under way.
    let bands: usize = noted(root, "bands").parse().unwrap();
    assert!(bands > 8, "{bands} windows");
    for drive in 0..4 {
        assert!(page.contains(&format!(">drive {drive}</text>")), "no lane of drive {drive}");
    }
    assert!(page.contains("rebuild of drive 3") && page.contains("25.0 %, 25 of 100 stripes"));
    let value = page.split("data-value=\"").nth(1).unwrap().split('"').next().unwrap();
    let median: f64 = value.parse().unwrap();
    assert!((150e3..190e3).contains(&median), "median of reads: {median}");
    // What the array says is text and nothing else.
    assert!(page.contains("\\ &lt;b&gt;"));
    drop(operate);
    handle.execute(AdminCommand::Shutdown).unwrap();
    array.join().unwrap();
}

/// What the page noted under `key` at its root.
fn noted<'a>(root: &'a str, key: &str) -> &'a str {
    let start = format!("data-{key}=\"");
    let at = root.find(&start).unwrap_or_else(|| panic!("no {key} in {root}"));
    root[at + start.len()..].split('"').next().unwrap()
}

/// The heights of the points of a path that starts here.
fn heights(path: &str) -> Vec<f64> {
    let path = path.split('"').next().unwrap();
    let points = path.split(['M', 'L']).filter(|point| !point.is_empty());
    points.map(|point| point.split(' ').nth(1).unwrap().parse().unwrap()).collect()
}

/// The page at an address after its scripts ran for some seconds.
fn opened(browser: &Path, address: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--window-size=1280,2000", "--no-proxy-server"])
        .args(["--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(address)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&dump).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("Chromium did not finish in {} s", LONGEST.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::read_to_string(dump).unwrap()
}
