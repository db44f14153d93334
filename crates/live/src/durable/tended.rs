//! Drives while an array is created or opened: one is worked on at a time, and those on the network
//! want to be heard of meanwhile.
//!
//! A drive that hears nothing of its host ends the connection, and a claim that is not renewed runs
//! out. So a thread looks after all drives that nobody works on.

use crate::storage::StoredDrive;
use ::engine::durability::{Disk, Opened};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often drives are looked after.
const EVERY: Duration = Duration::from_millis(20);

/// A drive that is looked after.
#[derive(Debug)]
pub(super) struct Tended(Arc<Mutex<StoredDrive>>);

/// The thread.
#[derive(Debug)]
struct Tender {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Has something done with drives, and looks after them until it is done.
pub(super) fn tended<E>(
    disks: Vec<Option<StoredDrive>>,
    work: impl FnOnce(Vec<Option<Tended>>) -> Result<Opened<Tended>, E>,
) -> Result<Opened<StoredDrive>, E> {
    let tend = |disk| Arc::new(Mutex::new(disk));
    let shared: Vec<_> = disks.into_iter().map(|disk| disk.map(tend)).collect();
    let tender = Tender::start(shared.iter().flatten().cloned().collect());
    let opened = work(shared.into_iter().map(|disk| disk.map(Tended)).collect());
    // The drives have one user from here on.
    drop(tender);
    let Opened { assembly, disks, records, replayed, mended } = opened?;
    let disks = disks.into_iter().map(|disk| disk.and_then(Tended::into_inner)).collect();
    Ok(Opened { assembly, disks, records, replayed, mended })
}

impl Tender {
    fn start(mut drives: Vec<Arc<Mutex<StoredDrive>>>) -> Self {
        drives.retain(|drive| {
            matches!(*drive.lock().unwrap_or_else(PoisonError::into_inner), StoredDrive::Remote(_))
        });
        let stop = Arc::new(AtomicBool::new(drives.is_empty()));
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("tend".into());
        // Without the thread drives are looked after when they are worked on.
        let thread = thread.spawn(move || {
            while !asked.load(Ordering::Acquire) {
                for drive in &drives {
                    if let Ok(mut drive) = drive.try_lock() {
                        drive.tend();
                    }
                }
                std::thread::sleep(EVERY);
            }
        });
        Self { stop, thread: thread.ok() }
    }
}

impl Drop for Tender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Tended {
    fn into_inner(self) -> Option<StoredDrive> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn with<T>(&self, work: impl FnOnce(&mut StoredDrive) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Disk for Tended {
    type Error = io::Error;

    fn size_bytes(&mut self) -> io::Result<u64> {
        self.with(StoredDrive::size_bytes)
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        self.with(|drive| drive.read(offset_bytes, into))
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(|drive| drive.write(offset_bytes, bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(StoredDrive::sync)
    }
}
