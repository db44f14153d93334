//! `ioda reproduce live`.

use super::{ReproduceArgs, conclusion};
use crate::agreement::{self as live, Workload, claims, tables};
use crate::exit::Code;
use crate::output;
use crate::talk::Talk;
use report::Claim;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use study::Failure;
use study::experiment::Suites;
use study::table;

/// The simulator against the array on the real clock, as `ioda reproduce live --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Clocks {
    /// The claims and whether they hold.
    claims: Vec<Claim>,
    /// What was measured under each workload.
    workloads: Vec<Workload>,
    /// What a reader should know.
    notes: Vec<String>,
}

impl Document for Clocks {
    const SCHEMA: &'static str = "ioda.reproduce-live/1";
}

/// Compares both clocks and prints what holds.
pub(super) fn run(args: &ReproduceArgs, talk: Talk) -> Result<Code, Failure> {
    if args.experiments.len() > 1 {
        return Err(Failure::usage(
            "`live` needs a quiet machine; run it on its own, without other experiments",
        ));
    }
    if args.output.is_some() {
        return Err(Failure::usage("--output is not for `live`, which has no page; use --json"));
    }
    if args.filter.is_some() {
        return Err(Failure::usage("--filter is not for `live`, whose claims are about one run"));
    }
    if args.seeds.seeds != 1 {
        return Err(Failure::usage("--seeds is not for `live`, which takes one; use --seed"));
    }
    if args.requests == Some(0) {
        return Err(Failure::usage("--requests is 0; it must be at least 1"));
    }
    if args.list {
        output::print(&live::listed()?)?;
        return Ok(Code::Ok);
    }
    let workloads = live::run(
        args.requests,
        args.seeds.seed.clone(),
        args.quick,
        args.threads,
        args.wait.clone(),
        talk,
    )?;
    let claims = claims(&workloads);
    let holds = claims.iter().all(|claim| claim.holds);
    let smoke = args.quick.then(|| study::experiment::SMOKE.to_owned());
    let notes: Vec<String> = smoke.into_iter().chain(notes(&workloads)).collect();
    let junit = args.junit.as_deref();
    let is_document_printed = args.json.is_printed() || junit.is_some_and(study::files::is_stdout);
    if let Some(path) = &args.junit {
        let mut suites = Suites::new(args.quick);
        suites.add(live::NAME, &claims);
        output::write(path, suites.to_xml()?.trim_end())?;
    }
    if !is_document_printed {
        let mut text: String = workloads.iter().map(tables).collect();
        for claim in &claims {
            text += &verdict(claim);
        }
        text.push('\n');
        for note in &notes {
            text += &table::paragraph(&format!("note: {note}"), 2);
        }
        output::print(&(text + &conclusion(&claims, args.quick)))?;
    }
    if let Some(path) = args.json.path() {
        let document = Clocks { claims, workloads, notes };
        output::write(path, &report::schema::to_string(&document))?;
    }
    Ok(if holds || !args.strict { Code::Ok } else { Code::Failed })
}

fn verdict(claim: &Claim) -> String {
    let Claim { id, ours, note, .. } = claim;
    let verdict = if claim.holds { "holds" } else { "DOES NOT HOLD" };
    let note = if note.is_empty() { String::new() } else { table::paragraph(note, 4) };
    format!("{id}: {verdict}\n    {ours}\n{note}")
}

/// From so many turns of windows on it does not matter in which of them a load begins.
const MANY_TURNS: f64 = 20.0;

/// What a reader should know.
fn notes(workloads: &[Workload]) -> Vec<String> {
    let mut notes = vec![
        String::from(
            "`live` is from the arrival at the array to its answer, as the array's thread measured \
             it; `client` is from the intended moment to the answer at the other end of a socket, \
             and has in it what waits in the socket while a thread is behind. The claims are about \
             `live`.",
        ),
        String::from(
            "`with lateness` is the simulated latency if every answer of a drive had come as late \
             as was measured, by chance and independently; `unexplained` is what is then left of \
             the difference. The array reckons with the moments when answers were due, so lateness \
             counts once for a request, however many steps it has.",
        ),
    ];
    let runs = || workloads.iter().flat_map(|workload| &workload.runs);
    let latest = runs().map(|run| run.began_nanoseconds).max().unwrap_or(0);
    let cycles = workloads.iter().filter_map(|workload| {
        let cycle = workload.cycle_nanoseconds? as f64 / 1e9;
        let requests = workload.runs.first()?.read.count + workload.runs.first()?.write.count;
        Some((requests as f64 / workload.requests_per_second / cycle, cycle))
    });
    if let Some((count, cycle)) = cycles.min_by(|a, b| a.0.total_cmp(&b.0)) {
        let phase = if count >= MANY_TURNS {
            "the phase is of no importance for percentiles, but single reads meet other windows, \
             and after the first difference the drives collect at other moments"
        } else {
            "which are too few for the phase to be of no importance"
        };
        notes.push(format!(
            "Busy windows begin with the array's clock; the simulated load begins then, the live one \
             up to {:.1} ms later. The drives have their windows in turn, one turn takes {:.1} ms, \
             and requests do not follow them. A run has {count:.0} turns or more: {phase}.",
            latest as f64 / 1e6,
            cycle * 1e3
        ));
    }
    notes
}
