//! Where the laboratory is, and what of it determines what comes of a run.

use super::processes;
use crate::failure::Failure;
use crate::jobs;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Hexadecimal digits of a key: enough that two of them are never equal by chance.
const KEY_DIGITS: usize = 32;
/// Where each application has a file of its own.
const APPLICATIONS: &str = "experiments/applications";
/// Variables that say where things are and not what is run.
const OF_PLACES: [&str; 4] = ["IODA", "IODA_LAB", "IODA_LAB_KERNEL", "IODA_LAB_TIMEOUT"];

/// The laboratory.
pub struct LabPlace {
    /// Its folder.
    folder: PathBuf,
    /// This program, which serves the arrays there.
    pub(super) program: PathBuf,
    /// The name of its kernel, which is one of a hash.
    pub kernel: String,
    /// A hash of this program, of all files of the laboratory but those of single applications, of
    /// the kernel's name and of the variables of the environment that scripts there are given.
    hash: String,
}

impl LabPlace {
    /// The laboratory in `folder`.
    ///
    /// # Errors
    ///
    /// If there is none, or if its kernel was not built.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let shown = folder.display();
        if !folder.join("boot").is_file() {
            return Err(Failure::usage(format!(
                "there is no laboratory in {shown}, because {} is missing; run this in a copy of ioda's sources, or \
                 say where theirs is with --lab FOLDER",
                folder.join("boot").display()
            )));
        }
        let unreadable =
            |error| Failure::internal(format!("cannot read the laboratory in {shown}: {error}"));
        let folder = folder.canonicalize().map_err(unreadable)?;
        let kernel = kernel(&folder)?;
        let program = std::env::current_exe().map_err(|error| {
            Failure::internal(format!("cannot find this program on the disk: {error}"))
        })?;
        let mut hash = Sha256::new();
        let apart = folder.join(APPLICATIONS);
        let hashed =
            hash_file(&mut hash, &program).and_then(|()| hash_folder(&mut hash, &folder, &apart));
        hashed.map_err(unreadable)?;
        hash.update(&kernel);
        let mut variables: Vec<(String, String)> = std::env::vars()
            .filter(|(name, _)| name.starts_with("IODA") && !OF_PLACES.contains(&name.as_str()))
            .collect();
        variables.sort_unstable();
        hash.update(format!("{variables:?}"));
        Ok(Self { folder, program, kernel, hash: digits(hash) })
    }

    /// A key for `application` as `how` says. What another application does determines nothing of
    /// it.
    pub(super) fn key(&self, application: &str, how: &[&str]) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{} {application} {how:?}", self.hash));
        // One that is not there fails when it is run, and says so.
        let _ = hash_file(&mut hash, &self.folder.join(APPLICATIONS).join(application));
        digits(hash)
    }

    /// The script that boots it.
    pub(super) fn boot(&self) -> PathBuf {
        self.folder.join("boot")
    }

    /// The script that runs an application there.
    pub(super) fn script(&self) -> PathBuf {
        self.folder.join("experiments/application")
    }

    /// Runs the scripts called `names`, which make what applications need.
    ///
    /// # Errors
    ///
    /// If one of them fails, with what it said.
    pub fn prepare<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
        for name in names {
            let path = self.folder.join(name);
            let ran = Command::new(&path).output();
            let why = match ran {
                Ok(ran) if ran.status.success() => continue,
                Ok(ran) => processes::last_lines(&String::from_utf8_lossy(&ran.stderr)),
                Err(error) => error.to_string(),
            };
            return Err(Failure::usage(format!("{} failed: {why}", path.display())));
        }
        Ok(())
    }
}

/// The name of the kernel of the laboratory in `folder`.
fn kernel(folder: &Path) -> Result<String, Failure> {
    let build = folder.join("build-kernel");
    let named = std::env::var_os("IODA_LAB_KERNEL").filter(|name| !name.is_empty());
    let path = match named {
        // The name of the file itself, where a link leads there.
        Some(path) => PathBuf::from(&path).canonicalize().map_err(|error| {
            let shown = path.display();
            Failure::usage(format!(
                "there is no kernel {shown}, which IODA_LAB_KERNEL names: {error}"
            ))
        })?,
        None => {
            let ran = Command::new(&build).arg("--print").output().map_err(|error| {
                Failure::usage(format!("cannot run {}: {error}", build.display()))
            })?;
            if !ran.status.success() {
                return Err(Failure::usage(format!(
                    "the laboratory has no kernel; build it with {}, which takes some minutes once ({})",
                    build.display(),
                    processes::last_lines(&String::from_utf8_lossy(&ran.stderr))
                )));
            }
            PathBuf::from(String::from_utf8_lossy(&ran.stdout).trim())
        }
    };
    Ok(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
}

fn digits(hash: Sha256) -> String {
    jobs::digits(hash)[..KEY_DIGITS].to_owned()
}

/// Adds a file with its length, so that no two files can be taken for two others.
fn hash_file(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    hash.update(file.metadata()?.len().to_le_bytes());
    io::copy(&mut file, hash)?;
    Ok(())
}

/// Adds every file below `folder` with its name, but for those in the folder `apart`. What people
/// read and what editors and Python leave behind determines nothing.
fn hash_folder(hash: &mut Sha256, folder: &Path, apart: &Path) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let text = name.to_string_lossy();
        let is_left = text.starts_with('.') || text.ends_with('~') || text == "__pycache__";
        if is_left || path == apart || path.extension() == Some(OsStr::new("md")) {
            continue;
        }
        hash.update(format!("{name:?}"));
        if path.is_dir() {
            hash.update("(");
            hash_folder(hash, &path, apart)?;
            hash.update(")");
        } else {
            hash_file(hash, &path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(folder: &Path) -> String {
        let mut hash = Sha256::new();
        hash_folder(&mut hash, folder, &folder.join(APPLICATIONS)).unwrap();
        digits(hash)
    }

    #[test]
    fn every_file_that_determines_a_run_changes_the_hash() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        fs::create_dir(folder.join("experiments")).unwrap();
        write("boot", "a");
        write("experiments/application", "b");
        let before = hashed(folder);
        write("README.md", "words");
        write(".boot.swp", "an editor");
        fs::create_dir(folder.join(APPLICATIONS)).unwrap();
        write("experiments/applications/tar", "which has a key of its own");
        assert_eq!(hashed(folder), before);
        let mut seen = vec![before];
        let mut differs = |what: &str| {
            let hash = hashed(folder);
            assert!(!seen.contains(&hash), "{what}");
            seen.push(hash);
        };
        write("boot", "ab");
        differs("another text");
        write("experiments/application", "");
        differs("a part of it below");
        fs::rename(folder.join("experiments/application"), folder.join("application")).unwrap();
        differs("another place");
    }

    #[test]
    fn a_run_is_known_by_its_own_application() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().to_owned();
        fs::create_dir_all(folder.join(APPLICATIONS)).unwrap();
        let write = |name: &str, text: &str| {
            fs::write(folder.join(APPLICATIONS).join(name), text).unwrap();
        };
        write("tar", "a");
        write("sort", "b");
        let place = LabPlace {
            folder: folder.clone(),
            program: PathBuf::from("ioda"),
            kernel: "linux".to_owned(),
            hash: "0f".to_owned(),
        };
        let before = place.key("tar", &["ext4", "md"]);
        assert_ne!(before, place.key("tar", &["xfs", "md"]));
        write("sort", "another");
        assert_eq!(before, place.key("tar", &["ext4", "md"]));
        write("tar", "another");
        assert_ne!(before, place.key("tar", &["ext4", "md"]));
    }
}
