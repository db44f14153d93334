//! Sets of drives of an array.

use core::fmt;
use units::DriveId;

/// A subset of the at most 64 drives of an array.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct DriveSet(u64);

impl DriveSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The set of drives whose bits are set.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The set as a bit for each drive.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns true if the drive is in the set.
    #[must_use]
    pub const fn contains(self, drive: DriveId) -> bool {
        self.0 >> drive.0 & 1 == 1
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of drives.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Adds a drive.
    pub const fn insert(&mut self, drive: DriveId) {
        self.0 |= 1 << drive.0;
    }

    /// Removes a drive. Returns true if it was in the set.
    pub const fn remove(&mut self, drive: DriveId) -> bool {
        let found = self.contains(drive);
        self.0 &= !(1 << drive.0);
        found
    }

    /// The drives of this set that are not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The drives of both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns true if any drive is in both sets.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The drives, in order.
    pub fn iter(self) -> impl Iterator<Item = DriveId> {
        (0..64).map(DriveId).filter(move |&drive| self.contains(drive))
    }
}

impl FromIterator<DriveId> for DriveSet {
    fn from_iter<I: IntoIterator<Item = DriveId>>(drives: I) -> Self {
        let mut set = Self::EMPTY;
        drives.into_iter().for_each(|drive| set.insert(drive));
        set
    }
}

impl fmt::Debug for DriveSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|drive| drive.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    fn set(drives: &[u8]) -> DriveSet {
        drives.iter().copied().map(DriveId).collect()
    }

    #[test]
    fn it_agrees_with_a_list_of_drives() {
        let lists: [&[u8]; 7] = [&[], &[0], &[1], &[0, 1], &[1, 2, 63], &[63], &[0, 5, 31, 32, 62]];
        for list in lists {
            let of = set(list);
            assert_eq!(of.iter().map(|drive| drive.0).collect::<Vec<u8>>(), list);
            assert_eq!((of.len(), of.is_empty()), (list.len() as u32, list.is_empty()));
            assert_eq!(DriveSet::from_bits(of.bits()), of);
            assert_eq!(of.bits(), list.iter().map(|drive| 1 << drive).sum::<u64>());
            for drive in 0..64 {
                let is_there = list.contains(&drive);
                assert_eq!(of.contains(DriveId(drive)), is_there);
                let (mut more, mut less) = (of, of);
                more.insert(DriveId(drive));
                assert!(more.contains(DriveId(drive)) && of.without(more).is_empty());
                assert_eq!(more.len(), of.len() + u32::from(!is_there));
                assert_eq!(less.remove(DriveId(drive)), is_there);
                assert_eq!(less, of.without(set(&[drive])));
                assert_eq!(less.len(), of.len() - u32::from(is_there));
            }
            for other in lists {
                let both: Vec<u8> = list.iter().copied().filter(|d| other.contains(d)).collect();
                let rest: Vec<u8> = list.iter().copied().filter(|d| !other.contains(d)).collect();
                assert_eq!(of.intersection(set(other)), set(&both));
                assert_eq!(of.without(set(other)), set(&rest));
                assert_eq!(of.meets(set(other)), !both.is_empty());
            }
        }
        assert_eq!(format!("{:?}", set(&[3, 10])), "{3, 10}");
    }
}
