#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    workload::fuzz::check(Some(workload::Format::Blktrace), bytes);
});
