#![no_main]
#![allow(dead_code, unused_imports)]

// Histories of arrays give the heads that are damaged.
#[path = "../../crates/engine/tests/it/durability/mod.rs"]
mod durability;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    durability::damage::check(bytes);
});
