//! Files that hold secrets: private keys, and secrets of hosts.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use thiserror::Error;

/// Rights of the group and of others.
const OTHERS: u32 = 0o077;

/// Why a file of secrets is not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecretFileError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is no secret.
    #[error(
        "its group or others may read or write it (mode {mode:03o}), so its secrets are none; chmod 600 {path} ends that"
    )]
    Exposed {
        /// Its permissions.
        mode: u32,
        /// Where it is.
        path: String,
    },
}

/// Reads a file that nobody but its owner may read or write.
///
/// # Errors
///
/// If it cannot be read, or its mode gives others rights.
pub fn read_secret_file(path: &Path) -> Result<Vec<u8>, SecretFileError> {
    let mut file = File::open(path)?;
    // Of the file that is open, whatever happens to the path.
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(SecretFileError::Exposed { mode, path: path.display().to_string() });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    #[test]
    fn a_file_that_others_may_read_or_write_is_refused_with_its_mode_and_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        fs::write(&path, "secret").unwrap();
        for (mode, is_secret) in [
            (0o600, true),
            (0o400, true),
            (0o640, false),
            (0o620, false),
            (0o604, false),
            (0o644, false),
            (0o601, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match read_secret_file(&path) {
                Ok(bytes) => assert!(is_secret && bytes == b"secret", "{mode:o}"),
                Err(error) => {
                    let said = error.to_string();
                    assert!(!is_secret && said.contains(&format!("mode {mode:03o}")), "{said}");
                    assert!(said.contains(&format!("chmod 600 {}", path.display())), "{said}");
                }
            }
        }
    }
}
