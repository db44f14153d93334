#![no_main]

// The check is that of the tests: a target that says anything.
#[path = "../../crates/nvme/tests/it/initiator/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::check(bytes);
});
