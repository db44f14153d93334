//! State of a drive's flash that is saved while it is off: the place of every logical page, the
//! free blocks in their order, and the erases of each block.
//!
//! Not saved are totals, rights to collect, the backlog of copies to check in idle time, and pages
//! that are only in the write buffer (their older version stays mapped). A drive with parity of its
//! own (RAIN) has more state than this, which cannot be saved.
//!
//! The bytes are numbers of 32 bits, low byte first: a head, the shape of the drive, the state, and
//! a checksum of 64 bits over all of it. The checksum finds accidents; nothing relies on it, and
//! every number is checked before it is used.

use crate::codec::{Reader, StateError, VERSION, Writer, checksum};
use crate::config::Config;
use crate::ftl::Ftl;
use alloc::vec::Vec;

/// The first number of every state: "ioda" as bytes.
const HEAD: u32 = u32::from_le_bytes(*b"ioda");

/// Properties of a drive that a state must match.
fn shape_of(config: &Config) -> [u32; 9] {
    let geometry = &config.geometry;
    [
        geometry.channels,
        geometry.chips_per_channel,
        geometry.blocks_per_die(),
        geometry.pages_per_block,
        geometry.page_bytes,
        config.logical_pages() as u32,
        config.collection.unit as u32,
        config.ranges.count,
        config.ranges.placement as u32,
    ]
}

/// State of the flash of a drive without RAIN. The module says what is left out.
pub(crate) fn encode(config: &Config, ftl: &Ftl) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.put(HEAD);
    writer.put(VERSION);
    shape_of(config).into_iter().for_each(|number| writer.put(number));
    ftl.write_state(&mut writer);
    let sum = checksum(&writer.bytes);
    writer.bytes.extend_from_slice(&sum.to_le_bytes());
    writer.bytes
}

