//! Kinds of paths: pipes, archives, the files of several CPUs, and paths that are neither file nor
//! pipe.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::odd_files::{self, ISSUED_READ, ISSUED_WRITE, described, event, gzip, xz};
use ioda_workload::{
    Compression, Keep, Merge, MergeOptions, ReadOptions, Request, Trace, TraceReader,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ioda-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    fn pipe(&self, name: &str) -> PathBuf {
        assert!(Command::new("mkfifo").arg(self.path(name)).status().unwrap().success());
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const REQUESTS: u64 = 3_000;

fn text() -> String {
    let line = |n: u64| {
        format!("{n},{},{},4096,{}\n", if n.is_multiple_of(3) { "W" } else { "R" }, n * 4096, n % 5)
    };
    (0..REQUESTS)
        .fold("t_us,op,offset_bytes,size_bytes,dev\n".to_owned(), |text, n| text + &line(n))
}

fn all(trace: &Trace) -> Vec<Request> {
    trace.requests().unwrap().map(Result::unwrap).collect()
}

/// Writes `bytes` to a pipe from another thread.
fn written(pipe: &Path, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
    let pipe = pipe.to_owned();
    std::thread::spawn(move || {
        let mut pipe = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
        // A reader that refuses the bytes closes the pipe.
        let _ = pipe.write_all(&bytes);
    })
}

fn load(path: &Path, keep: Keep) -> Result<Trace, String> {
    Trace::load(path, &ReadOptions::default(), keep, |_| {}).map_err(|error| error.to_string())
}

#[test]
fn a_pipe_is_read_once_and_is_the_file() {
    let folder = Folder::new("pipe");
    for (name, bytes) in [
        ("plain", text().into_bytes()),
        ("gzip", gzip(text().as_bytes())),
        ("xz", xz(text().as_bytes())),
    ] {
        let file =
            Trace::open(folder.file(&format!("{name}.csv"), &bytes), &ReadOptions::default())
                .unwrap();
        let pipe = folder.pipe(name);
        let writer = written(&pipe, bytes.clone());
        let trace = Trace::open(&pipe, &ReadOptions::default()).unwrap();
        writer.join().unwrap();
        assert!(Trace::is_pipe(&pipe) && !Trace::is_pipe(file.path()));
        assert_eq!(trace.identity(), file.identity(), "{name}");
        assert_eq!(trace.identity().bytes, bytes.len() as u64);
        assert_eq!(all(&trace), all(&file));
        assert_eq!(all(&trace).len() as u64, REQUESTS);
    }
}

#[test]
fn a_pipe_that_is_too_long_for_memory_is_stored() {
    let folder = Folder::new("spool");
    let file =
        Trace::open(folder.file("file.csv", text().as_bytes()), &ReadOptions::default()).unwrap();
    for in_memory in [1, 7, REQUESTS - 1, REQUESTS] {
        let pipe = folder.pipe(&in_memory.to_string());
        let writer = written(&pipe, text().into_bytes());
        let trace = load(&pipe, Keep::Requests { in_memory }).unwrap();
        writer.join().unwrap();
        assert_eq!(trace.is_held(), in_memory == REQUESTS);
        // Two readers at the same time, and one after them.
        let (mut one, mut other) = (trace.requests().unwrap(), trace.requests().unwrap());
        for expected in all(&file) {
            assert_eq!(one.next().unwrap().unwrap(), expected);
            assert_eq!(other.next().unwrap().unwrap(), expected);
        }
        assert!(one.next().is_none() && other.next().is_none());
        assert_eq!(all(&trace), all(&file));
    }
    let mine = format!("ioda-requests-{}-", std::process::id());
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    assert_eq!(
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine)).count(),
        0
    );
}

#[test]
fn a_pipe_that_was_only_described_cannot_be_replayed() {
    let folder = Folder::new("described");
    let pipe = folder.pipe("pipe");
    let writer = written(&pipe, text().into_bytes());
    let trace = load(&pipe, Keep::Nothing).unwrap();
    writer.join().unwrap();
    assert_eq!(trace.statistics().requests, REQUESTS);
    let error = trace.requests().err().unwrap().to_string();
    let expected =
        "comes through a pipe, which can be read only once; write it to a file and name that";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_pipe_without_a_writer_says_what_it_waits_for() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let folder = Folder::new("waiting");
    let pipe = folder.pipe("pipe");
    let to = pipe.clone();
    let writer = std::thread::spawn(move || {
        let begun = Instant::now();
        while HEARD.lock().unwrap().is_empty() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::fs::write(to, text()).unwrap();
    });
    let options = ReadOptions::default();
    let hear = |text: &str| HEARD.lock().unwrap().push(text.to_owned());
    let trace = Trace::load(&pipe, &options, Keep::Nothing, hear).unwrap();
    writer.join().unwrap();
    assert_eq!(trace.statistics().requests, REQUESTS);
    let expected = format!(
        "waiting for the first byte of {}, which is a named pipe: a program has to write a trace to it",
        pipe.display()
    );
    assert_eq!(*HEARD.lock().unwrap(), [expected]);
}

