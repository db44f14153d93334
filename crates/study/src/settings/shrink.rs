//! Drives that are made smaller for a smoke run.

use super::drive::DriveSettings;

/// Gives `drive` at most `most_blocks` blocks in each plane. A drive whose watermarks need more
/// blocks keeps them and gets smaller blocks, then fewer chips and channels, until it has about as
/// much flash.
pub(crate) fn shrink(drive: &mut DriveSettings, most_blocks: u32) {
    let Ok(whole) = drive.build() else { return };
    let blocks = whole.geometry.blocks_per_plane;
    if blocks <= most_blocks {
        return;
    }
    let with_fewer = DriveSettings { blocks_per_plane: Some(most_blocks), ..drive.clone() };
    if is_possible(&with_fewer) {
        *drive = with_fewer;
        return;
    }
    let most_pages = whole.geometry.pages() * u64::from(most_blocks) / u64::from(blocks);
    while drive.build().is_ok_and(|config| config.geometry.pages() > most_pages) {
        let Some(smaller) = halves(drive).into_iter().flatten().find(is_possible) else { return };
        *drive = smaller;
    }
}

fn is_possible(drive: &DriveSettings) -> bool {
    drive.build().is_ok_and(|config| config.validate().is_ok())
}

/// `drive` with half of the pages in a block, of the chips on a channel, and of the channels.
fn halves(drive: &DriveSettings) -> [Option<DriveSettings>; 3] {
    let half = |number: u32| number.is_multiple_of(2).then_some(number / 2);
    let Ok(config) = drive.build() else { return [None, None, None] };
    let geometry = &config.geometry;
    let pages = half(geometry.pages_per_block);
    let chips = half(geometry.chips_per_channel);
    let channels = half(geometry.channels);
    [
        pages.map(|pages| DriveSettings { pages_per_block: Some(pages), ..drive.clone() }),
        chips.map(|chips| DriveSettings { chips_per_channel: Some(chips), ..drive.clone() }),
        channels.map(|channels| DriveSettings { channels: Some(channels), ..drive.clone() }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flash_bytes(drive: &DriveSettings) -> u64 {
        let config = drive.build().unwrap();
        config.validate().unwrap();
        config.geometry.pages() * u64::from(config.geometry.page_bytes)
    }

    #[test]
    fn every_preset_becomes_small_and_remains_a_drive() {
        for name in ssd::presets::names() {
            let whole = DriveSettings::preset(name);
            let mut small = whole.clone();
            shrink(&mut small, 48);
            assert!(flash_bytes(&small) <= flash_bytes(&whole), "{name}");
            assert!(flash_bytes(&small) <= 48 << 30, "{name}: {} bytes", flash_bytes(&small));
        }
    }

    #[test]
    fn a_drive_that_needs_its_blocks_becomes_as_small() {
        for name in ["wd-960", "7450-960", "p5520-1920", "cm7r-3840"] {
            let whole = DriveSettings::preset(name);
            let mut small = whole.clone();
            shrink(&mut small, 48);
            assert_eq!(small.blocks_per_plane, None, "{name}");
            assert!(8 * flash_bytes(&small) <= flash_bytes(&whole), "{name}: {small:?}");
        }
    }
}
