//! Holders of files and block devices, as far as Linux names them.
//!
//! They are processes with a lock, mounts, swap, stacked devices and loop devices.

use rustix::fs::{major, minor};
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Flag of a process in `/proc/PID/stat` that is ending (`PF_EXITING`).
const EXITING: u64 = 4;
/// Bit of SIGKILL in a set of pending signals.
const KILLED: u64 = 1 << 8;

/// Holder of a file or block device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holder {
    /// This process.
    ThisProcess,
    /// Another process.
    Process {
        /// Its number.
        pid: u32,
        /// Name of its program; empty once it is gone.
        name: String,
        /// Whether it ends, or holds a shared lock, as programs that only look do.
        may_end: bool,
    },
    /// A mounted file system.
    Mount {
        /// Folder of the mount.
        folder: String,
    },
    /// The kernel, as swap space.
    Swap,
    /// A device of device mapper, md or another driver on top.
    Stacked {
        /// Path of that device.
        device: String,
    },
    /// A loop device over the file, which itself is in use.
    Loop {
        /// Path of the loop device.
        device: String,
        /// Holder of the loop device.
        holder: Box<Holder>,
    },
    /// A holder of the file of a loop device.
    OfBacking {
        /// That file.
        file: PathBuf,
        /// Its holder.
        holder: Box<Holder>,
    },
    /// A holder that Linux does not name.
    Unknown,
}

impl Holder {
    /// Holder of a file or block device that cannot be locked.
    pub(super) fn of(about: &Metadata) -> Self {
        let kernel = if about.file_type().is_block_device() { kernel_holder(about) } else { None };
        kernel.or_else(|| locking_process(about)).unwrap_or(Self::Unknown)
    }

    /// Whether the holder may release the lock within seconds, without a person.
    pub(super) fn may_end(&self) -> bool {
        match self {
            Self::Process { may_end, .. } => *may_end,
            // A replaced drive is closed when its last command is done.
            Self::ThisProcess | Self::Unknown => true,
            Self::OfBacking { holder, .. } => holder.may_end(),
            Self::Mount { .. } | Self::Swap | Self::Stacked { .. } | Self::Loop { .. } => false,
        }
    }

    /// Whether the holder is the kernel, which keeps the device until a person acts.
    pub(super) fn is_kernel(&self) -> bool {
        matches!(self, Self::Mount { .. } | Self::Swap | Self::Stacked { .. } | Self::Loop { .. })
    }

