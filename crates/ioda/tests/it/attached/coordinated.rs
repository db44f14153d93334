//! PLM-light's coordinator as a process of its own (`ioda plmlc`), over NVMe/TCP.

use super::{Attachable, PATIENCE, PLAIN};
use crate::common::pause;
use crate::nvme_host::{BLOCK, HOST_NQN, Host, Terms, io, range};
use array::policy::{AllocationConfig, BaseRule, Plmlc};
use nvme::wire::plm_light::{COUNTS_BYTES, CountsData, TRAFFIC_LOG_BYTES, TrafficLog};
use nvme::wire::{
    AdminCommand, Feature, FeatureId, GetFeatures, GetLogPage, IoCommand, LogPage, SetFeatures,
    SglDescriptor, StatusCode, Transfer,
};
use nvme::{WindowCounts, WindowTraffic};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

const COORDINATOR: &str = "nqn.2026-01.example:coordinator";
/// Two small emulated drives, which are ready at once.
const DRIVES: &str = "--raid 0 --drives 2 --blocks-per-plane 20 --precondition fresh";
const REMOTE: &str = "--policy plm-light --plm-coordinator remote";
/// Reads that a host has under way at a time.
const BURST: u64 = 64;

/// A running coordinator.
struct Coordinator {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Coordinator {
    fn start(address: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ioda"))
            .args(["plmlc", address, "--json", "--each", "--quiet", "--host-nqn", COORDINATOR])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = child.stdout.take().map(BufReader::new);
        Self { child, lines }
    }

