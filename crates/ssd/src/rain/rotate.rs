//! Collection in turns: at most one die of a plane group at a time, because one parity makes up for
//! one die (TTFLASH §4.4).

use crate::device::Ssd;
use crate::rain::Rotation;
use alloc::vec::Vec;
use units::Instant;

impl Ssd {
    /// The number of plane groups, if the dies of each take turns.
    #[inline]
    pub(crate) fn rotating_groups(&self) -> Option<u32> {
        let rain = self.rain.as_ref()?;
        (rain.config.rotation != Rotation::Off).then_some(rain.layout.groups)
    }

    /// The plane group of a die; 0 without RAIN.
    pub(crate) fn group_of(&self, die: u32) -> u32 {
        self.rain.as_ref().map_or(0, |rain| rain.layout.group_of(die))
    }

    /// Collects on the neediest die of a group if none collects there, and on those that are out of
    /// free blocks if that breaks the rotation only.
    pub(crate) fn collect_in_group(&mut self, now: Instant, group: u32, forced: bool) {
        let Some(rain) = &self.rain else { return };
        let collect_at = self.collect_at();
        let mut due: Vec<u32> = (0..rain.layout.width)
            .map(|position| rain.layout.die(group, position))
            .filter(|&die| self.ftl.free(die) <= collect_at)
            .collect();
        due.sort_by_key(|&die| self.ftl.free(die));
        for die in due {
            self.collect_in_turn(now, group, die, forced);
        }
    }

    fn collect_in_turn(&mut self, now: Instant, group: u32, die: u32, forced: bool) {
        let Some(rain) = &self.rain else { return };
        let taken = rain.collecting[group as usize] > 0;
        let out_of_blocks = self.ftl.free(die) <= self.ftl.shape.hard;
        if taken && !(out_of_blocks && rain.config.rotation == Rotation::On) {
            return;
        }
        if self.collect_in_scope_now(now, self.scope_of(die), forced) {
            self.counters.rotation_breaches += u64::from(taken);
        }
    }

    /// A collection has asked for `die`, or has given it back.
    pub(crate) fn count_collecting(&mut self, die: u32, begins: bool) {
        if let Some(rain) = &mut self.rain {
            let group = rain.layout.group_of(die) as usize;
            if begins {
                rain.collecting[group] += 1;
            } else {
                rain.collecting[group] -= 1;
            }
        }
    }
}
