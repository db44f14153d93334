//! The integration tests of `units`: one program, because each test program is linked separately.

mod tidy;
