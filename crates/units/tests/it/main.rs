//! The tests of `units` are house rules over all crates, because nothing lies below it.

mod tidy;
