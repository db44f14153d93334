//! The programs that runs of the laboratory need.

use super::experiment::Raid;
use super::{Experiment, FileSystem};
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Where programs of administrators are; the path of other users may lack it.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The path on which programs of the laboratory are found.
pub(super) fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    for folder in FOLDERS {
        if !std::env::split_paths(&path).any(|known| known == Path::new(folder)) {
            path.push(":");
            path.push(folder);
        }
    }
    path
}

/// Refuses to begin where programs are missing that `experiments` need.
///
/// # Errors
///
/// If some are, with the packages of Debian that have them.
pub fn check(experiments: &[Experiment]) -> Result<(), Failure> {
    check_on(&path(), &needed(experiments))
}

/// What is needed, each with its package.
fn needed(experiments: &[Experiment]) -> BTreeMap<&str, &str> {
    let mut needed = BTreeMap::from([("nbd-client", "nbd-client"), ("python3", "python3")]);
    for experiment in experiments {
        if experiment.systems.iter().any(|system| system.value.raid == Raid::Md) {
            needed.insert("mdadm", "mdadm");
        }
        for file_system in &experiment.file_systems {
            match file_system {
                FileSystem::Ext4 => needed.insert("mkfs.ext4", "e2fsprogs"),
                FileSystem::Xfs => needed.insert("mkfs.xfs", "xfsprogs"),
                FileSystem::Raw => None,
            };
        }
        needed.extend(experiment.needs.iter().map(|(name, of)| (name.as_str(), of.as_str())));
    }
    needed
}

fn check_on(path: &OsStr, needed: &BTreeMap<&str, &str>) -> Result<(), Failure> {
    let is_there = |name: &str| std::env::split_paths(path).any(|at| at.join(name).is_file());
    let missing: Vec<(&str, &str)> = needed
        .iter()
        .filter(|(name, _)| !is_there(name))
        .map(|(name, package)| (*name, *package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    Err(Failure::usage(format!(
        "programs that the laboratory needs are missing: {}; on Debian: apt-get install {}",
        names.join(", "),
        packages.join(" ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_packages() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mdadm"), "").unwrap();
        let path = folder.path().as_os_str();
        let needed =
            BTreeMap::from([("mdadm", "mdadm"), ("redis-cli", "redis"), ("redis-server", "redis")]);
        let error = check_on(path, &needed).unwrap_err().to_string();
        assert_eq!(
            error,
            "programs that the laboratory needs are missing: redis-cli, redis-server; on Debian: apt-get install redis"
        );
        check_on(path, &BTreeMap::from([("mdadm", "mdadm")])).unwrap();
    }

    #[test]
    fn what_runs_determines_what_is_needed() {
        let all = crate::experiment::lab::builtin().unwrap();
        let of = |id: &str| {
            let chosen: Vec<Experiment> = all.iter().filter(|one| one.id == id).cloned().collect();
            assert_eq!(chosen.len(), 1);
            needed(&chosen).into_keys().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("lab-mixes"), ["mdadm", "nbd-client", "python3"]);
        assert!(of("lab-xfs").contains(&"mkfs.xfs".to_owned()));
        assert!(!of("lab-table-4").contains(&"mdadm".to_owned()));
    }
}
