//! A file system that forgets what was not synced: the power can be cut, and each file is then as a
//! disk with a volatile cache may have left it.
//!
//! Files are in memory. Of each the file system knows what is on stable storage and every change
//! since: what a write, a truncation or a hole did, until an `fsync` or `fdatasync` of that file
//! covers it. A write with `O_DSYNC` or `RWF_DSYNC` is stable itself when it is answered, and
//! nothing before it. Names are stable when their folder is synced. [`Forgetful::cut`] keeps of
//! what is unsynced everything, nothing, what came before a moment, some changes, or some sectors
//! of 512 bytes, of each file differently. Permissions are always kept.
//!
//! After a cut nothing is answered, as by a machine without power, until the processes that used it
//! are gone.
#![allow(clippy::unwrap_used, reason = "a test")]

mod contents;
mod fuse;
mod image;
mod names;
mod tests;
mod world;

pub(crate) use contents::SECTOR;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use world::{Power, World};

/// What has been done, to show that a test met what it is about.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) writes: u64,
    /// Writes with `O_DSYNC` or `RWF_DSYNC`.
    pub(crate) stable_writes: u64,
    /// Syncs of files and folders that something asked for.
    pub(crate) syncs: u64,
    pub(crate) cuts: u64,
    /// Changes that cuts took, as a whole or in part.
    pub(crate) lost: u64,
    /// Requests that found no room.
    pub(crate) full: u64,
}

/// The file system as those who handle its requests see it.
#[derive(Default)]
struct Shared {
    world: Mutex<World>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A mounted file system; dropped, it is unmounted.
pub(crate) struct Forgetful {
    shared: Arc<Shared>,
    session: Option<fuser::BackgroundSession>,
    folder: tempfile::TempDir,
}

impl Forgetful {
    /// Mounts an empty file system. Where that is not permitted, as in most containers, says that
    /// `what` is not tested; that is no failure even where all programs are required, because
    /// nothing can be installed against it.
    pub(crate) fn mount(what: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let shared = Arc::<Shared>::default();
        let mut config = fuser::Config::default();
        config.mount_options = vec![fuser::MountOption::FSName("forgetful".into())];
        let mounted =
            fuser::spawn_mount(fuse::Handler(Arc::clone(&shared)), folder.path(), &config);
        match mounted {
            Ok(session) => Some(Self { shared, session: Some(session), folder }),
            Err(error) => {
                // Not a macro, whose output of a test that passes nobody sees.
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED: {what} IS NOT TESTED, because FUSE cannot be mounted: {error}"
                );
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.shared.lock().counts
    }

    /// Bytes that files may take together.
    pub(crate) fn limit(&self, bytes: u64) {
        self.shared.lock().limit_bytes = bytes;
    }

    /// Bytes that files take.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.shared.lock().used_bytes()
    }

    /// Syncs of files take so long from now on.
    pub(crate) fn slow_syncs(&self, time: Duration) {
        self.shared.lock().sync_time = time;
    }

    /// Whether syncs of files are answered only when this says so.
    pub(crate) fn hold_syncs(&self, held: bool) {
        self.shared.lock().holds_syncs = held;
        self.shared.changed.notify_all();
    }

    /// The power goes now.
    pub(crate) fn cut(&self, seed: u64) {
        self.shared.lock().cut(seed);
        self.shared.changed.notify_all();
    }

    /// The power goes instead of the change or sync that comes after `count` others.
    pub(crate) fn cut_after(&self, count: u64, seed: u64) {
        self.shared.lock().fuse = Some((count, seed));
    }

    /// Waits until the power is off; whether it is after so long.
    pub(crate) fn wait_for_cut(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut world = self.shared.lock();
        while world.power == Power::On {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                world.fuse = None;
                return false;
            }
            let waited = self.shared.changed.wait_timeout(world, left);
            world = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Whoever still waits for an answer gets an error: a process that was killed cannot go before.
    pub(crate) fn refuse(&self) {
        self.shared.lock().power = Power::Refused;
        self.shared.changed.notify_all();
    }

    /// The power is back, and those who used the file system before are gone.
    pub(crate) fn power_on(&self) {
        self.shared.lock().power = Power::On;
        self.shared.changed.notify_all();
    }

    /// The path of a file or folder on it.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

impl Drop for Forgetful {
    fn drop(&mut self) {
        // Nobody may wait for an answer when it is unmounted.
        self.refuse();
        if let Some(session) = self.session.take() {
            // Somebody else may have unmounted it.
            let _ = session.umount_and_join();
        }
    }
}
