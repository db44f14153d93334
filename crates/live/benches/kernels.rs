//! Adding and multiplying data; `cargo bench -p ioda-live --bench kernels`, `-- --quick` for a smoke.
//!
//! Bytes of sources per nanosecond, and ratios to the naive version within one run.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use array::gf;
use ioda_live::kernel::Kernel;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Members of the stripe whose Q is made.
const DATA: usize = 6;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let budget = Duration::from_millis(if quick { 10 } else { 300 });
    println!("bytes of sources per nanosecond, best of five (times the naive version)");
    print!("{:>28} {:>9}", "", "naive");
    Kernel::all().iter().for_each(|kernel| print!(" {:>18}", kernel.name()));
    println!();
    for length in [4 << 10, 64 << 10] {
        let sources: Vec<Vec<u8>> = (0..DATA)
            .map(|member| (0..length).map(|at| (at * 31 + member * 7) as u8).collect())
            .collect();
        for coefficient in [1, 2, 0x8e, 0xfd] {
            let naive = |into: &mut [u8]| gf::multiply_add(into, &sources[0], coefficient);
            let fast = |kernel: Kernel, into: &mut [u8]| {
                kernel.multiply_add(into, &sources[0], coefficient);
            };
            let name = format!("{} KiB times {coefficient}", length >> 10);
            row(&name, length, length, budget, naive, fast);
        }
        for (name, first) in [("P", 0), ("Q", 1)] {
            let coefficient = |member: u32| gf::power(member * first);
            let terms: Vec<(u8, &[u8])> =
                (0..).map(coefficient).zip(sources.iter().map(Vec::as_slice)).collect();
            let naive = |into: &mut [u8]| {
                into.fill(0);
                terms.iter().for_each(|(c, source)| gf::multiply_add(into, source, *c));
            };
            let steps = |kernel: Kernel, into: &mut [u8]| {
                into.fill(0);
                terms.iter().for_each(|(c, source)| kernel.multiply_add(into, source, *c));
            };
            let fused = |kernel: Kernel, into: &mut [u8]| kernel.combine(into, &terms);
            let name = format!("{} KiB {name} of {DATA}", length >> 10);
            row(&format!("{name}, in steps"), length, length * DATA, budget, naive, steps);
            row(&format!("{name}, in one pass"), length, length * DATA, budget, naive, fused);
        }
    }
}

/// One line: a naive version, and the same with every kernel.
fn row(
    name: &str,
    length: usize,
    bytes: usize,
    budget: Duration,
    mut naive: impl FnMut(&mut [u8]),
    fast: impl Fn(Kernel, &mut [u8]),
) {
    let mut into = vec![0; length];
    let slow = bytes as f64 / nanoseconds(budget, || naive(black_box(&mut into)));
    print!("{name:>28} {slow:>9.2}");
    for kernel in Kernel::all() {
        let speed = bytes as f64 / nanoseconds(budget, || fast(kernel, black_box(&mut into)));
        print!(" {speed:>9.2} ({:>5.1}x)", speed / slow);
    }
    println!();
}

/// Shortest mean time of a call, of five tries.
fn nanoseconds(budget: Duration, mut call: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let mut calls = 0u32;
        while start.elapsed() < budget / 5 {
            for _ in 0..16 {
                call();
            }
            calls += 16;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    best
}
