//! Programs of other people that tests use. Where one is missing, its tests say that they were
//! skipped, unless `IODA_REQUIRE_TOOLS=1`, which CI sets, makes that a failure.

use std::path::PathBuf;

/// Names under which Chromium is installed.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The file of an installed program.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // What root uses is not in everybody's path.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut files = std::env::split_paths(&path).chain(more).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// Says that `what` is not tested, because of a program that is not as it has to be.
///
/// # Panics
///
/// If `IODA_REQUIRE_TOOLS=1`.
#[allow(clippy::print_stdout, reason = "who reads a test's output learns what was skipped")]
pub fn skip(what: &str, why: &str) {
    let required = std::env::var_os("IODA_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "{what} has to be tested, for IODA_REQUIRE_TOOLS=1, but {why}");
    println!("skipped: {what}, because {why}");
}

/// Whether all `programs` are installed; otherwise says which is not, and that `what` is skipped.
///
/// # Panics
///
/// If one is missing and `IODA_REQUIRE_TOOLS=1`.
pub fn have(what: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| find(program).is_none());
    if let Some(missing) = missing {
        skip(what, &format!("{missing} is not installed"));
    }
    missing.is_none()
}

/// The browser: the one that `IODA_CHROMIUM` names, or the first that is installed.
///
/// # Panics
///
/// If there is none and `IODA_REQUIRE_TOOLS=1`.
pub fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("IODA_CHROMIUM").map(PathBuf::from);
    let found = named.or_else(|| BROWSERS.iter().find_map(|name| find(name)));
    if found.is_none() {
        skip(
            "a page in a browser",
            "there is no Chromium; install one or set IODA_CHROMIUM to its path",
        );
    }
    found
}
