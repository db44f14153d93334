//! An array as a mounted file system, where the kernel knows nothing of NBD: nbdfuse shows it as a
//! file, and a loop device makes a disk of that. Everything is undone when it is dropped.

use super::served::Served;
use super::tools::{self, run, uri};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that nbdfuse may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether disks can be mounted here; otherwise says why not.
pub(crate) fn possible(what: &str) -> bool {
    let programs = ["nbdfuse", "losetup", "mkfs.ext4", "e2fsck", "fusermount3", "mount", "umount"];
    if !tools::have(what, &programs) {
        return false;
    }
    let root = Command::new("id").arg("-u").output();
    let is_root = root.is_ok_and(|said| said.stdout.trim_ascii() == b"0");
    let devices = ["/dev/fuse", "/dev/loop-control"];
    let missing = devices.iter().find(|device| !Path::new(device).exists());
    match (is_root, missing) {
        (false, _) => println!("skipped: {what}, because only root may mount"),
        (true, Some(device)) => println!("skipped: {what}, because there is no {device}"),
        (true, None) => return true,
    }
    false
}

/// A disk that the kernel sees.
pub(crate) struct Disk {
    nbdfuse: Child,
    folder: PathBuf,
    /// Empty until there is one.
    device: String,
}

impl Disk {
    /// Shows the array in `folder`, which must not be there yet.
    pub(crate) fn of(served: &Served, folder: PathBuf) -> Self {
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("disk");
        let nbdfuse = Command::new("nbdfuse")
            .arg(&file)
            .arg(uri(served))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut disk = Self { nbdfuse, folder, device: String::new() };
        let until = Instant::now() + PATIENCE;
        while !std::fs::metadata(&file).is_ok_and(|file| file.len() > 0) {
            let ended = disk.nbdfuse.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "nbdfuse shows no disk: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let file = file.to_str().unwrap().to_owned();
        // Past the page cache: what the array has answered is what counts.
        let said = run("losetup", &["--direct-io=on", "--find", "--show", &file]);
        disk.device = said.trim().to_owned();
        disk
    }

    pub(crate) fn device(&self) -> &str {
        &self.device
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            quietly("losetup", &["--detach", &self.device]);
        }
        let folder = self.folder.display().to_string();
        quietly("fusermount3", &["-u", "-z", &folder]);
        quietly("fusermount3", &["-u", "-z", &format!("{folder}/disk")]);
        let until = Instant::now() + PATIENCE;
        while matches!(self.nbdfuse.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.nbdfuse.kill();
        let _ = self.nbdfuse.wait();
    }
}

/// A mounted ext4. It goes before its disk.
pub(crate) struct Mount {
    folder: PathBuf,
}

impl Mount {
    /// Mounts `disk` on `folder`, which must not be there yet.
    pub(crate) fn of(disk: &Disk, folder: PathBuf) -> Self {
        std::fs::create_dir(&folder).unwrap();
        run("mount", &["-t", "ext4", disk.device(), folder.to_str().unwrap()]);
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let folder = self.folder.display().to_string();
        if !quietly("umount", &[&folder]) {
            quietly("umount", &["--lazy", &folder]);
        }
    }
}

/// Runs a program that may fail; returns whether it did not.
fn quietly(program: &str, arguments: &[&str]) -> bool {
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    ran.is_ok_and(|output| output.status.success())
}
