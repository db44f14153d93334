//! What a run with failed drives has to say.

use crate::document::{Degraded, DegradedContract, Rebuild, Run};
use crate::format;

/// What was left of the contract: with how many drives busy at once.
pub(crate) fn contract(run: &Run) -> String {
    let Some(Degraded { contract, busy_drives, .. }) = &run.degraded else {
        return "–".to_owned();
    };
    match contract {
        DegradedContract::NoWindows => "–".to_owned(),
        DegradedContract::Whole => format!("all, k = {busy_drives}"),
        DegradedContract::Reduced => format!("k = {busy_drives}"),
        DegradedContract::Suspended => format!("none, {busy_drives} busy"),
    }
}

/// The rebuilds of a run.
fn rebuilds(run: &Run) -> &[Rebuild] {
    run.degraded.as_ref().map_or(&[], |degraded| &degraded.rebuilds)
}

pub(crate) fn has_rebuild(run: &Run) -> bool {
    !rebuilds(run).is_empty()
}

/// Of all rebuilds, what is shown of them.
fn each(run: &Run, show: impl Fn(&Rebuild) -> String) -> String {
    let shown: Vec<String> = rebuilds(run).iter().map(show).collect();
    if shown.is_empty() { "–".to_owned() } else { shown.join(", ") }
}

/// How fast drives were rebuilt.
pub(crate) fn rebuild_speed(run: &Run) -> String {
    each(run, |rebuild| format::three_digits(rebuild.mib_per_second))
}

/// How long it took, or how far it came.
pub(crate) fn rebuilt(run: &Run) -> String {
    each(run, |rebuild| match rebuild.ended_s {
        Some(ended_s) => format!("in {} s", format::three_digits(ended_s - rebuild.began_s)),
        None => format::percent(100.0 * rebuild.done_share),
    })
}

/// What the contract of an array with drives missing means for a read, in a sentence.
pub(crate) fn sentence(run: &Run) -> Option<String> {
    let Degraded { contract, busy_drives, .. } = run.degraded.as_ref()?;
    let name = run.name();
    let drives = match busy_drives {
        1 => "one drive was".to_owned(),
        several => format!("{several} were"),
    };
    match contract {
        DegradedContract::NoWindows | DegradedContract::Whole => None,
        DegradedContract::Reduced => Some(format!(
            "{name} with drives missing: {drives} busy at a time at most, which every stripe could still do without."
        )),
        DegradedContract::Suspended => Some(format!(
            "{name} with drives missing: {drives} busy at a time at most, and a read that needed a busy one had to wait."
        )),
    }
}
