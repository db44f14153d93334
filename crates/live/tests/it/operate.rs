//! A running array is watched over HTTP and ordered about over its socket, and strangers who send
//! nonsense harm nobody.
#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use crate::fake_array::{self, exchange, get};
use live::control::{AdminCommand, Answer, Status};
use live::operate::ctl::{CONNECTIONS_MAX, Client};
use live::operate::{Operate, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn http_only() -> Settings {
    Settings { http: Some(SocketAddr::from(([127, 0, 0, 1], 0))), ..Settings::default() }
}

/// A sample: its name, its labels in their order, its value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads `{name="value",...}` with its escapes; gives the labels and what follows.
fn labels(text: &str) -> (Vec<(String, String)>, &str) {
    let mut rest = text;
    let mut found = Vec::new();
    loop {
        let (name, after) = rest.split_once("=\"").unwrap();
        let good = |at: usize, c: char| {
            c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit())
        };
        assert!(!name.is_empty() && name.chars().enumerate().all(|(at, c)| good(at, c)), "{name}");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (end, '"') => break end,
                (_, '\\') => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("escape {c}"),
                }),
                (_, c) => value.push(c),
            }
        };
        found.push((name.to_owned(), value));
        rest = &after[end + 1..];
        match rest.split_at(1) {
            ("}", after) => return (found, after),
            (",", after) => rest = after,
            (other, _) => panic!("{other:?} after a label in {text}"),
        }
    }
}

/// Checks the text format of Prometheus strictly; gives the families with their types and samples.
fn families(text: &str) -> BTreeMap<String, (String, Vec<Sample>)> {
    assert!(text.ends_with('\n'));
    let mut families: BTreeMap<String, (String, Vec<Sample>)> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, sentence) = help.split_once(' ').unwrap();
            assert!(helped.insert(name.to_owned()), "two helps for {name}");
            assert!(sentence.ends_with('.'), "{sentence}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(helped.contains(name) && ["counter", "gauge", "histogram"].contains(&kind));
            let twice = families.insert(name.to_owned(), (kind.to_owned(), Vec::new()));
            assert!(twice.is_none(), "two types for {name}");
            current = name.to_owned();
        } else {
            let name_end = line.find(['{', ' ']).unwrap();
            let (name, rest) = line.split_at(name_end);
            let (labels, rest) = match rest.strip_prefix('{') {
                Some(rest) => labels(rest),
                None => (Vec::new(), rest),
            };
            let value: f64 = rest.strip_prefix(' ').unwrap().parse().unwrap();
            assert!(value.is_finite() && value >= 0.0, "{line}");
            assert!(seen.insert((name.to_owned(), labels.clone())), "twice: {line}");
            let family = families.get_mut(&current).unwrap();
            let fits = match family.0.as_str() {
                "histogram" => ["_bucket", "_sum", "_count"]
                    .iter()
                    .any(|end| name.strip_suffix(end) == Some(current.as_str())),
                _ => name == current,
            };
            assert!(fits, "{name} is among samples of {current}");
            family.1.push((name.to_owned(), labels, value));
        }
    }
    families
}

/// Buckets of a histogram ascend, are cumulative, and end with all there is.
fn check_histogram(name: &str, samples: &[Sample]) {
    type Series = (Vec<(f64, f64)>, Option<f64>, bool);
    let mut series: BTreeMap<Vec<(String, String)>, Series> = BTreeMap::new();
    for (sample, labels, value) in samples {
        let (le, own): (Vec<_>, Vec<_>) =
            labels.iter().cloned().partition(|(name, _)| name == "le");
        let entry = series.entry(own).or_default();
        match sample.strip_prefix(name).unwrap() {
            "_bucket" => {
                let bound = match le[0].1.as_str() {
                    "+Inf" => f64::INFINITY,
                    bound => bound.parse().unwrap(),
                };
                entry.0.push((bound, *value));
            }
            "_count" => entry.1 = Some(*value),
            _ => entry.2 = true,
        }
    }
    for (labels, (buckets, count, sum)) in &series {
        assert!((15..=30).contains(&buckets.len()), "{name} {labels:?}: {}", buckets.len());
        assert!(
            buckets.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1),
            "{buckets:?}"
        );
        let last = buckets.last().unwrap();
        assert!(last.0.is_infinite() && Some(last.1) == *count && *sum, "{name} {labels:?}");
    }
}

