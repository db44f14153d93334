//! The durability machine against disks that lose any part of their unsynced writes, with power
//! cuts between any two of its outputs.
//!
//! `IODA_SEED=n` runs seed `n`, `IODA_SEEDS=n` runs `n` seeds.

mod alone;
mod code;
mod cut;
mod cuts;
pub(crate) mod damage;
mod disk;
mod forced;
mod history;
mod mending;
mod opening;
mod sectors;
mod stalls;
mod states;
mod world;

use units::Rng;
use world::World;

#[test]
fn whenever_the_power_goes_nothing_is_lost_that_was_flushed_and_no_stripe_is_torn_unnoticed() {
    let mut sum = world::Counts::default();
    for seed in testing::seeds(0..40) {
        let mut rng = Rng::stream(seed, "world");
        let mut world = World::new(&mut rng);
        for _ in 0..250 {
            world.step(&mut rng);
        }
        world.finish(&mut rng);
        sum.add(world.counts);
    }
    if testing::is_repeat() {
        return;
    }
    // Cases that never occurred were not tested.
    println!("{sum:?}");
    let world::Counts {
        flushes,
        cuts,
        cut_starts,
        replayed,
        failures,
        rebuilds,
        torn,
        stale,
        resumed,
    } = sum;
    assert!(flushes > 0 && cuts > 0 && cut_starts > 0 && replayed > 0 && failures > 0);
    assert!(rebuilds > 0 && torn > 0 && stale > 0 && resumed > 0);
}
