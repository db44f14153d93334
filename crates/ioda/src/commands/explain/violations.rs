//! `ioda explain --violations`: when, on which drive and why collections broke the window contract.

use report::schema::Document;
use report::violation::Cause;
use schemars::JsonSchema;
use serde::Serialize;
use sim::RunResult;
use study::describe;
use study::setup::Setup;
use study::table;

/// Violations of a run, as `ioda explain --violations --json` writes them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Violations {
    /// Name of the policy as people type it, such as `ioda`.
    policy: String,
    /// Name of the policy in figures, such as `IODA`.
    label: String,
    /// Collections that broke the contract, on all drives.
    contract_violations: u64,
    /// The first 256 of each drive, in order of time.
    violations: Vec<Violation>,
}

impl Document for Violations {
    const SCHEMA: &str = "ioda.violations/1";
}

/// A collection that broke the window contract.
#[derive(Serialize, JsonSchema)]
struct Violation {
    /// Microseconds from the start of the run to its begin, or to its end if it overran.
    at_us: f64,
    /// Index of the drive in the array.
    drive: u32,
    /// Why.
    cause: Cause,
    /// The first die that it kept from the host.
    first_die: u32,
    /// Free blocks of that die (or lines of the drive) then.
    free_blocks: u32,
    /// The same as a share of all, from 0 to 1.
    free_share: f64,
}

/// The violations of a run.
pub(super) fn document(result: &RunResult, setup: &Setup) -> Violations {
    let plan = setup.plan();
    let each = result.drives.iter().zip(0..).flat_map(|(drive, number)| {
        drive.violations.iter().map(move |violation| Violation {
            at_us: violation.at.as_nanos() as f64 / 1e3,
            drive: number,
            cause: describe::violation_cause(violation.cause),
            first_die: violation.first_die,
            free_blocks: violation.free_blocks,
            free_share: violation.free_share(),
        })
    });
    let mut violations: Vec<Violation> = each.collect();
    violations.sort_by(|a, b| a.at_us.total_cmp(&b.at_us));
    Violations {
        policy: plan.policy.name().to_owned(),
        label: plan.policy.label().to_owned(),
        contract_violations: result.drive_totals().contract_violations,
        violations,
    }
}

/// The same as a table.
pub(super) fn table(found: &Violations) -> String {
    if found.contract_violations == 0 {
        return format!("No collection broke the window contract under {}.\n", found.label);
    }
    let rows: Vec<Vec<String>> = found
        .violations
        .iter()
        .map(|violation| {
            vec![
                format!("{:.6} s", violation.at_us / 1e6),
                violation.drive.to_string(),
                violation.first_die.to_string(),
                format!("{} ({:.1} %)", violation.free_blocks, violation.free_share * 100.0),
                violation.cause.words().to_owned(),
            ]
        })
        .collect();
    let header = table::header(&["at", "drive", "die", "free blocks", "why"]);
    format!(
        "{} collections broke the window contract under {}; the first {}:\n{}",
        found.contract_violations,
        found.label,
        found.violations.len(),
        table::numbers_between(&header, &rows, 0, 1)
    )
}
