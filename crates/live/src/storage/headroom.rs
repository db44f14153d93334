//! How much memory may still be taken before the system, or the limit of the process's control
//! group, would have to reclaim or kill.

use std::fs;
use std::path::{Path, PathBuf};

/// One part in so many of all memory is left to others.
const LEFT_TO_OTHERS: u64 = 16;

/// Bytes that may be taken now; `None` if the system does not say.
#[must_use]
pub fn headroom_bytes() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_system(&text));
    let group = fs::read_to_string("/proc/self/cgroup").ok();
    let groups = group.iter().flat_map(|text| group_folders(text));
    groups.filter_map(|folder| of_group(&folder)).chain(system).min()
}

/// What is left to take of `limit` bytes.
fn left(limit: u64, available: u64) -> u64 {
    available.saturating_sub(limit / LEFT_TO_OTHERS)
}

/// From the text of `/proc/meminfo`.
fn of_system(text: &str) -> Option<u64> {
    let field = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    Some(left(field("MemTotal")?, field("MemAvailable")?))
}

/// The folders of the process's control group and all above it, from the text of
/// `/proc/self/cgroup`; a limit of each holds.
fn group_folders(text: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let root = if controllers.is_empty() {
            Path::new("/sys/fs/cgroup")
        } else if controllers.split(',').any(|name| name == "memory") {
            Path::new("/sys/fs/cgroup/memory")
        } else {
            continue;
        };
        let own = root.join(path.trim_start_matches('/'));
        folders.extend(own.ancestors().take_while(|at| at.starts_with(root)).map(PathBuf::from));
    }
    folders
}

/// From the files of a control group of either version; `None` if it has no limit.
fn of_group(folder: &Path) -> Option<u64> {
    let number = |name: &str| {
        fs::read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    let either = |new: &str, old: &str| number(new).or_else(|| number(old));
    let limit = either("memory.max", "memory.limit_in_bytes")?;
    let used = either("memory.current", "memory.usage_in_bytes")?;
    // Files that were read once and can go count as used.
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let cached = cached.and_then(|number| number.trim().parse().ok()).unwrap_or(0);
    Some(left(limit, limit.saturating_sub(used.saturating_sub(cached))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_and_the_groups_are_asked() {
        let text = "MemTotal:       16000 kB\nMemFree:  1 kB\nMemAvailable:    9000 kB\n";
        assert_eq!(of_system(text), Some(8000 * 1024));
        assert_eq!(of_system("MemTotal: many\n"), None);
        let text = "5:cpu:/x\n4:memory,pids:/a/b\n0::/c\n";
        let folders = ["memory/a/b", "memory/a", "memory", "c", ""].map(|path| {
            if path.is_empty() {
                PathBuf::from("/sys/fs/cgroup")
            } else {
                Path::new("/sys/fs/cgroup").join(path)
            }
        });
        assert_eq!(group_folders(text), folders);
        assert!(headroom_bytes().is_none_or(|bytes| bytes < 1 << 60));
    }

    #[test]
    fn a_limit_of_a_group_counts_without_what_can_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(of_group(folder.path()), None);
        put("memory.max", "max\n");
        put("memory.current", "900\n");
        assert_eq!(of_group(folder.path()), None, "no limit");
        put("memory.max", "1600\n");
        assert_eq!(of_group(folder.path()), Some(600));
        put("memory.stat", "anon 5\ninactive_file 300\n");
        assert_eq!(of_group(folder.path()), Some(900));
    }
}
