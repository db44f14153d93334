//! The durability machine against disks that lose any part of what was not synced, with the power
//! cut between any two of its outputs.
//!
//! `IODA_SEED=n` runs one seed, `IODA_SEEDS=n` so many.

mod cut;
mod disk;
mod states;
mod world;

use units::Rng;
use world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Prints one line that repeats the seed if the test stops.
struct Repeat(u64);

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            println!("repeat: IODA_SEED={seed} cargo test -p engine --test it durability::");
        }
    }
}

#[test]
fn whenever_the_power_goes_nothing_is_lost_that_was_flushed_and_no_stripe_is_torn_unnoticed() {
    let seeds = match number("IODA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("IODA_SEEDS").unwrap_or(40),
    };
    let one = seeds.end - seeds.start == 1;
    let mut sum = world::Counts::default();
    for seed in seeds {
        let repeat = Repeat(seed);
        let mut rng = Rng::stream(seed, "world");
        let mut world = World::new(&mut rng);
        for _ in 0..250 {
            world.step(&mut rng);
        }
        world.finish(&mut rng);
        sum.add(world.counts);
        drop(repeat);
    }
    if one {
        return;
    }
    // What was never tried was not tested.
    println!("{sum:?}");
    let world::Counts { flushes, cuts, replayed, failures, rebuilds, torn, stale } = sum;
    assert!(flushes > 0 && cuts > 0 && replayed > 0 && failures > 0);
    assert!(rebuilds > 0 && torn > 0 && stale > 0);
}
