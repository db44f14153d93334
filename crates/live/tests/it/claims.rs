//! One drive belongs to one server: under other names, through loop devices, beside mounts.
#![allow(clippy::unwrap_used, reason = "a test")]

use live::storage::{Disk, DiskError, DriveLocation, Holder};
use std::path::{Path, PathBuf};
use std::process::Command;

const BYTES: u64 = 32 << 20;

fn file(path: &Path) -> DriveLocation {
    DriveLocation::File(path.into())
}

fn holder(result: Result<Disk, DiskError>) -> (Holder, String) {
    let error = result.unwrap_err();
    let said = error.to_string();
    match error {
        DiskError::InUse { holder, .. } => (holder, said),
        other => panic!("{other}"),
    }
}

#[test]
fn another_name_of_a_file_is_no_other_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let disk = Disk::create(&file(&path("drive")), 4096).unwrap();
    std::fs::hard_link(path("drive"), path("hard")).unwrap();
    std::os::unix::fs::symlink(path("drive"), path("soft")).unwrap();
    std::fs::copy(path("drive"), path("copy")).unwrap();
    for (name, same) in [("hard", true), ("soft", true), ("../drive", false), ("copy", false)] {
        let other = file(&path(name));
        assert_eq!(other.has_bytes_of(&file(&path("drive"))), same, "{name}");
        if same {
            let (holder, said) = holder(Disk::open_head(&other));
            assert_eq!(holder, Holder::ThisProcess);
            assert!(said.ends_with("is in use by this process; name each drive once"), "{said}");
        }
    }
    // Files that do not exist yet have one name each.
    let spelled = folder.path().join("./new");
    assert!(file(&spelled).has_bytes_of(&file(&path("new"))));
    assert!(!DriveLocation::Memory.has_bytes_of(&DriveLocation::Memory));
    drop(disk);
    Disk::open_head(&file(&path("hard"))).unwrap();
}

/// A lock of a process that runs is told at once, with its name and number.
#[test]
fn the_process_that_has_a_file_is_named() {
    if !testing::tools::have("a lock of another process", &["flock"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    drop(Disk::create(&file(&path), 4096).unwrap());
    let mut other = Command::new("flock").arg(&path).args(["sleep", "1000"]).spawn().unwrap();
    let said = loop {
        match Disk::open_head(&file(&path)) {
            Ok(disk) => drop(disk),
            Err(error) => break error.to_string(),
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let expected = format!("is in use by process {} (flock); stop that one first", other.id());
    // The program sleeps as its child, which has the lock as well.
    let children = format!("/proc/{0}/task/{0}/children", other.id());
    let children = std::fs::read_to_string(children).unwrap_or_default();
    other.kill().unwrap();
    other.wait().unwrap();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(child).unwrap(),
            rustix::process::Signal::KILL,
        );
    }
    assert!(said.ends_with(&expected), "{said}");
}

/// A loop device, detached at the end.
struct Loop(PathBuf);

impl Loop {
    /// `None` where loop devices cannot be made, which is said.
    fn over(image: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            testing::tools::skip("loop devices", "they need root");
            return None;
        }
        if !testing::tools::have("loop devices", &["losetup", "mkfs.ext4", "mount", "umount"]) {
            return None;
        }
        let made = command("losetup").args(["-f", "--show"]).arg(image).output().unwrap();
        if !made.status.success() {
            testing::tools::skip("loop devices", "the system makes none");
            return None;
        }
        Some(Self(String::from_utf8(made.stdout).unwrap().trim().into()))
    }

    fn location(&self) -> DriveLocation {
        DriveLocation::Direct(self.0.clone())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = command("losetup").arg("-d").arg(&self.0).status();
    }
}

fn command(program: &str) -> Command {
    let search = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.env("PATH", search);
    command
}

fn succeeds(program: &str, arguments: &[&Path]) -> bool {
    command(program).args(arguments).status().unwrap().success()
}

#[test]
fn a_loop_device_and_its_file_are_one_drive() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("drive");
    drop(Disk::create(&file(&image), BYTES).unwrap());
    let (Some(one), Some(two)) = (Loop::over(&image), Loop::over(&image)) else { return };
    assert!(one.location().has_bytes_of(&two.location()));
    assert!(one.location().has_bytes_of(&file(&image)));

    let disk = Disk::open_head(&one.location()).unwrap();
    assert!(matches!(holder(Disk::open_head(&one.location())).0, Holder::ThisProcess));
    let (of_backing, said) = holder(Disk::open_head(&two.location()));
    assert!(matches!(of_backing, Holder::OfBacking { .. }), "{said}");
    assert!(said.contains(&format!("through its file {}", image.display())), "{said}");
    assert!(matches!(holder(Disk::open_head(&file(&image))).0, Holder::ThisProcess));
    // Other programs respect the claim, and a file system is not made over it.
    assert!(!succeeds("mkfs.ext4", &[Path::new("-q"), Path::new("-F"), &one.0]));
    drop(disk);

    let disk = Disk::open_head(&file(&image)).unwrap();
    assert!(matches!(holder(Disk::open_head(&one.location())).0, Holder::OfBacking { .. }));
    drop(disk);
    Disk::open_head(&one.location()).unwrap();
}

#[test]
fn what_is_mounted_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("drive");
    drop(Disk::create(&file(&image), BYTES).unwrap());
    let Some(device) = Loop::over(&image) else { return };
    assert!(succeeds("mkfs.ext4", &[Path::new("-q"), Path::new("-F"), &device.0]));
    let at = folder.path().join("a folder");
    std::fs::create_dir(&at).unwrap();
    if !succeeds("mount", &[&device.0, &at]) {
        return testing::tools::skip("a mounted drive", "it cannot be mounted");
    }
    let of_device = holder(Disk::open_head(&device.location())).1;
    let of_file = holder(Disk::open_head(&file(&image))).1;
    let created = live::drive::open(&device.location(), None, 0, true).unwrap_err().to_string();
    assert!(succeeds("umount", &[&at]));
    let mounted = format!("by the file system mounted at {}; unmount it first", at.display());
    assert_eq!(of_device, format!("{} is in use {mounted}", device.0.display()));
    assert_eq!(created, of_device);
    let through =
        format!("{} is in use through {}, {mounted}", image.display(), device.0.display());
    assert_eq!(of_file, through);
    // It is free, but a file system is on it.
    let created = live::drive::open(&device.location(), None, 0, true).unwrap_err().to_string();
    assert!(created.contains("is not blank: ext2, ext3 or ext4 file system"), "{created}");
    assert!(created.contains(&format!("`blkdiscard --zeroout {}`", device.0.display())));
}
