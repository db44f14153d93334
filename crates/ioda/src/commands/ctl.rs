//! `ioda ctl`: shows the state of a running array and sends it admin commands.

mod show;

use crate::address::Address;
use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output::{self, remark};
use clap::{Args, Subcommand};
use live::control::{ANSWER_SCHEMA, AdminCommand, Answer, Marked, Status};
use live::operate::ctl::Client;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::Failure;
use study::values::quantity::{PolicyName, Span, Text};
use units::TRACED_EVENTS;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda ctl status
      show the status of the array that `ioda serve` serves by default
  ioda ctl status --watch
      the same every second, with the latencies of that second
  ioda ctl policy ioda
      go on under another policy, while clients go on
  ioda ctl window 50ms
      shorter busy windows
  ioda ctl fail 2
      treat a drive as failed; what it held is reconstructed from the others when it is read
  ioda ctl replace 2
      put an empty one in and rebuild it
  ioda ctl slow 2 10
      an emulated drive takes ten times as long for everything, and tells nobody
  ioda ctl trace --drive 2
      the last events that name a drive: commands, answers, windows, collections
  ioda ctl scrub
      read every page and check all parity while serving
  ioda ctl shutdown --address /run/array.sock
      end another array, with everything written down
  ioda ctl status --json
      for scripts

Exit code 1 if the array refused the command, 4 if it could not be reached.";

/// An array may take its time, for instance to write everything down.
const PATIENCE: Duration = Duration::from_secs(65);
/// Time between two status queries of `--watch`.
const EVERY: Duration = Duration::from_secs(1);
/// Clears a terminal and begins at its top.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Options of `ioda ctl`.
#[derive(Args, Debug)]
#[command(mut_arg("json", |json| json.global(true)))]
pub(crate) struct CtlArgs {
    /// The admin command.
    #[command(subcommand)]
    command: CtlCommand,
    /// Where the array is served, as in `ioda serve --address`: the path of its Unix socket, or
    /// nbd+unix:///?socket=PATH [default: ioda.sock in $XDG_RUNTIME_DIR, or else in /tmp]
    #[arg(long, global = true, value_name = "ADDRESS")]
    address: Option<Address>,
    /// The array's control socket, as in `ioda serve --control` [default: the path of its Unix
    /// socket with .ctl at its end]
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "address")]
    control: Option<PathBuf>,
    /// The answer as JSON.
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Subcommand, Debug)]
enum CtlCommand {
    /// Show the status: policy, drives, latencies, background job
    #[command(after_help = "Example:\n  ioda ctl status --watch")]
    Status {
        /// Every second, until interrupted
        #[arg(long, short)]
        watch: bool,
    },
    /// Treat a drive as failed: it is not read or written any more
    #[command(after_help = "Example:\n  ioda ctl fail 2")]
    Fail {
        /// Its position, counted from 0
        drive: u8,
        /// Even if too many are missing then, and data are gone
        #[arg(long)]
        force: bool,
    },
    /// Put an empty drive in the place of a failed one and rebuild it
    #[command(after_help = "Example:\n  ioda ctl replace 2 /dev/nvme3n1")]
    Replace {
        /// Its position, counted from 0
        drive: u8,
        /// Where the new one keeps its bytes [default: where the old one did]
        path: Option<PathBuf>,
    },
    /// Go on under another policy (see `ioda presets policies`)
    #[command(after_help = "Example:\n  ioda ctl policy ioda")]
    Policy {
        /// Its name, see `ioda presets policies`
        name: Text<PolicyName>,
    },
    /// Give the busy windows another length, such as 100ms
    #[command(after_help = "Example:\n  ioda ctl window 50ms")]
    Window {
        /// The length, such as 50ms
        length: Span,
    },
    /// Make an emulated drive slower, to see what becomes of the array
    #[command(after_help = "Example:\n  ioda ctl slow 2 10")]
    Slow {
        /// Its position, counted from 0
        drive: u8,
        /// How many times as long everything that it does takes, 1 to 1000; 1 ends that
        factor: u32,
    },
    /// Read every page and check the parity of every stripe while serving
    #[command(after_help = "Example:\n  ioda ctl scrub --repair")]
    Scrub {
        /// Write parity again that does not fit its data
        #[arg(long)]
        repair: bool,
    },
    /// Show the last events of the array and its drives, of which some thousand are kept
    #[command(after_help = "Example:\n  ioda ctl trace --drive 2 --last 50")]
    Trace {
        /// Only events of requests with this number, 0 or more, such as 3; numbers are used again
        /// [default: all]
        #[arg(long, value_name = "N")]
        request: Option<u64>,
        /// Only events that name this drive, by its position, counted from 0 [default: all]
        #[arg(long, value_name = "DRIVE")]
        drive: Option<u8>,
        /// Number of events, the last ones, 1 to 8192
        #[arg(long, value_name = "N", default_value_t = 200)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=TRACED_EVENTS as i64))]
        last: u32,
    },
    /// Finish what was begun, write everything down, and end
    #[command(after_help = "Example:\n  ioda ctl shutdown --address /run/array.sock")]
    Shutdown,
}

