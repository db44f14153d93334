//! The integration tests of `engine`: one program, because each test program is linked separately.

// The fuzz targets have some of these files, and know the crate by this name.
extern crate ioda_engine as engine;

mod durability;
mod owner;
mod turns;
