//! Keys of a drive that would change nothing: each is an error that says what to do instead.
//!
//! Some keys count beside others only. Such a key alone describes another drive than the simulated
//! one, so it is refused.

use super::DriveSettings;
use crate::failure::Failure;
use crate::values::quantity::{Percent, Text};
use ssd::{Allocation, Config, PreemptionScope, RangePlacement};
use units::Ratio;

/// Whether a key is given, why it does not count, and what to do.
struct Idle {
    key: &'static str,
    given: bool,
    why: &'static str,
    instead: &'static str,
}

/// Refuses a key of `settings` that does not count on the drive that they describe.
pub(super) fn refuse(settings: &DriveSettings, config: &Config) -> Result<(), Failure> {
    match idle(settings, config).into_iter().find(|idle| idle.given) {
        None => Ok(()),
        Some(Idle { key, why, instead, .. }) => Err(Failure::usage(format!(
            "{key} changes nothing: {why}; {instead}, or leave {key} out"
        ))),
    }
}

fn is_above_zero(share: &Option<Text<Percent>>) -> bool {
    share.as_ref().is_some_and(|share| share.value.0 > Ratio::ZERO)
}

fn idle(settings: &DriveSettings, config: &Config) -> Vec<Idle> {
    let mut idle = Vec::new();
    let mut refuse = |is_idle: bool, keys: &[(&'static str, bool)], why, instead| {
        if is_idle {
            let idle_keys = keys.iter().map(|&(key, given)| Idle { key, given, why, instead });
            idle.extend(idle_keys);
        }
    };
    refuse(
        config.cells.is_some(),
        &[("read", settings.read.is_some()), ("program", settings.program.is_some())],
        "this drive has cells, and senses and programs in the times of [drive.cells]",
        "set reads and programs there",
    );
    refuse(
        !config.scheduling.preemptive_collection,
        &[("preemption_scope", config.scheduling.preemption_scope != PreemptionScope::Die)],
        "collections are not preemptive",
        "set preemptive_collection to true",
    );
    refuse(
        config.ranges.count == 1,
        &[("lba_range_placement", config.ranges.placement != RangePlacement::Channels)],
        "the drive has one range",
        "set lba_ranges to at least 2",
    );
    refuse(
        config.rain.is_some(),
        &[("allocation", config.allocation != Allocation::NextDie)],
        "stripes of RAIN say which die a page goes to",
        "set rain to 0",
    );
    refuse(
        config.timing.transfer.is_zero() && config.scrub.is_none(),
        &[("copyback", config.collection.copyback)],
        "moving a page over its channel takes no time",
        "set transfer",
    );
    let given = settings.read_retry.clone().unwrap_or_default();
    refuse(
        config.retry.is_none(),
        &[
            ("read_retry.rated_erases", given.rated_erases.is_some()),
            ("read_retry.worn_erases", given.worn_erases.is_some_and(|erases| erases > 0)),
            ("read_retry.age_share", is_above_zero(&given.age_share)),
            ("read_retry.age_months", given.age_months.is_some_and(|months| months > 0)),
            ("read_retry.rated_reads", given.rated_reads.is_some()),
            ("read_retry.most", given.most.is_some_and(|most| most > 0)),
        ],
        "no sensing is repeated",
        "set read_retry.share above 0%",
    );
    if let Some(retry) = &config.retry {
        refuse(
            retry.wear_share == Ratio::ZERO,
            &[
                ("read_retry.rated_erases", given.rated_erases.is_some()),
                ("read_retry.worn_erases", given.worn_erases.is_some_and(|erases| erases > 0)),
            ],
            "wear adds nothing to the share of repeated sensings",
            "set wear_share",
        );
        refuse(
            retry.disturb_share == Ratio::ZERO,
            &[("read_retry.rated_reads", given.rated_reads.is_some())],
            "reads add nothing to the share of repeated sensings",
            "set disturb_share",
        );
        refuse(
            retry.age_months == 0,
            &[("read_retry.age_share", retry.age_share != Ratio::ZERO)],
            "the data have just been written",
            "set age_months",
        );
        refuse(
            retry.age_share == Ratio::ZERO,
            &[("read_retry.age_months", retry.age_months > 0)],
            "age adds nothing to the share of repeated sensings",
            "set age_share",
        );
    }
    idle
}
