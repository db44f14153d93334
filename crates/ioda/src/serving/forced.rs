//! Going on from drives that disagree: what people are told, and what they are asked.

use super::bytes::{QUIET_FOR, check_uuid};
use crate::output::remark;
use live::durable::{self, Geometry, OpenArray, OpenError};
use live::storage::DriveLocation;
use std::io::{BufRead, IsTerminal, Write};
use study::Failure;
use study::settings::Settings;

/// What is wrong, and that it can be forced if it can.
pub(super) fn hint(error: &OpenError, places: &[DriveLocation], asked: &Geometry) -> String {
    match durable::find_forced(places, Some(asked)) {
        Err(_) => error.to_string(),
        Ok(_) => format!(
            "{error}; if they cannot be brought back, --force-assembly says what can be done without, and \
             what may be lost by that"
        ),
    }
}

/// Tells what it would do to an array that was refused for `why`, and does it if people agree.
pub(super) fn open(
    settings: &Settings,
    places: &[DriveLocation],
    asked: &Geometry,
    why: &OpenError,
) -> Result<OpenArray, Failure> {
    let found = durable::find_forced(places, Some(asked));
    let (found, account) =
        found.map_err(|error| Failure::usage(format!("--force-assembly cannot help: {error}")))?;
    check_uuid(settings, found.assembly())?;
    // Whoever reads the output of the server is not the one who has to agree.
    remark(&format!(
        "The array cannot be started: {why}.\n--force-assembly would go on like this:\n{account}"
    ));
    let mut out = std::io::stderr().lock();
    if !settings.serve.yes && !agrees(&mut out)? {
        return Err(Failure::usage("nothing was written: the assembly was not agreed to"));
    }
    drop(out);
    found.start(QUIET_FOR).map_err(|error| Failure::usage(error.to_string()))
}

/// Asks on the terminal.
fn agrees(out: &mut impl Write) -> Result<bool, Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(Failure::usage(
            "nothing was written: there is no terminal to ask on; say --yes to agree to what is said above",
        ));
    }
    let _ = write!(out, "Go on? Write \"yes\": ");
    let _ = out.flush();
    let mut answer = String::new();
    input.lock().read_line(&mut answer).map_err(|error| {
        Failure::usage(format!("nothing was written: the answer cannot be read: {error}"))
    })?;
    Ok(answer.trim() == "yes")
}
