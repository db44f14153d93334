//! The integration tests of `array`: one program, because each test program is linked separately.

mod counted;
mod degraded;
mod events;
mod faults;
mod faulty;
mod missing;
mod others;
mod policies;
mod queued;
mod relocation;
mod repairs;
mod script;
mod settling;
mod table;
mod write_cache;
