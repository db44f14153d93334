#![no_main]
#![allow(dead_code, unused_imports)]

// The page and the control socket are those of the test, with its array that answers everything.
#[path = "../../crates/live/tests/it/fake_array/mod.rs"]
mod fake_array;
#[path = "../../crates/live/tests/it/operate_fuzz.rs"]
mod operate_fuzz;

use operate_fuzz::Operated;

// Requests of HTTP, or lines of orders but those that end everything.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    thread_local! {
        static OPERATED: Operated = Operated::start();
    }
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let ends_all = bytes.windows(8).any(|word| word == b"shutdown");
    OPERATED.with(|operated| {
        if kind % 2 == 0 {
            operated.check_http(bytes);
        } else if !ends_all {
            operated.check_control(bytes);
        }
    });
});
