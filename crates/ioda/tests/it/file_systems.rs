//! ext4 on a served array, and RocksDB on that: what was synced is there after the server was
//! killed, and the file system and the database find themselves in order.
//!
//! Needs root, FUSE and loop devices, and the programs that `scripts/install-test-tools` installs;
//! a test that cannot run says why it was skipped. `IODA_LONG=1` kills more often and makes larger
//! data bases; see `clients.rs`.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::mounted::{self, Disk, Mount};
use crate::common::served::Served;
use crate::common::tools::{self, run};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::Rng;

/// An array in files of a folder, and where its file system is mounted.
struct Bench {
    folder: tempfile::TempDir,
    arguments: Vec<String>,
    round: u32,
}

impl Bench {
    fn new(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments: Vec<String> = arguments.iter().copied().map(String::from).collect();
        arguments.extend(["--storage".into(), folder.path().join("drives").display().to_string()]);
        Self { folder, arguments, round: 0 }
    }

    fn start(&self) -> Served {
        let mut served = Served::start(self.folder.path(), &self.arguments);
        drop(served.connect());
        served
    }

    /// A folder that is not there yet.
    fn fresh(&mut self, name: &str) -> PathBuf {
        self.round += 1;
        self.folder.path().join(format!("{name}{}", self.round))
    }

    fn disk(&mut self, served: &Served) -> Disk {
        Disk::of(served, self.fresh("disk"))
    }

    fn mount(&mut self, disk: &Disk) -> Mount {
        Mount::of(disk, self.fresh("mount"))
    }
}

fn make_ext4(disk: &Disk) {
    run("mkfs.ext4", &["-q", "-F", disk.device()]);
}

fn assert_clean(disk: &Disk) {
    run("e2fsck", &["-f", "-n", disk.device()]);
}

/// Files whose content follows from a seed each, by name.
#[derive(Default)]
struct Files(BTreeMap<String, u64>);