#[test]
fn what_has_no_end_is_refused() {
    let folder = Folder::new("no-end");
    let socket = folder.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let cases = [
        (folder.0.clone(), "it is a folder; name a file in it"),
        (
            socket,
            "it is a socket; have a program read it and print the trace, such as: socat -u UNIX-CONNECT:",
        ),
        (
            PathBuf::from("/dev/zero"),
            "it is a device, and a trace has to be a file or a pipe; name one of these",
        ),
    ];
    for (path, expected) in cases {
        let error = load(&path, Keep::Nothing).err().unwrap();
        assert!(error.starts_with(&format!("trace {}: {expected}", path.display())), "{error}");
    }
}

/// A member of a zip archive: its name, its method, whether it is encrypted, its bytes.
pub(crate) type Member<'a> = (&'a str, u16, bool, &'a [u8]);

/// A zip archive behind the bytes `in_front`.
pub(crate) fn zip(in_front: &[u8], members: &[Member<'_>]) -> Vec<u8> {
    let (mut archive, mut list) = (in_front.to_vec(), Vec::new());
    for (name, method, is_encrypted, bytes) in members {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let packed = if *method == 8 {
            let mut deflate =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            deflate.write_all(bytes).unwrap();
            deflate.finish().unwrap()
        } else {
            bytes.to_vec()
        };
        let at = (archive.len() - in_front.len()) as u32;
        let mut common = Vec::new();
        for field in [20, u16::from(*is_encrypted), *method, 0, 0] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), packed.len() as u32, bytes.len() as u32] {
            common.extend(field.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(packed);
        list.extend(b"PK\x01\x02\x14\0");
        list.extend(common);
        list.extend([0; 10]);
        list.extend(at.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let at = (archive.len() - in_front.len()) as u32;
    let count = (members.len() as u16).to_le_bytes();
    archive.extend(&list);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count, count].concat());
    archive.extend((list.len() as u32).to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend(b"\x05\0hello");
    archive
}

#[test]
fn a_zip_archive_with_one_file_is_read() {
    let folder = Folder::new("zip");
    let text = text();
    let (text, gz) = (text.as_bytes(), gzip(text.as_bytes()));
    let litter: Member<'_> = ("__MACOSX/._a.csv", 0, false, b"\0\x05\x16");
    for (name, bytes) in [
        ("deflated", zip(b"", &[("d/", 0, false, b""), ("d/a.csv", 8, false, text), litter])),
        ("stored", zip(b"", &[("a.csv", 0, false, text)])),
    ] {
        let trace =
            load(&folder.file(name, &bytes), Keep::Requests { in_memory: 1 << 20 }).unwrap();
        assert_eq!(trace.statistics().requests, REQUESTS, "{name}");
        assert_eq!(trace.detected().compression, Compression::Zip);
        assert_eq!(trace.identity().bytes, bytes.len() as u64);
        assert!(trace.detected().evidence.iter().any(|said| said.ends_with("a.csv")));
        // Requests that are not held are read again.
        let again = load(&folder.path(name), Keep::Requests { in_memory: 5 }).unwrap();
        assert_eq!(all(&again), all(&trace));
        let middle = bytes.len() / 3;
        let mut damaged = bytes;
        damaged[middle] ^= 0x44;
        let error = load(&folder.file("damaged.zip", &damaged), Keep::Nothing).err().unwrap();
        assert!(!error.contains('\n') && error.starts_with("trace "), "{error}");
    }
    let cases = [
        (
            zip(b"", &[("a b.csv", 8, false, text), ("c.csv", 8, false, text)]),
            "a zip archive with 2 members (a b.csv, c.csv)",
        ),
        (
            zip(b"", &[("a b.csv", 8, false, text), ("c.csv", 8, false, text)]),
            "/x.zip 'a b.csv' | ioda trace inspect -",
        ),
        (zip(b"", &[("a.csv.gz", 0, false, &gz)]), "zip data with gzip data in them"),
        (zip(b"", &[("a.csv", 8, true, text)]), "an encrypted zip archive"),
        (zip(b"", &[("a.csv", 93, false, text)]), "a zip archive that is packed with method 93"),
        (zip(b"", &[("a/", 0, false, b"")]), "a zip archive without files"),
        (
            zip(b"", &[("xl/workbook.xml", 8, false, text), ("x", 0, false, b"")]),
            "an Excel workbook",
        ),
        (
            zip(b"", &[("a.csv", 8, false, text)])[..400].to_vec(),
            "the list of members at its end is missing",
        ),
        (b"PK\x03\x04".to_vec(), "the list of members at its end is missing"),
    ];
    for (bytes, expected) in cases {
        let error = load(&folder.file("x.zip", &bytes), Keep::Nothing).err().unwrap();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
    // Offsets in an archive behind an unpacking program do not include that program.
    let mut behind = b"PK\x03\x04 a program".to_vec();
    behind.extend(&zip(b"", &[("a.csv", 8, false, text)]));
    let trace = load(&folder.file("behind.zip", &behind), Keep::Nothing).unwrap();
    assert_eq!(trace.statistics().requests, REQUESTS);
}

/// A trace of two CPUs, each in a file.
fn cpus(folder: &Folder) -> [Vec<u8>; 2] {
    let (mut zero, mut one) = (Vec::new(), Vec::new());
    for n in 0..10_000_u64 {
        let (cpu, action) = if n % 7 < 3 { (0, ISSUED_WRITE) } else { (1, ISSUED_READ) };
        let file = if cpu == 0 { &mut zero } else { &mut one };
        file.extend(event(false, 1_000 + n * 1_000, n * 8, 4_096, action, cpu));
    }
    folder.file("sdb.blktrace.0", &zero);
    folder.file("sdb.blktrace.1", &one);
    // A CPU without events, and another trace.
    folder.file("sdb.blktrace.2", b"");
    folder.file("sdc.blktrace.0", &zero);
    [zero, one]
}

#[test]
fn the_files_of_all_cpus_are_one_trace() {
    let folder = Folder::new("cpus");
    let [zero, one] = cpus(&folder);
    for name in ["sdb.blktrace.0", "sdb.blktrace.1"] {
        let trace = load(&folder.path(name), Keep::Requests { in_memory: 1 << 20 }).unwrap();
        let offsets: Vec<u64> =
            all(&trace).iter().map(|request| request.offset_bytes / 4_096).collect();
        assert_eq!(offsets, (0..10_000).collect::<Vec<u64>>(), "{name}");
        assert_eq!(trace.counts().reordered, 0);
        assert_eq!(trace.identity().bytes, (zero.len() + one.len()) as u64);
    }
    let (reading, merging) = (ReadOptions::default(), MergeOptions::default());
    let merge = |names: [&str; 2]| {
        let paths = names.map(|name| folder.path(name));
        Merge::open(&paths, &reading, &merging, |_| {}).map(Iterator::count)
    };
    // Each name means both files, so together they would give each request twice.
    let refused = merge(["sdb.blktrace.0", "sdb.blktrace.1"]).err().unwrap().to_string();
    assert!(refused.contains("for the files of all CPUs are read together"), "{refused}");
    assert_eq!(merge(["sdb.blktrace.0", "sdc.blktrace.0"]).unwrap(), 10_000 + zero.len() / 48);
    let joined = load(&folder.file("joined", &[zero, one].concat()), Keep::Nothing).err().unwrap();
    assert!(joined.contains("and those beside it are merged"), "{joined}");
    let alone = load(&folder.path("sdc.blktrace.0"), Keep::Nothing).unwrap();
    assert_eq!(alone.statistics().reads, 0);
}

#[test]
fn blkparse_prints_the_same_requests() {
    if !testing::tools::have("the binary of blktrace", &["blkparse"]) {
        return;
    }
    let folder = Folder::new("blkparse");
    cpus(&folder);
    let output =
        Command::new("blkparse").current_dir(&folder.0).args(["-i", "sdb"]).output().unwrap();
    assert!(output.status.success());
    let text = odd_files::outcome(&output.stdout, &ReadOptions::default()).unwrap();
    let mut reader =
        TraceReader::open(folder.path("sdb.blktrace.1"), &ReadOptions::default()).unwrap();
    let binary = described(&mut reader).unwrap();
    assert_eq!(text.0.len(), 10_000);
    assert_eq!(text.0, binary.0);
}