/// Reads the output of [`encode`]. Every number is checked.
pub(crate) fn decode(config: &Config, state: &[u8]) -> Result<Ftl, StateError> {
    let all = state.len();
    let (bytes, sum) = state.split_last_chunk().ok_or(StateError::Length { bytes: all })?;
    let mut reader = Reader { bytes, all };
    if reader.take()? != HEAD {
        return Err(StateError::Unknown { version: 0 });
    }
    match reader.take()? {
        VERSION => {}
        version => return Err(StateError::Unknown { version }),
    }
    if checksum(bytes) != u64::from_le_bytes(*sum) {
        return Err(StateError::Checksum);
    }
    for expected in shape_of(config) {
        if reader.take()? != expected {
            return Err(StateError::OtherDrive);
        }
    }
    let ftl = Ftl::read_state(config, &mut reader)?;
    if !reader.bytes.is_empty() {
        return Err(StateError::Length { bytes: all });
    }
    Ok(ftl)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ssd;
    use crate::cells::{CellConfig, PageTime};
    use crate::config::{CollectionUnit, WriteBufferConfig};
    use crate::presets;
    use crate::slc_config::{SlcCacheConfig, SlcOverflow};
    use nvme::{Command, CommandId, Opcode, PlFlag};
    use proptest::prelude::*;
    use units::{Duration, Instant, Lba, Ratio, Rng};

    fn config(seed: u64) -> Config {
        let mut rng = Rng::stream(seed, "config");
        let mut config = presets::preset("femu").unwrap();
        config.geometry.channels = 1 + rng.below(3) as u32;
        config.geometry.chips_per_channel = 1 + rng.below(2) as u32;
        config.geometry.blocks_per_plane = 16;
        config.geometry.pages_per_block = 8;
        config.over_provisioning = Ratio::from_percent(45);
        config.collection.soft = Ratio::from_percent(25);
        config.collection.restore = Ratio::from_percent(25);
        config.collection.hard = Ratio::from_percent(13);
        if rng.below(2) == 0 {
            config.collection.unit = CollectionUnit::Line;
        }
        config
    }

    /// A drive with a cache of SLC blocks.
    fn cached(seed: u64) -> Config {
        let page = |micros| PageTime {
            read: Duration::from_micros(micros),
            program: Duration::from_micros(micros * 10),
        };
        let mut config = config(seed);
        config.geometry.blocks_per_plane = 24;
        config.geometry.pages_per_block = 32;
        config.cells = Some(CellConfig {
            page_types: [page(20), page(30), PageTime::default(), PageTime::default()],
            bits: 2,
            blocks_per_page: 1,
            planes: 2,
            one_shot: true,
            read_groups: 1,
            slc: Some(SlcCacheConfig {
                page: page(10),
                most_blocks: 4,
                fixed_blocks: 1,
                fold_after: Duration::from_micros(1 + seed % 3 * 400),
                low_blocks: 0,
                overflow: SlcOverflow::Bypass,
            }),
        });
        config.over_provisioning = Ratio::from_percent(70);
        config.write_buffer = Some(WriteBufferConfig {
            high: Ratio::from_percent(20),
            low: Ratio::ZERO,
            ..WriteBufferConfig::new(12)
        });
        config
    }

    /// Writes single pages at random, one after the other.
    fn write(drive: &mut Ssd, rng: &mut Rng, pages: u64) -> Vec<Instant> {
        let mut now = Instant::ZERO;
        let mut answered = Vec::new();
        for _ in 0..pages {
            let lba = Lba(rng.below(drive.logical_blocks()));
            let (id, opcode, pl) = (CommandId(0), Opcode::Write, PlFlag::Off);
            drive.handle_command(now, &Command { id, opcode, lba, blocks: 1, pl });
            while drive.commands_in_flight() > 0 {
                now = now.max(drive.next_deadline());
                drive.handle_deadline(now);
                while let Some(completed) = drive.poll_completion() {
                    answered.push(completed.at);
                }
            }
        }
        answered
    }

    fn used(config: Config, seed: u64, pages: u64) -> Ssd {
        let mut drive = Ssd::new(config).unwrap();
        write(&mut drive, &mut Rng::stream(seed, "writes"), pages);
        drive.settle();
        drive
    }

    #[test]
    fn a_drive_goes_on_where_it_was() {
        for seed in testing::seeds(0..60) {
            let mut before = used(config(seed), seed, seed * 40);
            let state = before.state().unwrap();
            let mut after = Ssd::restore(config(seed), &state).unwrap();
            after.check_invariants();
            for lba in (0..before.logical_blocks()).map(Lba) {
                assert_eq!(after.flash_page(lba), before.flash_page(lba), "seed {seed}");
            }
            assert_eq!(after.erase_counts(), before.erase_counts(), "seed {seed}");
            assert_eq!(after.free_share().to_bits(), before.free_share().to_bits());
            assert_eq!(after.state().unwrap(), state, "seed {seed}");
            // Both drives choose the same places and victims from now on.
            for drive in [&mut before, &mut after] {
                drive.set_untimed(nvme::Untimed::Collections);
                write(drive, &mut Rng::stream(seed, "more"), 400);
                drive.settle();
                drive.check_invariants();
            }
            assert_eq!(after.state().unwrap(), before.state().unwrap(), "seed {seed}");
        }
    }

    #[test]
    fn what_is_no_state_of_the_drive_is_refused_with_a_sentence() {
        let drive = used(config(3), 3, 500);
        let state = drive.state().unwrap();
        let refused = |bytes: &[u8]| {
            let error = Ssd::restore(config(3), bytes).unwrap_err();
            (error.clone(), alloc::format!("{error}"))
        };
        assert_eq!(refused(&[]).0, StateError::Length { bytes: 0 });
        assert_eq!(refused(&[7; 40]).1, "this is not the state of a drive");
        let mut other = state.clone();
        other[4] = 9;
        assert!(refused(&other).1.contains("version 9"));
        let mut other = state.clone();
        other[100] ^= 1;
        assert_eq!(refused(&other).0, StateError::Checksum);
        assert!(matches!(refused(&state[..state.len() - 4]).0, StateError::Checksum));
        let mut larger = config(3);
        larger.geometry.blocks_per_plane = 32;
        assert_eq!(Ssd::restore(larger, &state).unwrap_err(), StateError::OtherDrive);
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        /// Hostile states with a valid checksum cause no panic, and a drive that is accepted works.
        #[test]
        fn hostile_states_are_refused_or_harmless(
            seed in 0u64..8,
            pages in 0u64..600,
            has_cache in any::<bool>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..4),
            small in any::<bool>(),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let config = if has_cache { cached(seed) } else { config(seed) };
            let mut state = used(config.clone(), seed, pages).state().unwrap();
            state.truncate(state.len() - 8);
            let numbers = state.len() / 4;
            for (at, value) in changes {
                let value = if small { value % 40 } else { value };
                let at = at.index(numbers) * 4;
                state[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            if let Some(cut) = cut {
                state.truncate(cut.index(state.len()));
            }
            let sum = checksum(&state);
            state.extend_from_slice(&sum.to_le_bytes());
            if let Ok(mut drive) = Ssd::restore(config, &state) {
                drive.check_invariants();
                write(&mut drive, &mut Rng::new(seed), 300);
                drive.settle();
                drive.check_invariants();
            }
        }
    }
}
