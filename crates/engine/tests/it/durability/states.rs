//! The order of steps, one by one.