    /// The holder as it follows "in use".
    pub(super) fn by(&self) -> String {
        match self {
            Self::ThisProcess => String::from("by this process"),
            Self::Process { pid, name, .. } if name.is_empty() => format!("by process {pid}"),
            Self::Process { pid, name, .. } => format!("by process {pid} ({name})"),
            Self::Mount { folder } => format!("by the file system mounted at {folder}"),
            Self::Swap => String::from("as swap space"),
            Self::Stacked { device } => format!("by {device}"),
            Self::Loop { device, holder } => format!("through {device}, {}", holder.by()),
            Self::OfBacking { file, holder } => {
                format!("through its file {}, {}", file.display(), holder.by())
            }
            Self::Unknown => String::from("by another process"),
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::ThisProcess => "name each drive once",
            Self::Process { .. } | Self::Unknown => "stop that one first",
            Self::Mount { .. } => "unmount it first",
            Self::Swap => "take it from swap with swapoff first",
            Self::Stacked { .. } => "remove that device first",
            Self::Loop { holder, .. } | Self::OfBacking { holder, .. } => holder.remedy(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.by(), self.remedy())
    }
}

/// File of a loop device, or of the loop device of a partition; `None` for everything else.
pub(super) fn backing_file(about: &Metadata) -> Option<PathBuf> {
    if !about.file_type().is_block_device() {
        return None;
    }
    let device = folder_of(about.rdev());
    let whole = if device.join("partition").exists() { device.join("..") } else { device };
    loop_file(&whole)
}

/// Holder of a loop device over the file, if there is one.
pub(super) fn user_of_loops(about: &Metadata) -> Option<Holder> {
    if !about.file_type().is_file() {
        return None;
    }
    for device in std::fs::read_dir("/sys/block").ok()?.flatten() {
        let file = loop_file(&device.path());
        let Some(other) = file.and_then(|file| std::fs::metadata(file).ok()) else { continue };
        if (other.dev(), other.ino()) != (about.dev(), about.ino()) {
            continue;
        }
        let device = format!("/dev/{}", device.file_name().to_string_lossy());
        let holder = std::fs::metadata(&device).ok().and_then(|about| kernel_holder(&about));
        if let Some(holder) = holder {
            return Some(Holder::Loop { device, holder: Box::new(holder) });
        }
    }
    None
}

fn loop_file(device: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(device.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
}

fn folder_of(device: u64) -> PathBuf {
    // Through the link, so that `..` is the whole device of a partition.
    let link = PathBuf::from(format!("/sys/dev/block/{}:{}", major(device), minor(device)));
    link.canonicalize().unwrap_or(link)
}

/// Folders of the device, and of its partitions or its whole device, whose use excludes that of the
/// device.
fn related(device: u64) -> Vec<PathBuf> {
    let own = folder_of(device);
    if own.join("partition").exists() {
        let whole = own.parent().map(Path::to_path_buf);
        return std::iter::once(own).chain(whole).collect();
    }
    let below = std::fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path());
    let partitions: Vec<PathBuf> = below.filter(|path| path.join("partition").exists()).collect();
    std::iter::once(own).chain(partitions).collect()
}

/// Mount, swap space or stacked device that has a block device.
fn kernel_holder(about: &Metadata) -> Option<Holder> {
    let folders = related(about.rdev());
    let number = |folder: &PathBuf| std::fs::read_to_string(folder.join("dev")).ok();
    let mut numbers: Vec<String> =
        folders.iter().filter_map(number).map(|number| number.trim().to_owned()).collect();
    numbers.push(name_of(about.rdev()));
    let is_ours = |path: &str| device_at(path).is_some_and(|number| numbers.contains(&number));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if let Some(folder) = mounts.lines().find_map(|line| mounted(line, &numbers, is_ours)) {
        return Some(Holder::Mount { folder });
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(is_ours) {
        return Some(Holder::Swap);
    }
    let stacked = folders.iter().find_map(|folder| {
        let above = std::fs::read_dir(folder.join("holders")).ok()?.flatten().next()?;
        Some(above.file_name().to_string_lossy().into_owned())
    })?;
    Some(Holder::Stacked { device: format!("/dev/{stacked}") })
}

/// Folder of a line of mountinfo, if it is a mount of one of these devices.
fn mounted(line: &str, numbers: &[String], is_ours: impl Fn(&str) -> bool) -> Option<String> {
    let (mount, source) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(2);
    let number = fields.next()?;
    let folder = fields.nth(1)?;
    // Btrfs has a number of its own, and names its device as the source.
    let source = unescaped(source.split(' ').nth(1)?);
    (numbers.iter().any(|ours| ours == number) || is_ours(&source)).then(|| unescaped(folder))
}

fn device_at(path: &str) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    about.file_type().is_block_device().then(|| name_of(about.rdev()))
}

fn name_of(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// Text in which the kernel wrote blanks and backslashes in octal.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                bytes.extend_from_slice(&piece.as_bytes()[3..]);
            }
            None => {
                bytes.push(b'\\');
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Process with a lock (`flock`) on the inode.
fn locking_process(about: &Metadata) -> Option<Holder> {
    let (dev, inode) = (about.dev(), about.ino());
    let locked = format!("{:02x}:{:02x}:{inode}", major(dev), minor(dev));
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let (pid, shared) = locks.lines().find_map(|line| lock_on(line, &locked))?;
    if pid == std::process::id() {
        return Some(Holder::ThisProcess);
    }
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let may_end = shared || is_ending(pid);
    Some(Holder::Process { pid, name: name.trim_end().to_owned(), may_end })
}

/// Process of a line of `/proc/locks` about an inode, and whether its lock is shared.
fn lock_on(line: &str, inode: &str) -> Option<(u32, bool)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    // A process that waits has an arrow behind the number of the line.
    let [_, "FLOCK", _, access, pid, at, ..] = fields.as_slice() else { return None };
    if *at != inode {
        return None;
    }
    Some((pid.parse().ok()?, *access == "READ"))
}

/// Whether a process has exited, is exiting or has SIGKILL pending.
fn is_ending(pid: u32) -> bool {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}"));
    let (Ok(stat), Ok(status)) = (read("stat"), read("status")) else { return true };
    // The name before may have blanks.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let gone = matches!(fields.next(), Some("Z" | "X"));
    let flags: u64 = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0);
    let pending = status.lines().filter_map(|line| {
        let (name, set) = line.split_once(':')?;
        let counts = name == "SigPnd" || name == "ShdPnd";
        counts.then(|| u64::from_str_radix(set.trim(), 16).unwrap_or(0))
    });
    gone || flags & EXITING != 0 || pending.fold(0, |all, set| all | set) & KILLED != 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_by_number_or_source_and_their_folders_are_readable() {
        let ext4 = r"42 27 7:0 / /tmp/a\040b rw,relatime shared:1 - ext4 /dev/loop0 rw";
        let numbers = [String::from("7:0")];
        let folder = |numbers: &[String], ours: &str| mounted(ext4, numbers, |path| path == ours);
        assert_eq!(folder(&numbers, "").as_deref(), Some("/tmp/a b"));
        assert_eq!(folder(&[], "/dev/loop0").as_deref(), Some("/tmp/a b"));
        assert_eq!(folder(&[], "/dev/loop1"), None);
        assert_eq!(unescaped(r"a\134b\9"), r"a\b\9");
    }

    #[test]
    fn locks_name_their_process_and_those_that_wait_do_not_count() {
        let line = "4: FLOCK  ADVISORY  WRITE 10121 fe:00:9986134 0 EOF";
        assert_eq!(lock_on(line, "fe:00:9986134"), Some((10121, false)));
        assert_eq!(lock_on(line, "fe:00:998613"), None);
        assert_eq!(lock_on("4: -> FLOCK ADVISORY WRITE 1 fe:00:1 0 EOF", "fe:00:1"), None);
        let shared = "4: FLOCK  ADVISORY  READ 7 fe:00:1 0 EOF";
        assert_eq!(lock_on(shared, "fe:00:1"), Some((7, true)));
        assert!(!is_ending(std::process::id()) && is_ending(u32::MAX));
    }
}