fn content(seed: u64) -> Vec<u8> {
    let mut random = Rng::new(seed);
    let words = 64 + random.next_u64() % 16_000;
    (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

impl Files {
    /// Writes some files, some of them again, and returns when all of it is synced.
    fn write(&mut self, random: &mut Rng, folder: &Path, count: u64) {
        for _ in 0..count {
            let seed = random.next_u64();
            let name = format!("file{}", random.next_u64() % 150);
            let mut file = File::create(folder.join(&name)).unwrap();
            file.write_all(&content(seed)).unwrap();
            file.sync_all().unwrap();
            self.0.insert(name, seed);
        }
        File::open(folder).unwrap().sync_all().unwrap();
    }

    fn check(&self, folder: &Path) {
        for (name, &seed) in &self.0 {
            let found = std::fs::read(folder.join(name)).unwrap();
            assert!(found == content(seed), "{name} is not what was synced (seed {seed})");
        }
    }
}

#[test]
fn ext4_is_whole_after_the_server_was_killed() {
    if !mounted::possible("ext4") {
        return;
    }
    let seed = testing::seed(1);
    let mut random = Rng::new(seed.get());
    let emulated = ["--blocks-per-plane", "20", "--raid", "5", "--policy", "ioda"];
    let plain = ["--plain", "--drive-size", "80m", "--raid", "6", "--drives", "5"];
    for arguments in [&emulated[..], &plain[..]] {
        let mut bench = Bench::new(arguments);
        let mut files = Files::default();
        let served = bench.start();
        make_ext4(&bench.disk(&served));
        assert!(served.terminate());
        let kills = if tools::long() { 12 } else { 2 };
        for _ in 0..kills {
            let served = bench.start();
            let disk = bench.disk(&served);
            let mount = bench.mount(&disk);
            files.check(mount.path());
            files.write(&mut random, mount.path(), 40);
            // Killed while more is being written, of which nothing is promised.
            let pid = served.pid();
            let after = Duration::from_millis(random.next_u64() % 300);
            let killer = std::thread::spawn(move || {
                std::thread::sleep(after);
                run("kill", &["-9", &pid.to_string()]);
            });
            write_until_it_fails(mount.path());
            killer.join().unwrap();
            drop(mount);
            drop(disk);
            drop(served);
        }
        let served = bench.start();
        let disk = bench.disk(&served);
        // Mounting replays the journal of the file system.
        let mount = bench.mount(&disk);
        files.check(mount.path());
        // Deleting and trimming must give back nothing that is in use.
        for name in files.0.keys().take(20).cloned().collect::<Vec<_>>() {
            std::fs::remove_file(mount.path().join(&name)).unwrap();
            files.0.remove(&name);
        }
        let said = run("fstrim", &["-v", mount.path().to_str().unwrap()]);
        assert!(said.starts_with(mount.path().to_str().unwrap()), "{said}");
        files.check(mount.path());
        drop(mount);
        assert_clean(&disk);
        drop(disk);
        served.wait_for_restoring();
        assert_eq!(served.scrub(), 0, "parity fits: {}", served.said());
        assert!(served.terminate());
        println!("ext4: {kills} kills, {} files as they were synced, clean", files.0.len());
    }
}

/// Writes without syncing until the disk is gone, or for two seconds.
fn write_until_it_fails(folder: &Path) {
    let until = Instant::now() + Duration::from_secs(2);
    let data = vec![0xa5; 1 << 20];
    for round in 0u64.. {
        let path = folder.join(format!("more{}", round % 8));
        let written = File::create(path).and_then(|mut file| {
            file.write_all(&data)?;
            file.sync_data()
        });
        if written.is_err() || Instant::now() > until {
            return;
        }
    }
}

#[test]
fn rocksdb_finds_every_checksum_right() {
    if !mounted::possible("RocksDB") || !tools::have("RocksDB", &["db_bench", "ldb"]) {
        return;
    }
    let keys = if tools::long() { 400_000 } else { 20_000 };
    // Drives of 500 MB and 125 MB.
    let blocks = if tools::long() { "80" } else { "20" };
    let arguments = ["--blocks-per-plane", blocks, "--raid", "5", "--policy", "ioda"];
    let mut bench = Bench::new(&arguments);
    let served = bench.start();
    let disk = bench.disk(&served);
    make_ext4(&disk);
    let mount = bench.mount(&disk);
    let database = mount.path().join("db").display().to_string();
    let db_bench = |benchmarks: &str, existing: bool| {
        let said = run(
            "db_bench",
            &[
                &format!("--benchmarks={benchmarks}"),
                &format!("--db={database}"),
                &format!("--wal_dir={database}"),
                &format!("--num={keys}"),
                &format!("--use_existing_db={existing}"),
                "--verify_checksum=1",
                "--value_size=400",
                "--compression_type=none",
                "--write_buffer_size=4194304",
                "--threads=2",
            ],
        );
        for benchmark in benchmarks.split(',').filter(|name| *name != "verifychecksum") {
            assert!(said.lines().any(|line| line.starts_with(benchmark)), "{benchmark}: {said}");
        }
        assert!(!said.to_lowercase().contains("corruption"), "{said}");
        said
    };
    // A policy is switched while the database is at work.
    std::thread::scope(|scope| {
        let load = scope.spawn(|| db_bench("fillrandom,overwrite,readrandom", false));
        for policy in ["base", "ioda", "proactive", "ioda"] {
            std::thread::sleep(Duration::from_millis(300));
            let name = policy.to_owned();
            served.done(&live::control::AdminCommand::Policy { name });
        }
        load.join().unwrap();
    });
    // Out of the caches of the kernel.
    drop(mount);
    let mount = bench.mount(&disk);
    let moved = mount.path().join("db").display().to_string();
    run("ldb", &[&format!("--db={moved}"), "checkconsistency"]);
    let said = run(
        "db_bench",
        &[
            "--benchmarks=readrandom,verifychecksum",
            &format!("--db={moved}"),
            &format!("--num={keys}"),
            "--use_existing_db=true",
            "--verify_checksum=1",
            "--value_size=400",
            "--compression_type=none",
        ],
    );
    assert!(said.lines().any(|line| line.starts_with("readrandom")), "{said}");
    let found = said.lines().find(|line| line.starts_with("readrandom")).unwrap();
    println!("RocksDB after remounting: {found}");
    drop(mount);
    assert_clean(&disk);
    drop(disk);
    assert_eq!(served.status().requests.failed_requests, 0);
    assert!(served.terminate());
}
