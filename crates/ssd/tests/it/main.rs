//! The integration tests of `ssd`: one program, because each test program is linked separately.

mod buffer;
mod cells;
mod common;
mod contract;
mod deallocate;
mod deferred_copies;
mod events;
mod floor_buffer;
mod quiet;
mod rain;
mod read_disturb;
mod schedule;
mod scrub;
mod slc;
mod table2;
mod theory;
mod wear_leveling;
