//! Numbered slots that are reused.

use alloc::vec::Vec;

/// A vector with a free list: the number of a slot is its identity while it is in use.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// A slab without slots.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Puts `value` into a free slot and returns its number.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
        self.slots.push(value);
        (self.slots.len() - 1) as u32
    }

    /// Releases `slot`; its value stays until the slot is reused.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The value in `slot`.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }

    /// The value in `slot`, mutable.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// The values of all slots, in use or not.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter()
    }

    /// Number of slots in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no slot is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}
