//! Records the reads of an array's drives under Base, for `scripts/train-predictors`:
//!
//! ```text
//! record-reads FILE SHADOW WORKLOAD [OPTION=VALUE …]
//! ```
//!
//! The options are those of `ioda run`, such as `drive=7450-960`. SHADOW is `none` or a policy. It
//! is asked and told as if it ran the array, and every read is sent whatever it answers.
//!
//! FILE gets a row for each read that was answered: nine numbers of 64 bits, little-endian.
//!
//! 1. The drive.
//! 2. The place of its sending in the order of all commands.
//! 3. The place of its answer in the same order.
//! 4. Its latency in nanoseconds.
//! 5. The blocks that were out when it was sent.
//! 6. Its own blocks.
//! 7. 1 for a read of the host, and 0 for others.
//! 8. 1 for a read that the shadow avoids.
//! 9. Its first block on the drive.

use array::policy::{
    About, Answered, Attempt, DriveChanges, Hooks, Needs, Policy, PolicyKind, Sent, View, WindowUse,
};
use ioda::embed::{Command, Entry, Question, Simulation, Value, Words};
use nvme::{Opcode, PlFlag, Untimed};
use sim::Progress;
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use units::{DriveId, Instant, Lba};

/// Numbers of a read, in the order of the file.
type Row = [u64; 9];

/// Rows of the reads that were answered.
type Rows = Arc<Mutex<Vec<Row>>>;

/// Base, with an eye on each read.
struct Recorder {
    shadow: Option<Box<dyn Policy>>,
    rows: Rows,
    /// Commands that were sent or answered.
    events: u64,
    /// Blocks that are out, by drive.
    out_blocks: BTreeMap<DriveId, u64>,
    /// Whether the read that is sent next is one of the host, and whether the shadow avoids it.
    asked: Option<bool>,
    /// Reads that are out, by drive and first block; of equals, in the order of sending.
    out: BTreeMap<(DriveId, Lba), Vec<Row>>,
}

impl Policy for Recorder {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT | Hooks::SENT | Hooks::ANSWERED
    }

    fn sends_parity_reads(&self) -> bool {
        true
    }

    fn first_attempt(
        &mut self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        view: &View<'_>,
    ) -> Attempt {
        let shadow = self.shadow.as_mut();
        let attempt = shadow.map(|shadow| shadow.first_attempt(now, drive, lba, view));
        self.asked = Some(attempt == Some(Attempt::Avoid));
        Attempt::Send(PlFlag::Off)
    }

    fn sent(&mut self, now: Instant, command: &Sent) {
        if let Some(shadow) = &mut self.shadow {
            shadow.sent(now, command);
        }
        let asked = self.asked.take();
        if command.opcode == Opcode::Deallocate {
            return;
        }
        let out_blocks = self.out_blocks.entry(command.drive).or_insert(0);
        if command.opcode == Opcode::Read {
            let (drive, blocks) = (u64::from(command.drive.0), u64::from(command.blocks));
            let (host, avoided) = (u64::from(asked.is_some()), u64::from(asked == Some(true)));
            let row = [drive, self.events, 0, 0, *out_blocks, blocks, host, avoided, command.lba.0];
            self.out.entry((command.drive, command.lba)).or_default().push(row);
        }
        *out_blocks += u64::from(command.blocks);
        self.events += 1;
    }

    fn answered(&mut self, now: Instant, answer: &Answered) {
        if let Some(shadow) = &mut self.shadow {
            shadow.answered(now, answer);
        }
        let command = &answer.command;
        if command.opcode == Opcode::Deallocate {
            return;
        }
        *self.out_blocks.entry(command.drive).or_insert(0) -= u64::from(command.blocks);
        if command.opcode == Opcode::Read
            && let Some(equals) = self.out.get_mut(&(command.drive, command.lba))
        {
            let mut row = equals.remove(0);
            if equals.is_empty() {
                self.out.remove(&(command.drive, command.lba));
            }
            (row[2], row[3]) = (self.events, answer.latency.as_nanos());
            self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        }
        self.events += 1;
    }
}

/// A policy that records into `rows`. It is never freed, as policies of the registry are not.
fn recorder(shadow: Option<PolicyKind>, rows: &Rows) -> PolicyKind {
    let rows = Arc::clone(rows);
    let build = move |setup: &array::policy::PolicySetup<'_>| -> Box<dyn Policy> {
        rows.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Box::new(Recorder {
            shadow: shadow.map(|kind| (kind.about().build)(setup)),
            rows: Arc::clone(&rows),
            events: 0,
            out_blocks: BTreeMap::new(),
            asked: None,
            out: BTreeMap::new(),
        })
    };
    PolicyKind::new(Box::leak(Box::new(About {
        name: "recorder",
        label: "Recorder",
        summary: "Base, with an eye on each read",
        source: "scripts/train-predictors",
        drive_changes: DriveChanges::Nothing,
        windows: WindowUse::None,
        untimed: Untimed::Nothing,
        needs: Needs::Redundancy,
        build: Box::leak(Box::new(build)),
    })))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let (file, shadow, workload) = (next("FILE")?, next("SHADOW")?, next("WORKLOAD")?);
    let shadow = match shadow.as_str() {
        "none" => None,
        name => Some(PolicyKind::from_name(name).ok_or(format!("there is no policy {name}"))?),
    };
    let mut words = Words::new("run").map_err(|error| error.to_string())?;
    for option in arguments {
        let (name, value) = option.split_once('=').ok_or(format!("{option} is no OPTION=VALUE"))?;
        words.add(name, &Value::Text(OsString::from(value))).map_err(|error| error.to_string())?;
    }
    words.set_last(workload.into());
    let rows = Rows::default();
    let policies = vec![Entry::Own(recorder(shadow, &rows))];
    let question = Question { command: Command::Run, words, configuration: None, policies };
    let simulation = Simulation::new(&question).map_err(|error| error.to_string())?;
    simulation
        .run(&Progress::new(simulation.runs()), |_| {}, None)
        .map_err(|error| error.to_string())?;
    let rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(&file, bytes).map_err(|error| format!("{file}: {error}"))?;
    Ok(())
}
