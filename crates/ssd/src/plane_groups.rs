//! Plane groups of a drive with RAIN, and their dies that collect (TTFLASH §4.2 and §4.4).

use crate::config::Config;
use crate::rain::{RainConfig, Rotation};
use alloc::vec;
use alloc::vec::Vec;

/// Groups of dies; the dies at the same position on `N` channels are a plane group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaneGroups {
    /// `N`: dies in a group.
    pub(crate) width: u32,
    /// Number of groups.
    pub(crate) count: u32,
    /// Difference of the numbers of the dies at two neighbouring positions.
    pub(crate) chips_per_channel: u32,
}

impl PlaneGroups {
    pub(crate) fn new(config: &Config, width: u32) -> Self {
        let geometry = &config.geometry;
        let count = geometry.dies() / width;
        Self { width, count, chips_per_channel: geometry.chips_per_channel }
    }

    /// The die at a position of a group.
    #[inline]
    pub(crate) fn die(&self, group: u32, position: u32) -> u32 {
        let (set, chip) = (group / self.chips_per_channel, group % self.chips_per_channel);
        (set * self.width + position) * self.chips_per_channel + chip
    }

    /// The dies of a group, by their position.
    pub(crate) fn dies(&self, group: u32) -> impl Iterator<Item = u32> {
        let (first, step) = (self.die(group, 0), self.chips_per_channel);
        (0..self.width).map(move |position| first + position * step)
    }

    /// The plane group of a die.
    #[inline]
    pub(crate) fn of(&self, die: u32) -> u32 {
        let (channel, chip) = (die / self.chips_per_channel, die % self.chips_per_channel);
        channel / self.width * self.chips_per_channel + chip
    }

    /// The position of a die in its group.
    pub(crate) fn position_of(&self, die: u32) -> u32 {
        die / self.chips_per_channel % self.width
    }
}

/// Dies of each plane group that collect. With rotation it is at most one, because one parity makes
/// up for one die.
#[derive(Clone, Debug)]
pub(crate) struct GroupTurns {
    pub(crate) groups: PlaneGroups,
    pub(crate) rotation: Rotation,
    /// Dies of each group that a collection holds.
    collecting: Vec<u32>,
    /// Groups where a collection has taken or returned a die since the last
    /// [`GroupTurns::take_changed`].
    changed: Vec<bool>,
}

impl GroupTurns {
    pub(crate) fn new(config: &Config, rain: RainConfig) -> Self {
        let groups = PlaneGroups::new(config, rain.width);
        Self {
            groups,
            rotation: rain.rotation,
            collecting: vec![0; groups.count as usize],
            changed: vec![false; groups.count as usize],
        }
    }

    /// Dies of a group that a collection holds.
    pub(crate) fn collecting(&self, group: u32) -> u32 {
        self.collecting[group as usize]
    }

    /// Records that a collection has asked for `die`.
    pub(crate) fn take(&mut self, die: u32) {
        let group = self.groups.of(die) as usize;
        self.collecting[group] += 1;
        self.changed[group] = true;
    }

    /// Records that a collection has given `die` back.
    pub(crate) fn give_back(&mut self, die: u32) {
        let group = self.groups.of(die) as usize;
        self.collecting[group] -= 1;
        self.changed[group] = true;
    }

    /// Calls `tell` with every group where a die was taken or returned since the last call.
    pub(crate) fn take_changed(&mut self, mut tell: impl FnMut(usize)) {
        for (changed, group) in self.changed.iter_mut().zip(0..) {
            if core::mem::take(changed) {
                tell(group);
            }
        }
    }
}