    /// The next second.
    fn second(&mut self) -> Value {
        let mut line = String::new();
        self.lines.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// What it says when it ends, and with which code.
    fn end(mut self) -> (Option<i32>, String) {
        // Nobody reads lines any more, so that none can hold it up.
        self.lines = None;
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    fn signal(&self, signal: &str) {
        Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Attachable {
    fn uri(&self) -> String {
        format!("nvme+tcp://127.0.0.1:{}/{}", self.ports[0], self.nqn)
    }

    fn tally(&self, name: &str) -> u64 {
        let status = self.served.status();
        let tally = status.counters.tallies.iter().find(|tally| tally.name == name);
        tally.unwrap_or_else(|| panic!("no tally {name}: {:?}", status.counters.tallies)).count
    }
}

/// Many reads at once, and a write.
fn load(host: &mut Host) {
    crate::nvme_host::write(&mut host.io, 3, &[5; BLOCK]);
    let room = SglDescriptor::Transport { bytes: BLOCK as u32 };
    let command = |page| io(room, IoCommand::Read(Transfer::new(range(16 * page, 1))));
    let sent: Vec<u16> = (0..BURST).map(|page| host.io.send(command(page), &[])).collect();
    for cid in sent {
        let answered = host.io.wait(cid);
        assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
    }
}

/// Counts of a line.
fn counts(value: &Value) -> (u64, [u64; 3], u64) {
    let of = |name: &str| value[name].as_u64().unwrap();
    (of("window"), ["high", "medium", "low"].map(of), of("writes"))
}

/// The counts that are set.
fn set_now(host: &mut Host) -> CountsData {
    let get = GetFeatures::current(FeatureId::WindowCounts, 0);
    let (_, data) = host.admin.feature(get, COUNTS_BYTES);
    CountsData::decode(data.first_chunk().unwrap()).unwrap()
}

#[test]
fn counts_in_force_follow_from_what_the_array_reports() {
    let folder = tempfile::tempdir().unwrap();
    // The second in the list is of the class Medium.
    let hosts = format!("--host nqn.a:first,{HOST_NQN},{COORDINATOR}");
    let array = Attachable::start(folder.path(), 1, &[DRIVES, REMOTE, &hosts]);
    let mut host = array.attach();
    load(&mut host);
    assert!(array.served.said().contains("PLM-light waits for its coordinator"));
    assert_eq!(array.tally("reads beyond the counts of their class"), 0, "there is no limit");
    let mut coordinator = Coordinator::start(&array.uri());
    let until = Instant::now() + PATIENCE;
    let (mut seconds, mut compared) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| (0..3).map(|_| coordinator.second()).collect::<Vec<_>>());
        while !reader.is_finished() || array.tally("reads beyond the counts of their class") == 0 {
            load(&mut host);
            assert!(Instant::now() < until, "no read is held back: {}", array.served.said());
        }
        seconds = reader.join().unwrap();
    });
    let mut plmlc = Plmlc::new(AllocationConfig::article(BaseRule::Prioritized));
    let (mut came, mut last) = ([0; 3], None);
    for second in &seconds {
        assert_eq!(second["schema"], "ioda.plmlc/1");
        for each in second["each"].as_array().into_iter().flatten() {
            let (window, reads, writes) = counts(&each["came"]);
            let traffic = WindowTraffic { window, ended: units::Instant::ZERO, reads, writes };
            let WindowCounts { window, reads: may_read, writes } = plmlc.handle_traffic(&traffic);
            assert_eq!(counts(&each["counts"]), (window, may_read, writes));
            came = std::array::from_fn(|class| came[class] + reads[class]);
            (last, compared) = (Some((window, may_read, writes)), compared + 1);
        }
    }
    assert!(compared > 10, "{compared} windows");
    assert!(came[1] > BURST && (came[0], came[2]) == (0, 0), "{came:?} reads came");
    let line = seconds.last().unwrap();
    assert_eq!(Some(counts(&line["counts"])), last);
    assert!(line["answered"].as_u64().unwrap() > 0 && line["answer_p50_us"].is_f64(), "{line}");
    assert!(array.tally("counts set by the coordinator") > 10);
    // What the array has is newer by now, and follows from the same.
    let set = set_now(&mut host).counts;
    assert!(set.window >= last.unwrap().0, "{set:?}");
    let each = loop {
        let second = coordinator.second();
        let windows = second["each"].as_array().cloned().unwrap_or_default();
        let found = windows.iter().find(|each| each["counts"]["window"] == set.window);
        if let Some(found) = found {
            break found.clone();
        }
        assert!(Instant::now() < until, "nobody set {set:?}");
    };
    assert_eq!(counts(&each["counts"]), (set.window, set.reads, set.writes));

    // While it is there nobody else sets counts.
    let log = GetLogPage::new(LogPage::Traffic, TRAFFIC_LOG_BYTES as u32);
    let page = host.admin.log(log, TRAFFIC_LOG_BYTES);
    let page = TrafficLog::decode(page.first_chunk().unwrap()).unwrap();
    let window = page.windows.last().unwrap().window;
    let counts = WindowCounts { window, reads: [0; 3], writes: 0 };
    let data = CountsData { generation: page.generation, counts }.encode();
    let feature = Feature::WindowCounts;
    let command = AdminCommand::SetFeatures(SetFeatures { save: false, feature });
    let refused = host.admin.admin_with(command, &data).entry.status;
    assert_eq!(refused, StatusCode::CommandSequence.for_good());
    let second = Coordinator::start(&array.uri()).end();
    assert_eq!(second.0, Some(2), "{}", second.1);
    assert!(second.1.contains("another coordinator sets its counts"), "{}", second.1);

    // It is told to end.
    coordinator.signal("INT");
    let (code, said) = coordinator.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(array.served.terminate());
}

#[test]
fn an_array_whose_coordinator_is_killed_goes_on_without_limit() {
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 1, &[DRIVES, REMOTE]);
    let mut host = array.attach();
    let mut coordinator = Coordinator::start(&array.uri());
    coordinator.second();
    load(&mut host);
    coordinator.child.kill().unwrap();
    drop(coordinator);
    let silent = "nothing was heard of the coordinator of PLM-light";
    let until = Instant::now() + PATIENCE;
    while !array.served.said().contains(silent) {
        assert!(Instant::now() < until, "it says nothing: {}", array.served.said());
        load(&mut host);
    }
    let held_back = array.tally("reads beyond the counts of their class");
    (0..50).for_each(|_| load(&mut host));
    assert_eq!(array.tally("reads beyond the counts of their class"), held_back);
    pause(100);
    assert_eq!(array.served.said().matches(silent).count(), 1, "{}", array.served.said());
    // Another takes its place.
    let mut coordinator = Coordinator::start(&array.uri());
    while coordinator.second()["counts"].is_null() {
        assert!(Instant::now() < until, "{}", array.served.said());
    }
    coordinator.signal("TERM");
    assert_eq!(coordinator.end().0, Some(0));
    let said = array.served.said();
    assert_eq!(said.matches("the coordinator of PLM-light sets the counts").count(), 2, "{said}");
    assert!(array.served.terminate());
}

#[test]
fn what_wants_no_coordinator_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let own = Attachable::start(folder.path(), 1, &[DRIVES, "--policy plm-light"]);
    let (code, said) = Coordinator::start(&own.uri()).end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("has no PLM-light that wants a coordinator"), "{said}");
    assert!(own.served.terminate());
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 1, &[PLAIN, "--policy base --host nqn.a:x"]);
    let (code, said) = Coordinator::start(&array.uri()).end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("this host is not allowed to use it"), "{said}");
    let uri = array.uri();
    assert!(array.served.terminate());
    let (code, said) = Coordinator::start(&uri).end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(" cannot be used: "), "{said}");
}

#[test]
fn an_array_that_changes_its_policy_needs_no_coordinator_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 1, &[DRIVES, REMOTE]);
    let mut coordinator = Coordinator::start(&array.uri());
    coordinator.second();
    let order = |name: &str| live::control::AdminCommand::Policy { name: name.into() };
    array.served.done(&order("base"));
    let (code, said) = coordinator.end();
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("wants no coordinator any more"), "{said}");
    array.served.done(&order("plm-light"));
    let mut coordinator = Coordinator::start(&array.uri());
    coordinator.second();
    assert!(array.tally("counts set by the coordinator") > 0);
    drop(coordinator);
    let terms = Terms::new(&array.nqn);
    load(&mut Host::attach(array.address(0), &terms));
    assert!(array.served.terminate());
}
