//! Cuts and kills of arrays that seeds draw.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use super::{Damage, Life, Shape};
use live::control::AdminCommand;
use std::collections::BTreeMap;
use units::Rng;

/// Every level, with the journals that it can have.
const SHAPES: [(&str, u8, bool); 10] = [
    ("5", 4, false),
    ("6", 5, false),
    ("10", 4, false),
    ("5", 4, true),
    ("6", 6, true),
    ("1", 2, false),
    ("4", 3, false),
    ("0", 3, false),
    ("4", 4, true),
    ("6", 4, false),
];

/// Counts of crashes by level and by the state of the array, and of damage by its kind.
#[derive(Default)]
struct Met {
    states: BTreeMap<(String, &'static str), u64>,
    damage: BTreeMap<Damage, u64>,
}

/// Drives that anything happens to in the life of one array.
struct Weak {
    drives: Vec<u8>,
    /// Damage that such drives may suffer in a crash.
    damage: &'static [Damage],
}

impl Weak {
    /// Chooses drives: all, one at a time, or as many as the array can miss, which are damaged as
    /// well.
    fn new(shape: &Shape, random: &mut Rng) -> Self {
        let mut drives: Vec<u8> = (0..shape.drives).collect();
        let has_copies = ["1", "10"].contains(&shape.level);
        if !(shape.always || has_copies) || random.below(4) == 0 {
            return Self { drives, damage: &[] };
        }
        while drives.len() as u32 > shape.redundancy {
            drives.swap_remove(random.below(drives.len() as u64) as usize);
        }
        Self { drives, damage: if has_copies { &Damage::OF_HEADS } else { &Damage::ALL } }
    }

    fn any(&self, random: &mut Rng) -> u8 {
        self.drives[random.below(self.drives.len() as u64) as usize]
    }

    /// Damages drives before the next start.
    fn suffer(&self, life: &mut Life, random: &mut Rng, met: &mut Met) {
        if self.damage.is_empty() {
            return;
        }
        for &drive in &self.drives {
            if random.below(3) > 0 {
                let damage = self.damage[random.below(self.damage.len() as u64) as usize];
                life.damage(drive, damage, random);
                *met.damage.entry(damage).or_default() += 1;
            }
        }
    }
}

/// Draws an array.
pub(super) fn shape(random: &mut Rng, number: u64) -> Shape {
    // In turn, so that a few seeds meet every level.
    let (level, drives, always) = SHAPES[(number % SHAPES.len() as u64) as usize];
    let mut shape = Shape::new(level, drives, always);
    let chunk = ["4k", "16k", "64k"][random.below(3) as usize];
    shape.more = ["--drive-size", "8m", "--plain", "--chunk", chunk].map(String::from).into();
    match random.below(4) {
        0 => shape.more.push("--direct".into()),
        1 if level != "0" => {
            let policy = ["ioda", "quiet", "base", "hedged"][random.below(4) as usize];
            let words = ["--precondition", "fresh", "--blocks-per-plane", "20", "--policy", policy];
            shape.more = words.map(String::from).into();
        }
        _ => {}
    }
    shape
}

/// One more crash of the array; in which state it was.
fn crash(life: &mut Life, weak: &Weak, random: &mut Rng, power: bool) -> &'static str {
    if random.below(2) == 0 {
        life.settle();
        if random.below(4) == 0 {
            life.scrub();
        }
    }
    let absent = life.absent().count_ones();
    let failed = life.failed();
    let spare = life.shape.redundancy - absent;
    let restoring = life.is_restoring();
    let depth = 1 + random.below(24) as usize;
    let milliseconds = 10 + random.below(250);
    let seed = random.next_u64();
    let drive = weak.any(random);
    let present = life.absent() >> drive & 1 == 0;
    let draw = random.below(6);
    // A drive that fails before the resync has ended is not promised to be whole.
    if draw < 2 && spare > 0 && present && !restoring {
        let fail = AdminCommand::Fail { drive, force: false };
        if power && draw == 0 {
            life.cut_at_order(depth, &fail, random.below(60), seed);
            return "while a drive is failed";
        }
        life.fail(drive);
    } else if draw < 4 && failed != 0 {
        let drive = failed.trailing_zeros() as u8;
        if power && draw == 2 {
            let replace = AdminCommand::Replace { drive, path: None };
            life.cut_at_order(depth, &replace, random.below(60), seed);
            return "while a drive is replaced";
        }
        life.replace(drive);
        if random.below(2) == 0 {
            life.load(depth, milliseconds);
        }
    }
    let status = life.served().status();
    let rebuilding = status.drives.iter().any(|drive| drive.state == "rebuilding");
    let state = match (status.degraded, rebuilding) {
        (false, _) => "optimal",
        (true, true) => "rebuilding",
        (true, false) => "degraded",
    };
    match power {
        true => life.cut_after(depth, milliseconds, seed),
        false => life.kill_after(depth, milliseconds),
    }
    // What may be lost in the moment of a crash: with a journal or copies any drive, but one.
    let safe = life.shape.always || ["1", "10"].contains(&life.shape.level);
    if safe && state == "optimal" && random.below(3) == 0 {
        life.lose_drive(weak.any(random));
        return "optimal, and a drive is lost with it";
    }
    state
}

fn crashes(count: u64, per_array: u64, power: bool, met: &mut Met) {
    let first = testing::setting("IODA_SEED", 1);
    let mut done = 0;
    for number in first.. {
        if done >= count {
            return;
        }
        let rounds = (count - done).min(per_array);
        let name = if power { "IODA_CUTS" } else { "IODA_KILLS" };
        let seed = testing::Seed::new(number).with(name, rounds);
        let mut random = Rng::new(seed.get());
        let shape = shape(&mut random, number - 1);
        println!("  {number}: {shape:?}");
        let weak = Weak::new(&shape, &mut random);
        let Some(mut life) = Life::new(shape, number) else { return };
        let name =
            format!("RAID-{}{}", life.shape.level, if life.shape.always { " journal" } else { "" });
        for _ in 0..rounds {
            life.start();
            let state = crash(&mut life, &weak, &mut random, power);
            *met.states.entry((name.clone(), state)).or_default() += 1;
            weak.suffer(&mut life, &mut random, met);
        }
        println!("  {:?}", life.files.counts());
        life.end();
        done += rounds;
    }
}

fn tell(what: &str, met: &Met) {
    let total: u64 = met.states.values().sum();
    println!("{total} {what}:");
    for ((level, state), count) in &met.states {
        println!("{count:6}  {level}, {state}");
    }
    for (damage, count) in &met.damage {
        println!("{count:6}  damage: {damage:?}");
    }
}

#[test]
fn no_flushed_write_is_lost_however_the_power_goes() {
    let cuts = testing::setting("IODA_CUTS", 10);
    // A few cuts are of every level, many are of arrays that have been through some already.
    let per_array = if cuts > 20 || testing::is_repeat() { 5 } else { 1 };
    let mut met = Met::default();
    crashes(cuts, per_array, true, &mut met);
    tell("power cuts", &met);
}

#[test]
#[ignore = "`kill.rs` does the same with files of the system; this is for many, with IODA_KILLS"]
fn no_flushed_write_is_lost_when_the_server_is_killed() {
    let mut met = Met::default();
    crashes(testing::setting("IODA_KILLS", 10), 5, false, &mut met);
    tell("kills", &met);
}
