//! What one client waits for while others ask for much by few bytes, or leave much behind.
//!
//! The tests count reads that are answered meanwhile. What is ignored measures the slowest of them:
//! `cargo test -p ioda --test it beside -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod loads;
mod measured;
mod order;

use crate::common::served::{Served, read};
use live::nbd::client::Client;
use std::time::{Duration, Instant};
use units::Rng;

const MIB: u64 = 1 << 20;
const READ_BYTES: u32 = 4096;

/// Reads of one client, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    pub(crate) count: u64,
    pub(crate) slowest: Duration,
}

/// Reads until `is_over`, at least once.
pub(crate) fn reads_until(mut read: impl FnMut(), is_over: impl Fn() -> bool) -> Reads {
    let mut reads = Reads::default();
    loop {
        let begin = Instant::now();
        read();
        reads.slowest = reads.slowest.max(begin.elapsed());
        reads.count += 1;
        if is_over() {
            return reads;
        }
    }
}

/// Reads until `load` is over. A load that panics is over, too.
pub(crate) fn reads_beside(read: impl FnMut(), load: impl FnOnce() + Send) -> Reads {
    std::thread::scope(|scope| {
        let load = scope.spawn(load);
        reads_until(read, || load.is_finished())
    })
}

/// A page anywhere, read over NBD.
pub(crate) fn random_read(client: &mut Client, rng: &mut Rng) {
    let pages = client.size_bytes() / u64::from(READ_BYTES);
    read(client, rng.below(pages) * u64::from(READ_BYTES), READ_BYTES).unwrap();
}

/// Arguments of `ioda serve`.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}
