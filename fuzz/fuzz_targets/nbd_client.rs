#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    live::nbd::fuzz_client::check(bytes);
});