impl CtlCommand {
    fn admin_command(&self) -> Result<AdminCommand, Failure> {
        Ok(match self {
            Self::Status { .. } => AdminCommand::Status,
            Self::Fail { drive, force } => AdminCommand::Fail { drive: *drive, force: *force },
            Self::Replace { drive, path } => {
                // The array has another working directory than the caller of `ioda ctl`.
                let path = path.as_ref().map(std::path::absolute).transpose().map_err(|error| {
                    Failure::usage(format!("the path of the new drive cannot be used: {error}"))
                })?;
                AdminCommand::Replace { drive: *drive, path }
            }
            Self::Policy { name } => AdminCommand::Policy { name: name.value.0.name().to_owned() },
            Self::Window { length } if length.0.is_zero() => {
                return Err(Failure::usage("a busy window of 0 is none; give a length above 0"));
            }
            Self::Window { length } => AdminCommand::Window { nanoseconds: length.0.as_nanos() },
            Self::Slow { drive, factor } => AdminCommand::Slow { drive: *drive, factor: *factor },
            Self::Scrub { repair } => AdminCommand::Scrub { repair: *repair },
            Self::Trace { request, drive, last } => {
                AdminCommand::Trace { request: *request, drive: *drive, last: *last }
            }
            Self::Shutdown => AdminCommand::Shutdown,
        })
    }
}

/// Sends the admin command and prints the answer.
pub(crate) fn run(args: &CtlArgs) -> Result<Code, Failure> {
    let command = args.command.admin_command()?;
    let socket = match &args.control {
        Some(path) => path.clone(),
        None => {
            args.address.clone().unwrap_or_default().control_socket().map_err(Failure::usage)?
        }
    };
    let mut client = Client::connect(&socket, PATIENCE).map_err(Failure::internal)?;
    let json = args.json.path();
    if let CtlCommand::Status { watch: true } = args.command {
        return watch(&mut client, json);
    }
    let answer = client.ask(&command).map_err(Failure::internal)?;
    print(&answer, None, json)
}

/// Shows the status every second. Ends when the array does.
fn watch(client: &mut Client, json: Option<&Path>) -> Result<Code, Failure> {
    let clear = if json.is_none() && std::io::stdout().is_terminal() { CLEAR } else { "" };
    let mut before: Option<Box<Status>> = None;
    loop {
        let answer = client.ask(&AdminCommand::Status).map_err(Failure::internal)?;
        output::print(clear)?;
        let code = print(&answer, before.as_deref(), json)?;
        let Answer::Status(status) = answer else { return Ok(code) };
        before = Some(status);
        std::thread::sleep(EVERY);
    }
}

/// Prints an answer; a status against the one before, if there is one.
fn print(answer: &Answer, before: Option<&Status>, json: Option<&Path>) -> Result<Code, Failure> {
    if let Some(path) = json {
        let line = serde_json::to_string(&Marked { schema: ANSWER_SCHEMA, document: answer })
            .map_err(|error| Failure::internal(format!("the answer is no JSON: {error}")))?;
        output::write(path, &line)?;
    }
    let as_text = !json.is_some_and(study::files::is_stdout);
    match answer {
        Answer::Refused { reason } => {
            remark(&format!("refused: {reason}"));
            return Ok(Code::Failed);
        }
        Answer::Done { text } if as_text => output::print(&format!("{text}\n"))?,
        Answer::Status(status) if as_text => output::print(&show::status(status, before))?,
        Answer::Trace(trace) if as_text => {
            let lines: String = trace.events.iter().map(|event| format!("{event}\n")).collect();
            output::print(&lines)?;
        }
        Answer::Done { .. } | Answer::Status(_) | Answer::Trace(_) => {}
    }
    Ok(Code::Ok)
}
