//! Opens the live page in a headless Chromium while an array changes its policy, and asks what it
//! shows.
#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use crate::fake_array::{self, CHANGE, get};
use live::control::{
    AdminCommand, BusyWindow, CauseStatus, DriveStatus, FlashCounters, Recorder, Status,
};
use live::operate::{DriveSample, Operate, Percentiles, Sample, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testing::browser::{Browser, WIDTHS};
use testing::colour::{Colour, Vision};
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

/// The page as it is in the program, whose questions are answered by an array of the past.
const PAGE: &str = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/src/operate/page.html");
const DRIVES: u8 = 4;
/// Windows as short as those of a small drive.
const SHORT_WINDOW_NANOSECONDS: u64 = 25_000_000;
/// Two changes of policy shortly after each other.
const CHANGES: [(u64, &str); 3] = [(0, "Base"), (20, "IOD3"), (21, "IODA")];

fn policy_at(second: u64) -> (u64, &'static str) {
    CHANGES.into_iter().rfind(|change| change.0 < second).unwrap()
}

/// The windows of a drive in the second before `second`.
fn windows_of(drive: u8, second: u64) -> Vec<BusyWindow> {
    let cycle = SHORT_WINDOW_NANOSECONDS * u64::from(DRIVES);
    let cycles = 1_000_000_000 / cycle;
    let opened = |turn: u64| turn * cycle + u64::from(drive) * SHORT_WINDOW_NANOSECONDS;
    ((second - 1) * cycles..second * cycles)
        .map(|turn| BusyWindow {
            opened_nanoseconds: opened(turn),
            closed_nanoseconds: Some(opened(turn) + SHORT_WINDOW_NANOSECONDS),
        })
        .collect()
}

/// What a page asks for `seconds` after the start, as a script that answers instead of the network.
fn answers(seconds: u64) -> String {
    let percentiles = |nanoseconds: u64| Percentiles {
        count: 9_000,
        p50: Some(nanoseconds),
        p95: Some(nanoseconds * 2),
        p99: Some(nanoseconds * 10),
        p999: Some(nanoseconds * 20),
    };
    let samples: Vec<Sample> = (1..=seconds)
        .map(|second| {
            let (since, policy) = policy_at(second);
            Sample {
                number: second,
                uptime_nanoseconds: second * 1_000_000_000,
                policy: policy.to_owned(),
                policy_since_nanoseconds: since * 1_000_000_000,
                read: percentiles(160_000 + second % 7 * 9_000),
                write: percentiles(310_000 + second % 5 * 9_000),
                lateness: Percentiles::default(),
                drives: (0..DRIVES)
                    .map(|drive| DriveSample {
                        drive,
                        in_window: false,
                        windows: windows_of(drive, second),
                    })
                    .collect(),
            }
        })
        .collect();
    let mut latency = Recorder::default();
    latency.record(1_000_000);
    let mut status = Status {
        policy: policy_at(seconds).1.to_owned(),
        uptime_nanoseconds: seconds * 1_000_000_000,
        busy_window_nanoseconds: Some(SHORT_WINDOW_NANOSECONDS),
        degraded: true,
        drives: (0..DRIVES)
            .map(|drive| DriveStatus {
                drive,
                place: format!("/var/lib/ioda/a-long-name/drive-{drive}.img"),
                state: "serving".to_owned(),
                emulated: true,
                collecting: true,
                in_window: true,
                flash: FlashCounters { read_pages: 1_234_567, ..FlashCounters::default() },
                ..DriveStatus::default()
            })
            .collect(),
        ..Status::default()
    };
    status.requests.read = latency.latency();
    status.requests.causes = ["behind host reads", "behind collection (erase)", "something new"]
        .map(|cause| CauseStatus { cause: cause.to_owned(), latency: latency.latency() })
        .to_vec();
    format!(
        "window.fetch = async (path) => ({{ ok: true, json: async () => path.startsWith('status') ? {} \
         : path.endsWith('after=0') ? {} : [] }});",
        serde_json::to_string(&status).unwrap(),
        serde_json::to_string(&samples).unwrap()
    )
}

#[test]
fn the_live_page_fits_at_every_size() {
    let Some(mut browser) = Browser::start() else { return };
    browser.before_scripts(&answers(70));
    for is_dark in [false, true] {
        for width in WIDTHS {
            browser.look(width, is_dark);
            browser.open(PAGE);
            let scheme = if is_dark { "dark" } else { "light" };
            browser.keep_picture(&format!("live-{width}-{scheme}.png"));
            let faults = browser.layout_faults();
            assert!(faults.is_empty(), "{width} px, {scheme}: {faults:#?}");
            let faults = browser.access_faults();
            assert!(faults.is_empty(), "{width} px, {scheme}: {faults:#?}");
            // Both changes of policy can be read, in both plots.
            let names = browser.ask(
                "[...document.querySelectorAll('.mark-name')].map((name) => name.textContent).join(' ')",
            );
            assert_eq!(names, "→ IOD3 → IODA → IOD3 → IODA", "{width} px");
            // The plot begins where the samples begin, not minutes before.
            let empty = browser.ask(
                "(() => { const line = document.querySelector('#read .line').getBBox();\
                 const axis = document.querySelector('#read .rule').getBBox();\
                 return (line.x - axis.x) / axis.width; })()",
            );
            assert!(empty.as_f64().unwrap() < 0.03, "{width} px: {empty} of the plot is empty");
            // Each window stands alone: as many gaps as windows, and none thinner than two pixels.
            let widths = browser.ask(
                "document.querySelector('#windows .band').getAttribute('d').split('M').slice(2)\
                 .map((band) => parseFloat(band.split('H')[1]) - parseFloat(band))",
            );
            let widths: Vec<f64> =
                widths.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
            assert!(widths.len() >= 5, "{width} px: {widths:?}");
            let complete = &widths[..widths.len() - 1];
            assert!(complete.iter().all(|width| *width >= 2.0), "{width} px: {widths:?}");
        }
    }
    let words = browser.ask("document.getElementById('counts').innerText");
    let words = words.as_str().unwrap();
    for expected in [
        "reads that waited behind reads of the host",
        "reads that waited behind a collection that erases",
        "reads, of which time went to: something new",
    ] {
        assert!(words.contains(expected), "{words}");
    }
}

#[test]
fn arrows_go_from_second_to_second_on_the_live_page() {
    let Some(mut browser) = Browser::start() else { return };
    browser.before_scripts(&answers(70));
    browser.look(1280, false);
    browser.open(PAGE);
    let said = |browser: &mut Browser, key: &str| {
        browser.press(key);
        browser.ask("document.getElementById('said').textContent").as_str().unwrap().to_owned()
    };
    browser.ask("document.getElementById('read').focus()");
    let newest = said(&mut browser, "ArrowLeft");
    assert!(newest.starts_with("IODA, 0 s ago, 9000 reads, p50  "), "{newest}");
    let before = said(&mut browser, "ArrowLeft");
    assert!(before.starts_with("IODA, 1 s ago, 9000 reads, p50  "), "{before}");
    assert!(said(&mut browser, "Home").starts_with("Base, 69 s ago"));
    // Drawn anew, it still points there.
    browser.ask("dispatchEvent(new Event('resize'))");
    assert_eq!(browser.ask("document.getElementById('tip').hidden"), false);
    browser.press("Escape");
    assert_eq!(browser.ask("document.getElementById('tip').hidden"), true);
}

#[test]
fn lines_of_the_live_page_can_be_told_apart_by_everybody() {
    let css = include_str!("../../src/operate/page.html");
    let (light, rest) = css.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (dark, _) = rest.split_once("* { box-sizing").unwrap();
    for block in [light, dark] {
        let colours: BTreeMap<&str, Colour> = block
            .split(';')
            .filter_map(|entry| {
                let (name, value) = entry.rsplit_once("--")?.1.split_once(':')?;
                Some((name, Colour::from_hex(value.trim())?))
            })
            .collect();
        let series = ["p50", "p95", "p99", "p999", "mark"];
        for (i, a) in series.iter().enumerate() {
            let contrast = colours[a].contrast(colours["ground"]);
            assert!(contrast >= 3.0, "{a}: {contrast:.2}");
            for b in &series[..i] {
                for vision in Vision::ALL {
                    let distance = colours[a].distance(colours[b], vision);
                    assert!(distance >= 12.0, "{a} and {b}, {vision:?}: {distance:.1}");
                }
            }
        }
        let contrast = colours["band"].contrast(colours["card"]);
        assert!(contrast >= 3.0, "windows on their lane: {contrast:.2}");
    }
}
