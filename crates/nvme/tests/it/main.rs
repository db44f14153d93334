//! The integration tests of `nvme`: one program, because each test program is linked separately.

mod initiator;
mod target;
mod wire;
