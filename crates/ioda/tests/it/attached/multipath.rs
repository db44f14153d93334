//! Two paths to one array, cut in turns.

use super::{Attachable, PLAIN, initiator};
use crate::common::served::{flush, read};
use crate::wire::link::Link;
use engine::durability::Disk;
use live::control::AdminCommand;
use live::storage::StoredDrive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use units::Rng;

const BLOCK: u64 = 4096;
/// Hosts, each with blocks of its own.
const HOSTS: u64 = 4;
const BLOCKS: u64 = 256;
const CUTS: u32 = 12;

/// A host with two paths, of which it uses one until that breaks.
struct TwoPaths<'a> {
    links: &'a [Link; 2],
    nqn: &'a str,
    path: usize,
    open: Option<StoredDrive>,
    failovers: &'a AtomicU64,
}

impl TwoPaths<'_> {
    /// Does something over whatever path there is. What fails is done again, as a host does that
    /// has several paths.
    fn retry<T>(&mut self, mut what: impl FnMut(&mut StoredDrive) -> std::io::Result<T>) -> T {
        for _ in 0..200 {
            if self.open.is_none() {
                self.open = initiator(self.links[self.path].port(), self.nqn).ok();
            }
            match self.open.as_mut().map(&mut what) {
                Some(Ok(done)) => return done,
                Some(Err(_)) => {
                    self.failovers.fetch_add(1, Ordering::SeqCst);
                    self.open = None;
                }
                None => {}
            }
            self.path = 1 - self.path;
        }
        panic!("no path works")
    }
}

fn content(host: u64, block: u64, version: u64) -> Vec<u8> {
    let mut random = Rng::new(host << 48 | block << 32 | version);
    let words = (0..BLOCK / 8).map(|_| random.next_u64().to_le_bytes());
    words.flatten().collect()
}

/// Writes and reads its blocks until told to stop. Returns the versions that they have then.
fn load(host: u64, paths: &mut TwoPaths<'_>, stop: &AtomicBool) -> Vec<u64> {
    let mut random = Rng::new(host);
    let mut versions = vec![0u64; BLOCKS as usize];
    while !stop.load(Ordering::SeqCst) {
        let block = random.below(BLOCKS);
        let offset = (host * BLOCKS + block) * BLOCK;
        let version = &mut versions[block as usize];
        if *version > 0 && random.below(3) == 0 {
            let mut found = vec![0; BLOCK as usize];
            paths.retry(|drive| drive.read(offset, &mut found));
            assert!(found == content(host, block, *version), "block {block} of host {host}");
            continue;
        }
        *version += 1;
        let data = content(host, block, *version);
        paths.retry(|drive| drive.write(offset, &data));
        if random.below(16) == 0 {
            paths.retry(Disk::sync);
        }
    }
    versions
}

#[test]
fn paths_are_cut_in_turns_under_load_and_no_write_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("d").display().to_string();
    let mut array = Attachable::start(folder.path(), 2, &[PLAIN, "--storage", &storage]);
    let links = [Link::new(array.ports[0]), Link::new(array.ports[1])];
    let (stop, failovers) = (AtomicBool::new(false), AtomicU64::new(0));
    let nqn = array.nqn.clone();
    let versions: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let hosts: Vec<_> = (0..HOSTS)
            .map(|host| {
                let path = host as usize % 2;
                let (links, failovers) = (&links, &failovers);
                let mut paths = TwoPaths { links, nqn: &nqn, path, open: None, failovers };
                let stop = &stop;
                scope.spawn(move || load(host, &mut paths, stop))
            })
            .collect();
        let mut random = Rng::new(9);
        for (number, policy) in (0..CUTS).zip(["base", "ioda"].iter().cycle()) {
            std::thread::sleep(Duration::from_millis(200));
            links[number as usize % 2].cut_after(random.below(100_000) as u32);
            // Hosts notice nothing of a change of policy.
            array.served.done(&AdminCommand::Policy { name: (*policy).into() });
        }
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::SeqCst);
        hosts.into_iter().map(|host| host.join().unwrap()).collect()
    });
    assert!(failovers.load(Ordering::SeqCst) >= u64::from(CUTS) / 2, "{failovers:?}");
    let written: u64 = versions.iter().flatten().sum();
    assert!(written > 100, "{written}");
    let mut client = array.served.connect();
    flush(&mut client).unwrap();
    for (host, versions) in (0..).zip(&versions) {
        for (block, &version) in (0..).zip(versions).filter(|(_, version)| **version > 0) {
            let found = read(&mut client, (host * BLOCKS + block) * BLOCK, BLOCK as u32).unwrap();
            assert!(found == content(host, block, version), "block {block} of host {host}");
        }
    }
    assert_eq!(array.served.scrub(), 0);
    assert_eq!(array.served.status().requests.failed_requests, 0);
    assert!(array.served.terminate());
}
