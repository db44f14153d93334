//! The memory that runs need, before they begin.

use crate::exit::Failure;
use crate::output::remark;
use crate::setup::Setup;
use units::Bytes;

/// From here on a run says what it needs.
const TOLD_BYTES: u64 = 1 << 30;

/// Says what memory the runs of `setup` need if that is much, and refuses them if the machine has less.
pub(crate) fn check(setup: &Setup, quiet: bool) -> Result<(), Failure> {
    let needed = sim::memory_bytes(&setup.plans, setup.threads);
    let available = available_bytes();
    if let Some(available) = available
        && needed > available
    {
        return Err(Failure::usage(refusal(setup, needed, available)));
    }
    if needed >= TOLD_BYTES && !quiet {
        remark(&format!("{} of drives need about {} of memory", drives(setup), Bytes(needed)));
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

/// Memory that programs can still have, by `/proc/meminfo` and the limits of the control group; none where those are
/// not known.
fn available_bytes() -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let machine = available_in(&text("/proc/meminfo")?)?;
    let number = |path| text(path).and_then(|text| text.trim().parse::<u64>().ok());
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current");
    let group = limit.zip(used).map(|(limit, used)| limit.saturating_sub(used));
    Some(group.map_or(machine, |group| group.min(machine)))
}

/// `MemAvailable` of `/proc/meminfo`.
fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{DriveSettings, Settings};
    use array::policy::PolicyKind;

    fn setup(drive: &str, threads: usize) -> Setup {
        let mut settings = Settings { drive: DriveSettings::preset(drive), ..Settings::default() };
        settings.run.threads = Some(threads);
        Setup::new(&settings, &[PolicyKind::BASE, PolicyKind::IODA, PolicyKind::IDEAL]).unwrap()
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
    fn available_memory_is_read() {
        let meminfo = "MemTotal:       24 kB\nMemAvailable:   23847936 kB\nBuffers: 1 kB\n";
        assert_eq!(available_in(meminfo), Some(23_847_936 << 10));
        assert_eq!(available_in("MemTotal: 24 kB\n"), None);
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
    }
}
