//! Structures as tables: the name and the first byte of each field.
//!
//! The table reads and writes a structure, and its tests use the table. A structure that is more
//! than its fields, because a value can be wrong or a byte holds two values, is written by hand
//! with [`field`](super::field).

use super::field::{get, put};

/// A field of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Name in the specification, or a word for it. Empty for a group, which is shown as its
    /// [`Self::parts`].
    pub name: &'static str,
    /// First byte, counted from the start of the structure.
    pub at: usize,
    /// Number of bytes.
    pub bytes: usize,
    /// Whether it is text, where several spellings have the same value.
    pub is_text: bool,
    /// Fields within this field, counted from its first byte.
    pub parts: &'static [Field],
}

impl Field {
    /// A field of `S`. A function selects it, so that its type is known.
    pub(crate) const fn of<S: Value, T: Value>(
        name: &'static str,
        at: usize,
        _: fn(&S) -> &T,
    ) -> Self {
        assert!(at + T::BYTES <= S::BYTES, "a field ends behind its structure");
        Self { name, at, bytes: T::BYTES, is_text: T::IS_TEXT, parts: T::PARTS }
    }
}

/// Value of a field.
pub(crate) trait Value: Sized {
    /// Number of bytes.
    const BYTES: usize;
    /// Whether it is text, where several spellings have the same value.
    const IS_TEXT: bool = false;
    /// Its fields, if it is a structure.
    const PARTS: &'static [Field] = &[];

    /// Reads it from its bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Writes it into its bytes, which are zero before.
    fn write(&self, bytes: &mut [u8]);
}

/// Reads the value at an offset.
pub(crate) fn read_at<T: Value>(bytes: &[u8], at: usize) -> T {
    T::read(&bytes[at..at + T::BYTES])
}

/// Writes a value at an offset.
pub(crate) fn write_at<T: Value>(bytes: &mut [u8], at: usize, value: &T) {
    value.write(&mut bytes[at..at + T::BYTES]);
}

/// Implements [`Value`] for integers. They have no common trait with their bytes.
macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Value for $number {
            const BYTES: usize = size_of::<$number>();

            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(get(bytes, 0))
            }

            fn write(&self, bytes: &mut [u8]) {
                put(bytes, 0, &self.to_le_bytes());
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, u128);

impl<T: Value, const N: usize> Value for [T; N] {
    const BYTES: usize = N * T::BYTES;

    fn read(bytes: &[u8]) -> Self {
        core::array::from_fn(|number| read_at(bytes, number * T::BYTES))
    }

    fn write(&self, bytes: &mut [u8]) {
        for (number, value) in self.iter().enumerate() {
            write_at(bytes, number * T::BYTES, value);
        }
    }
}

/// Implements [`Value`] for a type that consists of fields only: `field: "NAME" @ first byte`.
macro_rules! fields {
    ($type:ty, $bytes:expr; $($field:ident: $name:literal @ $at:expr,)+) => {
        impl $crate::wire::structure::Value for $type {
            const BYTES: usize = $bytes;
            const PARTS: &'static [$crate::wire::structure::Field] = &[
                $($crate::wire::structure::Field::of::<Self, _>($name, $at, |of| &of.$field)),+
            ];

            fn read(bytes: &[u8]) -> Self {
                Self { $($field: $crate::wire::structure::read_at(bytes, $at)),+ }
            }

            fn write(&self, bytes: &mut [u8]) {
                $($crate::wire::structure::write_at(bytes, $at, &self.$field);)+
            }
        }
    };
}

/// The same for a type that is also read and written outside of this module.
macro_rules! structure {
    ($type:ty, $bytes:expr; $($fields:tt)+) => {
        $crate::wire::structure::fields! { $type, $bytes; $($fields)+ }

        impl $type {
            /// Its fields on the wire.
            pub const FIELDS: &'static [$crate::wire::Field] =
                <Self as $crate::wire::structure::Value>::PARTS;

            /// Reads it from its bytes.
            #[must_use]
            pub fn decode(bytes: &[u8; $bytes]) -> Self {
                $crate::wire::structure::Value::read(bytes)
            }

            /// Writes it into its bytes.
            #[must_use]
            pub fn encode(&self) -> [u8; $bytes] {
                let mut bytes = [0; $bytes];
                $crate::wire::structure::Value::write(self, &mut bytes);
                bytes
            }
        }
    };
}

pub(crate) use {fields, structure};
