//! What the program says about itself while it serves: lines on stderr.

use clap::Args;
use study::Failure;
use study::values::names::Unknown;
use tracing::level_filters::LevelFilter;

/// Where the level is read if `--log` does not say it.
const VARIABLE: &str = "IODA_LOG";
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// Options of the log, for every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogArgs {
    /// Least severity of what is logged: off, error, warn, info, debug or trace [default:
    /// $IODA_LOG, or info, or with --quiet error]
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<String>,
    /// Log JSON, one object a line
    #[arg(long, global = true)]
    log_json: bool,
}

/// Begins to log to stderr.
pub(crate) fn start(args: &LogArgs, quiet: bool) -> Result<(), Failure> {
    let variable = std::env::var_os(VARIABLE).map(|level| level.to_string_lossy().into_owned());
    let level = level(args.log.as_deref().or(variable.as_deref()), quiet)?;
    // Plain text: logs are read in files and journals, where colours are noise.
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        // A line that cannot be written is lost: to say so on the same stderr would panic.
        .log_internal_errors(false);
    let begun = match args.log_json {
        true => lines.json().flatten_event(true).try_init(),
        false => lines.try_init(),
    };
    begun.map_err(|error| Failure::internal(format!("cannot log: {error}")))
}

fn level(given: Option<&str>, quiet: bool) -> Result<LevelFilter, Failure> {
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        return Ok(if quiet { LevelFilter::ERROR } else { LevelFilter::INFO });
    };
    let found = LEVELS.iter().find(|(name, _)| given.eq_ignore_ascii_case(name));
    let unknown = || Unknown::new("log level", given, LEVELS.map(|(name, _)| name));
    found.map(|(_, level)| *level).ok_or_else(|| Failure::usage(unknown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_others_refused() {
        assert_eq!(level(None, false).unwrap(), LevelFilter::INFO);
        assert_eq!(level(Some(""), true).unwrap(), LevelFilter::ERROR);
        assert_eq!(level(Some("Debug"), true).unwrap(), LevelFilter::DEBUG);
        let refusal = level(Some("wran"), false).unwrap_err().to_string();
        assert!(refusal.contains("did you mean \"warn\"?"), "{refusal}");
    }
}
