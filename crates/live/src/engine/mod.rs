//! The thread that owns an array.