#[test]
fn metrics_are_what_monitors_expect() {
    let (handle, array) = fake_array::start();
    let operate = Operate::start(&http_only(), &handle).unwrap();
    let address = operate.http_address().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let (code, text) = get(address, "/metrics");
    assert_eq!(code, 200);
    let families = families(&text);
    for (name, (kind, samples)) in &families {
        assert!(
            name.starts_with("ioda_") && name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase()),
            "{name}"
        );
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        assert!(!name.contains("nanoseconds") && !name.contains("micro"), "base units: {name}");
        if name.ends_with("_info") {
            assert!(samples.iter().all(|(_, labels, value)| *value == 1.0 && !labels.is_empty()));
        }
        if kind == "histogram" {
            assert!(name.ends_with("_seconds"), "{name}");
            check_histogram(name, samples);
        }
    }
    let value = |name: &str, wanted: &[(&str, &str)]| {
        let (_, samples) = &families
            [name.strip_suffix("_count").filter(|n| families.contains_key(*n)).unwrap_or(name)];
        let of = |labels: &[(String, String)]| {
            labels.iter().map(|(a, b)| (a.as_str(), b.as_str())).eq(wanted.iter().copied())
        };
        samples
            .iter()
            .find(|(sample, labels, _)| sample == name && of(labels))
            .unwrap_or_else(|| panic!("{name} {wanted:?}"))
            .2
    };
    assert_eq!(value("ioda_policy_info", &[("policy", "Base")]), 1.0);
    assert_eq!(value("ioda_busy_window_seconds", &[]), 0.1);
    assert_eq!(value("ioda_capacity_bytes", &[]), f64::from(3u32 << 30));
    assert_eq!(value("ioda_prefill_bytes", &[]), 4.0 * value("ioda_prefill_done_bytes", &[]));
    assert_eq!(value("ioda_drive_free_blocks_ratio", &[("drive", "2")]), 0.25);
    assert_eq!(value("ioda_drive_state", &[("drive", "3"), ("state", "rebuilding")]), 1.0);
    assert_eq!(value("ioda_drive_state", &[("drive", "3"), ("state", "serving")]), 0.0);
    assert_eq!(value("ioda_stripe_reads_total", &[("busy_members", "1")]), 10.0);
    assert_eq!(value("ioda_restoring_stripes_done", &[("what", "rebuild"), ("drive", "3")]), 25.0);
    let strange = "a \"collection\" \\ <b>\nof dies";
    assert!(value("ioda_read_cause_seconds_count", &[("cause", strange)]) > 0.0);
    assert!(value("ioda_request_duration_seconds_count", &[("operation", "read")]) > 100.0);
    let within: f64 = ["0", "1", "2", "3"]
        .iter()
        .map(|drive| value("ioda_drive_in_window", &[("drive", drive)]))
        .sum();
    assert_eq!(within, 1.0, "one drive is in its window at a time");
    handle.execute(AdminCommand::Shutdown).unwrap();
    array.join().unwrap();
    // An array that is gone is no empty array.
    assert_eq!(get(address, "/metrics").0, 503);
    assert_eq!(get(address, "/status.json").0, 503);
}

#[test]
fn the_status_is_one_document_and_nonsense_is_refused() {
    let (handle, array) = fake_array::start();
    let operate = Operate::start(&http_only(), &handle).unwrap();
    let address = operate.http_address().unwrap();
    let (code, text) = get(address, "/status.json");
    let status: Status = serde_json::from_str(&text).unwrap();
    assert_eq!((code, status.policy.as_str(), status.drives.len()), (200, "Base", 4));
    let (code, page) = get(address, "/");
    assert!(code == 200 && !page.contains("http://www") || page.matches("http://").count() == 1);
    assert_eq!(get(address, "/history.json").0, 200);
    for (path, code) in [
        ("/nothing", 404),
        ("/status.json/..", 404),
        ("/history.json?after=x", 400),
        ("/history.json?after=99999999999999999999999", 400),
        ("/history.json?before=1", 400),
    ] {
        assert_eq!(get(address, path).0, code, "{path}");
    }
    let endless = vec![b'a'; 1 << 20];
    let fields: String = (0..1000).map(|n| format!("X-{n}: y\r\n")).collect();
    let fields = format!("GET / HTTP/1.1\r\n{fields}\r\n");
    let endless = [b"GET /".as_slice(), &endless].concat();
    let requests: [(&[u8], &[&str]); 7] = [
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\nabc", &["405"]),
        (b"DELETE /status.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", &["405"]),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", &["400"]),
        (b"GET  / /  HTTP/9.9\r\n\r\n", &["400"]),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", &["400"]),
        (&endless, &["414", "431"]),
        (fields.as_bytes(), &["431"]),
    ];
    for (request, codes) in requests {
        let reply = exchange(address, request);
        let code = reply.split(' ').nth(1).unwrap_or("none");
        // A reset may overtake the answer to somebody who sends more than is read.
        assert!(
            codes.contains(&code) || (request.len() > 1 << 19 && reply.is_empty()),
            "{code} to {}",
            String::from_utf8_lossy(&request[..request.len().min(60)])
        );
    }
    drop(operate);
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any longer");
    handle.execute(AdminCommand::Shutdown).unwrap();
    array.join().unwrap();
}

