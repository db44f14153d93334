//! The integration tests of `report`: one program, because each test program is linked separately.

mod chromium;
mod keys;
mod lab;
mod layout;
mod palette;
mod sweep;
