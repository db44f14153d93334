//! The integration tests of `array`: one program, because each test program is linked separately.

mod degraded;
mod events;
mod faults;
mod faulty;
mod others;
mod policies;
mod queued;
mod relocation;
mod script;
mod table;
mod write_cache;