#[test]
fn a_name_that_leads_here_by_itself_is_not_answered() {
    let (handle, array) = fake_array::start();
    let settings = Settings { http_hosts: vec!["array.example".to_owned()], ..http_only() };
    let operate = Operate::start(&settings, &handle).unwrap();
    let address = operate.http_address().unwrap();
    for (fields, code) in [
        (format!("Host: {address}\r\n"), "200"),
        ("Host: array.example:9640\r\n".to_owned(), "200"),
        ("Host: evil.example\r\n".to_owned(), "403"),
        ("Host: localhost\r\nHost: evil.example\r\n".to_owned(), "403"),
        (String::new(), "403"),
    ] {
        for path in ["/", "/metrics", "/status.json", "/history.json"] {
            let request = format!("GET {path} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n");
            let reply = exchange(address, request.as_bytes());
            assert_eq!(reply.split(' ').nth(1), Some(code), "{request}: {reply}");
            assert!(code == "200" || reply.ends_with("adds a name\n"), "{reply}");
        }
    }
    drop(operate);
    handle.execute(AdminCommand::Shutdown).unwrap();
    array.join().unwrap();
}

#[test]
fn orders_reach_the_array_and_answers_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.ctl");
    let (handle, array) = fake_array::start();
    let settings = Settings { control: Some(path.clone()), ..Settings::default() };
    let operate = Operate::start(&settings, &handle).unwrap();
    assert!(operate.http_address().is_none());
    assert!(Operate::start(&settings, &handle).is_err(), "the socket is taken");
    let mut client = Client::connect(&path, PATIENCE).unwrap();
    let Answer::Status(status) = client.ask(&AdminCommand::Status).unwrap() else { panic!() };
    assert_eq!(status.drives.len(), 4);
    let orders = [
        AdminCommand::Fail { drive: 1, force: false },
        AdminCommand::Replace { drive: 1, path: Some("/dev/new".into()) },
        AdminCommand::Policy { name: "ioda".to_owned() },
        AdminCommand::Window { nanoseconds: 5_000_000 },
        AdminCommand::Slow { drive: 2, factor: 10 },
        AdminCommand::Scrub { repair: false },
    ];
    for order in &orders {
        assert_eq!(client.ask(order).unwrap(), Answer::Done { text: "done".to_owned() });
    }
    let refused = client.ask(&AdminCommand::Fail { drive: 9, force: false }).unwrap();
    assert_eq!(refused, Answer::Refused { reason: "there is no drive 9".to_owned() });
    // The answer to the last order arrives although everything ends right after it.
    let last = client.ask(&AdminCommand::Shutdown).unwrap();
    assert_eq!(last, Answer::Done { text: "done".to_owned() });
    let mut expected = orders.to_vec();
    expected.extend([AdminCommand::Fail { drive: 9, force: false }, AdminCommand::Shutdown]);
    assert_eq!(array.join().unwrap(), expected);
    let after = client.ask(&AdminCommand::Status).unwrap();
    assert!(matches!(after, Answer::Refused { reason } if reason.contains("shut down")));
    operate.close();
    assert!(!path.exists());
    assert!(Client::connect(&path, PATIENCE).unwrap_err().to_string().contains("no array"));
}

/// Sends bytes to the socket, closes that direction, and gives the answers.
fn said(path: &std::path::Path, bytes: &[u8]) -> Vec<Result<Answer, serde_json::Error>> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text.lines().map(serde_json::from_str).collect()
}

