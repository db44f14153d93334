//! The power is cut below the real server, under load of a real client: what was flushed is there,
//! whatever the disks forget of what was not synced.
//!
//! The server is a process with its files on a [file system that forgets](crate::forgetful). A cut
//! is an instant: from then on nothing is answered, the process is killed, and each file keeps of
//! its unsynced changes all, none, those before a moment, some, or some sectors. `IODA_CUTS` sets
//! how often the power is cut in the random test (10 unless it is set) and how much of each
//! sequence is gone through, `IODA_SEED` with which draws. Before some starts drives are
//! [damaged](damage), as many as the array can miss.

mod damage;
mod life;
mod random;
mod sequences;

pub(crate) use damage::Damage;
pub(crate) use life::{Life, Shape};
