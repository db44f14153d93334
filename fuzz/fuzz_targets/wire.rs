#![no_main]

// The check is that of the tests: PDUs and every structure that a stranger sends.
#[path = "../../crates/nvme/tests/it/wire/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::check_all(bytes);
});