#[test]
fn hostile_orders_are_answered_with_a_sentence_and_reach_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.ctl");
    let (handle, array) = fake_array::start();
    let settings = Settings { control: Some(path.clone()), ..Settings::default() };
    let operate = Operate::start(&settings, &handle).unwrap();
    let deep = format!("{}\n", "[".repeat(60_000));
    let long = "x".repeat(10 << 20);
    let hostile: [&[u8]; 9] = [
        b"\n",
        b"{}\n",
        b"\xff\xfe\x00garbage\n",
        b"{\"order\":\"format\"}\n",
        b"{\"order\":\"fail\"}\n",
        b"{\"order\":\"fail\",\"drive\":256}\n",
        b"{\"order\":\"window\",\"nanoseconds\":-1}\n",
        deep.as_bytes(),
        long.as_bytes(),
    ];
    for bytes in hostile {
        let answers = said(&path, bytes);
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        // A reset may overtake the answer to somebody who sends more than is read.
        assert!(answers.len() == 1 || bytes.len() > 1 << 20, "{start}: {answers:?}");
        for answer in answers {
            assert!(matches!(answer.unwrap(), Answer::Refused { .. }), "{start}");
        }
    }
    // A line that was not finished is no order; lines in one piece are answered one by one.
    assert_eq!(said(&path, b"{\"order\":\"shutdown\"}").len(), 0);
    assert_eq!(said(&path, b"{\"order\":\"scrub\"}\nno\n{\"order\":\"scrub\"}\n").len(), 3);
    handle.execute(AdminCommand::Shutdown).unwrap();
    assert_eq!(
        array.join().unwrap(),
        [
            AdminCommand::Scrub { repair: false },
            AdminCommand::Scrub { repair: false },
            AdminCommand::Shutdown
        ]
    );
    operate.close();
}

/// Sooner than any time after which a silent client is disconnected in any case.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn idle_and_slow_clients_give_way_to_those_who_ask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.ctl");
    let (handle, array) = fake_array::start();
    let settings = Settings { control: Some(path.clone()), ..http_only() };
    let operate = Operate::start(&settings, &handle).unwrap();
    let address = operate.http_address().unwrap();

    // The one that asks now and then keeps its place: others have been idle for longer.
    let mut regular = Client::connect(&path, PATIENCE).unwrap();
    let mut crowd = Vec::new();
    for number in 0..3 * CONNECTIONS_MAX {
        let mut other = UnixStream::connect(&path).unwrap();
        let begin: &[u8] = if number % 2 == 0 { b"" } else { b"{\"order\":" };
        let _ = other.write_all(begin);
        crowd.push(other);
        if number % 8 == 0 {
            assert!(matches!(regular.ask(&AdminCommand::Status).unwrap(), Answer::Status(_)));
        }
    }
    let asked = Client::connect(&path, SOON).unwrap().ask(&AdminCommand::Status);
    assert!(matches!(asked.unwrap(), Answer::Status(_)));

    let requests: [&[u8]; 3] = [
        b"",
        b"GET /metrics HT",
        // Asks for as much as it can, and never reads.
        &b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200),
    ];
    let mut slow = Vec::new();
    for number in 0..200 {
        let mut other = TcpStream::connect(address).unwrap();
        other.set_nonblocking(true).unwrap();
        let _ = other.write_all(requests[number % requests.len()]);
        slow.push(other);
    }
    let begin = Instant::now();
    assert_eq!(get(address, "/metrics").0, 200);
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    handle.execute(AdminCommand::Shutdown).unwrap();
    array.join().unwrap();
    operate.close();
}

#[test]
fn a_command_that_does_not_come_to_its_end_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.ctl");
    let (handle, array) = fake_array::start();
    let settings = Settings { control: Some(path.clone()), ..Settings::default() };
    let operate = Operate::start(&settings, &handle).unwrap();
    let mut dribbling = UnixStream::connect(&path).unwrap();
    dribbling.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let begin = Instant::now();
    loop {
        let _ = dribbling.write_all(b" ");
        match dribbling.read(&mut [0]) {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        assert!(begin.elapsed() < PATIENCE, "it is still waited for");
    }
    handle.execute(AdminCommand::Shutdown).unwrap();
    array.join().unwrap();
    operate.close();
}
