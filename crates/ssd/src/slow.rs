//! A drive that has become slow: all its operations take several times as long, and it does not
//! report that.

use crate::config::Config;
use units::Duration;

/// Highest factor by which a drive can be slowed down.
pub const SLOWEST: u32 = 1_000;

/// The same drive with all times multiplied by `factor`.
pub(crate) fn slowed(config: &Config, factor: u32) -> Config {
    let mut slow = config.clone();
    let take_longer = |time: &mut Duration| *time = *time * u64::from(factor);
    let timing = &mut slow.timing;
    for time in [
        &mut timing.read,
        &mut timing.program,
        &mut timing.erase,
        &mut timing.transfer,
        &mut timing.fail_fast,
        &mut timing.read_overhead,
        &mut timing.command,
        &mut timing.write_command,
    ] {
        take_longer(time);
    }
    if let Some(rate) = &mut timing.pcie_bytes_per_second {
        *rate = (*rate / u64::from(factor)).max(1);
    }
    if let Some(cells) = &mut slow.cells {
        let cache = cells.slc.as_mut().map(|slc| &mut slc.page);
        for page in cells.page_types.iter_mut().chain(cache) {
            take_longer(&mut page.read);
            take_longer(&mut page.program);
        }
    }
    if let Some(suspension) = &mut slow.scheduling.suspension {
        take_longer(&mut suspension.program);
        take_longer(&mut suspension.erase);
        take_longer(&mut suspension.pulses.program);
        take_longer(&mut suspension.pulses.erase);
        take_longer(&mut suspension.pulses.apart);
    }
    if let Some(buffer) = &mut slow.write_buffer {
        take_longer(&mut buffer.latency);
    }
    slow
}
