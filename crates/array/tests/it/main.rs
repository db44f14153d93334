//! The integration tests of `array`: one program, because each test program is linked separately.

mod degraded;
mod events;
mod faults;
mod faulty;
mod moves;
mod others;
mod policies;
mod script;
mod staging;
mod table;
