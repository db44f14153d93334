//! The integration tests of `engine`: one program, because each test program is linked separately.

mod durability;
mod owner;
mod turns;
