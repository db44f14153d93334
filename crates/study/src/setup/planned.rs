//! A drive and its array as the window formula takes them, and what it cannot take.

use crate::failure::Failure;
use array::Level;
use nvme::ArrayDescription;
use ssd::Config;
use units::Ratio;

/// Most drives of an array.
const WIDTH_MAX: u32 = 64;

/// How the parameters of an array are called where they are typed.
pub struct Names {
    raid: &'static str,
    drives: &'static str,
    busy_drives: &'static str,
}

/// On the command line.
pub const FLAGS: Names = Names { raid: "--raid", drives: "--drives", busy_drives: "--busy-drives" };
/// In a file.
pub const KEYS: Names = Names { raid: "raid", drives: "drives", busy_drives: "busy_drives" };

/// Refuses drives about which the formula says nothing.
pub fn check_drive(config: &Config) -> Result<(), Failure> {
    if config.over_provisioning == Ratio::ZERO || config.over_provisioning >= Ratio::ONE {
        return Err(Failure::usage(format!(
            "over_provisioning (R_p) of {} is {}; it must be above 0% and below 100%, or there is \
             nothing that may fill between two windows",
            config.name, config.over_provisioning
        )));
    }
    let contract = |error| Failure::usage(format!("drive `{}` cannot work: {error}", config.name));
    config.validate().map_err(contract)?;
    if config.contract.valid_ratio >= 1.0 {
        return Err(Failure::usage(format!(
            "valid_ratio (R_v) of {} is {}; it must be below 1, or no collection gives anything back",
            config.name, config.contract.valid_ratio
        )));
    }
    Ok(())
}

/// Refuses a share of the spare space that leaves nothing to fill.
pub fn check_share(config: &Config) -> Result<(), Failure> {
    if config.contract.usable_share <= 0.0 {
        return Err(Failure::usage(format!(
            "usable_share of {} is 0; it must be above 0 and at most 1",
            config.name
        )));
    }
    Ok(())
}

/// An array of `width` drives, of which as many as there are parities may be busy at once unless
/// `busy` says how many.
pub fn array(
    level: Level,
    width: u32,
    busy: Option<u32>,
    names: &Names,
) -> Result<ArrayDescription, Failure> {
    let parities = level.parities(level.usual_stripe_width(width));
    if !level.is_redundant() {
        return Err(Failure::usage(format!(
            "{} is raid0, which has no parity to rebuild what a busy drive holds; choose 4, 5 or 6, or the \
             mirrors 1 or 10",
            names.raid
        )));
    }
    let least = level.least_width();
    if !(least..=WIDTH_MAX).contains(&width) {
        return Err(Failure::usage(format!(
            "{} (N_ssd) is {width}; {} needs {least} to {WIDTH_MAX} drives",
            names.drives,
            level.name()
        )));
    }
    let busy = busy.unwrap_or(parities);
    if !(1..=parities).contains(&busy) {
        let most = if parities == 1 { "1".to_owned() } else { format!("1 to {parities}") };
        return Err(Failure::usage(format!(
            "{} is {busy}, but {} can rebuild {parities} of a stripe; choose {most}",
            names.busy_drives,
            level.name()
        )));
    }
    Ok(ArrayDescription { width, parities: busy })
}
