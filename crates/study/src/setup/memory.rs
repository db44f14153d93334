//! The memory that runs need, before they begin.

use crate::failure::Failure;
use crate::setup::Setup;
use crate::watch::Watch;
use live::storage::headroom_bytes;
use units::Bytes;

/// From here on a run says what it needs.
const TOLD_BYTES: u64 = 1 << 30;

/// Says what memory the runs of `setup` need if that is much, and refuses them if the machine has
/// less.
pub fn check(setup: &Setup, watch: &dyn Watch) -> Result<(), Failure> {
    let needed = sim::memory_bytes(&setup.plans, setup.threads);
    if let Some(available) = headroom_bytes()
        && needed > available
    {
        return Err(Failure::usage(refusal(setup, needed, available)));
    }
    if needed >= TOLD_BYTES {
        watch.remark(&format!("{} need about {} of memory", drives(setup), Bytes(needed)));
    }
    Ok(())
}

fn drives(setup: &Setup) -> String {
    let plan = setup.plan();
    format!("{} × {}", plan.width, plan.drive.name)
}

fn refusal(setup: &Setup, needed: u64, available: u64) -> String {
    let threads = match sim::memory_bytes(&setup.plans, 1) {
        less if less <= available => "--threads 1, ",
        _ => "",
    };
    format!(
        "{} need about {} of memory, and this machine has {}; choose {threads}fewer --drives or \
         fewer --blocks-per-plane",
        drives(setup),
        Bytes(needed),
        Bytes(available)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{DriveSettings, Settings};
    use crate::watch::Silent;
    use array::policy::PolicyKind;

    fn setup(drive: &str, threads: usize) -> Setup {
        let mut settings = Settings { drive: DriveSettings::preset(drive), ..Settings::default() };
        settings.run.threads = Some(threads);
        let policies = [PolicyKind::BASE, PolicyKind::IODA, PolicyKind::IDEAL];
        Setup::new(&settings, &policies, &Silent).unwrap()
    }

    #[test]
    fn what_is_needed_grows_with_drives_and_threads() {
        let needed = |threads| {
            let setup = setup("femu", threads);
            sim::memory_bytes(&setup.plans, setup.threads)
        };
        let one = setup("femu", 1).plan().drive.memory_bytes() * 4;
        assert!(needed(1) < needed(2), "{} {}", needed(1), needed(2));
        assert_eq!([needed(2), needed(8)], [3 * one, 3 * one]);
    }

    #[test]
    fn a_refusal_names_what_helps() {
        let setup = setup("femu", 8);
        let needed = sim::memory_bytes(&setup.plans, 8);
        assert!(refusal(&setup, needed, needed / 4 * 3).contains("choose --threads 1, fewer"));
        assert!(
            refusal(&setup, needed, 1 << 20).contains("and this machine has 1 MiB; choose fewer")
        );
    }

    #[test]
    fn this_machine_says_what_it_has() {
        assert!(headroom_bytes().is_some_and(|bytes| bytes > 0));
    }
}
