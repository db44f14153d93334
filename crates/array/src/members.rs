//! Sets of drives or of members of a stripe.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign, Sub, SubAssign};

/// A set of members of a stripe, or of drives: an array has at most 64.
///
/// A member of a stripe is named by the drive that the layout gives it, so one type serves for
/// both.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct MemberSet(u64);

impl MemberSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The set whose members are the bits of `bits`.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The members as bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set of one member.
    #[inline]
    #[must_use]
    pub const fn of(member: u8) -> Self {
        Self(1 << member)
    }

    /// Number of members.
    #[inline]
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `member` is in it.
    #[inline]
    #[must_use]
    pub const fn contains(self, member: u8) -> bool {
        self.0 >> member & 1 == 1
    }

    /// Whether the two have a member in common.
    #[inline]
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Adds a member.
    #[inline]
    pub fn insert(&mut self, member: u8) {
        self.0 |= 1 << member;
    }

    /// Removes a member.
    #[inline]
    pub fn remove(&mut self, member: u8) {
        self.0 &= !(1 << member);
    }

    /// The lowest member.
    #[inline]
    #[must_use]
    pub const fn first(self) -> Option<u8> {
        match self.0 {
            0 => None,
            bits => Some(bits.trailing_zeros() as u8),
        }
    }

    /// The members, lowest first.
    #[inline]
    pub fn iter(self) -> Members {
        Members(self.0)
    }
}

/// The members of a [`MemberSet`], lowest first.
#[derive(Clone, Debug)]
pub struct Members(u64);

impl Iterator for Members {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let member = MemberSet(self.0).first()?;
        self.0 &= self.0 - 1;
        Some(member)
    }
}

impl IntoIterator for MemberSet {
    type Item = u8;
    type IntoIter = Members;

    #[inline]
    fn into_iter(self) -> Members {
        self.iter()
    }
}

impl FromIterator<u8> for MemberSet {
    fn from_iter<I: IntoIterator<Item = u8>>(members: I) -> Self {
        members.into_iter().fold(Self::EMPTY, |set, member| set | Self::of(member))
    }
}

impl BitOr for MemberSet {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for MemberSet {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for MemberSet {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The members of the first that are not in the second.
impl Sub for MemberSet {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl SubAssign for MemberSet {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl fmt::Debug for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
