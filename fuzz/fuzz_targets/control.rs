#![no_main]

use live::control::{AdminCommand, Answer};

// What a client orders, and what an array answers: both ends read lines of JSON from a stranger.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(order) = serde_json::from_slice::<AdminCommand>(bytes) {
        let text = serde_json::to_vec(&order).unwrap();
        assert_eq!(serde_json::from_slice::<AdminCommand>(&text).unwrap(), order);
    }
    if let Ok(Answer::Status(status)) = serde_json::from_slice::<Answer>(bytes) {
        let _ = live::operate::exposition(&status);
    }
});
