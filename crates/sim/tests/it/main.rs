//! The integration tests of `sim`: one program, because each test program is linked separately.

mod bound;
mod claims;
mod common;
mod faults;
mod flush;
mod for_ever;
mod hedging;
mod late_drives;
mod named;
mod presets;
mod random;
mod ranges;
mod requests;
mod story;
mod torture;
mod verified;
mod windows;
