//! The integration tests of `report`: one program, because each test program is linked separately.

mod chromium;
mod keys;
mod lab;
mod layout;
mod palette;
#[path = "../sample/mod.rs"]
mod sample;
mod sweep;
