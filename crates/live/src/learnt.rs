//! What policies have learnt, in a file, so that a server begins with it.

use array::Memory;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Version of the form. A file of another version is refused.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    learnt: Memory,
}

/// The part that all versions have.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// Reads what was learnt; nothing if there is no such file.
///
/// # Errors
///
/// A sentence, if the file cannot be read or is not of this version.
pub fn load(path: &Path) -> Result<Memory, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Memory::default()),
        Err(error) => return Err(error.to_string()),
    };
    let wrong = |error| format!("the file does not hold what a policy has learnt: {error}");
    let Versioned { version } = serde_json::from_slice(&bytes).map_err(wrong)?;
    if version != VERSION {
        return Err(format!("the file is of version {version}; {VERSION} can be read"));
    }
    let stored: Stored = serde_json::from_slice(&bytes).map_err(wrong)?;
    Ok(stored.learnt)
}

/// Writes what was learnt. The file is the old one or the new one, whatever happens.
pub(crate) fn save(path: &Path, learnt: Memory) -> io::Result<()> {
    let bytes = serde_json::to_vec(&Stored { version: VERSION, learnt })?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, bytes)?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::{OperationClass, Stall};

    #[test]
    fn what_was_learnt_is_read_again_and_another_version_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("learnt.json");
        assert_eq!(load(&path), Ok(Memory::default()), "there is no file yet");
        let class = OperationClass { operations: 5, reads: 3 };
        let stall = Stall { length_nanos: 1, period_nanos: 2, written_blocks: 3 };
        let memory = Memory {
            latencies: vec![(100, 7)],
            host: vec![class],
            parity: Vec::new(),
            drives: vec![vec![stall], Vec::new()],
        };
        save(&path, memory.clone()).unwrap();
        assert_eq!(load(&path), Ok(memory));
        std::fs::write(&path, r#"{"version":2,"learnt":{}}"#).unwrap();
        assert_eq!(load(&path), Err("the file is of version 2; 1 can be read".to_owned()));
        std::fs::write(&path, "{").unwrap();
        assert!(load(&path).is_err_and(|error| error.contains("does not hold")));
    }
}
