//! The integration tests of `nvme`: one program, because each test program is linked separately.

// The fuzz targets have a file of these tests, and know the crate by this name.
extern crate ioda_nvme as nvme;

mod initiator;
mod target;
mod wire;
