//! The script that measures a drive with fio by the protocol of the published measurements.

use crate::failure::Failure;

/// Seconds of each load.
const SECONDS_PER_LOAD: u32 = 130;
/// Seconds of random overwrites before the loads.
const SECONDS_OF_OVERWRITES: u32 = 3_600;
/// Most loads: with conditioning they take less than two hours.
const MOST_LOADS: usize = 12;

/// A shell script that conditions a drive and measures it at `loads` writes per second.
///
/// The script destroys all data of the drive. It wants the device typed twice.
///
/// # Errors
///
/// If there are fewer than three loads or more than twelve, or one is 0.
pub fn script(loads: &[u32]) -> Result<String, Failure> {
    if !(3..=MOST_LOADS).contains(&loads.len()) || loads.contains(&0) {
        return Err(Failure::usage(format!(
            "--loads has {} loads; a measurement needs 3 to {MOST_LOADS}, each above 0, from a \
             tenth of the drive's random writes per second to a little more than all of them",
            loads.len()
        )));
    }
    let loads: Vec<String> = loads.iter().map(u32::to_string).collect();
    let script = include_str!("measure.sh");
    Ok(script
        .replace("@LOADS@", &loads.join(" "))
        .replace("@SECONDS@", &SECONDS_PER_LOAD.to_string())
        .replace("@OVERWRITE_SECONDS@", &SECONDS_OF_OVERWRITES.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        let text = script(&[10_000, 40_000, 80_000]).unwrap();
        assert!(text.contains("10000 40000 80000") && !text.contains('@'), "{text}");
        assert!(script(&[1, 2]).is_err() && script(&[1, 0, 2]).is_err());
    }
}
