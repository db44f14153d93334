//! The integration tests of `nvme`: one program, because each test program is linked separately.

// The fuzz targets include a file of these tests, and use this name of the crate.
extern crate ioda_nvme as nvme;

mod initiator;
mod target;
mod wire;
