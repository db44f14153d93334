//! The slowest read of a client alone and beside others, as a table.

use super::loads::{self, Load};
use super::{MIB, Reads, Served, random_read, reads_beside, reads_until, words};
use crate::attached::Attachable;
use crate::common::served::write;
use crate::nvme_host::{self, Host, Terms};
use crate::wire::drive::{DriveProcess, nqn};
use live::nbd::client::Client;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use units::Rng;

/// What the slowest read beside others must stay below.
const SLOWEST: Duration = Duration::from_millis(50);
const ALONE: Duration = Duration::from_secs(2);
/// How long a host waits for the answers to its deallocations.
const PATIENCE: Duration = Duration::from_secs(120);
/// Has the kernel refuse `io_uring`, as containers do, and runs the rest of the command line.
const WITHOUT_IO_URING: &str = r#"
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050026), (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *step) for step in code)
code = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// Prints what was measured, and says if it was too slow.
fn tell(what: &str, alone: Reads, beside: Reads, status: Duration) -> Option<String> {
    let line = format!(
        "{what:<60} alone {:>9.3?}  beside {:>9.3?} ({} reads)  status {status:>9.3?}",
        alone.slowest, beside.slowest, beside.count,
    );
    println!("{line}");
    (beside.slowest > SLOWEST).then_some(line)
}

/// Reads of one client beside `load`, and the slowest status meanwhile.
fn beside(
    served: &Served,
    reader: &mut Client,
    load: impl FnOnce() + Send,
) -> (Reads, Reads, Duration) {
    let mut rng = Rng::new(1);
    let until = Instant::now() + ALONE;
    let alone = reads_until(|| random_read(reader, &mut rng), || Instant::now() > until);
    let mut status = Duration::ZERO;
    let over = std::sync::atomic::AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                let begin = Instant::now();
                served.status();
                status = status.max(begin.elapsed());
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let reads = reads_beside(|| random_read(reader, &mut rng), load);
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        reads
    });
    (alone, reads, status)
}

fn fill(client: &mut Client) {
    let data = vec![7; MIB as usize];
    (0..client.size_bytes() / MIB).for_each(|at| drop(write(client, at * MIB, &data).unwrap()));
}

/// The name of a kind of storage, and what serves it.
fn kinds(folder: &Path) -> Vec<(&'static str, Vec<String>, bool)> {
    let at = |name: &str| folder.join(name).display().to_string();
    vec![
        ("emulated, in memory", words("--policy ioda"), true),
        ("plain, in memory", words("--plain --drive-size 1g"), true),
        (
            "plain, in files by io_uring",
            words(&format!("--plain --drive-size 1g --storage {}", at("ring"))),
            true,
        ),
        (
            "plain, in files by threads",
            words(&format!("--plain --drive-size 1g --storage {}", at("threads"))),
            false,
        ),
        ("emulated, in files by io_uring", words(&format!("--storage {}", at("emulated"))), true),
    ]
}

fn start(folder: &Path, arguments: &[String], io_uring: bool) -> Served {
    let wrapper = ["python3", "-c", WITHOUT_IO_URING];
    let wrapper = if io_uring { &[][..] } else { &wrapper };
    Served::start_by(wrapper, folder, arguments)
}

#[test]
#[ignore = "measures, for minutes"]
fn the_slowest_read_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut slow = Vec::new();
    for (name, arguments, io_uring) in kinds(folder.path()) {
        let mut served = start(folder.path(), &arguments, io_uring);
        let mut reader = served.connect();
        let loads = [
            (Load::Trim, 1, 1),
            (Load::Trim, 16, 1),
            (Load::Zeroes, 16, 1),
            (Load::ZeroesInFull, 1, 1),
            (Load::SmallTrims, 1000, 1),
            (Load::Reads32Mib, 4, 16),
            (Load::Writes32Mib, 1, 16),
        ];
        for (load, count, clients) in loads {
            fill(&mut reader);
            let mut others: Vec<Client> = (0..clients).map(|_| served.connect()).collect();
            let (alone, reads, status) = beside(&served, &mut reader, || {
                others.iter_mut().for_each(|client| loads::send(client, load, count));
                std::thread::scope(|scope| {
                    for client in &mut others {
                        scope.spawn(|| loads::wait(client, count));
                    }
                });
            });
            let what = format!("{name}: {load:?} x {count} by {clients}");
            slow.extend(tell(&what, alone, reads, status));
        }
        let mut crowd: Vec<Client> = (0..100).map(|_| served.connect()).collect();
        for client in &mut crowd {
            loads::send(client, Load::Reads32Mib, 4);
            client.flush().unwrap();
        }
        std::thread::sleep(Duration::from_secs(2));
        let (alone, reads, status) = beside(&served, &mut reader, || {
            drop(crowd);
            std::thread::sleep(Duration::from_secs(5));
        });
        slow.extend(tell(&format!("{name}: 100 clients leave"), alone, reads, status));
        assert!(served.terminate());
    }
    assert!(slow.is_empty(), "slower than {SLOWEST:?}:\n{}", slow.join("\n"));
}

/// The same over NVMe/TCP.
fn of_hosts(what: &str, attach: impl Fn() -> Host, blocks: u64) -> Option<String> {
    let (mut reader, mut other) = (attach(), attach());
    // A disk that has not written the data yet writes them first.
    other.io.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let data = vec![7; 128 << 10];
    (0..blocks / 32).for_each(|at| nvme_host::write(&mut other.io, at * 32, &data));
    let mut rng = Rng::new(1);
    let mut read = || drop(nvme_host::read(&mut reader.io, rng.below(blocks), 1));
    let until = Instant::now() + ALONE;
    let alone = reads_until(&mut read, || Instant::now() > until);
    let reads = reads_beside(&mut read, || loads::deallocate(&mut other.io, blocks, 16, 16));
    tell(what, alone, reads, Duration::ZERO)
}

#[test]
#[ignore = "measures, for minutes"]
fn the_slowest_read_beside_others_over_nvme_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let mut slow = Vec::new();
    for (name, arguments, _) in kinds(folder.path()).into_iter().take(3) {
        let array = Attachable::start(folder.path(), 1, &[&arguments.join(" ")]);
        let blocks = loads::blocks(2 << 30);
        let what = format!("{name}: 16 x 256 ranges of a host");
        slow.extend(of_hosts(&what, || array.attach(), blocks));
    }
    for storage in ["memory", "file"] {
        let path = match storage {
            "file" => folder.path().join("drive").display().to_string(),
            memory => memory.to_owned(),
        };
        for model in [&["--plain", "--drive-size", "1g"][..], &[]] {
            let mut more: Vec<&str> = model.to_vec();
            more.extend((storage == "file" && model.is_empty()).then_some("--create"));
            let drive = DriveProcess::start_on(&path, folder.path(), 7, &more);
            let address = SocketAddr::from(([127, 0, 0, 1], drive.port()));
            let attach = || Host::attach(address, &Terms::new(&nqn(7)));
            let kind = if model.is_empty() { "emulated" } else { "plain" };
            let what = format!("{kind} `ioda drive`, {storage}: 16 x 256 ranges");
            slow.extend(of_hosts(&what, attach, loads::blocks(512 * MIB)));
        }
    }
    assert!(slow.is_empty(), "slower than {SLOWEST:?}:\n{}", slow.join("\n"));
}
